"""Tables that are written piece by piece are the tables; a kill leaves the old file or the new one."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import finegold
from finegold.api.result import Result
from finegold.errors import OutputError
from finegold.io.writers import write_frame, write_labels, write_pieces
from finegold.votes.frames import to_polars

ROWS = pl.DataFrame(
    {
        "task": ["t1", "t1", "t2", "t3", "t3", "t4", "t5", "t9"],
        "worker": ["a", "b", "a", "b", "c", "a", "c", "a"],
        "label": ["x", "y", "x", "y", "y", "x", "x", None],
    }
)
KINDS = ["csv", "tsv", "jsonl", "parquet", "csv.gz"]


def results() -> dict[str, Result]:
    codes = {"task": "abcde", "annotator": "vwxyz", "label": "pqppq"}
    return {
        "polars": finegold.aggregate(ROWS, "mv"),
        "pandas": finegold.aggregate(pd.DataFrame(ROWS.to_dict(as_series=False)), "mv"),
        "integers": finegold.aggregate(ROWS.with_columns(pl.col("task").str.slice(1).cast(pl.Int16)), "mv"),
        "arrays": finegold.aggregate(
            finegold.Annotations.from_arrays(*(list(column) for column in codes.values())), "mv"
        ),
        "classes_of_two_kinds": finegold.aggregate(
            finegold.Annotations.from_arrays(np.arange(5), [1] * 5, [*"aaa", 1, 2]), "mv"
        ),
        "numbers": finegold.aggregate(finegold.Annotations.from_arrays(np.arange(5), [1] * 5, [0.5] * 5), "mv"),
    }


def whole_table(result: Result, probabilities: bool = False) -> pl.DataFrame:
    """The table of labels in one piece, with gold marks."""
    table = to_polars(result.labels(probabilities=probabilities))
    return table.insert_column(5, pl.Series("is_gold", [False] * table.height))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", results())
@pytest.mark.parametrize("probabilities", [False, True])
def test_pieces_make_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, which: str, probabilities: bool
) -> None:
    result = results()[which]
    monkeypatch.setattr("finegold.results.tables.MOST_ROWS", 2)
    write_labels(result, tmp_path / f"pieces.{kind}", probabilities=probabilities)
    write_frame(whole_table(result, probabilities), tmp_path / f"whole.{kind}")
    if kind != "parquet":
        unpack = __import__("gzip").decompress if kind == "csv.gz" else bytes
        one, other = (unpack((tmp_path / f"{name}.{kind}").read_bytes()) for name in ("pieces", "whole"))
        assert one == other
    else:
        one, other = (pl.read_parquet(tmp_path / f"{name}.{kind}") for name in ("pieces", "whole"))
        assert one.schema == other.schema
        assert one.equals(other)
    assert len(list(tmp_path.iterdir())) == 2


def test_pieces_go_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr("finegold.results.tables.MOST_ROWS", 2)
    result = results()["polars"]
    write_labels(result, "-")
    assert capfdbinary.readouterr().out == whole_table(result).write_csv().encode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_piece_that_fails_leaves_the_old_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"out.{kind}"
    write_frame(ROWS, path)
    before = path.read_bytes()

    def pieces() -> Any:
        yield ROWS
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="the disk is full"):
        write_pieces(pieces(), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


WRITE_FOR_EVER = """
import sys
import numpy as np
import finegold, finegold.results.tables
from finegold.io.writers import write_labels

finegold.results.tables.MOST_ROWS = 500
votes = [finegold.Annotations.from_arrays(np.arange(5000), [1] * 5000, np.full(5000, label)) for label in (0, 1)]
results = [finegold.aggregate(vote, "mv") for vote in votes]
write_labels(results[0], sys.argv[1])
print("ready", flush=True)
while True:
    for result in results[::-1]:
        write_labels(result, sys.argv[1])
"""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_kill_leaves_the_old_output_or_the_new_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"labels.{kind}"
    moments = random.Random(5)
    seen = set()
    for _ in range(4):
        writer = subprocess.Popen([sys.executable, "-c", WRITE_FOR_EVER, path], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(moments.uniform(0.0, 0.2))
        writer.kill()
        writer.communicate()
        table = pl.read_csv(path) if kind == "csv" else pl.read_parquet(path)
        assert table.get_column("task").to_list() == list(range(5000))
        assert table.get_column("label").n_unique() == 1
        seen.add(table.get_column("label")[0])
    assert seen <= {0, 1}
