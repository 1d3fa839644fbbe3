"""Standard streams that are closed or full, and Ctrl-C: an exit code of 0, 2 or 130, and never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli_helpers import CSV, write

CASES = [
    (">/dev/full", "aggregate votes.csv --method mv", 2, "the disk is full"),
    (">/dev/full", "agreement votes.csv", 2, "the disk is full"),
    ("| true", "agreement votes.csv", 0, ""),
]


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only Linux has a disk that is always full"
)
@pytest.mark.parametrize(("redirection", "arguments", "code", "words"), CASES)
def test_closed_and_full_streams(
    tmp_path: Path, redirection: str, arguments: str, code: int, words: str
) -> None:
    write(tmp_path / "votes.csv", CSV)
    script = f'set -o pipefail; "$0" -m finegold {arguments} {redirection}'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "unexpectedly" not in done.stderr


INTERRUPTED = """
import os, signal
from finegold.cli import main
from finegold.io import writers
writers.write_labels = lambda *given, **named: os.kill(os.getpid(), signal.SIGINT)
main()
"""


@pytest.mark.parametrize("name", ["out.csv.gz", "out.parquet"])
def test_ctrl_c_while_a_table_is_written_leaves_the_old_one(tmp_path: Path, name: str) -> None:
    write(tmp_path / "votes.csv", CSV)
    write(tmp_path / name, "old")
    words = ["aggregate", "votes.csv", "--method", "mv", "-o", name]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")
    assert (tmp_path / name).read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "votes.csv"])
