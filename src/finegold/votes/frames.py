"""Data frames of other libraries become Polars at the entrance, and tables for the user leave in
the user's library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from finegold.votes.encoding import Names, kinds_of, series_of

if TYPE_CHECKING:
    import narwhals as nw

    Series = nw.Series[Any]

# Narwhals takes longer to import than a small file to read: it is imported where a data frame is
# not of Polars.
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NULLABLE = {"bool": "boolean"} | {
    name: name.replace("int", "Int").replace("u", "U") for name in INTEGERS
}


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


def names_of(column: Series) -> Names:
    """Convert a column to names, which know what they were."""
    like = None if column.implementation.is_polars() else column.head(0).to_native()
    return Names(polars_column(column), like)


def names_like(values: Sequence[Any], column: Names) -> Names:
    """Return names that are not in a data frame, but leave in the library of this column of it."""
    names = Names(list(values))
    if column.like is not None:
        import narwhals as nw

        library = nw.from_native(column.like, series_only=True).implementation
        names.like = nw.new_series("", names[:1].to_list(), backend=library).head(0).to_native()
    return names


def polars_column(series: Series) -> pl.Series:
    """Convert a column to Polars; values of mixed types become text."""
    native, name = series.to_native(), str(series.name)
    if isinstance(native, pl.Series):
        return native
    if series.implementation.is_pyarrow():
        # Polars would convert it to text
        if str(native.type).startswith("dictionary"):
            native = native.cast(native.type.value_type)
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
    """Return a data frame of the library of `like`. Columns may be NumPy arrays, Names or lists."""
    is_polars, made = like is None or like.like is None, dict(columns)
    for name, values in columns.items():
        if isinstance(values, Names):
            is_native = not is_polars and values.like is not None
            made[name] = (
                native_column(values)
                if is_native
                else values.values
                if is_polars
                else values.to_list()
            )
        elif not isinstance(values, np.ndarray) or values.dtype.kind == "O":
            made[name] = series_of(values) if is_polars else list(values)
    if like is None or is_polars:
        return pl.DataFrame(made)
    import narwhals as nw

    library = nw.from_native(like.like, series_only=True).implementation
    return nw.from_dict(made, backend=library).to_native()


def native_column(names: Names) -> Any:
    """Return names as a series of the user's library, in the dtype in which they came if it can
    hold them.
    """
    if names.like is None:
        return names.values
    import narwhals as nw

    like, values = nw.from_native(names.like, series_only=True), names.to_list()
    library, null = like.implementation, names.values.is_null().to_list()

    def exact() -> Any:
        if library.is_pandas_like():
            dtype: Any = names.like.dtype
            # integers would become floats beside a null
            if any(null):
                dtype = NULLABLE.get(str(dtype), dtype)
            return type(names.like)(values, dtype=dtype)
        import pyarrow as pa

        return pa.chunked_array([pa.array(values, type=names.like.type)])

    def similar() -> Any:
        return nw.new_series("", values, dtype=like.dtype, backend=library).to_native()

    present = [value for value in values if value is not None]
    for attempt in (exact, similar):
        # each library raises its own exceptions
        with suppress(Exception):
            series = nw.from_native(attempt(), series_only=True)
            kept = [value for value, gone in zip(series.to_list(), null, strict=True) if not gone]
            if (
                kept == present
                and kinds_of(kept) == kinds_of(present)
                and series.is_null().to_list() == null
            ):
                return series.to_native()
    return nw.new_series("", values, backend=library).to_native()
