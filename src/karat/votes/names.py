"""Columns of names -> codes into the sorted distinct names, which keep the column's own library and dtype."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.errors import InputError
from karat.kernels.lookup import first_rows
from karat.votes.encoding import MISSING, Codes, Names, encode, encode_integers, look_up, of_one_kind, rank_of, text_of
from karat.votes.frames import plain_rows, plain_values, polars_column, series_of, to_list

__all__ = [
    "Coded",
    "as_integers",
    "encode_column",
    "encode_series",
    "integer_names",
    "is_blank",
    "match",
    "text_of",
    "without",
    "without_blanks",
]

CANONICAL = r"^(0|-?[1-9][0-9]*)$"  # as Python writes an integer: 7, not 007 or +7

MANY = 100_000  # names that are too many for a dictionary of Python
NOT_BLANK = r"[^\s\x1c-\x1f]"  # these four are blank to Python, too


@dataclass(frozen=True)
class Coded:
    """A column as codes, MISSING where it is null, and the sorted names that the codes count."""

    codes: Codes
    names: Any  # a narwhals series

    def rows_of(self, code: int) -> NDArray[np.int64]:
        return np.flatnonzero(self.codes == code)


def encode_column(series: nw.Series[Any], is_text: bool) -> Coded:
    """A column of ids: null and blank are MISSING; in text, whole numbers become integers."""
    if is_text:
        series = _numbers_at_once(series)
    coded = encode_series(series)
    if not coded.names.dtype.is_numeric():
        coded = without_blanks(coded)
    return integer_names(coded) if is_text else coded


def encode_series(series: nw.Series[Any]) -> Coded:
    """The codes of a column. Names are picked from its own rows, so they come back as they went in."""
    present = ~_is_null(series)
    if present.all():
        return _encode_present(series)
    rows = np.flatnonzero(present)
    part = _encode_present(series[rows])
    codes = np.full(len(series), MISSING, dtype=np.int32)
    codes[rows] = part.codes
    return Coded(codes, part.names)


def without(coded: Coded, is_missing: Callable[[Any], bool]) -> Coded:
    """The same column, MISSING where the name is one of those to leave out."""
    keep = np.array([not is_missing(name) for name in to_list(coded.names)], dtype=bool)
    if keep.all():
        return coded
    return Coded(renumber(coded.codes, np.where(keep, np.cumsum(keep) - 1, MISSING)), coded.names[np.flatnonzero(keep)])


def without_blanks(coded: Coded) -> Coded:
    """MISSING where the name is blank. Millions of names are searched at once for one that may be."""
    native = coded.names.to_native()
    if isinstance(native, pl.Series) and native.dtype == pl.String and native.str.contains(NOT_BLANK).all():
        return coded
    return without(coded, is_blank)


def renumber(codes: Codes, new_code: NDArray[Any]) -> Codes:
    """New codes for old; MISSING stays MISSING."""
    return np.append(new_code, MISSING).astype(np.int32)[codes]


def integer_names(coded: Coded) -> Coded:
    """Names that were read as text become integers, in numerical order, if every one is an integer."""
    numbers = as_integers(coded.names.to_native())
    if numbers is None:
        return coded
    order = numbers.arg_sort().to_numpy()
    return Coded(renumber(coded.codes, rank_of(order)), nw.from_native(numbers.gather(order), series_only=True))


def is_blank(name: Any) -> bool:
    return isinstance(name, str) and not name.strip()


def match(values: Iterable[Any], names: Names) -> Codes:
    """The code of each value among the names, MISSING where there is none, by how it is written.

    So the task 7 of a data frame is found by the "7" of a text file, but 7 never by "007".
    """
    values = list(values)
    if len(names) >= MANY and (found := _match_many(values, names)) is not None:
        return found
    try:
        set(values)
    except TypeError as error:  # a list or a dict is no name
        raise InputError(f"{error}; expected text, numbers or truth values") from None
    return look_up(values, names)


def _match_many(values: list[Any], names: Names) -> Codes | None:
    """The same by a join, where names and values are all text or all integers: objects of Python would not fit."""
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
    codes = wanted.join(known, on="name", how="left", maintain_order="left").get_column("code")
    found: Codes = codes.fill_null(MISSING).to_numpy()
    return found


def is_integer_text(name: Any) -> bool:
    return re.fullmatch(CANONICAL[1:-1], text_of(name)) is not None


def _encode_present(series: nw.Series[Any]) -> Coded:
    series = _of_one_kind(series)
    codes = _codes(series)
    size = int(codes.max()) + 1 if len(codes) else 0
    rows = np.empty(size, dtype=np.int64)
    first_rows(codes, rows)
    return Coded(codes, plain_rows(series[rows]))


def _of_one_kind(series: nw.Series[Any]) -> nw.Series[Any]:
    """A column of Python objects may hold values of several kinds."""
    if series.dtype != nw.Object:
        return series
    values = series.to_list()
    unified = of_one_kind(values)
    return series if unified == values else series_of(unified, series.implementation).alias(series.name)


def _codes(series: nw.Series[Any]) -> Codes:
    series = plain_values(series)
    dtype = series.dtype
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        return encode_integers(series.to_numpy())[0]
    if dtype == nw.Boolean or dtype.is_float():
        return encode(series.to_numpy())[0]
    text = _as_text(series)
    return _codes_of_text(text) if text is not None else _codes_of_objects(series)


def _codes_of_text(text: pl.Series) -> Codes:
    """An Enum of the sorted names counts them in that order."""
    names = text.unique()
    names = names.sort(multithreaded=len(names) > MANY)
    codes: Codes = text.cast(pl.Enum(names)).to_physical().cast(pl.Int32).to_numpy()
    return codes


def _codes_of_objects(series: nw.Series[Any]) -> Codes:
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    try:
        return encode(values)[0]
    except TypeError:  # a list or a dict has no place in a vocabulary
        kind = type(
            next(value for value in values if not hasattr(value, "__hash__") or value.__hash__ is None)
        ).__name__
        raise InputError(
            f'column "{series.name}" holds a {kind}; expected text, numbers or truth values (an export of a tool that '
            "is not recognised is read with --format TOOL)"
        ) from None


def _as_text(series: nw.Series[Any]) -> pl.Series | None:
    """The column as Polars text, or None if it holds anything else."""
    if series.dtype not in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return None
    if series.implementation.is_polars() or series.implementation.is_pyarrow():
        column = polars_column(series)
        return column.cast(pl.String) if column.dtype in (pl.String, pl.Categorical, pl.Enum) else None
    if series.dtype == nw.String and (text := _through_arrow(series.to_native())) is not None:
        return text
    try:
        return pl.Series(series.to_list(), dtype=pl.String, strict=True)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return None


def _through_arrow(native: Any) -> pl.Series | None:
    """Text without making objects of Python, where the library can hand it over so."""
    try:
        column = pl.Series(native)
    except Exception:  # pandas needs pyarrow for it, and its absence shows in many ways
        return None
    return column if column.dtype == pl.String and column.null_count() == 0 else None


def _is_null(series: nw.Series[Any]) -> NDArray[np.bool_]:
    null = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_float():
        null = null | np.isnan(np.asarray(series.to_numpy(), dtype=np.float64))
    return null


def _numbers_at_once(series: nw.Series[Any]) -> nw.Series[Any]:
    """Millions of integers are faster to count as numbers than to look up as text."""
    numbers = as_integers(series.to_native())
    return series if numbers is None else nw.from_native(numbers, series_only=True)


def as_integers(text: pl.Series) -> pl.Series | None:
    if text.dtype != pl.String or text.null_count() == len(text) or not text.str.contains(CANONICAL).all():
        return None
    numbers = text.cast(pl.Int64, strict=False)
    return numbers if numbers.null_count() == text.null_count() else None  # too long for 64 bits
