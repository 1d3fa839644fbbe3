"""Data frames go out in the kind in which they came in."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from finegold.votes.encoding import Names
from finegold.votes.frames import kind_of, make_frame, series_like, take, to_list, to_polars


def wrap(native: Any) -> Names:
    series: Names = nw.from_native(native, series_only=True)
    return series


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
    first, second = to_list(names)
    full, holed = take(names, np.array([1, 0, 1], np.int32)), take(names, np.array([1, -1, 0], np.int32))
    assert to_list(full) == [second, first, second]
    assert full.to_native().type == SERIES[kind].type if "pyarrow" in kind else full.dtype == names.dtype
    assert holed.dtype == names.dtype
    assert holed.is_null().to_list() == [False, True, False]
    assert [to_list(holed)[0], to_list(holed)[2]] == [second, first]


@pytest.mark.parametrize("kind", ["pandas object", "pandas category", "pandas str", "pandas Int64"])
def test_pandas_dtypes_survive_a_hole(kind: str) -> None:
    assert take(wrap(SERIES[kind]), np.array([0, -1], np.int32)).to_native().dtype == SERIES[kind].dtype


@pytest.mark.parametrize(("dtype", "twin"), [("int64", "Int64"), ("uint8", "UInt8"), ("bool", "boolean")])
def test_numpy_integers_of_pandas_do_not_become_floats_beside_a_null(dtype: str, twin: str) -> None:
    names = wrap(pd.Series([0, 1], dtype=dtype))
    assert str(take(names, np.array([1, -1], np.int32)).to_native().dtype) == twin
    assert str(take(names, np.array([1, 0], np.int32)).to_native().dtype) == dtype


def test_names_in_numpy_are_taken_as_objects_where_missing() -> None:
    assert take(np.array(["a", "b"]), np.array([1, -1], np.int32)).tolist() == ["b", None]
    assert take(np.array([3, 4]), np.array([1, 0], np.int32)).dtype.kind == "i"


def test_nothing_can_be_taken_from_no_names_but_nulls() -> None:
    assert to_list(take(wrap(pl.Series([], dtype=pl.String)), np.array([-1, -1], np.int32))) == [None, None]


@pytest.mark.parametrize(
    ("like", "expected"),
    [
        (wrap(pd.Series(["a", "b"], index=[4, 2])), pd.DataFrame),
        (wrap(pl.Series(["a", "b"])), pl.DataFrame),
        (wrap(pa.chunked_array([["a", "b"]])), pa.Table),
        (np.array(["a", "b"]), pl.DataFrame),
        (np.array(["a", "b"], dtype=object), pl.DataFrame),
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
    assert series_like([3, 4], wrap(pl.Series([1], dtype=pl.Int8))).dtype == nw.Int8
    assert to_list(series_like(["x"], wrap(pl.Series([1])))) == ["x"]
    assert str(series_like(["x"], wrap(pd.Series(["a"], dtype="category"))).to_native().dtype) == "category"
    assert series_like([1, "a"], np.array([1])).tolist() == ["1", "a"]


def test_the_kind_of_names_is_their_library() -> None:
    assert kind_of(wrap(pd.Series([1]))).is_pandas()
    assert kind_of(np.array([1])).is_polars()


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
