"""Outputs appear whole or not at all, in pieces or in one, and a failure leaves the old file and no litter."""

from __future__ import annotations

import errno
import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import finegold
from finegold.errors import InputError, OutputError
from finegold.io.writers import write_frame, write_labels, write_pieces
from finegold.system.files import write_bytes
from finegold.votes.frames import to_polars
from tests.support.cli_helpers import write

FRAME = pl.DataFrame({"task": ["t1", "t,2"], "confidence": [0.5, None]})
READERS: dict[str, Any] = {
    "out.csv": pl.read_csv,
    "out.CSV": pl.read_csv,
    "out.tsv": lambda path: pl.read_csv(path, separator="\t"),
    "out.jsonl": pl.read_ndjson,
    "out.ndjson": pl.read_ndjson,
    "out.parquet": pl.read_parquet,
    "out.pq": pl.read_parquet,
    "out.csv.gz": pl.read_csv,
    "out.tsv.gz": lambda path: pl.read_csv(path, separator="\t"),
    "out.jsonl.gz": lambda path: pl.read_ndjson(gzip.decompress(Path(path).read_bytes())),
}


def names_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "lazy"])
def test_every_frame_is_written_in_every_format(tmp_path: Path, name: str, kind: str) -> None:
    columns = FRAME.to_dict(as_series=False)
    frames = {
        "polars": FRAME,
        "lazy": FRAME.lazy(),
        "pandas": pd.DataFrame(columns),
        "pyarrow": pa.table(columns),
    }
    write_frame(frames[kind], tmp_path / name)
    assert READERS[name](tmp_path / name).rows() == FRAME.rows()
    assert names_in(tmp_path) == [name]


def test_a_dash_is_csv_on_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_frame(FRAME, "-")
    write_bytes("-", b"more")
    assert capfdbinary.readouterr().out == b'task,confidence\nt1,0.5\n"t,2",\nmore'


@pytest.mark.parametrize(
    "name", ["out", "out.xls", "out.xlsx.gz", "out.parquet.gz", "out.gz", ".csv"]
)
def test_an_unknown_extension_is_an_error_that_lists_the_known_ones(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(InputError, match=r"use one of \.csv, .*\.parquet, .*\.csv\.gz"):
        write_frame(FRAME, tmp_path / name)
    assert names_in(tmp_path) == []


QUOTA = """
import resource, sys, polars as pl
from finegold.io.writers import write_frame
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
frame = pl.DataFrame({"x": [str(n * n % 10007) for n in range(50_000)]})
for name in sys.argv[1:]:
    try:
        write_frame(frame, name)
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits files as Linux does")
def test_a_disk_that_takes_no_more_is_named_and_old_files_stay(tmp_path: Path) -> None:
    names = [*READERS, "out.xlsx"]
    for name in names:
        (tmp_path / name).write_text("old")
    words = [sys.executable, "-c", QUOTA, *names]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = "cannot be written: the file is too large for this disk; write elsewhere"
    assert done.stdout.splitlines() == [f"OutputError {name} {expected}" for name in names]
    assert done.stderr == ""
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        names, "old"
    )


def test_a_frame_that_a_format_cannot_hold_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"out\.csv cannot be written as CSV"):
        write_frame(pl.DataFrame({"x": [[1, 2]]}), tmp_path / "out.csv")
    assert names_in(tmp_path) == []


CODES = {"task": "abcde", "annotator": "vwxyz", "label": "pqppq"}
ROWS = pl.DataFrame(
    {
        "task": ["t1", "t1", "t2", "t3", "t3", "t4", "t5", "t9"],
        "worker": ["a", "b", "a", "b", "c", "a", "c", "a"],
        "label": ["x", "y", "x", "y", "y", "x", "x", None],
    }
)
VOTES: dict[str, Any] = {
    "polars": ROWS,
    "pandas": ROWS.to_pandas(),
    "integers": ROWS.with_columns(pl.col("task").str.slice(1).cast(pl.Int16)),
    "arrays": finegold.Annotations.from_arrays(*map(list, CODES.values())),
    "classes of two kinds": finegold.Annotations.from_arrays(np.arange(5), [1] * 5, [*"aaa", 1, 2]),
    "numbers": finegold.Annotations.from_arrays(np.arange(5), [1] * 5, [0.5] * 5),
}
KINDS = ["csv", "tsv", "jsonl", "parquet", "csv.gz"]


def whole_table(result: finegold.Result, probabilities: bool = False) -> pl.DataFrame:
    """The table of labels in one piece."""
    return to_polars(result.labels(probabilities=probabilities))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("votes", VOTES.values(), ids=VOTES)
def test_pieces_make_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, votes: Any
) -> None:
    result = finegold.aggregate(votes, "mv")
    monkeypatch.setattr("finegold.results.tables.MOST_ROWS", 2)
    pieces, whole = tmp_path / f"pieces.{kind}", tmp_path / f"whole.{kind}"
    for probabilities in (False, True):
        write_labels(result, pieces, probabilities=probabilities)
        write_frame(whole_table(result, probabilities), whole)
        if kind == "parquet":
            assert pl.read_parquet(pieces).schema == pl.read_parquet(whole).schema
            assert pl.read_parquet(pieces).equals(pl.read_parquet(whole))
        else:
            unpack = gzip.decompress if kind == "csv.gz" else bytes
            assert unpack(pieces.read_bytes()) == unpack(whole.read_bytes())
    assert len(names_in(tmp_path)) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_piece_that_fails_leaves_the_old_file(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"out.{kind}", "old")

    def pieces() -> Iterator[pl.DataFrame]:
        yield ROWS
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError, match="the disk is full"):
        write_pieces(pieces(), path)
    assert path.read_text() == "old"
    assert names_in(tmp_path) == [path.name]
