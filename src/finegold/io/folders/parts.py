"""The parts of a data set that are read separately: files, and slices of large Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from finegold.errors import InputError
from finegold.io.diagnosis import reading
from finegold.io.source import Source
from finegold.io.tables import Opened, Table, open_sources

__all__ = ["Columns", "Part", "parts_of"]

MOST_ROWS = 2**22  # in a slice


@dataclass(frozen=True)
class Columns:
    task: Any
    annotator: Any
    label: Any


@dataclass(frozen=True)
class Part:
    """Some or all rows of a file."""

    source: Source
    first: int = 0
    rows: int | None = None  # None: to the end

    def encode(self, columns: Columns) -> Table:
        opened = open_sources([self.source])
        if self.rows is not None:
            rows = opened.scans[0].slice(self.first, self.rows)
            opened = Opened(opened.columns, sources=opened.sources, scans=[rows])
        return opened.encode([columns.task, columns.annotator], [columns.label])

    def where(self, row: int) -> str:
        """Describe a row of this part."""
        rows = self.first + row + 1
        whole = open_sources([self.source])
        return Table(whole.is_text, whole.sources, [rows]).where(rows - 1)


def parts_of(opened: Opened) -> list[Part]:
    """Return all parts, in the order of the rows."""
    _refuse_mixed(opened.sources)
    return [part for source, scan in zip(opened.sources, opened.scans, strict=True) for part in _cut(source, scan)]


def _cut(source: Source, scan: pl.LazyFrame) -> Iterator[Part]:
    source = replace(source, seen={})  # the first bytes of many files are not sent to the workers
    if source.format not in ("parquet", "arrow"):  # text has to be read from its beginning
        yield Part(source)
        return
    with reading(source):
        rows = int(scan.select(pl.len()).collect().item())
    for first in range(0, rows, MOST_ROWS):
        yield Part(source, first, min(MOST_ROWS, rows - first))


def _refuse_mixed(sources: Sequence[Source]) -> None:
    for source in sources:
        if not isinstance(source.data, Path):
            raise InputError(f"{source.name} cannot be read by other machines; name files on a disk that all see")
        if source.is_delimited != sources[0].is_delimited:
            raise InputError(f"{sources[0].name} and {source.name} are of different formats; convert one of them")
