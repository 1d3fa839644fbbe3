"""Encode names as integer codes. Methods and kernels see codes only.

Two names are the same if they are written in the same way: 7, 7.0 and "7" are one name. Names of
one type keep it. If types are mixed, integers and whole floats become integers, and any other
mixture becomes text (see `of_one_kind`). Integers are never converted to float64, which cannot
represent all integers above 2^53.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, use
from finegold.kernels.compiling import in_threads

MISSING = -1
TEXT = (pl.String, pl.Categorical, pl.Enum)
INT32 = np.iinfo(np.int32)
# if integers span a larger multiple of their number, their codes are looked up and not counted
MAX_RANGE_PER_VALUE = 2
# NumPy's units for which Python has a type
PYTHON_TIME_UNITS = ("D", "h", "m", "s", "ms", "us")
# an integer as Python writes it: 7, not 007 or +7
INTEGER_PATTERN = r"^(0|-?[1-9][0-9]{0,37})$"
# Python's str.strip also removes \x1c to \x1f
NOT_BLANK = r"[^\s\x1c-\x1f]"

Codes = NDArray[np.int32]
ROWS_PER_RUN = 2**20


class Names:
    """Names in Polars: distinct ones in sorted order, or one for each row of a table."""

    # `backend` is the library of the user's own data frame, such as "pandas", so that tables for
    # the user are of that library; it is None if the names came from a file or an array.

    __slots__ = ("backend", "values")

    def __init__(self, values: Any, backend: str | None = None) -> None:
        if isinstance(values, Names):
            values, backend = values.values, values.backend
        self.values: pl.Series = values if isinstance(values, pl.Series) else series_of(values)
        self.backend = backend

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.to_list())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int | np.integer):
            return self.values[int(index)]
        if isinstance(index, np.ndarray) and index.dtype == bool:
            index = np.flatnonzero(index)
        return Names(self.values[index], self.backend)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        # which NumPy does not have
        if self.values.dtype in (pl.Int128, pl.UInt128):
            return np.array(self.values.to_list(), dtype or object)
        return np.array(self.values.to_numpy(), dtype)

    def __eq__(self, other: object) -> Any:
        """Compare name by name, as arrays do."""
        return np.asarray(self) == np.asarray(other)

    def __ne__(self, other: object) -> Any:
        return np.asarray(self) != np.asarray(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.values.to_list()) if len(self) <= 20 else repr(self.values)

    def to_list(self) -> list[Any]:
        return self.values.to_list()

    tolist = to_list

    def take(self, codes: Codes) -> Names:
        """Return the name of every code; null where the code is MISSING."""
        index = pl.Series(codes)
        return Names(self.values.gather(index.set(index == MISSING, None)), self.backend)

    def of(self, values: Sequence[Any]) -> Names:
        """Return other names, in the dtype of these if it can hold them all."""
        values = of_one_kind(values)
        with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            series = pl.Series(values, dtype=self.values.dtype, strict=True)
            # a dtype may change values that it cannot hold; 0, 0.0 and False are different
            kept = series.to_list()
            if kept == values and list(map(type, kept)) == list(map(type, values)):
                return Names(series, self.backend)
        return Names(series_of(values), self.backend)


# Values of one type


def series_of(values: Any) -> pl.Series:
    """Return values in Polars. Mixed types, and types that Polars does not have, become text."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "iubfU" and values.dtype.itemsize in (1, 2, 4, 8):
            return pl.Series(values.astype(values.dtype.newbyteorder("="), copy=False))
        values = to_values(values)
    items = of_one_kind(list(values))
    with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        series = pl.Series(items, strict=True)
        if series.dtype != pl.Object:
            return series
    texts = [
        None if _is_absent(item) else str(item).encode(errors="backslashreplace").decode()
        for item in items
    ]
    return pl.Series(texts, dtype=pl.String)


def of_one_kind(values: Sequence[Any]) -> list[Any]:
    """Return values of one type: unchanged if they have one type, integers if all are whole
    numbers, otherwise text. Missing values become None.
    """
    values = list(values)
    kinds = set(map(type, values)) - {type(None)}
    if any(issubclass(kind, np.generic) for kind in kinds):
        plain = (np.bool_, np.number, np.str_)
        values = [value.item() if isinstance(value, plain) else value for value in values]
        kinds = set(map(type, values)) - {type(None)}
    if len(kinds) <= 1:
        return values
    values = [None if _is_absent(value) else value for value in values]
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= {int, float} and all(value is None or _is_whole(value) for value in values):
        return [None if value is None else int(value) for value in values]
    return [value if value is None or len(kinds) == 1 else text_of(value) for value in values]


