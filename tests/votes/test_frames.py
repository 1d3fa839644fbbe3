"""Data frames go out in the kind in which they came in."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from finegold.votes.encoding import Names
from finegold.votes.frames import make_frame, to_polars


def test_names_behave_like_the_arrays_that_they_were_made_of() -> None:
    names = Names(np.array(["a", "b"]))
    assert names.take(np.array([1, -1], np.int32)).tolist() == ["b", None]
    assert names[np.array([False, True])].tolist() == names[1:].tolist() == [names[1]] == ["b"]
    assert (names == ["a", "x"]).tolist() == (names != ["x", "b"]).tolist() == [True, False]
    assert np.asarray(Names(np.array([3, 4]))).dtype == np.int64
    nobody = Names([]).take(np.array([-1, -1], np.int32))
    assert nobody.to_list() == [None, None]


@pytest.mark.parametrize("value", [UUID(int=7), 2**200, 1 + 2j, "odd\udcff"])
def test_values_that_polars_does_not_have_are_text(value: Any) -> None:
    assert Names([value]).to_list() == [str(value).replace("\udcff", "\\udcff")]


@pytest.mark.parametrize(
    ("backend", "expected"), [("pandas", pd.DataFrame), ("pyarrow", pa.Table), (None, pl.DataFrame)]
)
def test_a_frame_is_made_of_any_columns_in_the_kind_asked_for(
    backend: str | None, expected: type
) -> None:
    names = Names(["a", "b"], backend)
    columns = {
        "task": names,
        "picked": names[np.array([1, 0])],
        "number": Names([1, 2]).take(np.array([1, -1], np.int32)),
        "floats": np.array([0.5, 1.0]),
        "objects": np.array(["x", None], dtype=object),
        "list": [True, False],
    }
    frame = make_frame(columns, names)
    assert type(frame) is expected
    table = to_polars(frame)
    assert table.to_dict(as_series=False) == {
        "task": ["a", "b"],
        "picked": ["b", "a"],
        "number": [2, None],
        "floats": [0.5, 1.0],
        "objects": ["x", None],
        "list": [True, False],
    }
    assert table["number"].dtype == pl.Int64
    if backend == "pandas":
        assert frame.index.tolist() == [0, 1]


def test_values_take_the_dtype_of_their_likes_if_it_holds_them() -> None:
    assert Names(pl.Series([1], dtype=pl.Int8)).of([3, 4]).values.dtype == pl.Int8
    assert Names([1], "pandas").of(["x"]).backend == "pandas"
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
