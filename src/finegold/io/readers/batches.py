"""Read rows in batches, so that no table needs to fit into memory, and report the progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from finegold.errors import InputError
from finegold.io.formulas import unescaped
from finegold.io.readers.delimited import check_short_rows
from finegold.io.readers.diagnosis import ragged_line, reading
from finegold.io.readers.source import Source, read_start, separator_of, size_of

__all__ = ["Progress", "WatchReading", "batches", "expected_rows", "watched"]

MOST_ROWS = 2**18  # in a batch
SHORT = "__is_null__"  # of the last column, where rows with too few fields show


class Progress(NamedTuple):
    """The progress of a long read."""

    rows: int
    expected: int | None  # of all rows; None where there is no telling
    seconds: float

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        return None if self.expected is None else max(self.expected - self.rows, 0) / max(self.rate, 1e-9)


WatchReading = Callable[[Progress], None]


def batches(source: Source, scan: pl.LazyFrame, columns: Sequence[Any], may_omit: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the chosen columns. Polars reads ahead with all of its threads while a batch is processed.

    Rows of a delimited text may omit so many of the last cells.
    """
    with reading(source):
        if source.format in ("parquet", "arrow"):
            yield from _all_declared(source, scan, _stream(scan.select(columns)))
            return
        if not source.is_delimited:
            yield from _stream(scan.select(columns))
            return
        # Polars sees rows with too many fields only if it may not skip the columns that are not asked for.
        last = pl.col(scan.collect_schema().names()[-1 - may_omit]).is_null().alias(SHORT)
        may_be_short = False
        for batch in _stream(scan.select(*columns, last), projection_pushdown=False):
            may_be_short |= bool(batch.get_column(SHORT).any())
            yield unescaped(batch.drop(SHORT))
        if may_be_short and may_omit:
            _check_rows(source, may_omit)
        elif may_be_short:
            check_short_rows(source)


def _check_rows(source: Source, may_omit: int) -> None:
    """Refuse rows that are shorter than they may be."""
    found = ragged_line(source, separator_of(source), may_omit)
    if found:
        raise InputError(f"{source.name}{found}")


def _all_declared(source: Source, scan: pl.LazyFrame, rows: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the batches, and refuse a file with other than the declared rows.

    Polars ends early, without an error, if one of its threads panics over a damaged file.
    """
    declared, done = int(scan.select(pl.len()).collect().item()), 0
    for batch in rows:
        done += batch.height
        if done > declared:
            break
        yield batch
    if done != declared:
        found = "more" if done > declared else f"only {done:,}"
        raise InputError(
            f"{source.name} is no whole {source.format.capitalize()} file (it declares {declared:,} rows and has "
            f"{found}); fetch or write the file again"
        )


def _stream(scan: pl.LazyFrame, **flags: bool) -> Iterator[pl.DataFrame]:
    for batch in scan.collect_batches(engine="streaming", optimizations=pl.QueryOptFlags(**flags)):
        yield from batch.iter_slices(MOST_ROWS)


def watched(
    rows: Iterator[tuple[int, pl.DataFrame]], expected: int | None, watch: WatchReading | None
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the batches with the numbers of their sources, and call `watch` after each."""
    if watch is None:
        yield from rows
        return
    began, done = time.perf_counter(), 0
    for number, batch in rows:
        yield number, batch
        done += batch.height
        watch(Progress(done, expected, time.perf_counter() - began))


def expected_rows(sources: Sequence[Source], scans: Sequence[pl.LazyFrame]) -> int | None:
    """Estimate the number of rows: binary files declare it, text files by their size and first lines."""
    numbers = [_expected(source, scan) for source, scan in zip(sources, scans, strict=True)]
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _expected(source: Source, scan: pl.LazyFrame) -> int | None:
    if source.format in ("parquet", "arrow"):
        with reading(source):
            return int(scan.select(pl.len()).collect().item())
    if source.compression or isinstance(source.data, bytes):
        return None
    start = read_start(source)
    lines = start.count(b"\n")
    return size_of(source) * lines // len(start) if lines else None
