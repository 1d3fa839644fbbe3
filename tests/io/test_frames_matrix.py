"""The same votes in every kind of column of pandas 2 and 3, Polars and PyArrow: the same result, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import finegold
from finegold.votes.encoding import to_list
from finegold.votes.frames import to_polars

Column = Callable[[list[Any]], Any]


def pandas_column(dtype: Any) -> Column:
    return lambda values: pd.Series(values, dtype=dtype)


def pandas_arrow(dtype: pa.DataType) -> Column:
    return lambda values: pd.Series(values, dtype=pd.ArrowDtype(dtype))


def pandas_category(ordered: bool) -> Column:
    """With a category that does not occur, in an order that is not the sorted one."""

    def make(values: list[Any]) -> pd.Series:
        found = sorted({value for value in values if value is not None}, reverse=True)
        unused = "zebra" if isinstance(found[0], str) else 99
        return pd.Series(pd.Categorical(values, categories=[unused, *found], ordered=ordered))

    return make


def polars_column(dtype: Any) -> Column:
    return lambda values: pl.Series(values, dtype=dtype)


def polars_enum(values: list[Any]) -> pl.Series:
    found = sorted({value for value in values if value is not None}, reverse=True)
    return pl.Series(values, dtype=pl.Enum(["zebra", *found]))


def arrow_column(dtype: pa.DataType) -> Column:
    return lambda values: pa.chunked_array([values[:7], [], values[7:]], type=dtype)


def arrow_dictionary(dtype: pa.DataType, index: pa.DataType) -> Column:
    """Two chunks with dictionaries of their own."""

    def make(values: list[Any]) -> pa.ChunkedArray:
        parts = [pa.array(part, dtype).dictionary_encode() for part in (values[:7], values[7:])]
        return pa.chunked_array([part.cast(pa.dictionary(index, dtype)) for part in parts])

    return make


TEXT: dict[str, Column] = {
    "pandas default": lambda values: pd.Series(values),
    "pandas object": pandas_column(object),
    "pandas string": pandas_column("string"),
    "pandas string python": pandas_column("string[python]"),
    "pandas string pyarrow": pandas_column("string[pyarrow]"),
    "pandas category": pandas_category(False),
    "pandas ordered category": pandas_category(True),
    "pandas arrow string": pandas_arrow(pa.string()),
    "pandas arrow large string": pandas_arrow(pa.large_string()),
    "pandas arrow dictionary": pandas_arrow(pa.dictionary(pa.int32(), pa.string())),
    "polars string": polars_column(pl.String),
    "polars categorical": polars_column(pl.Categorical),
    "polars enum": polars_enum,
    "pyarrow string": arrow_column(pa.string()),
    "pyarrow large string": arrow_column(pa.large_string()),
    "pyarrow string view": arrow_column(pa.string_view()),
    "pyarrow dictionary": arrow_dictionary(pa.string(), pa.int32()),
    "pyarrow large dictionary": arrow_dictionary(pa.large_string(), pa.int8()),
}
INTEGERS: dict[str, Column] = {
    "pandas object": pandas_column(object),
    "pandas Int64": pandas_column("Int64"),
    "pandas UInt8": pandas_column("UInt8"),
    "pandas category": pandas_category(False),
    "pandas arrow": pandas_arrow(pa.int32()),
    "polars int64": polars_column(pl.Int64),
    "polars uint8": polars_column(pl.UInt8),
    "pyarrow int64": arrow_column(pa.int64()),
    "pyarrow uint16": arrow_column(pa.uint16()),
    "pyarrow dictionary": arrow_dictionary(pa.int64(), pa.int32()),
}
BOOLEANS: dict[str, Column] = {
    "pandas object": pandas_column(object),
    "pandas boolean": pandas_column("boolean"),
    "pandas category": lambda values: pd.Series(values, dtype="category"),
    "pandas arrow": pandas_arrow(pa.bool_()),
    "polars boolean": polars_column(pl.Boolean),
    "pyarrow bool": arrow_column(pa.bool_()),
}


def votes(truths: list[Any]) -> dict[str, list[Any]]:
    """Forty tasks, five annotators, some labels missing."""
    random = np.random.default_rng(3)
    truth = random.integers(0, len(truths), 40)
    rows = []
    for task in range(40):
        for annotator in range(5):
            guess = truth[task] if random.random() < 0.55 + 0.08 * annotator else random.integers(0, len(truths))
            rows.append((task, annotator, None if random.random() < 0.1 else truths[guess]))
    task, annotator, label = zip(*rows, strict=True)
    return {"task": list(task), "worker": list(annotator), "label": list(label)}


def frame(kind: str, columns: dict[str, Any]) -> Any:
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind.split()[0]]
    return make(columns)


def same(found: finegold.Result, expected: finegold.Result) -> None:
    np.testing.assert_array_equal(found.posterior, expected.posterior)
    np.testing.assert_array_equal(found.accuracy, expected.accuracy)
    assert found.counts == expected.counts
    for names in ("task_names", "annotator_names", "class_names"):
        assert to_list(getattr(found, names)) == to_list(getattr(expected, names))
    tables = [to_polars(result.labels()) for result in (found, expected)]
    assert tables[0]["label"].cast(tables[1]["label"].dtype).to_list() == tables[1]["label"].to_list()


@pytest.mark.parametrize("method", ["mv", "ptbcc"])
@pytest.mark.parametrize("kind", TEXT)
def test_text_of_any_kind_in_all_columns(kind: str, method: str) -> None:
    plain = votes(["ant", "bee", "cat"])
    named = {
        "task": [f"task {number:02}" for number in plain["task"]],
        "worker": [f"worker {number}" for number in plain["worker"]],
        "label": plain["label"],
    }
    typed = {name: TEXT[kind](values) for name, values in named.items()}
    same(finegold.aggregate(frame(kind, typed), method), finegold.aggregate(pl.DataFrame(named), method))


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("columns", [("label",), ("task", "worker", "label")])
def test_integers_of_any_kind(kind: str, columns: tuple[str, ...]) -> None:
    plain = votes([1, 2, 5])
    typed = {name: INTEGERS[kind](values) if name in columns else values for name, values in plain.items()}
    same(finegold.aggregate(frame(kind, typed), "ptbcc"), finegold.aggregate(pl.DataFrame(plain), "ptbcc"))


@pytest.mark.parametrize("kind", BOOLEANS)
def test_booleans_of_any_kind(kind: str) -> None:
    plain = votes([False, True])
    typed = plain | {"label": BOOLEANS[kind](plain["label"])}
    same(finegold.aggregate(frame(kind, typed), "ptbcc"), finegold.aggregate(pl.DataFrame(plain), "ptbcc"))


def test_numpy_columns_of_pandas_without_holes() -> None:
    for truths, dtype in (([1, 2, 5], "int64"), ([1, 2, 5], "int8"), ([False, True], "bool")):
        plain = votes(truths)
        kept = [row for row, label in enumerate(plain["label"]) if label is not None]
        whole = {name: [values[row] for row in kept] for name, values in plain.items()}
        typed = pd.DataFrame(whole).astype({"label": dtype})
        assert typed["label"].dtype == dtype
        same(finegold.aggregate(typed, "ptbcc"), finegold.aggregate(pl.DataFrame(whole), "ptbcc"))


def test_holes_that_made_floats_of_integers() -> None:
    plain = votes([1, 2, 5])
    found = finegold.aggregate(pd.DataFrame(plain), "ptbcc")
    assert pd.DataFrame(plain)["label"].dtype == np.float64
    np.testing.assert_array_equal(found.posterior, finegold.aggregate(pl.DataFrame(plain), "ptbcc").posterior)


@pytest.mark.parametrize("kind", TEXT)
def test_gold_of_any_kind_teaches_the_same(kind: str) -> None:
    plain = votes(["ant", "bee", "cat"])
    gold = {"task": list(range(10)), "truth": ["cat"] * 10}
    typed = frame(kind, {name: TEXT[kind](values) if name == "truth" else values for name, values in gold.items()})
    expected = finegold.aggregate(pl.DataFrame(plain), "ptbcc", gold=pl.DataFrame(gold))
    same(finegold.aggregate(pl.DataFrame(plain), "ptbcc", gold=typed), expected)
    assert (expected.posterior[:10, 2] == 1).all()
