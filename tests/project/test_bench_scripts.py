"""The scripts in bench/ can be loaded: what they import from finegold is there."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="benchmarks measure processes as POSIX does")
ROOT = Path(__file__).parents[2]


def test_the_scripts_load():
    paths = (path.relative_to(ROOT).with_suffix("") for path in (ROOT / "bench").glob("*/*.py"))
    names = sorted(".".join(path.parts) for path in paths)
    assert len(names) > 20
    command = [sys.executable, "-c", "import " + ", ".join(names)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
