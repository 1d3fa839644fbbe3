"""Standard streams that are closed or full, and Ctrl-C: an exit code of 0, 2 or 130, and never a traceback."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from finegold.cli import Stream
from tests.support.cli_helpers import CSV, write

FINEGOLD = [sys.executable, "-m", "finegold"]
TO_FILE = "aggregate votes.csv --method mv -o out.csv"

# Redirection, arguments, the exit code, and words on standard error
CASES = [
    (">&-", "aggregate votes.csv --method mv", 2, "standard output is closed"),
    (">&-", TO_FILE, 0, "3 annotators"),
    (">&-", "--help", 2, "standard output is closed"),
    (">/dev/full", "--help", 2, "the disk is full"),
    (">/dev/full", "--version", 2, "the disk is full"),
    (">/dev/full", "agreement votes.csv", 2, "the disk is full"),
    ("2>&-", TO_FILE, 0, ""),
    ("2>/dev/full", TO_FILE, 0, ""),
    ("2>/dev/full", "aggregate nothing.csv", 2, ""),
    ("2>&-", "aggregate nothing.csv", 2, ""),
    ("2>/dev/full", "aggregate --wings", 2, ""),
    ("<&- >&- 2>&-", TO_FILE, 0, ""),
    ("<&-", "aggregate - --method mv", 2, "standard input is empty"),
    (">/dev/full", "aggregate votes.csv --method mv", 2, "the disk is full"),
    ("| true", "--help", 0, ""),
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
    assert (tmp_path / "out.csv").exists() == (arguments == TO_FILE)


def test_an_output_that_has_failed_once_is_not_tried_again(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="closed"):
        Stream(1, is_open=False, must_arrive=True).write(b"result")
    stream = io.BufferedWriter(Stream(1, is_open=False, must_arrive=True))
    stream.write(b"result")
    with pytest.raises(OSError, match="closed"):
        stream.flush()
    stream.flush()  # as Python does when it ends


INTERRUPTED = """
import os, signal, sys
from finegold.cli import main
from finegold.results import tables
def press(*given, **named):
    os.kill(os.getpid(), signal.SIGINT)
tables.labels_table = press
main()
"""


@pytest.mark.parametrize("name", ["out.csv.gz", "out.parquet"])
def test_ctrl_c_while_a_table_is_written(tmp_path: Path, name: str) -> None:
    write(tmp_path / "votes.csv", CSV)
    write(tmp_path / name, "old")
    command = [
        sys.executable,
        "-c",
        INTERRUPTED,
        "aggregate",
        "votes.csv",
        "--method",
        "mv",
        "-o",
        name,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")
    assert (tmp_path / name).read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "votes.csv"])
