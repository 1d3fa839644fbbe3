"""Build the release, check it, try the wheel in a fresh environment, and tag it.

python tools/release.py [--dry-run | --ready TAG]

With --dry-run nothing is tagged, and what would prevent the release is printed instead of ending the run. --ready only
checks that nothing prevents it, and that TAG is the tag of this version.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
ADDRESSES = ("Homepage", "Documentation", "Source", "Issues", "Changelog")
RESERVED = re.compile(r"(^|\.)example(\.(com|net|org))?$|\.(test|invalid)$|^localhost$")
BIN = "Scripts" if sys.platform == "win32" else "bin"


def main(arguments: list[str]) -> int:
    number = version()
    if arguments[:1] == ["--ready"]:
        wrong_tag = (
            []
            if arguments[1:] == [f"v{number}"]
            else [f"the version is {number}, the tag {arguments[1:]}"]
        )
        return show([*why_not(number), *wrong_tag])
    dry_run = "--dry-run" in arguments
    if show([*why_not(number), *unclean_tree()]) and not dry_run:
        return 1
    with tempfile.TemporaryDirectory() as folder:
        try_wheel(build(), Path(folder))
    if not dry_run:
        run("git", "tag", "--annotate", f"v{number}", "--message", f"Finegold {number}")
    print(
        f"Finegold {number}: {'tried, not tagged' if dry_run else f'tagged v{number}; push the tag to publish it'}"
    )
    return 0


def show(obstacles: list[str]) -> int:
    """Print what prevents the release, and return the exit status."""
    for obstacle in obstacles:
        print(f"not ready for a release: {obstacle}", file=sys.stderr)
    return int(bool(obstacles))


def version(root: Path = ROOT) -> str:
    """Return the version, which `src/finegold/__init__.py` holds alone."""
    found = re.search(
        r'^__version__ = "(.+)"$',
        (root / "src/finegold/__init__.py").read_text("utf-8"),
        re.MULTILINE,
    )
    assert found, 'src/finegold/__init__.py has no line __version__ = "..."'
    return found[1]


def why_not(number: str, root: Path = ROOT) -> list[str]:
    """Return what prevents this version from being released, apart from the state of the working tree."""
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    cited = (root / "CITATION.cff").read_text("utf-8")
    missing = missing_addresses(
        tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    )
    checks = {
        f"{number} is no final version; set __version__ in src/finegold/__init__.py": not re.fullmatch(
            r"[\d.]+", number
        ),
        f"CHANGELOG.md has no section '## {number}'": not re.search(
            rf"^## {re.escape(number)}\b", changes, re.MULTILINE
        ),
        f"CITATION.cff does not say 'version: {number}'": f"\nversion: {number}\n" not in cited,
        f"project.urls in pyproject.toml has no real address for {', '.join(missing)}": bool(
            missing
        ),
    }
    return [reason for reason, applies in checks.items() if applies]


def missing_addresses(project: dict[str, Any]) -> list[str]:
    """Return the names of the addresses that are not there, or on a name that is reserved for examples."""
    given = {
        name: urlsplit(address).hostname or "" for name, address in project.get("urls", {}).items()
    }
    return [name for name in ADDRESSES if not given.get(name) or RESERVED.search(given[name])]


def unclean_tree() -> list[str]:
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [f"there are uncommitted changes:\n{changed.rstrip()}"] if changed else []


def build() -> Path:
    """Build dist/ anew, check what a package index would refuse, and return the wheel."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run(sys.executable, "-m", "build")
    made = sorted((ROOT / "dist").iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, made))
    return next(path for path in made if path.suffix == ".whl")


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel in a fresh environment, away from the sources, and run what the README begins with."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / BIN
    run(str(programs / "python"), "-m", "pip", "install", "--quiet", str(wheel), cwd=folder)
    finegold = str(programs / "finegold")
    run(finegold, "--version", cwd=folder)
    run(finegold, "demo", cwd=folder)
    votes = str(folder / "finegold-demo" / "votes.csv")
    run(
        finegold,
        "aggregate",
        votes,
        "-o",
        "labels.csv",
        "--annotators",
        "annotators.csv",
        cwd=folder,
    )
    script = f"import finegold; print(finegold.aggregate({votes!r}).labels().head(3))"
    run(str(programs / "python"), "-c", script, cwd=folder)


def run(*command: str, cwd: Path = ROOT) -> None:
    print("$", " ".join(command), flush=True)
    subprocess.run(command, cwd=cwd, check=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
