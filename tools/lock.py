"""Write constraints.txt: a version of every package that Finegold, its extras and its development need.

python tools/lock.py

pip takes it with -c, on Linux, macOS and Windows and on every Python that Finegold supports. It has names and versions
only, so that it does not matter which package index is used.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "constraints.txt"
HEAD = "# Made by `make lock`. Versions for development; what Finegold itself allows is in pyproject.toml.\n"
PIN = re.compile(r"[a-z0-9._-]+==[^\s;/]+( ; [^/]+)?")


def main() -> None:
    command = [
        sys.executable,
        "-m",
        "uv",
        "--quiet",
        "pip",
        "compile",
        "pyproject.toml",
        "--extra",
        "all",
    ]
    command += [
        "--group",
        "dev",
        "--universal",
        "--python-version",
        "3.11",
        "--no-annotate",
        "--no-header",
    ]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    LOCK.write_text(HEAD + "\n".join(pins(found)) + "\n", "utf-8")


def pins(compiled: str) -> list[str]:
    """Return the lines NAME==VERSION; anything else, such as an address, is an error."""
    lines = [line.strip() for line in compiled.splitlines() if line.strip()]
    strange = [line for line in lines if not PIN.fullmatch(line)]
    if strange:
        raise SystemExit(f"constraints.txt would have lines that are no versions: {strange}")
    return lines


if __name__ == "__main__":
    main()
