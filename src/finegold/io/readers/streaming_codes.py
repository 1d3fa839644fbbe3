"""A column in batches -> codes, with memory for the codes and the distinct names only.

Codes are assigned in the order of appearance. After the last batch they are renumbered to the sorted order of the
names. The outcome equals that of `encode_column` or `encode_series` on the whole column.
"""

from __future__ import annotations

from typing import Any, Protocol

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.kernels.sort_votes import renumber
from finegold.votes.encoding import MISSING, Codes, encode_pieces, rank_of
from finegold.votes.names import Coded, as_integers, encode_column, encode_series, integer_names, without_blanks

__all__ = ["Growing", "growing"]

INT32 = np.iinfo(np.int32)


class Growing(Protocol):
    def add(self, batch: pl.Series) -> None: ...

    def finish(self) -> Coded:
        """Once, after the last batch: memory is given back on the way."""
        ...


def growing(dtype: pl.DataType, *, is_id: bool, is_text: bool) -> Growing:
    """Return an encoder for a column of this dtype. In a text file, ids may turn out to be integers."""
    if dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128):
        return Integers(dtype)
    if dtype not in (pl.String, pl.Categorical, pl.Enum):
        return Whole(is_id)
    return Ids(dtype, is_text) if is_id else Text(dtype)


class Integers:
    """Integers, kept as they are until their range is known, in 32 bits where possible."""

    def __init__(self, dtype: pl.DataType) -> None:
        self.dtype = dtype
        self.pieces: list[NDArray[Any]] = []  # without nulls
        self.null_rows: list[NDArray[np.int64]] = []
        self.rows = 0

    def add(self, batch: pl.Series) -> None:
        if batch.null_count():
            self.null_rows.append(np.flatnonzero(batch.is_null().to_numpy()) + self.rows)
        numbers = batch.drop_nulls().to_numpy()
        if len(numbers):
            self.pieces.append(_narrow(numbers))
        self.rows += len(batch)

    def finish(self) -> Coded:
        if not self.pieces:
            return Coded(np.full(self.rows, MISSING, np.int32), _series(pl.Series([], dtype=self.dtype)))
        kinds = {piece.dtype for piece in self.pieces}
        wide = kinds.pop() if len(kinds) == 1 else _numpy_dtype(self.dtype)
        pieces = [piece.astype(wide, copy=False) for piece in self.pieces]
        self.pieces = []
        codes, names = encode_pieces(pieces, wide)
        return Coded(self._with_nulls(codes), _series(pl.Series(names).cast(self.dtype)))

    def _with_nulls(self, present: Codes) -> Codes:
        if not self.null_rows:
            return present
        is_present = np.ones(self.rows, dtype=bool)
        is_present[np.concatenate(self.null_rows)] = False
        codes = np.full(self.rows, MISSING, dtype=np.int32)
        codes[is_present] = present
        return codes


class Text:
    """Text, encoded by Polars, whose dictionary exists as long as the series `anchor`."""

    def __init__(self, dtype: pl.DataType, known: Coded | None = None) -> None:
        self.dtype = dtype
        self.dictionary = pl.Categories.random()
        self.anchor = pl.Series([], dtype=pl.Categorical(self.dictionary))
        self.pieces: list[Codes] = []
        if known is not None:  # a column that was taken for another kind so far
            codes = known.codes.copy()
            renumber(codes, self._codes(known.names.to_native()))
            self.pieces.append(codes)

    def add(self, batch: pl.Series) -> None:
        self.pieces.append(self._codes(batch))

    def finish(self) -> Coded:
        names = self._names()
        order = names.arg_sort().to_numpy()
        codes = np.concatenate([np.empty(0, np.int32), *self.pieces])
        self.pieces = []
        renumber(codes, rank_of(order))
        return Coded(codes, _series(names.gather(order).cast(self.dtype)))

    def _names(self) -> pl.Series:
        if hasattr(self.dictionary, "to_series"):
            return self.dictionary.to_series().alias("")
        return self.anchor.cat.get_categories()  # type: ignore[attr-defined,no-any-return]  # Polars before 2.0

    def _codes(self, batch: pl.Series) -> Codes:
        words = batch.cast(pl.String).cast(self.anchor.dtype)
        codes: Codes = words.to_physical().cast(pl.Int32).fill_null(MISSING).to_numpy()
        return codes


class Ids:
    """Text of which blank is null; in a text file integers, until another value comes."""

    def __init__(self, dtype: pl.DataType, is_text: bool) -> None:
        self.dtype, self.is_text = dtype, is_text
        self.column: Integers | Text = Integers(pl.Int64()) if is_text else Text(dtype)

    def add(self, batch: pl.Series) -> None:
        if isinstance(self.column, Integers):
            numbers = as_integers(batch) if batch.null_count() < len(batch) else batch.cast(pl.Int64)
            if numbers is not None:
                self.column.add(numbers)
                return
            self.column = Text(self.dtype, known=self.column.finish())
        self.column.add(batch)

    def finish(self) -> Coded:
        coded = self.column.finish()
        if isinstance(self.column, Integers):
            return coded
        coded = without_blanks(coded)
        return integer_names(coded) if self.is_text else coded


class Whole:
    """Any other type: fractions, dates, booleans. These are rare, so the column is kept whole."""

    def __init__(self, is_id: bool) -> None:
        self.is_id = is_id
        self.batches: list[pl.Series] = []

    def add(self, batch: pl.Series) -> None:
        self.batches.append(batch)

    def finish(self) -> Coded:
        column = _series(pl.concat(self.batches))
        return encode_column(column, is_text=False) if self.is_id else encode_series(column)


def _narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """Convert to 32 bits where possible."""
    fits = INT32.min <= int(numbers.min()) and int(numbers.max()) <= INT32.max
    return numbers.astype(np.int32) if fits else numbers.copy()  # a view would keep the whole batch alive


def _numpy_dtype(dtype: pl.DataType) -> np.dtype[Any]:
    found: np.dtype[Any] = pl.Series([], dtype=dtype).to_numpy().dtype
    return found


def _series(values: pl.Series) -> Any:
    return nw.from_native(values, series_only=True)
