"""Data frames go out in the kind in which they came in."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from finegold.votes.encoding import Names
from finegold.votes.frames import make_frame, names_of, native_column, to_polars


def wrap(native: Any) -> Names:
    return names_of(nw.from_native(native, series_only=True))


def dtype_of(column: Any) -> Any:
    return column.type if isinstance(column, pa.ChunkedArray) else column.dtype


SERIES: dict[str, Any] = {
    "pandas str": pd.Series(["a", "b"], index=[5, 9]),
    "pandas object": pd.Series(["a", "b"], dtype=object),
    "pandas category": pd.Series(["a", "b"], dtype="category"),
    "pandas Int64": pd.Series([1, 2], dtype="Int64"),
    "pandas boolean": pd.Series([False, True], dtype="boolean"),
    "polars": pl.Series(["a", "b"]),
    "polars int": pl.Series([1, 2], dtype=pl.Int16),
    "polars categorical": pl.Series(["a", "b"], dtype=pl.Categorical),
    "polars bool": pl.Series([False, True]),
    "pyarrow": pa.chunked_array([["a", "b"]]),
    "pyarrow int": pa.chunked_array([[1], [2]], type=pa.int8()),
}


@pytest.mark.parametrize("kind", SERIES)
def test_taken_names_keep_their_dtype_and_are_null_where_missing(kind: str) -> None:
    names = wrap(SERIES[kind])
    first, second = names.to_list()
    full, holed = (
        names.take(np.array([1, 0, 1], np.int32)),
        names.take(np.array([1, -1, 0], np.int32)),
    )
    assert full.to_list() == [second, first, second]
    assert holed.to_list() == [second, None, first]
    for taken in (full, holed):
        column = native_column(taken)
        assert dtype_of(column) == dtype_of(SERIES[kind])
        assert names_of(nw.from_native(column, series_only=True)).to_list() == taken.to_list()


@pytest.mark.parametrize(
    ("dtype", "twin"), [("int64", "Int64"), ("uint8", "UInt8"), ("bool", "boolean")]
)
def test_numpy_integers_of_pandas_do_not_become_floats_beside_a_null(dtype: str, twin: str) -> None:
    names = wrap(pd.Series([0, 1], dtype=dtype))
    assert str(native_column(names.take(np.array([1, -1], np.int32))).dtype) == twin
    assert str(native_column(names.take(np.array([1, 0], np.int32))).dtype) == dtype


def test_names_behave_like_the_arrays_that_they_were_made_of() -> None:
    names = Names(np.array(["a", "b"]))
    assert names.take(np.array([1, -1], np.int32)).tolist() == ["b", None]
    assert names[np.array([False, True])].tolist() == names[1:].tolist() == [names[1]] == ["b"]
    assert (names == ["a", "x"]).tolist() == (names != ["x", "b"]).tolist() == [True, False]
    assert np.asarray(Names(np.array([3, 4]))).dtype == np.int64


@pytest.mark.parametrize("value", [UUID(int=7), 2**200, 1 + 2j, "odd\udcff"])
def test_values_that_polars_does_not_have_are_text(value: Any) -> None:
    assert Names([value]).to_list() == [str(value).replace("\udcff", "\\udcff")]


def test_nothing_can_be_taken_from_no_names_but_nulls() -> None:
    assert wrap(pl.Series([], dtype=pl.String)).take(np.array([-1, -1], np.int32)).to_list() == [
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("like", "expected"),
    [
        (wrap(pd.Series(["a", "b"], index=[4, 2])), pd.DataFrame),
        (wrap(pl.Series(["a", "b"])), pl.DataFrame),
        (wrap(pa.chunked_array([["a", "b"]])), pa.Table),
        (Names(np.array(["a", "b"])), pl.DataFrame),
        (Names(np.array(["a", "b"], dtype=object)), pl.DataFrame),
    ],
)
def test_a_frame_is_made_of_any_columns_in_the_kind_asked_for(like: Any, expected: type) -> None:
    columns = {
        "task": like,
        "picked": like[np.array([1, 0])],
        "other": wrap(pl.Series([1, 2])),
        "floats": np.array([0.5, 1.0]),
        "text": np.array(["x", "y"]),
        "objects": np.array(["x", None], dtype=object),
        "list": [True, False],
    }
    frame = make_frame(columns, like)
    assert type(frame) is expected
    read_back = {name: to_polars(frame)[name].to_list() for name in columns}
    assert read_back == {
        "task": ["a", "b"],
        "picked": ["b", "a"],
        "other": [1, 2],
        "floats": [0.5, 1.0],
        "text": ["x", "y"],
        "objects": ["x", None],
        "list": [True, False],
    }


def test_a_frame_of_pandas_counts_its_rows_from_zero() -> None:
    names = wrap(pd.Series(["a", "b"], index=[4, 2]))
    assert make_frame({"x": names, "y": [1, 2]}, names).index.tolist() == [0, 1]


def test_values_take_the_dtype_of_their_likes_if_it_holds_them() -> None:
    assert wrap(pl.Series([1], dtype=pl.Int8)).of([3, 4]).values.dtype == pl.Int8
    assert wrap(pl.Series([1])).of(["x"]).to_list() == ["x"]
    assert (
        str(native_column(wrap(pd.Series(["a"], dtype="category")).of(["x"])).dtype) == "category"
    )
    assert Names(np.array([1])).of([1, "a"]).tolist() == ["1", "a"]


def test_pandas_becomes_polars_with_nulls_and_mixtures() -> None:
    frame = pd.DataFrame(
        {
            "text": ["a", None],
            "number": pd.Series([1, None], dtype="Int64"),
            "float": [0.5, np.nan],
            "category": pd.Categorical(["x", None]),
            "mixed": pd.Series([1, "a"], dtype=object),
            "day": pd.to_datetime(["2020-01-01", None]),
        }
    )
    table = to_polars(frame)
    assert table.drop("day", "float").rows() == [("a", 1, "x", "1"), (None, None, None, "a")]
    assert table["number"].dtype == pl.Int64
    assert table["float"].to_list() == [0.5, None]
    assert table["day"].null_count() == 1