def text_of(name: Any) -> str:
    """Return a name as text: 7.0 is "7", and True is "true"."""
    if isinstance(name, float | np.floating | Decimal) and _is_whole(name):
        return str(int(name))
    return str(name).lower() if isinstance(name, bool | np.bool_) else str(name)


def as_text(values: pl.Series) -> pl.Series:
    """Return the values as a text file has them: 7.0 as 7, and bytes as the text that they are."""
    if values.dtype in TEXT or values.dtype.is_integer() or values.dtype == pl.Boolean:
        return values.cast(pl.String)
    if values.dtype == pl.Binary:
        try:
            return values.cast(pl.String)
        except pl.exceptions.ComputeError:
            raise InputError(
                f"the column {values.name} holds bytes that are not text; expected UTF-8"
            ) from None
    items = (values.fill_nan(None) if values.dtype.is_float() else values).to_list()
    texts = [None if item is None else text_of(item) for item in items]
    return pl.Series(values.name, texts, dtype=pl.String)


def to_values(column: NDArray[Any]) -> list[Any]:
    """Return plain Python values. Times with a resolution below one microsecond become text."""
    if column.dtype.kind == "M" and np.datetime_data(column.dtype)[0] not in PYTHON_TIME_UNITS:
        rough = column.astype("M8[us]")
        column = rough if (rough == column).all() else np.datetime_as_string(column)
    return list(column.tolist())


def to_list(names: Any) -> list[Any]:
    """Return plain Python values of names or of an array."""
    return list(names.to_list()) if hasattr(names, "to_list") else to_values(np.asarray(names))


def listed(items: Iterable[Any], most: int = 20, between: str = ", ") -> str:
    """Write "a, b, ..." with at most so many of the items."""
    texts = list(map(str, items))
    return between.join([*texts[:most], *(["..."] if len(texts) > most else [])])


def is_integer_text(name: Any) -> bool:
    return re.fullmatch(INTEGER_PATTERN[1:-1], text_of(name)) is not None


def as_integers(text: pl.Series) -> pl.Series | None:
    """Return text that holds only integers as such, or None."""
    if (
        text.dtype != pl.String
        or text.null_count() == len(text)
        or not text.str.contains(INTEGER_PATTERN).all()
    ):
        return None
    numbers = text.cast(pl.Int64, strict=False)
    # too long for 64 bits
    return numbers if numbers.null_count() == text.null_count() else None


def _is_whole(number: Any) -> bool:
    if isinstance(number, Decimal):
        return number.is_finite() and number == number.to_integral_value()
    return isinstance(number, int | np.integer) or bool(number.is_integer())


def _is_absent(item: object) -> bool:
    # NaN differs from itself
    return item is None or item != item


# Codes


@dataclass
class Coded:
    """A column as codes (MISSING for null) and the sorted names."""

    codes: Codes
    names: Names

    def take_codes(self) -> Codes:
        """Return the codes and forget them, so that their memory can be freed."""
        codes, self.codes = self.codes, self.codes[:0].copy()
        return codes

    def renamed(self, names: Names) -> Coded:
        """Return the column with these names for its own, several of which may be the same."""
        coded = encode(names)
        return Coded(renumber(self.codes, coded.codes), coded.names)

    def without(self, drop: NDArray[np.bool_]) -> Coded:
        """Return the column without some of its names, which become MISSING."""
        new = np.where(drop, MISSING, np.cumsum(~drop) - 1)
        return Coded(renumber(self.codes, new), self.names[np.flatnonzero(~drop)])


def encode(column: Names | pl.Series) -> Coded:
    """Encode a column: null and NaN are MISSING, and the names are sorted and keep their type."""
    column = column if isinstance(column, Names) else Names(column)
    values, backend = column.values, column.backend
    if values.dtype == pl.Object:
        values = series_of(values.to_list()).alias(values.name)
    if values.dtype.is_float():
        values = values.fill_nan(None)
    _refuse_lists(values)
    if values.dtype in TEXT:
        words = values.cast(pl.String).cast(pl.Categorical(pl.Categories.random()))
        return _of_categories(words, backend)
    if _is_plain(values) and (dense := _codes_of_integers(values.to_numpy())) is not None:
        return Coded(dense[0], Names(dense[1].alias(values.name), backend))
    names = values.drop_nulls().unique().sort()
    codes = values.rank("dense").cast(pl.Int32).fill_null(0).to_numpy() - np.int32(1)
    return Coded(codes, Names(names, backend))


