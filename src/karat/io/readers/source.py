"""One file, or all bytes of a stream, and its lines."""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl

__all__ = ["Source", "first_line", "lines_of", "open_bytes", "separator_of", "size_of", "start_of"]

UNUSED = "\x1f"  # a separator that hardly ever occurs, so that a line is one field


@dataclass(frozen=True)
class Source:
    """Where votes come from, and how they are written there."""

    name: str  # as the user knows it
    data: Path | bytes
    format: str = ""
    compression: str = ""

    @property
    def is_delimited(self) -> bool:
        return self.format in ("csv", "tsv")


def open_bytes(source: Source) -> BinaryIO:
    """The bytes of the text, unpacked. Only from gzip: Python 3.11 has no zstd of its own."""
    if source.compression == "gzip":
        packed = io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data
        return cast(BinaryIO, gzip.open(packed, "rb"))
    return io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data.open("rb")


def start_of(source: Source, size: int) -> bytes:
    """The first bytes as they are; none if it cannot be read, which those who read on will say."""
    if isinstance(source.data, bytes):
        return source.data[:size]
    try:
        with source.data.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def size_of(source: Source) -> int:
    """In bytes, as they are on disk."""
    return len(source.data) if isinstance(source.data, bytes) else source.data.stat().st_size


def lines_of(source: Source, most: int | None = None) -> pl.LazyFrame:
    """The lines of a text, one per row, blank ones as null; Polars unpacks gzip and zstd."""
    return pl.scan_csv(
        source.data,
        has_header=False,
        separator=UNUSED,
        quote_char=None,
        infer_schema=False,
        truncate_ragged_lines=True,
        n_rows=most,
        glob=False,
    )


def first_line(source: Source) -> str:
    head = lines_of(source, most=1).collect()
    return UNUSED.join(cell or "" for cell in head.row(0)) if head.height else ""


def separator_of(source: Source) -> str:
    """Tab for TSV; a comma for CSV, unless the header has none but has semicolons or tabs."""
    if source.format == "tsv":
        return "\t"
    line = first_line(source)
    return next((mark for mark in ",;\t" if mark in line), ",")
