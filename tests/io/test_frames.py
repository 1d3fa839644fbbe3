"""Data frames of every library and dtype: the same votes, and ids that come back as they went in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import finegold
from finegold.errors import InputError
from finegold.io.read import read
from finegold.votes.encoding import to_list
from tests.support.readers_votes import votes_of

Column = Callable[[list[Any]], Any]
ROLES = ("task", "worker", "label")


def pandas_column(dtype: Any = None) -> Column:
    return lambda values: pd.Series(values, dtype=dtype)


def pandas_arrow(dtype: pa.DataType) -> Column:
    return pandas_column(pd.ArrowDtype(dtype))


def pandas_category(ordered: bool) -> Column:
    """With a category that does not occur, in an order that is not the sorted one."""

    def make(values: list[Any]) -> pd.Series:
        known = sorted({value for value in values if value is not None}, reverse=True)
        unused = "zebra" if isinstance(known[0], str) else 99
        return pd.Series(pd.Categorical(values, categories=[unused, *known], ordered=ordered))

    return make


def polars_column(dtype: Any) -> Column:
    return lambda values: pl.Series(values, dtype=dtype)


def arrow_column(dtype: pa.DataType) -> Column:
    return lambda values: pa.chunked_array([values[:7], [], values[7:]], type=dtype)


def arrow_dictionary(dtype: pa.DataType, index: pa.DataType) -> Column:
    """Two chunks with dictionaries of their own."""

    def make(values: list[Any]) -> pa.ChunkedArray:
        parts = [pa.array(part, dtype).dictionary_encode() for part in (values[:7], values[7:])]
        return pa.chunked_array([part.cast(pa.dictionary(index, dtype)) for part in parts])

    return make


TEXT, WHOLE, TRUE = ["ant", "bee", "cat"], [1, 2, 5], [False, True]
DATES = [date(2020, 1, 1), date(2020, 1, 2), date(2020, 2, 2)]
# How a column is made, and the sorted values that it holds.
KINDS: dict[str, tuple[Column, list[Any]]] = {
    "pandas str": (pandas_column(), TEXT),
    "pandas object": (pandas_column(object), TEXT),
    "pandas pyarrow string": (pandas_column("string[pyarrow]"), TEXT),
    "pandas ordered category": (pandas_category(True), TEXT),
    "pandas Int64": (pandas_column("Int64"), WHOLE),
    "pandas arrow int32": (pandas_arrow(pa.int32()), WHOLE),
    "pandas float": (pandas_column(float), [0.5, 9.0, 10.5]),
    "polars categorical": (polars_column(pl.Categorical), TEXT),
    "polars enum": (polars_column(pl.Enum(["zebra", "cat", "bee", "ant"])), TEXT),
    "polars uint64": (polars_column(pl.UInt64), [1, 9, 2**63 + 5]),
    "polars float": (polars_column(pl.Float64), [0.5, 1.5, 2.0]),
    "polars decimal": (polars_column(pl.Decimal(10, 2)), [Decimal("1.25"), Decimal("1.5")]),
    "pyarrow string": (arrow_column(pa.string()), TEXT),
    "pyarrow dictionary": (arrow_dictionary(pa.string(), pa.int32()), TEXT),
    "pyarrow bool": (arrow_column(pa.bool_()), TRUE),
}
WITHOUT_HOLES: dict[str, tuple[Column, list[Any]]] = {
    # their distances do not fit into eight bits
    "pandas int8": (pandas_column("int8"), [-100, 0, 100]),
    "pandas bool": (pandas_column("bool"), TRUE),
    "pandas datetime": (
        pandas_column("datetime64[ns]"),
        [pd.Timestamp(day) for day in DATES],
    ),
}
PLACES = [(task, who, (task * who + who) % 3) for task in range(3) for who in range(3)]


def draw(values: list[Any], role: str, holes: bool) -> list[Any]:
    column = [values[place[ROLES.index(role)] % len(values)] for place in PLACES]
    return [*column[:8], None] if holes and role == "label" else column


def frame(kind: str, columns: dict[str, Any]) -> Any:
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind.split()[0]](
        columns
    )


@pytest.mark.parametrize("kind", [*KINDS, *WITHOUT_HOLES])
@pytest.mark.parametrize("role", ROLES)
def test_a_column_of_any_kind_gives_the_same_votes(kind: str, role: str) -> None:
    make, values = (KINDS | WITHOUT_HOLES)[kind]
    plain = {name: draw(values if name == role else TEXT, name, kind in KINDS) for name in ROLES}
    annotations = read(frame(kind, {**plain, role: make(plain[role])}), repeated="all")
    votes = [vote for vote in zip(*plain.values(), strict=True) if vote[2] is not None]
    assert votes_of(annotations) == set(votes)
    assert (annotations.n_votes, annotations.counts.missing) == (
        len(votes),
        len(PLACES) - len(votes),
    )
    names = (annotations.task_names, annotations.annotator_names, annotations.class_names)[
        ROLES.index(role)
    ]
    assert to_list(names) == values
    assert names.backend == (None if kind.startswith("polars") else kind.split()[0])


@pytest.mark.parametrize("kind", ["pandas Int64", "polars categorical", "pyarrow dictionary"])
def test_labels_of_any_kind_come_back_in_its_own_library_and_gold_teaches_them(kind: str) -> None:
    make, values = (KINDS | WITHOUT_HOLES)[kind]
    votes = {name: draw(values if name == "label" else WHOLE, name, False) for name in ROLES}
    gold = frame(kind, {"task": [1, 2], "truth": make([values[0], values[1]])})
    result = finegold.aggregate(
        frame(kind, {**votes, "label": make(votes["label"])}), "mv", gold=gold
    )
    table = result.labels()
    labels = table["label"]
    assert type(table).__module__.split(".")[0] == kind.split()[0]
    assert (labels.to_pylist() if hasattr(labels, "to_pylist") else labels.to_list())[:2] == values[
        :2
    ]
    assert result.gold.tolist() == [0, 1, -1]


MISSING = [
    pd.Series(["a", None, "b"]),
    pd.Series(["a", np.nan, "b"], dtype=object),
    pd.Series(["a", pd.NA, "b"], dtype="string"),
    pd.Series([1, None, 2]),  # the hole makes floats of them
    pd.Series(["a", "NA", "b"]),
    pl.Series([1.5, float("nan"), 2.5]),
]


@pytest.mark.parametrize("labels", MISSING)
def test_holes_of_any_kind_are_no_votes(labels: Any) -> None:
    make = pl.DataFrame if isinstance(labels, pl.Series) else pd.DataFrame
    annotations = read(make({"task": [1, 1, 1], "worker": [1, 2, 3], "label": labels}))
    assert (annotations.n_votes, annotations.counts.missing) == (2, 1)
    assert to_list(annotations.class_names) == [labels[0], labels[2]]


def test_a_lazy_frame_and_one_with_an_odd_index_are_read() -> None:
    columns = {"task": TEXT, "worker": WHOLE, "label": TEXT}
    for odd in (pl.LazyFrame(columns), pd.DataFrame(columns, index=[7, 7, 3])):
        assert votes_of(read(odd)) == set(zip(*columns.values(), strict=True))


def test_mixed_values_become_text() -> None:
    mixed = pd.DataFrame(
        {"task": pd.Series([1, "1", 2], dtype=object), "worker": [1, 1, 1], "label": ["a"] * 3}
    )
    assert votes_of(read(mixed)) == {("1", 1, "a"), ("2", 1, "a")}


REFUSED: list[tuple[Any, str]] = [
    (
        pd.DataFrame([[1, 2, 3, 4]], columns=["task", "worker", "label", "label"]),
        r"columns? .*of the same name|more than one column named",
    ),
    (pl.DataFrame(schema=["task", "worker", "label"]), "the data frame has a header but no rows"),
    (
        pl.LazyFrame({"task": ["a"], "worker": ["b"], "label": ["cat"]}).with_columns(
            pl.col("label").cast(pl.Int64)
        ),
        "the lazy data frame cannot be collected: conversion from `str` to `i64`",
    ),
    (
        pd.DataFrame({"task": ["a", None], "worker": [1, 2], "label": [1, 2]}),
        "the data frame, row 2: there is a label but no task",
    ),
    (pl.DataFrame({"task": [1], "worker": [1], "label": [[1, 2]]}), 'column "label" holds a list'),
]


@pytest.mark.parametrize(("votes", "words"), REFUSED)
def test_a_frame_that_holds_no_votes_is_an_error(votes: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(votes)


def test_the_frame_of_the_user_is_untouched() -> None:
    votes = pd.DataFrame({"task": TEXT, "worker": TEXT, "label": TEXT}, dtype="category")
    before = votes.copy(deep=True)
    read(votes)
    pd.testing.assert_frame_equal(votes, before)


def test_pandas_is_read_and_written_without_pyarrow() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pandas as pd\n"
        "from finegold.io.read import read\n"
        "from finegold.votes.frames import make_frame, to_polars\n"
        "frame = pd.DataFrame({'task': ['b', 'a'], 'worker': ['x', 'y'], 'label': [1, 2]})\n"
        "a = read(frame)\n"
        "out = make_frame({'task': a.task_names, 'label': a.class_names.take(a.gold)}, a.task_names)\n"
        "assert type(out) is pd.DataFrame and out['task'].tolist() == ['a', 'b'], out\n"
        "assert to_polars(frame)['task'].to_list() == ['b', 'a']\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tables_of_a_lazy_library_are_of_polars():
    duckdb = pytest.importorskip("duckdb")
    votes = duckdb.sql(
        "SELECT * FROM (VALUES (1, 'ann', 'x'), (1, 'bob', 'x')) AS v(task, worker, label)"
    )
    labels = finegold.aggregate(votes).labels()
    assert isinstance(labels, pl.DataFrame)
    assert labels["label"].to_list() == ["x"]