def _refuse_lists(values: pl.Series) -> None:
    if not values.dtype.is_nested():
        return
    value = values.drop_nulls().to_list()[:1]
    problem = f'column "{values.name}" holds a {type(value[0]).__name__ if value else "list"}'
    remedies = [
        use("if lists are sets of labels", multi=True),
        use("if an annotation tool wrote the file", format=Placeholder("TOOL")),
    ]
    raise InputError(f"{problem}; expected text, numbers or booleans", remedies=remedies)


def _is_plain(values: pl.Series) -> bool:
    kind = values.dtype
    is_wide = kind in (pl.Int128, pl.UInt128)
    return kind.is_integer() and not is_wide and not values.null_count()


def encode_ids(column: Names | pl.Series, is_text: bool) -> Coded:
    """Encode ids. Blank ones are MISSING; if `is_text`, text of integers becomes integers."""
    column = column if isinstance(column, Names) else Names(column)
    if is_text and (numbers := as_integers(column.values)) is not None:
        column = Names(numbers.alias(column.values.name), column.backend)
    return _without_blanks(encode(column), is_text)


def _without_blanks(coded: Coded, is_text: bool) -> Coded:
    names = coded.names.values
    if names.dtype != pl.String:
        return coded
    is_blank = ~names.str.contains(NOT_BLANK)
    coded = coded.without(is_blank.to_numpy()) if is_blank.any() else coded
    return integer_names(coded) if is_text else coded


def _of_categories(words: pl.Series, backend: str | None = None) -> Coded:
    """Encode text by its categories, whose names are sorted."""
    codes = words.to_physical().cast(pl.Int32).fill_null(MISSING).to_numpy()
    every = pl.arange(int(codes.max(initial=MISSING)) + 1, dtype=pl.UInt32, eager=True)
    names = every.cat.to(words.dtype).cast(pl.String).alias(words.name)
    order = names.arg_sort().to_numpy()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return Coded(renumber(codes, rank), Names(names.gather(order), backend))


def _codes_of_integers(
    column: NDArray[Any], into: Codes | None = None
) -> tuple[Codes, pl.Series] | None:
    """Return codes and names of integers that are dense in their range, without sorting them;
    None for other values. Codes are written into `into`, which may be the column itself.
    """
    low, high = (int(column.min()), int(column.max())) if column.size else (0, MISSING)
    if high - low > MAX_RANGE_PER_VALUE * column.size + 1000 or high >= 2**63:
        return None
    # little memory beside the column
    runs = [slice(first, first + ROWS_PER_RUN) for first in range(0, column.size, ROWS_PER_RUN)]
    present = np.zeros(high - low + 1, dtype=bool)
    codes = np.empty(column.size, np.int32) if into is None else into

    def offset(run: slice) -> NDArray[np.int64]:
        return np.asarray(np.subtract(column[run], low, dtype=np.int64, casting="unsafe"))

    in_threads(lambda run: present.__setitem__(offset(run), True), runs)
    names = pl.Series((np.flatnonzero(present) + low).astype(column.dtype))
    code_of = np.cumsum(present, dtype=np.int32) - 1
    in_threads(lambda run: codes.__setitem__(run, code_of[offset(run)]), runs)
    return codes, names


def renumber(codes: Codes, new_code: NDArray[Any]) -> Codes:
    """Replace old codes by new ones; MISSING stays MISSING."""
    return np.append(new_code, MISSING).astype(np.int32)[codes]


def integer_names(coded: Coded) -> Coded:
    """Convert names from text to integers, in numerical order, if every name is an integer."""
    numbers = as_integers(coded.names.values)
    return coded if numbers is None else coded.renamed(Names(numbers, coded.names.backend))


