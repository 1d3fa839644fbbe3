"""Data frames of other libraries become Polars at the entrance, and tables for the user leave in
the user's library.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from finegold.votes.encoding import Names, series_of

if TYPE_CHECKING:
    import narwhals as nw

    Series = nw.Series[Any]

# Narwhals takes longer to import than a small file to read: it is imported where a data frame is
# not of Polars.


def to_polars(frame: Any) -> pl.DataFrame:
    """Convert any data frame to Polars. Unlike `polars.from_pandas`, this does not need PyArrow."""
    if isinstance(frame, pl.DataFrame):
        return frame
    import narwhals as nw

    table = nw.from_native(frame)
    eager = table.collect() if isinstance(table, nw.LazyFrame) else table
    if eager.implementation.is_polars():
        native: pl.DataFrame = eager.to_native()
        return native
    return pl.DataFrame(
        {str(name): polars_column(eager.get_column(name)) for name in eager.columns}
    )


def polars_column(series: Series) -> pl.Series:
    """Convert a column to Polars; values of mixed types become text."""
    native, name = series.to_native(), str(series.name)
    if isinstance(native, pl.Series):
        return native
    if series.implementation.is_pyarrow():
        return pl.Series(name, native)
    import narwhals as nw

    null = series.is_null().to_numpy()
    if (series.dtype.is_numeric() or series.dtype == nw.Boolean) and not null.any():
        return pl.Series(name, series.to_numpy())
    if series.dtype == nw.String:
        # pandas needs PyArrow for this; without it, several exceptions are possible
        with suppress(Exception):
            # through Arrow, without Python objects
            text = pl.Series(name, native)
            if text.dtype == pl.String and text.null_count() == null.sum():
                return text
    values = [
        None if gone else value for value, gone in zip(series.to_list(), null.tolist(), strict=True)
    ]
    return series_of(values).alias(name)


def make_frame(columns: Mapping[str, Any], like: Names | None = None) -> Any:
    """Return a data frame of the library of these names, or of Polars; columns may be Names."""
    frame = pl.DataFrame({name: _series(values) for name, values in columns.items()})
    if like is None or like.backend is None:
        return frame
    values = {
        column.name: column.to_list()
        if column.null_count() or not (column.dtype.is_numeric() or column.dtype == pl.Boolean)
        else column.to_numpy()
        for column in frame.iter_columns()
    }
    if like.backend == "pandas":
        import pandas as pd

        # integers would become floats beside a null
        types = {
            c.name: "Int64" if c.dtype.is_integer() else "float64"
            for c in frame.iter_columns()
            if c.dtype.is_numeric() and c.null_count()
        }
        return pd.DataFrame(
            {name: pd.Series(v, dtype=types.get(name)) for name, v in values.items()}
        )
    import narwhals as nw

    library: Any = like.backend
    return nw.from_dict(values, backend=library).to_native()


def _series(values: Any) -> pl.Series:
    if isinstance(values, Names | pl.Series):
        return values.values if isinstance(values, Names) else values
    is_plain = isinstance(values, np.ndarray) and values.dtype.kind != "O"
    return pl.Series(values) if is_plain else series_of(values)
