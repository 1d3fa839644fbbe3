"""The scripts in bench/ can be loaded: what they import from finegold is there."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"
NEED_MORE = {"gpu", "gpu_votes", "crowdkit_values"}  # a GPU, or crowd-kit


def test_the_scripts_load():
    names = sorted({path.stem for path in BENCH.glob("*.py")} - NEED_MORE)
    command = [sys.executable, "-c", "import " + ", ".join(names)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=BENCH)
    assert done.returncode == 0, done.stderr
