"""Run the tests with the oldest and with the newest versions that pyproject.toml allows.

python tools/dependencies.py [oldest|newest ...] [-- ARGUMENTS OF PYTEST]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".environments"
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
# The oldest Typer warns about the newest Click; warnings of the newest packages remain errors.
TOLERATED = {"oldest": ["-W", "ignore::DeprecationWarning"], "newest": []}


def main(arguments: list[str]) -> int:
    """Test every chosen environment, then say which of them failed."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    chosen, more = arguments[:cut] or list(RESOLUTIONS), arguments[cut + 1 :]
    codes = {name: test(name, more) for name in chosen}
    for name, code in codes.items():
        print(f"{name}: {'the tests passed' if code == 0 else f'the tests failed (exit {code})'}")
    return int(any(codes.values()))


def test(name: str, more: list[str]) -> int:
    """Return the exit status of the tests in one environment."""
    python = environment(name)
    parallel = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]  # as in the Makefile
    command = [str(python), "-m", "pytest", *parallel, "-m", "not slow", *TOLERATED[name], *more]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def environment(name: str) -> Path:
    """Make the environment: pinned versions of what Finegold needs, and development tools that fit to them."""
    FOLDER.mkdir(exist_ok=True)
    pins, place = FOLDER / f"{name}.txt", FOLDER / name
    python = place / "bin" / "python"
    uv(
        "pip",
        "compile",
        "pyproject.toml",
        "--extra",
        "all",
        "--resolution",
        RESOLUTIONS[name],
        "-o",
        str(pins),
    )
    uv("venv", "--clear", str(place))
    uv("pip", "install", "--python", str(python), "-e", ".", "-r", str(pins), "--group", "dev")
    return python


def uv(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", "--quiet", *arguments], cwd=ROOT, check=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
