"""Encode columns batch by batch: names become codes as rows pass by, and the rows themselves are not kept."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.kernels.sort_votes import renumber
from finegold.votes.encoding import MISSING, Codes, Names, encode_pieces, rank_of
from finegold.votes.names import Coded, as_integers, encode_column, encode_series, integer_names, without_blanks

INT32 = np.iinfo(np.int32)


class Encoder(Protocol):
    """A column that is encoded batch by batch."""

    def add(self, batch: pl.Series) -> None: ...

    def finish(self) -> Coded:
        """Once, after the last batch: memory is given back on the way."""
        ...


def make_encoder(dtype: pl.DataType, *, is_id: bool, is_text: bool) -> Encoder:
    """Return an encoder for a column of this dtype. In a text file, ids may turn out to be integers."""
    if dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128):
        return IntegerEncoder(dtype)
    if dtype not in (pl.String, pl.Categorical, pl.Enum):
        return ObjectEncoder(is_id)
    return IdEncoder(dtype, is_text) if is_id else TextEncoder(dtype)


class IntegerEncoder:
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
            fits = INT32.min <= int(numbers.min()) and int(numbers.max()) <= INT32.max
            # A view would keep the whole batch alive.
            self.pieces.append(numbers.astype(np.int32) if fits else numbers.copy())
        self.rows += len(batch)

    def finish(self) -> Coded:
        if not self.pieces:
            return Coded(np.full(self.rows, MISSING, np.int32), Names(pl.Series([], dtype=self.dtype)))
        kinds = {piece.dtype for piece in self.pieces}
        wide = kinds.pop() if len(kinds) == 1 else pl.Series([], dtype=self.dtype).to_numpy().dtype
        pieces = [piece.astype(wide, copy=False) for piece in self.pieces]
        self.pieces = []
        codes, names = encode_pieces(pieces, wide)
        if self.null_rows:
            is_present = np.ones(self.rows, dtype=bool)
            is_present[np.concatenate(self.null_rows)] = False
            present, codes = codes, np.full(self.rows, MISSING, dtype=np.int32)
            codes[is_present] = present
        return Coded(codes, Names(pl.Series(names).cast(self.dtype)))


class TextEncoder:
    """Text, encoded by Polars, whose dictionary exists as long as the series `anchor`."""

    def __init__(self, dtype: pl.DataType, known: Coded | None = None) -> None:
        self.dtype = dtype
        self.dictionary = pl.Categories.random()
        self.anchor = pl.Series([], dtype=pl.Categorical(self.dictionary))
        self.pieces: list[Codes] = []
        if known is not None:  # a column that was taken for another kind so far
            codes = known.codes.copy()
            renumber(codes, self._codes(known.names.values))
            self.pieces.append(codes)

    def add(self, batch: pl.Series) -> None:
        self.pieces.append(self._codes(batch))

    def finish(self) -> Coded:
        codes = np.concatenate([np.empty(0, np.int32), *self.pieces])
        if hasattr(self.dictionary, "to_series"):  # which takes a microsecond for every name
            every = pl.arange(codes.max(initial=MISSING) + 1, dtype=pl.UInt32, eager=True)
            names = every.cat.to(self.anchor.dtype).cast(pl.String).alias("")
        else:
            names = self.anchor.cat.get_categories()  # type: ignore[attr-defined]  # Polars before 2.0
        order = names.arg_sort().to_numpy()
        self.pieces = []
        renumber(codes, rank_of(order))
        return Coded(codes, Names(names.gather(order).cast(self.dtype)))

    def _codes(self, batch: pl.Series) -> Codes:
        words = batch.cast(pl.String).cast(self.anchor.dtype)
        codes: Codes = words.to_physical().cast(pl.Int32).fill_null(MISSING).to_numpy()
        return codes


class IdEncoder:
    """Text of which blank is null; in a text file integers, until another value comes."""

    def __init__(self, dtype: pl.DataType, is_text: bool) -> None:
        self.dtype, self.is_text = dtype, is_text
        self.column: IntegerEncoder | TextEncoder = IntegerEncoder(pl.Int64()) if is_text else TextEncoder(dtype)

    def add(self, batch: pl.Series) -> None:
        if isinstance(self.column, IntegerEncoder):
            numbers = as_integers(batch) if batch.null_count() < len(batch) else batch.cast(pl.Int64)
            if numbers is not None:
                self.column.add(numbers)
                return
            self.column = TextEncoder(self.dtype, known=self.column.finish())
        self.column.add(batch)

    def finish(self) -> Coded:
        coded = self.column.finish()
        if isinstance(self.column, IntegerEncoder):
            return coded
        coded = without_blanks(coded)
        return integer_names(coded) if self.is_text else coded


class ObjectEncoder:
    """Any other type: fractions, dates, booleans. These are rare, so the column is kept whole."""

    def __init__(self, is_id: bool) -> None:
        self.is_id = is_id
        self.batches: list[pl.Series] = []

    def add(self, batch: pl.Series) -> None:
        self.batches.append(batch)

    def finish(self) -> Coded:
        column = Names(pl.concat(self.batches))
        return encode_column(column, is_text=False) if self.is_id else encode_series(column)
