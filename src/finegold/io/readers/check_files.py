"""Checks of every file before a parser sees it.

They limit the unpacked size, the number of rows that a file declares, and the nesting of JSON.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.readers.limits import PACKED_TIMES, limit, refuse
from finegold.io.readers.row_count import ARROW, ARROW_STREAM, PARQUET, check_rows
from finegold.io.readers.source import (
    START,
    Source,
    archive_members,
    lines_of,
    open_bytes,
    size_of,
    start_of,
)
from finegold.io.readers.zstd import most_unpacked

__all__ = ["check_lines", "check_nesting", "check_source"]

CHUNK = 2**20
AGAIN = "fetch or write the file again"
GZIP, ZSTD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
QUOTE = ord('"')
NO_MARKS = bytes(set(range(256)) - set(b'"[]{}'))
POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
OPENS = 2  # the bit that [ and { have, and ] and } have not


def check_source(source: Source) -> None:
    """Refuse a file that exceeds a limit, and damaged gzip. Readers report other damage."""
    with suppress(OSError, zipfile.BadZipFile, *POLARS), whole_gzip(source):
        start = start_of(source)[: len(ZIP)]
        if start == ZIP:
            _check_zip(source)
        elif start in (PARQUET, ARROW, ARROW_STREAM):
            check_rows(source, start)
        elif start == ZSTD:
            _check_zstd(source)
            _check_text(replace(source, compression="zstd"))
        else:
            _check_text(replace(source, compression="gzip" if start.startswith(GZIP) else ""))


@contextmanager
def whole_gzip(source: Source) -> Iterator[None]:
    """Raise an InputError for a file that cannot be unpacked."""
    try:
        yield
    except EOFError:
        raise InputError(f"{source.name} is cut short: the gzip data ends too early; {AGAIN}") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{source.name} is damaged: it cannot be unpacked with gzip ({error}); {AGAIN}") from None


def check_lines(source: Source) -> None:
    """Refuse JSON Lines with a very long line: parsing it takes minutes."""
    most, length = limit("LINE"), 0
    with suppress(OSError, pl.exceptions.PolarsError):
        for chunk in _chunks(source):
            first, *others = chunk.split(b"\n")
            length = max([length + len(first), *map(len, others)])
            if length > most:
                refuse(source.name, f"has a line of more than {most:,} bytes", "LINE")
            length = len(others[-1]) if others else length


def _check_zip(source: Source) -> None:
    _check_unpacked(source, sum(member.file_size for member in archive_members(source)))


def _check_zstd(source: Source) -> None:
    with open_bytes(replace(source, compression="")) as file:
        _check_unpacked(source, most_unpacked(file))


def _check_unpacked(source: Source, size: int) -> None:
    most = max(limit("UNPACKED"), PACKED_TIMES * size_of(source))
    if size > most:
        refuse(source.name, f"unpacks to more than {most:,} bytes", "UNPACKED")


def _check_text(source: Source) -> None:
    """Check in one pass the unpacked size of a compressed file, and the nesting of JSON."""
    if not source.compression:
        start = start_of(source)
        if not Nesting(source.name).add(start) or len(start) < START:
            return
    size, nesting = 0, Nesting(source.name)
    for chunk in _chunks(source):
        size += len(chunk)
        if source.compression:
            _check_unpacked(source, size)
        is_json = nesting.add(chunk)
        if not is_json and source.compression != "gzip":
            return


def check_nesting(name: str, file: IO[bytes]) -> None:
    """Refuse a file of an archive whose JSON is nested too deep."""
    nesting = Nesting(name)
    while (chunk := file.read(CHUNK)) and nesting.add(chunk):
        pass


def _chunks(source: Source) -> Iterator[bytes]:
    if source.compression == "zstd":  # which only Polars can unpack
        for batch in lines_of(source).collect_batches():
            yield "\n".join(line or "" for line in batch.to_series()).encode() + b"\n"
        return
    with open_bytes(source) as file:
        while chunk := file.read(CHUNK):
            yield chunk


class Nesting:
    """Measure how deep JSON lists and objects are nested, and how long strings are."""

    def __init__(self, name: str) -> None:
        self.name, self.begins, self.depth = name, b"", 0
        self.most, self.longest = limit("DEPTH"), limit("LINE")
        self.is_in_string, self.length, self.backslash = False, 0, b""

    def add(self, chunk: bytes) -> bool:
        """Add a chunk of text, and return whether the text may be JSON."""
        self.begins = self.begins or chunk.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if self.begins in (b"[", b"{"):
            self._add(chunk)
        return self.begins in (b"", b"[", b"{")

    def _add(self, chunk: bytes) -> None:
        text = self.backslash + chunk
        self.backslash = b"\\" if (len(text) - len(text.rstrip(b"\\"))) % 2 else b""
        text = text.removesuffix(self.backslash).replace(rb"\\", b"").replace(rb"\"", b"")
        marks = np.frombuffer(text.translate(None, NO_MARKS), np.uint8)
        self._measure(marks == QUOTE, len(chunk))
        self._descend(marks)

    def _measure(self, is_quote: NDArray[np.bool_], size: int) -> None:
        """Limit strings over several chunks: a parser reads these again and again."""
        self.length = self.length + size if self.is_in_string and not is_quote.any() else 0
        if self.length > self.longest:
            refuse(self.name, f"has a text of more than {self.longest:,} bytes", "LINE")

    def _descend(self, marks: NDArray[np.uint8]) -> None:
        is_quote = marks == QUOTE
        is_inside = (np.cumsum(is_quote) + self.is_in_string) % 2 == 1
        brackets = marks[~is_inside & ~is_quote]
        self.is_in_string = bool(is_inside[-1]) if marks.size else self.is_in_string
        if brackets.size:
            depths = self.depth + np.cumsum(np.where(brackets & OPENS, 1, -1))
            self.depth = int(depths[-1])
            if depths.max() > self.most:
                refuse(self.name, f"has JSON lists and objects nested more than {self.most:,} deep", "DEPTH")
