"""Data frames of any library: if the input is pandas, the output is pandas. Narwhals gives one interface to all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw
import numpy as np

from finegold.votes.encoding import MISSING, Codes, Names, as_column, of_one_kind, to_list

if TYPE_CHECKING:
    import polars as pl

    Series = nw.Series[Any]

Kind = Any  # a Narwhals Implementation that supports series; its type is not public


def kind_of(names: Names) -> Kind:
    """Return the data-frame library of these names, or Polars if they are an array."""
    return names.implementation if isinstance(names, nw.Series) else nw.Implementation.POLARS


def make_frame(columns: Mapping[str, Any], like: Names) -> Any:
    """Return a native data frame of the library of `like`. Columns may be NumPy arrays, Names or lists."""
    kind = kind_of(like)
    return nw.from_dict({name: _column(values, kind) for name, values in columns.items()}, backend=kind).to_native()


def take(names: Names, codes: Codes) -> Names:
    """Return the name of every code, in the dtype of the names; null where the code is MISSING."""
    known = np.asarray(codes) != MISSING
    if known.all():
        return cast(Names, plain_rows(names[codes]))
    if len(names) == 0:
        return series_of([None] * len(codes), kind_of(names))
    if not isinstance(names, nw.Series):
        taken = np.empty(len(codes), dtype=object)  # None where the code is MISSING
        taken[known] = np.asarray(names, dtype=object)[codes[known]]
        return taken
    return _hide(_nullable(names)[np.where(known, codes, 0)], known)


def series_of(values: Sequence[Any], kind: Kind) -> Series:
    """Return a series of the given library, which chooses the dtype."""
    return nw.new_series("", list(values), backend=kind)


def series_like(values: Sequence[Any], like: Names) -> Names:
    """Return a series of the library of `like`, with its dtype if that can hold all values."""
    values = of_one_kind(values)
    if not isinstance(like, nw.Series):
        return as_column(values) if values else np.empty(0, dtype=object)
    native, library = like.to_native(), like.implementation
    attempts: list[Callable[[], Series]] = [lambda: nw.new_series("", values, dtype=like.dtype, backend=library)]
    if library.is_pandas_like():
        attempts.insert(0, lambda: _wrap(type(native)(values, dtype=native.dtype)))
    for attempt in attempts:
        with suppress(Exception):  # each library raises its own exceptions
            series = attempt()
            kept = series.to_list()  # a dtype may change values that it cannot hold; 0, 0.0 and False are different
            if kept == values and list(map(type, kept)) == list(map(type, values)):
                return series
    try:
        return series_of(values, library)
    except Exception:  # values without a dtype in the library, such as integers of more than 128 bits
        return as_column(values)


def plain_rows(names: Any) -> Any:
    """Reset the index of pandas, which keeps the old row labels when rows are selected."""
    return nw.maybe_reset_index(names) if isinstance(names, nw.Series) else names


def to_polars(frame: Any) -> pl.DataFrame:
    """Convert any data frame to Polars. Unlike `polars.from_pandas`, this does not need PyArrow."""
    import polars as pl

    table = nw.from_native(frame)
    eager = table.collect() if isinstance(table, nw.LazyFrame) else table
    if eager.implementation.is_polars():
        native: pl.DataFrame = eager.to_native()
        return native
    return pl.DataFrame({str(name): polars_column(eager.get_column(name)) for name in eager.columns})


def polars_column(series: Series) -> pl.Series:
    """Convert a column to Polars; values of mixed types become text."""
    import polars as pl

    if series.implementation.is_polars() or series.implementation.is_pyarrow():
        return pl.Series(series.name, plain_values(series).to_native())
    empty = series.is_null().to_numpy()
    if (series.dtype.is_numeric() or series.dtype == nw.Boolean) and not empty.any():
        return pl.Series(str(series.name), series.to_numpy())
    values = [None if gone else value for value, gone in zip(series.to_list(), empty.tolist(), strict=True)]
    return polars_series(values).alias(str(series.name))


def plain_values(series: Series) -> Series:
    """Decode dictionary arrays of PyArrow, which Polars would convert to text."""
    native = series.to_native()
    if not series.implementation.is_pyarrow() or not str(native.type).startswith("dictionary"):
        return series
    return _wrap(native.cast(native.type.value_type)).alias(series.name)


def indexable(series: Series) -> Series:
    """Convert string views of PyArrow, which cannot be indexed, to plain strings."""
    native = series.to_native()
    if not series.implementation.is_pyarrow() or str(native.type) != "string_view":
        return series
    return _wrap(native.cast("large_string")).alias(series.name)


def _column(values: Any, kind: Kind) -> Any:
    if isinstance(values, nw.Series):
        return plain_rows(values).to_native() if values.implementation is kind else values.to_list()
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return values
    items = to_list(values) if isinstance(values, np.ndarray) else list(values)
    return polars_series(items) if kind.is_polars() else items


def polars_series(values: Sequence[Any]) -> pl.Series:
    """Return a Polars series; values of mixed types become text."""
    import polars as pl

    values = of_one_kind(values)
    try:
        return pl.Series(values, strict=True)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return pl.Series([None if value is None else str(value) for value in values])


def _hide(series: Series, known: np.ndarray[Any, np.dtype[np.bool_]]) -> Series:
    """Set the rows that are not known to null."""
    frame = nw.from_dict(
        {"name": _column(series, series.implementation), "known": known}, backend=series.implementation
    )
    return frame.select(nw.when(nw.col("known")).then(nw.col("name"))).get_column("name")


def _nullable(series: Series) -> Series:
    """Convert to a nullable dtype of pandas, so that integers do not become floats beside a null."""
    dtype = str(getattr(series.to_native(), "dtype", ""))
    if not series.implementation.is_pandas_like() or not dtype.startswith(("int", "uint", "bool")):
        return series
    twin = {"bool": "boolean"}.get(dtype, dtype.replace("int", "Int").replace("u", "U"))
    return series if "[" in dtype or dtype == twin else _wrap(series.to_native().astype(twin))


def _wrap(native: Any) -> Series:
    return nw.from_native(native, series_only=True)