def match(values: Any, names: Any) -> Codes:
    """Return the code of the name that is written like each value, or MISSING."""
    # The task 7 of a data frame matches "7" of a text file, but not "007"; "True" matches a boolean
    # as well as "true", because Python writes it that way.
    wanted, known = Names(values).values, Names(names).values
    if wanted.dtype.is_nested():
        raise InputError("a list cannot be a name; expected text, numbers or booleans")
    has_flags = pl.Boolean in (wanted.dtype, known.dtype)
    if wanted.dtype.is_integer() and known.dtype.is_integer():
        wanted, known = wanted.cast(pl.Int128), known.cast(pl.Int128)
    else:
        wanted, known = as_text(wanted), as_text(known)
    if has_flags:
        wanted, known = (
            side.replace({"True": "true", "False": "false"}) for side in (wanted, known)
        )
    table = pl.DataFrame({"name": known, "code": np.arange(len(known), dtype=np.int32)})
    rows = pl.DataFrame({"name": wanted.alias("name")})
    table = table.unique("name", keep="last")
    found = rows.join(table, on="name", how="left", maintain_order="left")
    codes: Codes = found["code"].fill_null(MISSING).to_numpy(writable=True)
    return codes


# Columns that come in batches


class Encoder:
    """Columns that come in batches, some of which are ids; only numbers and categories are kept."""

    # Ids in a text are taken for integers, in 32 bits where possible, until another value comes;
    # other texts become categories, which all batches share.

    def __init__(self, ids: Collection[str], is_text: bool, backend: str | None = None) -> None:
        self.ids, self.is_text, self.backend = ids, is_text, backend
        self.parts: dict[str, list[pl.Series]] = {}
        self.categories: dict[str, pl.Categorical] = {}
        # of the first batch
        self.types: dict[str, Any] = {}

    def add(self, batch: pl.DataFrame) -> None:
        for column in batch.iter_columns():
            name = column.name
            _refuse_lists(column)
            self.types.setdefault(name, column.dtype)
            if column.null_count() == len(column):
                column = pl.Series(name, [None], dtype=pl.Null).new_from_index(0, len(column))
            elif column.dtype in TEXT:
                column = column.cast(pl.String)
                numbers = as_integers(column) if self.is_text and name in self.ids else None
                if numbers is None:
                    kind = pl.Categorical(pl.Categories.random())
                    column = column.cast(self.categories.setdefault(name, kind))
                else:
                    column = numbers
            if column.dtype == pl.Int64:
                low, high = column.min(), column.max()
                is_short = INT32.min <= low and high <= INT32.max  # type: ignore[operator]  # integers
                self.types[name] = column.dtype
                column = column.cast(pl.Int32) if is_short else column
            self.parts.setdefault(name, []).append(column)

    def finish(self) -> dict[str, Coded]:
        """Return the columns as codes. Call this once, after the last batch."""
        coded = {}
        for name in list(self.parts):
            one = self._encode(name, self.parts.pop(name))
            if name in self.ids:
                one = _without_blanks(one, self.is_text or self.types[name] not in TEXT)
            coded[name] = Coded(one.codes, Names(one.names.values.alias(name), self.backend))
        return coded

    def _encode(self, name: str, parts: list[pl.Series]) -> Coded:
        """Encode a column that has come in parts, which are used up."""
        types, shared = {part.dtype for part in parts} - {pl.Null()}, self.categories.get(name)
        if shared or (len(types) > 1 and not all(each.is_integer() for each in types)):
            # numbers that came before a text, or other types that became text
            kind = shared or pl.Categorical(pl.Categories.random())
            words = [part if part.dtype == kind else as_text(part).cast(kind) for part in parts]
            return _of_categories(pl.concat(words))
        column: pl.Series
        if types == {pl.Int32()} and all(map(_is_plain, parts)):
            # parts are freed on the way, and the codes take the place of the integers
            whole, start = np.empty(sum(map(len, parts)), np.int32), 0
            parts.reverse()
            while parts:
                part = parts.pop()
                whole[start : start + len(part)] = part.to_numpy()
                start += len(part)
            if (dense := _codes_of_integers(whole, into=whole)) is not None:
                return Coded(dense[0], Names(dense[1].cast(self.types[name])))
            column = pl.Series(name, whole)
        else:
            frames = [part.to_frame() for part in parts]
            column = pl.concat(frames, how="vertical_relaxed").to_series()
        coded = encode(column)
        # what was shortened to 32 bits, or has no value
        kept = self.types[name] if types <= {pl.Int32()} else column.dtype
        return Coded(coded.codes, Names(coded.names.values.cast(kept)))
