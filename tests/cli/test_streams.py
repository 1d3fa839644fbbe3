"""Standard streams that are closed or full, and Ctrl-C: an exit code of 0, 2 or 130, and never a traceback."""

from __future__ import annotations

import gc
import io
import itertools
import subprocess
import sys
from pathlib import Path
from types import FrameType

import polars as pl
import pytest

import finegold.system.files
from finegold.cli import Stream
from finegold.io import writers as tables
from finegold.io.writers import write_frame
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
    assert (done.returncode, done.stderr) == (130, "error: interrupted; nothing was written\n")
    assert (tmp_path / name).read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "votes.csv"])


class PressedAt:
    """Ctrl-C before the line of this number, counted over those that run in two modules."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: FrameType, event: str, _: object) -> PressedAt | None:
        if not frame.f_code.co_filename.endswith((finegold.system.files.__file__, tables.__file__)):
            return None
        self.left -= event == "line"
        if event == "line" and self.left == 0:
            raise KeyboardInterrupt
        return self


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # files that are left open
@pytest.mark.parametrize("name", ["out.csv.gz", "out.parquet"])
def test_ctrl_c_in_any_line_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)  # it takes most of the time
    frame = pl.DataFrame({"task": range(5)})
    write_frame(frame, tmp_path / name)
    new, outcomes = (tmp_path / name).read_bytes(), []
    for number in itertools.count(1):
        (
            tmp_path / str(number)
        ).mkdir()  # an interrupted run of this process may leave a file that it still locks
        path = write(tmp_path / str(number) / name, "old")
        sys.settrace(PressedAt(number))
        try:
            write_frame(frame, path)
            break
        except KeyboardInterrupt:
            outcomes.append(path.read_bytes())
        finally:
            sys.settrace(None)
    gc.collect()
    assert path.read_bytes() == new
    assert len(outcomes) > 30
    assert set(outcomes) == {b"old", new}
