"""Encode columns batch by batch: names become codes as rows pass by, and the rows themselves are not kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.kernels.sort_votes import renumber
from finegold.votes import encoding
from finegold.votes.encoding import MISSING, Coded, Codes, Names

INT32 = np.iinfo(np.int32)
TEXT = (pl.String, pl.Categorical, pl.Enum)


class Encoder:
    """A column that is encoded batch by batch."""

    # Integers are kept as they are until their range is known, in 32 bits where possible. Ids in a text file are taken
    # for integers until another value comes. Text is encoded by Polars, whose dictionary exists as long as the series
    # `anchor`. Other types, such as fractions, dates and booleans, are rare: such a column is kept whole.

    def __init__(self, dtype: pl.DataType, *, is_id: bool, is_text: bool) -> None:
        self.dtype, self.is_id, self.is_text = dtype, is_id, is_text
        is_integer = dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128)
        self.holds_integers = is_integer or (dtype in TEXT and is_id and is_text)
        self.integer_type = dtype if is_integer else pl.Int64()
        self.pieces: list[Any] = []  # integers without nulls, codes of texts, or the batches themselves
        self.null_rows: list[NDArray[np.int64]] = []  # of integers
        self.rows = 0
        self.dictionary = pl.Categories.random()
        self.anchor = pl.Series([], dtype=pl.Categorical(self.dictionary))

    def add(self, batch: pl.Series) -> None:
        integers = batch if self.holds_integers else None
        if self.holds_integers and batch.dtype in TEXT:
            integers = encoding.as_integers(batch) if batch.null_count() < len(batch) else batch.cast(pl.Int64)
        if integers is not None:
            if batch.null_count():
                self.null_rows.append(np.flatnonzero(batch.is_null().to_numpy()) + self.rows)
            numbers = integers.drop_nulls().to_numpy()
            if len(numbers):
                fits = INT32.min <= int(numbers.min()) and int(numbers.max()) <= INT32.max
                # A view would keep the whole batch alive.
                self.pieces.append(numbers.astype(np.int32) if fits else numbers.copy())
            self.rows += len(batch)
            return
        if self.holds_integers:  # another value has come, so all of them are text
            known = self._finish_integers()
            self.holds_integers, self.pieces = False, [known.codes.copy()]
            renumber(self.pieces[0], self._codes(known.names.values))
        self.pieces.append(self._codes(batch) if self.dtype in TEXT else batch)

    def finish(self) -> Coded:
        """Return the codes. Call this once, after the last batch: memory is given back on the way."""
        if self.holds_integers:
            return self._finish_integers()
        if self.dtype not in TEXT:
            column = Names(pl.concat(self.pieces))
            return encoding.encode_column(column, is_text=False) if self.is_id else encoding.encode_series(column)
        codes = np.concatenate([np.empty(0, np.int32), *self.pieces])
        self.pieces = []
        if hasattr(self.dictionary, "to_series"):  # which takes a microsecond for every name
            every = pl.arange(codes.max(initial=MISSING) + 1, dtype=pl.UInt32, eager=True)
            names = every.cat.to(self.anchor.dtype).cast(pl.String).alias("")
        else:
            names = self.anchor.cat.get_categories()  # type: ignore[attr-defined]  # Polars before 2.0
        order = names.arg_sort().to_numpy()
        renumber(codes, encoding.rank_of(order))
        coded = Coded(codes, Names(names.gather(order).cast(self.dtype)))
        if not self.is_id:
            return coded
        return (
            encoding.integer_names(encoding.without_blanks(coded)) if self.is_text else encoding.without_blanks(coded)
        )

    def _finish_integers(self) -> Coded:
        if not self.pieces:
            return Coded(np.full(self.rows, MISSING, np.int32), Names(pl.Series([], dtype=self.integer_type)))
        kinds = {piece.dtype for piece in self.pieces}
        wide = kinds.pop() if len(kinds) == 1 else pl.Series([], dtype=self.integer_type).to_numpy().dtype
        pieces = [piece.astype(wide, copy=False) for piece in self.pieces]
        self.pieces = []
        codes, names = encoding.encode_pieces(pieces, wide)
        if self.null_rows:
            is_present = np.ones(self.rows, dtype=bool)
            is_present[np.concatenate(self.null_rows)] = False
            present, codes = codes, np.full(self.rows, MISSING, dtype=np.int32)
            codes[is_present] = present
        return Coded(codes, Names(pl.Series(names).cast(self.integer_type)))

    def _codes(self, batch: pl.Series) -> Codes:
        words = batch.cast(pl.String).cast(self.anchor.dtype)
        codes: Codes = words.to_physical().cast(pl.Int32).fill_null(MISSING).to_numpy()
        return codes
