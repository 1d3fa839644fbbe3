"""Encode columns of names. The sorted distinct names keep the dtype of the column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

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
    rank_of,
    series_of,
    text_of,
)

INTEGER_PATTERN = r"^(0|-?[1-9][0-9]*)$"  # an integer as Python writes it: 7, not 007 or +7

MIN_NAMES_FOR_JOIN = 100_000  # from this number of names on, Polars joins replace Python dictionaries
NOT_BLANK = r"[^\s\x1c-\x1f]"  # Python's str.strip also removes \x1c to \x1f


@dataclass(frozen=True)
class Coded:
    """A column as codes (MISSING for null) and the sorted names."""

    codes: Codes
    names: Names

    def rows_of(self, code: int) -> NDArray[np.int64]:
        return np.flatnonzero(self.codes == code)


def encode_column(column: Names, is_text: bool) -> Coded:
    """Encode a column of ids. Null and blank are MISSING; text that holds only integers becomes integers."""
    if is_text and (numbers := as_integers(column.values)) is not None:  # they are encoded faster than text
        column = Names(numbers)
    coded = encode_series(column)
    if not coded.names.values.dtype.is_numeric():
        coded = without_blanks(coded)
    return integer_names(coded) if is_text else coded


def encode_series(column: Names) -> Coded:
    """Encode a column. The names are rows of the column, so they keep their type."""
    values = column.values
    if values.dtype == pl.Object:
        values = series_of(values.to_list()).alias(values.name)
    is_null = values.is_null() | values.is_nan() if values.dtype.is_float() else values.is_null()
    if not is_null.any():
        codes = _codes(values)
        return Coded(codes, Names(values.gather(first_rows(codes, int(codes.max(initial=-1)) + 1)), column.like))
    rows = np.flatnonzero(~is_null.to_numpy())
    coded = encode_series(Names(values.gather(rows), column.like))
    codes = np.full(len(values), MISSING, dtype=np.int32)
    codes[rows] = coded.codes
    return Coded(codes, coded.names)


def without(coded: Coded, is_missing: Callable[[Any], bool]) -> Coded:
    """Set the names for which `is_missing` is true to MISSING."""
    keep = np.array([not is_missing(name) for name in coded.names], dtype=bool)
    if keep.all():
        return coded
    return Coded(renumber(coded.codes, np.where(keep, np.cumsum(keep) - 1, MISSING)), coded.names[np.flatnonzero(keep)])


def without_blanks(coded: Coded) -> Coded:
    """Set blank names to MISSING. Text in Polars is checked at once, without Python objects."""
    names = coded.names.values
    if names.dtype == pl.String and names.str.contains(NOT_BLANK).all():
        return coded
    return without(coded, is_blank)


def renumber(codes: Codes, new_code: NDArray[Any]) -> Codes:
    """Replace old codes by new ones; MISSING stays MISSING."""
    return np.append(new_code, MISSING).astype(np.int32)[codes]


def integer_names(coded: Coded) -> Coded:
    """Convert names from text to integers, in numerical order, if every name is an integer."""
    numbers = as_integers(coded.names.values)
    if numbers is None:
        return coded
    order = numbers.arg_sort().to_numpy()
    return Coded(renumber(coded.codes, rank_of(order)), Names(numbers.gather(order)))


def is_blank(name: Any) -> bool:
    return isinstance(name, str) and not name.strip()


def match(values: Iterable[Any], names: Names | NDArray[Any]) -> Codes:
    """Return the code of the name that is written like each value, or MISSING.

    The task 7 of a data frame matches "7" of a text file, but not "007".
    """
    values = list(values)
    if not values:
        return np.empty(0, dtype=np.int32)
    codes = _match_many(values, names.values) if len(names) >= MIN_NAMES_FOR_JOIN and isinstance(names, Names) else None
    if codes is not None:
        return codes
    try:
        set(values)
    except TypeError as error:  # a list or a dict cannot be a name
        raise InputError(f"{error}; expected text, numbers or booleans") from None
    return look_up(values, names)


def _match_many(values: list[Any], names: pl.Series) -> Codes | None:
    """Match by a join, which needs less memory; None unless names and values are all text or all integers."""
    kinds = {type(value) for value in values}
    dtype = names.dtype
    if kinds != {str} if dtype == pl.String else kinds != {int} or not dtype.is_integer():
        return None
    try:
        wanted = pl.DataFrame({"name": pl.Series(values, dtype=pl.String if kinds == {str} else pl.Int128)})
    except OverflowError:
        return None
    known = pl.DataFrame({"name": names.cast(wanted.schema["name"]), "code": np.arange(len(names), dtype=np.int32)})
    found = wanted.with_row_index("row").join(known, on="name")  # an inner join makes its table of the shorter side
    codes = np.full(len(values), MISSING, dtype=np.int32)
    codes[found.get_column("row").to_numpy()] = found.get_column("code").to_numpy()
    return codes


def is_integer_text(name: Any) -> bool:
    return re.fullmatch(INTEGER_PATTERN[1:-1], text_of(name)) is not None


def _codes(column: pl.Series) -> Codes:
    """Return the code of each value; text by the physical values of a Polars Enum of the sorted names."""
    dtype = column.dtype
    if dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128):
        return encode_integers(column.to_numpy())[0]
    if dtype == pl.Boolean or dtype.is_float():
        return encode(column.to_numpy())[0]
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        text = column.cast(pl.String)
        names = text.unique()
        names = names.sort(multithreaded=len(names) > MIN_NAMES_FOR_JOIN)
        codes: Codes = text.cast(pl.Enum(names)).to_physical().cast(pl.Int32).to_numpy()
        return codes
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_list()
    try:
        return encode(values)[0]
    except TypeError:  # a list or a dict cannot be a name
        kind = type(next(value for value in values if getattr(value, "__hash__", None) is None)).__name__
        problem = f'column "{column.name}" holds a {kind}; expected text, numbers or booleans'
        remedy = use("if an annotation tool wrote the file", format=Placeholder("TOOL"), text="to name the tool")
        raise InputError(problem, remedies=[remedy]) from None


def as_integers(text: pl.Series) -> pl.Series | None:
    """Return text that holds only integers as such, or None."""
    if text.dtype != pl.String or text.null_count() == len(text) or not text.str.contains(INTEGER_PATTERN).all():
        return None
    numbers = text.cast(pl.Int64, strict=False)
    return numbers if numbers.null_count() == text.null_count() else None  # too long for 64 bits
