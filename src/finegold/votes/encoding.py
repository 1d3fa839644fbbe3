"""Encode names as integer codes. Methods and kernels see codes only.

Two names are the same if they are written in the same way: 7, 7.0 and "7" are one name. Names of
one type keep it. If types are mixed, integers and whole floats become integers, and any other
mixture becomes text (see `of_one_kind`). Integers are never converted to float64, which cannot
represent all integers above 2^53.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from finegold.errors import InputError, Placeholder, use
from finegold.kernels import sort_votes
from finegold.kernels.jit import in_threads, ranges

MISSING = -1
TEXT = (pl.String, pl.Categorical, pl.Enum)
INT32 = np.iinfo(np.int32)
# if the range is larger than this multiple of the count, values are hashed
MAX_RANGE_PER_VALUE = 2
# NumPy's units for which Python has a type
PYTHON_TIME_UNITS = ("D", "h", "m", "s", "ms", "us")
SCALARS = (
    (bool, np.bool_),
    (int, np.integer),
    (float, np.floating),
    (str, np.str_),
    (datetime, datetime),
)
# the hash table starts with 2**12 entries
INITIAL_TABLE_BITS = 12
# an integer as Python writes it: 7, not 007 or +7
INTEGER_PATTERN = r"^(0|-?[1-9][0-9]{0,37})$"
# from this number of names on, Polars joins replace Python dictionaries
MIN_NAMES_FOR_JOIN = 100_000
# Python's str.strip also removes \x1c to \x1f
NOT_BLANK = r"[^\s\x1c-\x1f]"

Codes = NDArray[np.int32]


class Names:
    """Names in Polars: distinct ones in sorted order, or one for each row of a table."""

    # `like` is an empty column of the user's own data frame, so that tables for the user hold names
    # as they came in; it is None if they came in Polars or as an array.

    __slots__ = ("like", "values")

    def __init__(self, values: Any, like: Any = None) -> None:
        if isinstance(values, Names):
            values, like = values.values, values.like
        self.values: pl.Series = values if isinstance(values, pl.Series) else series_of(values)
        self.like = like

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.to_list())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int | np.integer):
            return self.values[int(index)]
        if isinstance(index, np.ndarray) and index.dtype == bool:
            index = np.flatnonzero(index)
        return Names(self.values[index], self.like)

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
        return Names(self.values.gather(index.set(index == MISSING, None)), self.like)

    def of(self, values: Sequence[Any]) -> Names:
        """Return other names, in the dtype of these if it can hold them all."""
        values = of_one_kind(values)
        with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            series = pl.Series(values, dtype=self.values.dtype, strict=True)
            # a dtype may change values that it cannot hold; 0, 0.0 and False are different
            kept = series.to_list()
            if kept == values and list(map(type, kept)) == list(map(type, values)):
                return Names(series, self.like)
        return Names(series_of(values), self.like)


def series_of(values: Any) -> pl.Series:
    """Return values in Polars. Mixed types, and types that Polars does not have, become text."""
    if (
        isinstance(values, np.ndarray)
        and values.dtype.kind in "iubfU"
        and values.dtype.itemsize in (1, 2, 4, 8)
    ):
        return pl.Series(values.astype(values.dtype.newbyteorder("="), copy=False))
    items = of_one_kind(to_values(values) if isinstance(values, np.ndarray) else list(values))
    with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        series = pl.Series(items, strict=True)
        if series.dtype != pl.Object:
            return series
    texts = [
        None if _absent(item) else str(item).encode(errors="backslashreplace").decode()
        for item in items
    ]
    return pl.Series(texts, dtype=pl.String)


def as_column(values: ArrayLike) -> NDArray[Any]:
    """Return a one-dimensional array that keeps the types of the values."""
    # NumPy alone would turn [1, "a"] into text, [1, 0.5] into floats and [True, 2] into integers,
    # and would drop trailing NULs of text.
    if isinstance(values, list) and set(map(type, values)) == {str}:
        # NumPy would make room for the longest text in every row first
        return _objects(values)
    column = np.asarray(values)
    if column.ndim != 1 or hasattr(values, "dtype"):
        return column.reshape(-1)
    items = list(values)  # type: ignore[arg-type]  # a sequence, or there would be no dimension
    # did NumPy keep them?
    kinds = kinds_of(items)
    is_kept = (
        len(kinds) <= 1
        and column.dtype.kind != "U"
        and not (kinds == {int} and column.dtype.kind == "f")
    )
    return column if is_kept else _objects(items)


def of_one_kind(values: Sequence[Any]) -> list[Any]:
    """Return values of one type: unchanged if they have one type, integers if all are whole
    numbers, otherwise text.
    """
    # Missing values become None.
    values = list(values)
    if len(kinds_of(values)) <= 1:
        return values
    present = [None if _absent(value) else value for value in values]
    kinds = kinds_of(present)
    if kinds <= {int, float} and all(value is None or _is_whole(value) for value in present):
        return [None if value is None else int(value) for value in present]
    return [value if value is None or len(kinds) == 1 else text_of(value) for value in present]


def text_of(name: Any) -> str:
    """Return a name as text: 7.0 is "7", and True is "true"."""
    if isinstance(name, float | np.floating | Decimal) and _is_whole(name):
        return str(int(name))
    return str(name).lower() if isinstance(name, bool | np.bool_) else str(name)


def _is_whole(number: Any) -> bool:
    if isinstance(number, Decimal):
        return number.is_finite() and number == number.to_integral_value()
    return isinstance(number, int | np.integer) or bool(number.is_integer())


def to_values(column: NDArray[Any]) -> list[Any]:
    """Return plain Python values. Times with a resolution below one microsecond become text."""
    if column.dtype.kind == "M" and np.datetime_data(column.dtype)[0] not in PYTHON_TIME_UNITS:
        rough = column.astype("M8[us]")
        column = rough if (rough == column).all() else np.datetime_as_string(column)
    values: list[Any] = column.tolist()
    return values


def to_list(names: Any) -> list[Any]:
    """Return plain Python values of names or of an array."""
    return list(names.to_list()) if hasattr(names, "to_list") else to_values(np.asarray(names))


def encode(values: ArrayLike) -> tuple[Codes, NDArray[Any]]:
    """Return the code of each value and the sorted distinct names. None, NaN and NaT have the code
    MISSING.
    """
    column = as_column(values)
    if column.dtype.kind in "iub":
        return encode_integers(column)
    # numbers are sorted by value, even if they became text
    if column.dtype.kind == "O":
        objects = column.tolist()
        items = of_one_kind(objects)
        distinct = {
            item: value for item, value in zip(items, objects, strict=True) if not _absent(item)
        }
        try:
            ordered = sorted(distinct, key=lambda item: distinct[item])
        except TypeError:
            # mixed types, or a type without an order
            ordered = sorted(distinct, key=text_of)
        code_of = {name: code for code, name in enumerate(ordered)}
        return np.array([code_of.get(item, MISSING) for item in items], dtype=np.int32), _objects(
            ordered
        )
    missing = np.zeros(column.size, dtype=bool)
    if column.dtype.kind in "fmM":
        # NaN and NaT differ from themselves
        missing = np.asarray(column != column)
    names, inverse = np.unique(column[~missing], return_inverse=True)
    codes = np.full(column.size, MISSING, dtype=np.int32)
    codes[~missing] = inverse
    return codes, names


def encode_integers(column: NDArray[Any], into: Codes | None = None) -> tuple[Codes, NDArray[Any]]:
    """Encode integers without sorting. Values that already are codes are returned unchanged."""
    # Many codes are written to `into`, if it is given, which may be the column itself.
    if column.size == 0:
        return np.empty(0, np.int32), column
    if column.dtype.kind == "b":
        names, inverse = np.unique(column, return_inverse=True)
        return inverse.astype(np.int32), names
    if column.size <= sort_votes.MAX_VOTES:
        names, inverse = np.unique(column, return_inverse=True)
        return (column if _are_codes(column, names) else inverse.astype(np.int32)), names
    low, high = int(column.min()), int(column.max())
    # kernels are compiled for both
    kind: Any = np.int32 if np.can_cast(column.dtype, np.int32) else np.int64
    signed: Any = column.astype(kind, copy=False)
    # a hash table has the names in the order of appearance
    if high - low > MAX_RANGE_PER_VALUE * column.size + 1000:
        codes = np.empty(column.size, np.int32) if into is None else into
        row, bits, n = 0, INITIAL_TABLE_BITS, 0
        hashed, table = (
            np.empty(2 ** (bits - 1), np.int64),
            np.full(2**bits, sort_votes.EMPTY, np.int32),
        )
        while row < column.size:
            row, n = sort_votes.add_names(signed, row, table, hashed, n, 64 - bits, codes)
            if n == len(hashed):
                bits += 1
                hashed, table = (
                    np.append(hashed, hashed),
                    np.full(2**bits, sort_votes.EMPTY, np.int32),
                )
                sort_votes.refill(table, hashed, n, 64 - bits)
        names = hashed[:n].view(np.uint64).astype(column.dtype)
        order = np.argsort(names)
        sort_votes.renumber(codes, rank_of(order))
        return codes, names[order]
    present = np.zeros(high - low + 1, dtype=bool)
    # sums and differences modulo 2^64 are right for signed and unsigned integers
    lowest = np.uint64(low % 2**64)
    base = int(lowest.view(np.int64))
    runs = [slice(*run) for run in ranges(column.size)]
    in_threads(lambda run: sort_votes.mark(signed[run], base, present), runs)
    names = (np.flatnonzero(present).view(np.uint64) + lowest).astype(column.dtype)
    if _are_codes(column, names):
        return column, names
    codes = np.empty(column.size, np.int32) if into is None else into
    code_of = np.cumsum(present, dtype=np.int32) - np.int32(1)
    in_threads(lambda run: sort_votes.codes_in_range(signed[run], base, code_of, codes[run]), runs)
    return codes, names


def _are_codes(column: NDArray[Any], names: NDArray[Any]) -> bool:
    return bool(column.dtype == np.int32 and names[0] == 0 and names[-1] == len(names) - 1)


def rank_of(order: NDArray[Any]) -> Codes:
    """Return the inverse of a permutation."""
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank


def encode_labels(
    labels: NDArray[Any], truths: list[Any], classes: Sequence[Any] | None
) -> tuple[Codes, NDArray[Any]]:
    """Encode the labels, followed by the gold truths, with one list of classes."""
    if classes is None and not truths:
        return encode(labels)
    known = as_column(truths) if truths else labels[:0]
    if labels.dtype.kind == known.dtype.kind:
        both = np.concatenate([labels, known])
    else:
        # NumPy would turn 1 into "1" here
        both = as_column([*to_values(labels), *to_values(known)])
    if classes is None:
        return encode(both)
    given = as_column(list(classes))
    present, names = encode(both)
    codes = look_up(names, given)
    if (codes == MISSING).any():
        unknown = names[codes == MISSING].tolist()[0]
        raise InputError(f"label {unknown!r} is not among the given classes {given.tolist()}")
    return np.append(codes, np.int32(MISSING))[present], given


def look_up(values: ArrayLike, names: Names | NDArray[Any]) -> Codes:
    """Return the code of the name that is written like each value, or MISSING."""
    # "True" matches a boolean name as well as "true", because Python writes it that way.
    wanted = to_values(as_column(values))
    known = to_list(names)
    if kinds_of(wanted) == kinds_of(known) and len(kinds_of(known)) == 1:
        codes = {name: code for code, name in enumerate(known)}
        return np.array([codes.get(value, MISSING) for value in wanted], dtype=np.int32)
    written = {str(name): code for code, name in enumerate(known) if isinstance(name, bool)}
    written |= {text_of(name): code for code, name in enumerate(known)}
    found = [written.get(text_of(value), written.get(str(value), MISSING)) for value in wanted]
    return np.array(found, dtype=np.int32)


def _objects(values: list[Any]) -> NDArray[Any]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def kinds_of(values: Sequence[Any]) -> set[type]:
    """Return the types of the values, without that of None. NumPy scalars count as Python scalars."""
    found = set(map(type, values)) - {type(None)}
    return {next((pair[0] for pair in SCALARS if issubclass(kind, pair)), kind) for kind in found}


def _absent(item: object) -> bool:
    # NaN differs from itself
    return item is None or item != item


# Columns of names


@dataclass
class Coded:
    """A column as codes (MISSING for null) and the sorted names."""

    codes: Codes
    names: Names

    def take_codes(self) -> Codes:
        """Return the codes and forget them, so that their memory is freed as soon as nobody else
        needs it.
        """
        codes, self.codes = self.codes, self.codes[:0].copy()
        return codes


def encode_column(column: Names, is_text: bool) -> Coded:
    """Encode a column of ids. Null and blank are MISSING; text that holds only integers becomes
    integers.
    """
    # they are encoded faster than text
    if is_text and (numbers := as_integers(column.values)) is not None:
        column = Names(numbers)
    coded = encode_series(column)
    if coded.names.values.dtype.is_numeric():
        return coded
    return _without_blank_ids(coded, is_text)


def _without_blank_ids(coded: Coded, is_text: bool) -> Coded:
    """Blank names become MISSING. Where there were some, the others of a text may all be integers."""
    named = without_blanks(coded)
    return integer_names(named) if is_text and named is not coded else named


def encode_series(column: Names) -> Coded:
    """Encode a column. The names are rows of the column, so they keep their type."""
    values = column.values
    if values.dtype == pl.Object:
        values = series_of(values.to_list()).alias(values.name)
    is_null = values.is_null() | values.is_nan() if values.dtype.is_float() else values.is_null()
    if not is_null.any():
        codes = _codes(values)
        return Coded(
            codes,
            Names(
                values.gather(sort_votes.first_rows(codes, int(codes.max(initial=-1)) + 1)),
                column.like,
            ),
        )
    rows = np.flatnonzero(~is_null.to_numpy())
    coded = encode_series(Names(values.gather(rows), column.like))
    codes = np.full(len(values), MISSING, dtype=np.int32)
    codes[rows] = coded.codes
    return Coded(codes, coded.names)


def with_names(coded: Coded, keep: NDArray[np.bool_]) -> Coded:
    """Return the column with these of its names; others become MISSING."""
    new = np.where(keep, np.cumsum(keep) - 1, MISSING)
    return Coded(renumber(coded.codes, new), coded.names[np.flatnonzero(keep)])


def without_blanks(coded: Coded) -> Coded:
    """Set blank names to MISSING. Text in Polars is checked at once, without Python objects."""
    names = coded.names.values
    if names.dtype == pl.String and names.str.contains(NOT_BLANK).all():
        return coded
    keep = np.array([not is_blank(name) for name in names.to_list()], dtype=bool)
    return coded if keep.all() else with_names(coded, keep)


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
    """Return the code of the name that is written like each value, or MISSING."""
    # The task 7 of a data frame matches "7" of a text file, but not "007".
    values = list(values)
    if not values:
        return np.empty(0, dtype=np.int32)
    # if all are text or all integers, by a join
    if len(names) >= MIN_NAMES_FOR_JOIN and isinstance(names, Names):
        kinds, dtype = set(map(type, values)), names.values.dtype
        if kinds == {str} if dtype == pl.String else kinds == {int} and dtype.is_integer():
            with suppress(OverflowError):
                wanted = pl.DataFrame(
                    {"name": pl.Series(values, dtype=pl.String if kinds == {str} else pl.Int128)}
                )
                numbers = np.arange(len(names), dtype=np.int32)
                known = pl.DataFrame(
                    {"name": names.values.cast(wanted.schema["name"]), "code": numbers}
                )
                # its table is made of the shorter side
                found = wanted.with_row_index("row").join(known, on="name")
                codes = np.full(len(values), MISSING, dtype=np.int32)
                codes[found.get_column("row").to_numpy()] = found.get_column("code").to_numpy()
                return codes
    try:
        set(values)
    except TypeError as error:
        # a list or a dict cannot be a name
        raise InputError(f"{error}; expected text, numbers or booleans") from None
    return look_up(values, names)


def is_integer_text(name: Any) -> bool:
    return re.fullmatch(INTEGER_PATTERN[1:-1], text_of(name)) is not None


def _codes(column: pl.Series) -> Codes:
    """Return the code of each value; text by the physical values of a Polars Enum of the sorted
    names.
    """
    dtype = column.dtype
    if dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128):
        return encode_integers(column.to_numpy())[0]
    if dtype == pl.Boolean or dtype.is_float():
        return encode(column.to_numpy())[0]
    if dtype in TEXT:
        text = column.cast(pl.String)
        names = text.unique()
        names = names.sort(multithreaded=len(names) > MIN_NAMES_FOR_JOIN)
        codes: Codes = text.cast(pl.Enum(names)).to_physical().cast(pl.Int32).to_numpy()
        return codes
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_list()
    try:
        return encode(values)[0]
    except TypeError:
        # a list or a dict cannot be a name
        kind = type(
            next(value for value in values if getattr(value, "__hash__", None) is None)
        ).__name__
        problem = f'column "{column.name}" holds a {kind}; expected text, numbers or booleans'
        remedy = use(
            "if an annotation tool wrote the file",
            format=Placeholder("TOOL"),
            text="to name the tool",
        )
        raise InputError(problem, remedies=[remedy]) from None


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


# Columns that come in batches


class Encoder:
    """A column that is encoded batch by batch: the rows themselves are not kept."""

    # Integers are kept as they are until their range is known, in 32 bits where possible. Ids in a
    # text file are taken for integers until another value comes. Text is encoded by Polars, whose
    # dictionary exists as long as the series `anchor`. Other types, such as fractions, dates and
    # booleans, are rare: such a column is kept whole.

    def __init__(self, dtype: pl.DataType, *, is_id: bool, is_text: bool) -> None:
        self.dtype, self.is_id, self.is_text = dtype, is_id, is_text
        is_integer = dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128)
        self.holds_integers = is_integer or (dtype in TEXT and is_id and is_text)
        self.integer_type = dtype if is_integer else pl.Int64()
        # integers without nulls, or codes of texts; grows in steps
        self.values: NDArray[Any] = np.empty(0, np.int32)
        self.n_values = 0
        # of other types
        self.batches: list[pl.Series] = []
        # of integers
        self.null_rows: list[NDArray[np.int64]] = []
        # of integers
        self.rows = 0
        self.dictionary = pl.Categories.random()
        self.anchor = pl.Series([], dtype=pl.Categorical(self.dictionary))

    def add(self, batch: pl.Series) -> None:
        if self.holds_integers:
            integers: pl.Series | None = batch
            if batch.dtype in TEXT:
                integers = (
                    as_integers(batch) if batch.null_count() < len(batch) else batch.cast(pl.Int64)
                )
            if integers is not None:
                if batch.null_count():
                    self.null_rows.append(np.flatnonzero(batch.is_null().to_numpy()) + self.rows)
                self._append(integers.drop_nulls().to_numpy())
                self.rows += len(batch)
                return
            # another value has come, so all of them are text
            known = self.finish() if self.rows else None
            self.holds_integers = False
            if known is not None:
                self.values, self.n_values = known.codes, len(known.codes)
                sort_votes.renumber(self.values, self._codes(known.names.values))
        if self.dtype in TEXT:
            self._append(self._codes(batch))
        else:
            self.batches.append(batch)

    def _append(self, values: NDArray[Any]) -> None:
        first, self.n_values = self.n_values, self.n_values + len(values)
        fits = self.values.dtype == values.dtype or not len(values)
        if not fits and not INT32.min <= int(values.min()) <= int(values.max()) <= INT32.max:
            self.values = self.values.astype(values.dtype)
        # in place where the system can: a copy would take as much memory again
        if self.n_values > len(self.values):
            self.values.resize(max(self.n_values, len(self.values) * 9 // 8), refcheck=False)
        self.values[first : self.n_values] = values

    def finish(self) -> Coded:
        """Return the codes. Call this once, after the last batch: memory is given back on the way."""
        values, self.values = self.values, np.empty(0, np.int32)
        values.resize(self.n_values, refcheck=False)
        if self.holds_integers:
            if not len(values):
                return Coded(
                    np.full(self.rows, MISSING, np.int32),
                    Names(pl.Series([], dtype=self.integer_type)),
                )
            codes, numbers = encode_integers(
                values, into=values if values.dtype == np.int32 else None
            )
            if self.null_rows:
                is_present = np.ones(self.rows, dtype=bool)
                is_present[np.concatenate(self.null_rows)] = False
                present, codes = codes, np.full(self.rows, MISSING, dtype=np.int32)
                codes[is_present] = present
            return Coded(codes, Names(pl.Series(numbers).cast(self.integer_type)))
        if self.dtype not in TEXT:
            column = Names(pl.concat(self.batches))
            return encode_column(column, is_text=False) if self.is_id else encode_series(column)
        codes = values
        # which takes a microsecond for every name
        if hasattr(self.dictionary, "to_series"):
            every = pl.arange(codes.max(initial=MISSING) + 1, dtype=pl.UInt32, eager=True)
            names = every.cat.to(self.anchor.dtype).cast(pl.String).alias("")
        else:
            names = self.anchor.cat.get_categories()  # type: ignore[attr-defined]  # Polars before 2.0
        order = names.arg_sort().to_numpy()
        sort_votes.renumber(codes, rank_of(order))
        coded = Coded(codes, Names(names.gather(order).cast(self.dtype)))
        if not self.is_id:
            return coded
        return _without_blank_ids(coded, self.is_text)

    def _codes(self, batch: pl.Series) -> Codes:
        words = batch.cast(pl.String).cast(self.anchor.dtype)
        codes: Codes = words.to_physical().cast(pl.Int32).fill_null(MISSING).to_numpy()
        return codes
