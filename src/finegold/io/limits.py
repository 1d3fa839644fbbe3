"""What a file may ask for: limits that the environment can raise, and the checks of files that may be hostile.

Text and gzip are measured as they pass by; zip archives say what they unpack to, and Python's reader stops there.
Workbooks, zstd and the stream form of Arrow are opened in a child process with bounded memory and time
(`system/child.py`). A child takes some 0.4 s to start, so CSV, JSON, Parquet and Arrow files never start one: Polars
reads the number of rows from a footer without decoding rows, and a table out of proportion to its file is refused.
When every bit of a Parquet file is flipped in turn, only a negative number of values in the header of a page ends the
process; one pattern finds it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import polars as pl

from finegold.errors import InputError
from finegold.system.child import Answer, ExhaustedError, FailedError, run_in_child
from finegold.system.memory import available_memory, in_words

DEFAULTS = {
    "CELLS": 10_000_000,  # of a sheet of a workbook, or of a Parquet or Arrow file (empty cells included)
    "CLASSES": 10_000,  # that a column of labels may hold
    "COLUMNS": 20_000,  # of a table
    "DEPTH": 100,  # of lists and objects inside each other in JSON
    "LINE": 2**24,  # bytes of one line of JSON Lines, or of a field of a CSV
    "SECONDS": 60,  # for a library to parse a file in a process of its own, besides a second per megabyte
    "UNPACKED": 2**26,  # bytes of a compressed file after unpacking, unless PACKED_TIMES its size is more
}
CHUNK = 2**20
AGAIN = "fetch or write the file again"
PACKED_TIMES = 100
CELLS_PER_BYTE = 50  # sparse wide tables have about 30
SPARE_BYTES = 2**32  # of address space for a library in a child, besides what the file needs
# Thrift's header of a page of Parquet: its kind, two sizes, perhaps a checksum, and a struct that begins with the
# number of values, whose lowest bit is its sign. Polars asks for 2 EiB if it is negative, and the process ends.
NUMBER, ODD = rb"[\x80-\xff]{0,4}[\x00-\x7f]", re.escape(bytes(range(1, 256, 2)))
NEGATIVE_PAGE = re.compile(
    rb"\x15[\x00\x04\x06]\x15%b\x15%b(?:\x15%b)?[\x1c\x2c\x3c\x4c\x5c]\x15[%b]" % (NUMBER, NUMBER, NUMBER, ODD),
    re.DOTALL,
)
MOST_SEARCHED = 2**24  # bytes; headers are a tiny part of larger files, and searching these takes time
QUOTE = ord('"')
NOT_MARKS = bytes(set(range(256)) - set(b'"[]{}'))
OPENS = 2  # the bit that [ and { have, and ] and } have not


def limit(name: str) -> int:
    """Return the limit of the environment, or its default."""
    value = os.environ.get(f"FINEGOLD_MAX_{name}")
    try:
        return DEFAULTS[name] if value is None else int(float(value))
    except (ValueError, OverflowError):
        raise InputError(f"FINEGOLD_MAX_{name} is {value!r}; expected a number, such as {DEFAULTS[name]}") from None


def refuse(file: str, excess: str, name: str) -> NoReturn:
    """Raise an InputError that names the limit and how to raise it."""
    raise InputError(f"{file} {excess}, which is the limit; {remedy_of(name)}")


def remedy_of(name: str) -> str:
    """Return the end of such a message."""
    return f"if you trust the file, raise the limit: FINEGOLD_MAX_{name}=N in the environment"


def n_bytes(data: Path | bytes) -> int:
    """Return the size of a file or of its content."""
    return len(data) if isinstance(data, bytes) else data.stat().st_size


def check_unpacked(name: str, data: Path | bytes, size: int) -> None:
    """Refuse a compressed file that unpacks to this size, if that is too much."""
    if size > (most := _most_unpacked(data)):
        refuse(name, f"unpacks to more than {most:,} bytes", "UNPACKED")


def _most_unpacked(data: Path | bytes) -> int:
    return max(limit("UNPACKED"), PACKED_TIMES * n_bytes(data))


def check_cells(name: str, data: Path | bytes, kind: str) -> None:
    """Refuse a small "parquet", "arrow" or "stream" that declares a huge table: nulls and repeats take no bytes."""
    size = n_bytes(data)
    most = max(limit("CELLS"), CELLS_PER_BYTE * size)
    if kind == "stream":  # which has no footer: Polars can only read it as a whole
        max_bytes = min(SPARE_BYTES + PACKED_TIMES * size, available_memory())
        try:
            rows, columns = _in_child("measure_stream", data, most, max_bytes=max_bytes).facts["size"]
        except ExhaustedError:
            refuse(name, f"needs more than {in_words(max_bytes)} of memory", "CELLS")
        except FailedError as error:
            raise InputError(f"{name} is not a complete Arrow file ({error}); {AGAIN}") from None
    else:
        scan = pl.scan_parquet if kind == "parquet" else pl.scan_ipc
        table = scan(data, glob=False, hive_partitioning=False)
        rows, columns = int(table.select(pl.len()).collect().item()), len(table.collect_schema())
    if rows * columns > most:
        refuse(name, f"has {rows:,} rows x {columns:,} columns, more than {most:,} cells", "CELLS")
    if kind != "parquet" or size > MOST_SEARCHED:
        return
    if NEGATIVE_PAGE.search(data if isinstance(data, bytes) else data.read_bytes()):
        what = "a page declares a negative number of values"
        raise InputError(f"{name} is not a complete Parquet file ({what}); {AGAIN}")


def unpack_zstd(name: str, data: Path | bytes) -> bytes:
    """Return the text in a file of zstd."""
    most = _most_unpacked(data)
    try:
        return _in_child("write_unpacked", data, name, most, max_bytes=SPARE_BYTES + 4 * most).content
    except ExhaustedError:
        refuse(name, f"unpacks to more than {most:,} bytes", "UNPACKED")
    except FailedError as error:
        reason = str(error)
        if "incomplete frame" in reason:
            raise InputError(f"{name} is cut short: the zstd data ends too early; {AGAIN}") from None
        if "utf-8" in reason.lower():
            raise InputError(f"{name} is not valid UTF-8; save it as UTF-8") from None
        raise InputError(f"{name} is damaged: it cannot be unpacked with zstd ({reason}); {AGAIN}") from None


def _in_child(job: str, data: Path | bytes, *arguments: Any, max_bytes: float) -> Answer:
    seconds = limit("SECONDS") + n_bytes(data) / 1e6
    return run_in_child(f"finegold.io.limits:{job}", data, *arguments, max_bytes=max_bytes, max_seconds=seconds)


def write_unpacked(data: Path | bytes, output: IO[bytes], name: str, most: int) -> dict[str, Any]:
    """Write the lines of a text in zstd (in a child process). Python itself unpacks zstd from 3.14 on only."""
    size = 0
    for batch in pl.scan_lines(data, glob=False).collect_batches():
        text = batch.to_series().str.join("\n").item().encode() + b"\n"
        size += len(text)
        if size > most + 1:
            refuse(name, f"unpacks to more than {most:,} bytes", "UNPACKED")
        output.write(text)
    return {}


def measure_stream(data: Path | bytes, output: IO[bytes], most_cells: int) -> dict[str, Any]:
    """Return the size of the table in an Arrow stream, up to the first row too many (in a child process)."""
    columns = pl.read_ipc_stream(data, n_rows=0).width
    return {"size": pl.read_ipc_stream(data, n_rows=most_cells // max(columns, 1) + 1).shape}


def check_nesting(name: str, file: IO[bytes]) -> None:
    """Refuse a file of an archive whose JSON is nested too deep."""
    nesting = Nesting(name)
    while (chunk := file.read(CHUNK)) and nesting.add(chunk):
        pass


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
            self._descend(chunk)
        return self.begins in (b"", b"[", b"{")

    def _descend(self, chunk: bytes) -> None:
        text = self.backslash + chunk
        self.backslash = b"\\" if (len(text) - len(text.rstrip(b"\\"))) % 2 else b""
        text = text.removesuffix(self.backslash).replace(rb"\\", b"").replace(rb"\"", b"")
        marks = np.frombuffer(text.translate(None, NOT_MARKS), np.uint8)
        is_quote = marks == QUOTE
        # A parser reads a string over several chunks again and again.
        self.length = self.length + len(chunk) if self.is_in_string and not is_quote.any() else 0
        if self.length > self.longest:
            refuse(self.name, f"has a text of more than {self.longest:,} bytes", "LINE")
        is_inside = (np.cumsum(is_quote) + self.is_in_string) % 2 == 1
        brackets = marks[~is_inside & ~is_quote]
        self.is_in_string = bool(is_inside[-1]) if marks.size else self.is_in_string
        if brackets.size:
            depths = self.depth + np.cumsum(np.where(brackets & OPENS, 1, -1))
            self.depth = int(depths[-1])
            if depths.max() > self.most:
                refuse(self.name, f"has JSON lists and objects nested more than {self.most:,} deep", "DEPTH")
