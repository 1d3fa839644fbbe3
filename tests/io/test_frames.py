"""Data frames of every library and dtype: the same votes, and ids that come back as they went in."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from finegold.errors import InputError
from finegold.io.read import read
from finegold.votes.encoding import to_list
from finegold.votes.frames import make_frame, native_column
from tests.support.readers_votes import VOTES, votes_of

TASKS, WORKERS, LABELS = ["t2", "t1", "t1"], ["ann", "bob", "ann"], ["cat", "dog", "cat"]
COLUMNS = {"task": TASKS, "worker": WORKERS, "label": LABELS}


def pandas_of(dtype: str) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(values, dtype=dtype) for name, values in COLUMNS.items()})


def arrow_of(dictionary: bool) -> pa.Table:
    arrays = {name: pa.array(values) for name, values in COLUMNS.items()}
    return pa.table({name: array.dictionary_encode() if dictionary else array for name, array in arrays.items()})


TEXT = str(pd.Series(["a"]).dtype)  # object in pandas 2, str in pandas 3
FRAMES: dict[str, tuple[Any, str]] = {
    "pandas str": (pd.DataFrame(COLUMNS), TEXT),
    "pandas object": (pandas_of("object"), "object"),
    "pandas string": (pandas_of("string"), "string"),
    "pandas python string": (pandas_of("string[python]"), "string"),
    "pandas category": (pandas_of("category"), "category"),
    "pandas odd index": (pd.DataFrame(COLUMNS, index=[7, 7, 3]), TEXT),
    "polars": (pl.DataFrame(COLUMNS), "String"),
    "polars categorical": (pl.DataFrame(COLUMNS).cast(pl.Categorical), "Categorical"),
    "polars enum": (pl.DataFrame(COLUMNS).cast({"label": pl.Enum(["dog", "cat", "x"])}), "Enum"),
    "polars lazy": (pl.LazyFrame(COLUMNS), "String"),
    "pyarrow": (arrow_of(False), "string"),
    "pyarrow dictionary": (arrow_of(True), "dictionary"),
}


def native_dtype(names: Any) -> str:
    native = native_column(names)
    return str(native.type if hasattr(native, "type") else native.dtype)


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_text_gives_the_same_votes_in_its_own_dtype(kind: str) -> None:
    frame, dtype = FRAMES[kind]
    annotations = read(frame)
    reference = read(pl.DataFrame(COLUMNS))
    assert votes_of(annotations) == VOTES
    assert to_list(annotations.class_names) == ["cat", "dog"]
    assert annotations.annotator.tolist() == reference.annotator.tolist()
    assert annotations.cell_class.tolist() == reference.cell_class.tolist()
    assert native_dtype(annotations.class_names).startswith(dtype)
    table = make_frame({"task": annotations.task_names}, annotations.task_names)
    assert type(table).__module__.split(".")[0] == kind.split()[0]


NUMBERS: dict[str, tuple[Any, str]] = {
    "pandas int64": (pd.Series([10, 9, 9]), "int64"),
    "pandas int8": (pd.Series([-100, 100, 100], dtype="int8"), "int8"),
    "pandas Int64": (pd.Series([10, 9, 9], dtype="Int64"), "Int64"),
    "pandas float": (pd.Series([10.5, 9.0, 9.0]), "float64"),
    "pandas bool": (pd.Series([True, False, False]), "bool"),
    "pandas boolean": (pd.Series([True, False, False], dtype="boolean"), "boolean"),
    "pandas category": (pd.Series([10, 9, 9], dtype="category"), "category"),
    "pandas datetime": (pd.to_datetime(pd.Series(["2020-02-02", "2020-01-01", "2020-01-01"])), "datetime64"),
    "pandas arrow": (pd.Series([10, 9, 9], dtype="int64[pyarrow]"), "int64[pyarrow]"),
    "polars uint64": (pl.Series([2**63 + 5, 9, 9], dtype=pl.UInt64), "UInt64"),
    "polars uint8": (pl.Series([250, 9, 9], dtype=pl.UInt8), "UInt8"),
    "polars bool": (pl.Series([True, False, False]), "Boolean"),
    "polars date": (pl.Series(["2020-02-02", "2020-01-01", "2020-01-01"]).str.to_date(), "Date"),
    "polars decimal": (pl.Series(["1.5", "1.25", "1.25"]).cast(pl.Decimal(10, 2)), "Decimal"),
    "pyarrow int32": (pa.chunked_array([[10], [9, 9]], type=pa.int32()), "int32"),
    "pyarrow bool": (pa.chunked_array([[True, False, False]]), "bool"),
    "pyarrow dictionary": (pa.chunked_array([pa.array([10, 9, 9]).dictionary_encode()]), "dictionary"),
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("role", ["task", "worker", "label"])
def test_other_dtypes_come_back_as_they_went_in(kind: str, role: str) -> None:
    column, dtype = NUMBERS[kind]
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind.split()[0]]
    annotations = read(make({**COLUMNS, role: column}), repeated="all")
    position = {"task": 0, "worker": 1, "label": 2}[role]
    names = [annotations.task_names, annotations.annotator_names, annotations.class_names][position]
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    assert to_list(names) == sorted(set(values))
    assert native_dtype(names).startswith(dtype)
    expected = {(*vote[:position], value, *vote[position + 1 :]) for vote, value in zip(rows(), values, strict=True)}
    assert votes_of(annotations) == expected


def rows() -> list[tuple[Any, ...]]:
    return list(zip(TASKS, WORKERS, LABELS, strict=True))


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype=object),
        pd.Series(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, None, 2]),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series(["a", "NA", "b"]),
        pd.Series([1, None, 2], dtype=object),
    ],
)
def test_null_labels_of_pandas_are_no_votes(labels: pd.Series) -> None:
    annotations = read(pd.DataFrame({"task": [1, 1, 1], "worker": [1, 2, 3], "label": labels}))
    assert (annotations.n_votes, annotations.counts.missing) == (2, 1)
    assert set(to_list(annotations.class_names)) == {labels[0], labels[2]}
    assert native_column(annotations.class_names).dtype == labels.dtype


def test_small_integers_do_not_overflow() -> None:
    tasks = np.array([-100, 0, 55, 100], dtype=np.int8)  # their distances do not fit into eight bits
    annotations = read(pd.DataFrame({"task": tasks, "worker": [1, 2, 3, 4], "label": [1, 2, 1, 2]}))
    assert votes_of(annotations) == {(-100, 1, 1), (0, 2, 2), (55, 3, 1), (100, 4, 2)}


@pytest.mark.parametrize("labels", [["a", None, "b"], [1, None, 2], [1.5, float("nan"), 2.5], [True, None, False]])
@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_null_labels_of_polars_and_pyarrow_are_no_votes(labels: list[Any], make: Any) -> None:
    annotations = read(make({"task": [1, 1, 1], "worker": [1, 2, 3], "label": labels}))
    assert (annotations.n_votes, annotations.counts.missing) == (2, 1)
    assert set(to_list(annotations.class_names)) == {labels[0], labels[2]}


def test_mixed_values_become_text() -> None:
    frame = pd.DataFrame({"task": pd.Series([1, "1", 2], dtype=object), "worker": [1, 1, 1], "label": ["a"] * 3})
    assert votes_of(read(frame)) == {("1", 1, "a"), ("2", 1, "a")}


def test_columns_of_the_same_name_are_an_error() -> None:
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["task", "worker", "label", "label"])
    with pytest.raises(InputError, match=r"columns? .*of the same name|more than one column named"):
        read(frame)


def test_a_frame_without_rows_is_an_error() -> None:
    with pytest.raises(InputError, match="the data frame has a header but no rows"):
        read(pl.DataFrame(COLUMNS).head(0))


def test_a_lazy_frame_that_fails_is_an_error() -> None:
    frame = pl.LazyFrame(COLUMNS).with_columns(pl.col("label").cast(pl.Int64))
    with pytest.raises(InputError, match="the lazy data frame cannot be collected: conversion from `str` to `i64`"):
        read(frame)


def test_a_missing_id_names_the_row_of_the_frame() -> None:
    frame = pd.DataFrame({"task": ["a", None], "worker": [1, 2], "label": [1, 2]})
    with pytest.raises(InputError, match="the data frame, row 2: there is a label but no task"):
        read(frame)


def test_the_frame_of_the_user_is_untouched() -> None:
    frame = pandas_of("category")
    before = frame.copy(deep=True)
    read(frame)
    pd.testing.assert_frame_equal(frame, before)


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
