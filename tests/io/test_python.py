"""Votes from Python objects that are no data frames are read like a table."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from finegold.errors import InputError
from finegold.io.read import read
from finegold.io.truth import read_truth
from finegold.votes.encoding import to_list
from tests.support.readers_votes import VOTES, votes_of

ROWS = [("t2", "ann", "cat"), ("t1", "bob", "dog"), ("t1", "ann", "cat")]
NAMES = ("task", "worker", "label")
COLUMNS = {name: list(values) for name, values in zip(NAMES, zip(*ROWS, strict=True), strict=True)}
DICTS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
Row = namedtuple("Row", NAMES)


class ClassLabel:
    """What Finegold needs of the class of this name of Hugging Face datasets."""

    names = ("cat", "dog")


class Dataset:
    """What Finegold needs of a data set of Hugging Face: rows that were selected are not those of `data`."""

    def __init__(self, frame: pl.DataFrame, features: dict[str, Any] | None = None) -> None:
        self.frame, self.features = frame, features or dict.fromkeys(frame.columns)

    def to_polars(self) -> pl.DataFrame:
        return self.frame


class OldDataset(Dataset):
    """As it was before data sets knew Polars."""

    to_polars = None  # type: ignore[assignment]

    def to_pandas(self) -> pd.DataFrame:
        return self.frame.to_pandas()


class DatasetDict(dict[str, Dataset]):
    pass


def batch() -> pa.RecordBatch:
    return pa.record_batch(COLUMNS)


def structured() -> Any:
    return np.array(ROWS, dtype=[(name, "U4") for name in NAMES])


SOURCES: dict[str, Callable[[], Any]] = {
    "data set": lambda: Dataset(pl.DataFrame(COLUMNS)),
    "data set of one split": lambda: DatasetDict(train=Dataset(pl.DataFrame(COLUMNS))),
    "old data set": lambda: OldDataset(pl.DataFrame(COLUMNS)),
    "record batches": lambda: [batch()[:1], batch()[1:]],
    "record batch reader": lambda: pa.RecordBatchReader.from_batches(batch().schema, [batch()]),
    "list of dicts": lambda: DICTS,
    "dict of lists": lambda: COLUMNS,
    "dict of series": lambda: {name: pd.Series(values) for name, values in COLUMNS.items()},
    "structured array": structured,
    "structured array of bytes": lambda: structured().astype([(name, "S4") for name in NAMES]),
    "list of tuples": lambda: ROWS,
    "zip": lambda: zip(*COLUMNS.values(), strict=True),
    "named tuples": lambda: (Row(*row) for row in ROWS),
    "pandas, task in the index": lambda: pd.DataFrame(COLUMNS).set_index("task"),
    "pandas, two levels": lambda: pd.DataFrame(COLUMNS).set_index(["worker", "task"]),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_object_gives_the_same_votes(kind: str) -> None:
    assert votes_of(read(SOURCES[kind]())) == VOTES


def test_rows_keep_their_names_and_the_kinds_of_their_ids() -> None:
    swapped = [Row("ann", "t1", "x")]  # a task and a worker in each other's place
    assert votes_of(read(swapped, task="worker", annotator="task")) == {("t1", "ann", "x")}
    assert votes_of(read([(2**53 + 1, "a", "x"), (None, None, None)])) == {(2**53 + 1, "a", "x")}
    assert to_list(read([(1, "a", "x"), (2.0, "b", "y"), (np.int64(3), "a", "x")]).task_names) == [
        1,
        2,
        3,
    ]


def test_an_index_of_pandas_names_the_tasks_unless_a_column_does() -> None:
    frame = pd.DataFrame(COLUMNS)
    assert (
        votes_of(read(frame.rename(columns={"task": "photo"}).set_index("photo"), task="photo"))
        == VOTES
    )
    assert votes_of(read(frame.set_index(pd.Index([7, 8, 9], name="item")))) == VOTES
    wide = pd.DataFrame(
        {"a": ["x", "x"], "b": ["y", "x"]}, index=pd.Index([1, 2], name="task")
    )  # as pivot makes it
    assert votes_of(read(wide)) == {(1, "a", "x"), (1, "b", "y"), (2, "a", "x"), (2, "b", "x")}


def test_rows_may_lack_a_label_and_the_missing_vote_is_counted() -> None:
    rows = [
        *DICTS,
        {"task": "t3", "worker": "ann"},
        {"task": "t3", "worker": "bob", "label": float("nan")},
    ]
    votes = read(rows)
    assert votes_of(votes) == VOTES
    assert (votes.counts.rows, votes.counts.missing) == (5, 2)


def test_class_labels_of_a_data_set_are_read_by_name_and_minus_one_is_no_vote() -> None:
    frame = pl.DataFrame({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": [0, 1, -1]})
    votes = read(Dataset(frame, {"task": None, "worker": None, "label": ClassLabel()}))
    assert votes_of(votes) == {(1, "a", "cat"), (1, "b", "dog")}
    assert votes.counts.missing == 1


def test_truths_are_read_from_pairs_and_dicts() -> None:
    for truth in ([("t1", "cat")], [{"task": "t1", "gold": "cat"}]):
        found = read_truth(truth)
        assert (to_list(found.task), to_list(found.truth)) == (["t1"], ["cat"])


WRONG: dict[str, tuple[Any, str]] = {
    "number": (
        3,
        r"of type int cannot be read; expected a path.*Hugging Face.*dicts.*tuples.*structured array",
    ),
    "bytes": (b"abc", "of type bytes cannot be read"),
    "numbers": ([1, 2], "row 1 is of type int; expected a dict or a tuple"),
    "kinds": ([{"task": 1}, (1, 2, 3)], r"row 2 is \(1, 2, 3\), which is not like row 1"),
    "four": ([(1, 2, 3, 4)], r"row 1 has 4 values; expected 3: task, annotator, label"),
    "lengths": (
        {"task": [1], "worker": [1, 2], "label": [1]},
        '"task" has 1, "worker" has 2',
    ),
    "scalars": ({"task": 1, "worker": 2}, '"task" is of type int; expected a list'),
    "matrix": (np.zeros((2, 2)), "from_matrix"),
    "arrow array": (pa.array([1, 2]), "not a table"),
    "no rows": (iter([]), "no rows"),
    "no columns": ({}, "no columns"),
    "splits": (
        DatasetDict(train=Dataset(pl.DataFrame(COLUMNS)), test=Dataset(pl.DataFrame(COLUMNS))),
        "has the splits train, test; give one of them",
    ),
}


@pytest.mark.parametrize(("votes", "message"), WRONG.values(), ids=WRONG)
def test_anything_else_is_an_error_that_says_what_is_read(votes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(votes)
