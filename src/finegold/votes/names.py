"""Encode columns of names. The sorted distinct names keep the library and the dtype of the column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, use
from finegold.kernels.sort_votes import first_rows
from finegold.votes.encoding import (
    MISSING,
    Codes,
    Names,
    encode,
    encode_integers,
    look_up,
    of_one_kind,
    rank_of,
    text_of,
    to_list,
)
from finegold.votes.frames import plain_rows, plain_values, polars_column, series_of

INTEGER_PATTERN = r"^(0|-?[1-9][0-9]*)$"  # an integer as Python writes it: 7, not 007 or +7

MIN_NAMES_FOR_JOIN = 100_000  # from this number of names on, Polars joins replace Python dictionaries
NOT_BLANK = r"[^\s\x1c-\x1f]"  # Python's str.strip also removes \x1c to \x1f


@dataclass(frozen=True)
class Coded:
    """A column as codes (MISSING for null) and the sorted names."""

    codes: Codes
    names: Any  # a narwhals series

    def rows_of(self, code: int) -> NDArray[np.int64]:
        return np.flatnonzero(self.codes == code)


def encode_column(series: nw.Series[Any], is_text: bool) -> Coded:
    """Encode a column of ids. Null and blank are MISSING; text that holds only integers becomes integers."""
    if is_text and (numbers := as_integers(series.to_native())) is not None:  # they are encoded faster than text
        series = nw.from_native(numbers, series_only=True)
    coded = encode_series(series)
    if not coded.names.dtype.is_numeric():
        coded = without_blanks(coded)
    return integer_names(coded) if is_text else coded


def encode_series(series: nw.Series[Any]) -> Coded:
    """Encode a column. The names are rows of the column, so they keep their type."""
    n_rows, null = len(series), np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_float():
        null = null | np.isnan(np.asarray(series.to_numpy(), dtype=np.float64))
    rows = np.flatnonzero(~null) if null.any() else None
    if rows is not None:
        series = series[rows]
    if series.dtype == nw.Object:  # Python objects become values of one type
        values = series.to_list()
        if (unified := of_one_kind(values)) != values:
            series = series_of(unified, series.implementation).alias(series.name)
    present = _codes(series)
    names = plain_rows(series[first_rows(present, int(present.max()) + 1 if len(present) else 0)])
    if rows is None:
        return Coded(present, names)
    codes = np.full(n_rows, MISSING, dtype=np.int32)
    codes[rows] = present
    return Coded(codes, names)


def without(coded: Coded, is_missing: Callable[[Any], bool]) -> Coded:
    """Set the names for which `is_missing` is true to MISSING."""
    keep = np.array([not is_missing(name) for name in to_list(coded.names)], dtype=bool)
    if keep.all():
        return coded
    return Coded(renumber(coded.codes, np.where(keep, np.cumsum(keep) - 1, MISSING)), coded.names[np.flatnonzero(keep)])


def without_blanks(coded: Coded) -> Coded:
    """Set blank names to MISSING. Text in Polars is checked at once, without Python objects."""
    native = coded.names.to_native()
    if isinstance(native, pl.Series) and native.dtype == pl.String and native.str.contains(NOT_BLANK).all():
        return coded
    return without(coded, is_blank)


def renumber(codes: Codes, new_code: NDArray[Any]) -> Codes:
    """Replace old codes by new ones; MISSING stays MISSING."""
    return np.append(new_code, MISSING).astype(np.int32)[codes]


def integer_names(coded: Coded) -> Coded:
    """Convert names from text to integers, in numerical order, if every name is an integer."""
    numbers = as_integers(coded.names.to_native())
    if numbers is None:
        return coded
    order = numbers.arg_sort().to_numpy()
    return Coded(renumber(coded.codes, rank_of(order)), nw.from_native(numbers.gather(order), series_only=True))


def is_blank(name: Any) -> bool:
    return isinstance(name, str) and not name.strip()


def match(values: Iterable[Any], names: Names) -> Codes:
    """Return the code of the name that is written like each value, or MISSING.

    The task 7 of a data frame matches "7" of a text file, but not "007".
    """
    values = list(values)
    if not values:
        return np.empty(0, dtype=np.int32)
    if len(names) >= MIN_NAMES_FOR_JOIN and (found := _match_many(values, names)) is not None:
        return found
    try:
        set(values)
    except TypeError as error:  # a list or a dict cannot be a name
        raise InputError(f"{error}; expected text, numbers or booleans") from None
    return look_up(values, names)


def _match_many(values: list[Any], names: Names) -> Codes | None:
    """Match by a join, which needs less memory; None unless names and values are all text or all integers."""
    kinds = {type(value) for value in values}
    native = names.to_native() if isinstance(names, nw.Series) else None
    if not isinstance(native, pl.Series) or kinds not in ({str}, {int}):
        return None
    if (native.dtype == pl.String) != (kinds == {str}) or not (native.dtype == pl.String or native.dtype.is_integer()):
        return None
    try:
        wanted = pl.DataFrame({"name": pl.Series(values, dtype=pl.String if kinds == {str} else pl.Int128)})
    except OverflowError:
        return None
    known = pl.DataFrame({"name": native.cast(wanted.schema["name"]), "code": np.arange(len(native), dtype=np.int32)})
    found = wanted.with_row_index("row").join(known, on="name")  # an inner join makes its table of the shorter side
    codes = np.full(len(values), MISSING, dtype=np.int32)
    codes[found.get_column("row").to_numpy()] = found.get_column("code").to_numpy()
    return codes


def is_integer_text(name: Any) -> bool:
    return re.fullmatch(INTEGER_PATTERN[1:-1], text_of(name)) is not None


def _codes(series: nw.Series[Any]) -> Codes:
    """Return the code of each value; text by the physical values of a Polars Enum of the sorted names."""
    series = plain_values(series)
    dtype = series.dtype
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        return encode_integers(series.to_numpy())[0]
    if dtype == nw.Boolean or dtype.is_float():
        return encode(series.to_numpy())[0]
    if (text := _as_text(series)) is not None:
        names = text.unique()
        names = names.sort(multithreaded=len(names) > MIN_NAMES_FOR_JOIN)
        codes: Codes = text.cast(pl.Enum(names)).to_physical().cast(pl.Int32).to_numpy()
        return codes
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    try:
        return encode(values)[0]
    except TypeError:  # a list or a dict cannot be a name
        kind = type(next(value for value in values if getattr(value, "__hash__", None) is None)).__name__
        problem = f'column "{series.name}" holds a {kind}; expected text, numbers or booleans'
        remedy = use("if an annotation tool wrote the file", format=Placeholder("TOOL"), text="to name the tool")
        raise InputError(problem, remedies=[remedy]) from None


def _as_text(series: nw.Series[Any]) -> pl.Series | None:
    """Return the column as Polars text, or None if it holds anything else."""
    if series.dtype not in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return None
    if series.implementation.is_polars() or series.implementation.is_pyarrow():
        column = polars_column(series)
        return column.cast(pl.String) if column.dtype in (pl.String, pl.Categorical, pl.Enum) else None
    if series.dtype == nw.String:
        with suppress(Exception):  # pandas needs PyArrow for this; without it, several exceptions are possible
            text = pl.Series(series.to_native())  # through Arrow, without Python objects
            if text.dtype == pl.String and text.null_count() == 0:
                return text
    try:
        return pl.Series(series.to_list(), dtype=pl.String, strict=True)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return None


def as_integers(text: pl.Series) -> pl.Series | None:
    """Return text that holds only integers as such, or None."""
    if text.dtype != pl.String or text.null_count() == len(text) or not text.str.contains(INTEGER_PATTERN).all():
        return None
    numbers = text.cast(pl.Int64, strict=False)
    return numbers if numbers.null_count() == text.null_count() else None  # too long for 64 bits
