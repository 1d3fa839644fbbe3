"""What a file may ask for: limits that the environment can raise, and the reading of files that may
be hostile.

What may be hostile (workbooks, zstd, streams of Arrow) is parsed in a child process with bounded
memory and time (`system/child.py`), which takes some 0.4 s to start. Text and gzip are measured as
they pass by, zip archives say what they unpack to, and Parquet and Arrow say how many rows they
have. Sheets become comma-separated text: their library allocates every cell between the first and
the last one that a sheet names, and may never end with damaged XML.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any, NoReturn
from xml.parsers.expat import ParserCreate

import numpy as np
import polars as pl

from finegold.errors import InputError
from finegold.system.child import Answer, ExhaustedError, FailedError, run_in_child
from finegold.system.memory import available_memory, in_words

DEFAULTS = {
    # of a sheet of a workbook, or of a Parquet or Arrow file (empty cells included)
    "CELLS": 10_000_000,
    # that a column of labels may hold
    "CLASSES": 10_000,
    # of a table
    "COLUMNS": 20_000,
    # of lists and objects inside each other in JSON
    "DEPTH": 100,
    # bytes of one line of JSON Lines, or of a field of a CSV
    "LINE": 2**24,
    # for a library to parse a file in a process of its own, besides a second per megabyte
    "SECONDS": 60,
    # bytes of a compressed file after unpacking, unless PACKED_TIMES its size is more
    "UNPACKED": 2**26,
}
CHUNK = 2**20
AGAIN = "fetch or write the file again"
PACKED_TIMES = 100
# sparse wide tables have about 30
CELLS_PER_BYTE = 50
# of address space for a library in a child, besides what the file needs
SPARE_BYTES = 2**32
# Thrift's header of a page of Parquet: its kind, two sizes, perhaps a checksum, and a struct that
# begins with the number of values, whose lowest bit is its sign. Polars asks for 2 EiB if it is
# negative, and the process ends.
NUMBER, ODD = rb"[\x80-\xff]{0,4}[\x00-\x7f]", re.escape(bytes(range(1, 256, 2)))
NEGATIVE_PAGE = re.compile(
    rb"\x15[\x00\x04\x06]\x15%b\x15%b(?:\x15%b)?[\x1c\x2c\x3c\x4c\x5c]\x15[%b]"
    % (NUMBER, NUMBER, NUMBER, ODD),
    re.DOTALL,
)
# bytes; headers are a tiny part of larger files, and searching these takes time
MOST_SEARCHED = 2**24
QUOTE = ord('"')
NOT_MARKS = bytes(set(range(256)) - set(b'"[]{}'))
# one thread at a time redirects standard error
_QUIET = Lock()
# the bit that [ and { have, and ] and } have not
OPENS = 2


def limit(name: str) -> int:
    """Return the limit of the environment, or its default."""
    value = os.environ.get(f"FINEGOLD_MAX_{name}")
    try:
        return DEFAULTS[name] if value is None else int(float(value))
    except (ValueError, OverflowError):
        raise InputError(
            f"FINEGOLD_MAX_{name} is {value!r}; expected a number, such as {DEFAULTS[name]}"
        ) from None


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
    if size > (most := max(limit("UNPACKED"), PACKED_TIMES * n_bytes(data))):
        refuse(name, f"unpacks to more than {most:,} bytes", "UNPACKED")


@contextmanager
def no_panics(name: str, kind: str) -> Iterator[None]:
    """Raise an InputError for a panic of Rust over a damaged file, and discard the pages that it
    prints past Python.
    """
    with _QUIET, ExitStack() as undo:
        # there is no standard error
        with suppress(OSError):
            before = os.dup(2)
            undo.callback(os.close, before)
            undo.callback(os.dup2, before, 2)
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), 2)
        try:
            yield
        except pl.exceptions.PanicException:
            raise InputError(
                f"{name} is not a complete {kind.capitalize()} file; {AGAIN}"
            ) from None


def check_cells(name: str, data: Path | bytes, kind: str) -> None:
    """Refuse a small "parquet", "arrow" or "stream" that declares a huge table: nulls and repeats
    take no bytes.
    """
    size = n_bytes(data)
    most = max(limit("CELLS"), CELLS_PER_BYTE * size)
    # which has no footer: Polars can only read it as a whole
    if kind == "stream":
        max_bytes = min(SPARE_BYTES + PACKED_TIMES * size, available_memory())
        try:
            rows, columns = _in_child("measure_stream", data, most, max_bytes=max_bytes).facts[
                "size"
            ]
        except ExhaustedError:
            refuse(name, f"needs more than {in_words(max_bytes)} of memory", "CELLS")
        except FailedError as error:
            raise InputError(f"{name} is not a complete Arrow file ({error}); {AGAIN}") from None
    else:
        scan = pl.scan_parquet if kind == "parquet" else pl.scan_ipc
        table = scan(data, glob=False, hive_partitioning=False)
        with no_panics(name, kind):
            rows, columns = (
                int(table.select(pl.len()).collect().item()),
                len(table.collect_schema()),
            )
    if rows * columns > most:
        refuse(name, f"has {rows:,} rows x {columns:,} columns, more than {most:,} cells", "CELLS")
    if kind == "stream" or size > MOST_SEARCHED:
        return
    if kind == "arrow":
        with no_panics(name, kind):
            # reads it once as a whole
            table.null_count().collect()
    elif NEGATIVE_PAGE.search(data if isinstance(data, bytes) else data.read_bytes()):
        what = "a page declares a negative number of values"
        raise InputError(f"{name} is not a complete Parquet file ({what}); {AGAIN}")


def unpack_zstd(name: str, data: Path | bytes) -> bytes:
    """Return the text in a file of zstd."""
    most = max(limit("UNPACKED"), PACKED_TIMES * n_bytes(data))
    try:
        return _in_child(
            "write_unpacked", data, name, most, max_bytes=SPARE_BYTES + 4 * most
        ).content
    except ExhaustedError:
        refuse(name, f"unpacks to more than {most:,} bytes", "UNPACKED")
    except FailedError as error:
        reason = str(error)
        if "incomplete frame" in reason:
            raise InputError(
                f"{name} is cut short: the zstd data ends too early; {AGAIN}"
            ) from None
        # Polars says "invalid utf8" or "invalid UTF-8"
        if "utf" in reason.lower():
            raise InputError(f"{name} is not valid UTF-8; save it as UTF-8") from None
        raise InputError(
            f"{name} is damaged: it cannot be unpacked with zstd ({reason}); {AGAIN}"
        ) from None


def _in_child(job: str, data: Path | bytes, *arguments: Any, max_bytes: float) -> Answer:
    job = f"finegold.io.limits:{job}"
    return run_in_child(job, data, *arguments, max_bytes=max_bytes, max_seconds=_seconds_for(data))


def _seconds_for(data: Path | bytes) -> float:
    return limit("SECONDS") + n_bytes(data) / 1e6


def write_unpacked(data: Path | bytes, output: IO[bytes], name: str, most: int) -> dict[str, Any]:
    """Write the lines of a text in zstd (in a child process). Python itself unpacks zstd from 3.14
    on only.
    """
    size = 0
    for batch in pl.scan_lines(data, glob=False).collect_batches():
        text = batch.to_series().str.join("\n").item().encode() + b"\n"
        size += len(text)
        if size > most + 1:
            refuse(name, f"unpacks to more than {most:,} bytes", "UNPACKED")
        output.write(text)
    return {}


def measure_stream(data: Path | bytes, output: IO[bytes], most_cells: int) -> dict[str, Any]:
    """Return the size of the table in an Arrow stream, up to the first row too many (in a child
    process).
    """
    columns = pl.read_ipc_stream(data, n_rows=0).width
    return {"size": pl.read_ipc_stream(data, n_rows=most_cells // max(columns, 1) + 1).shape}


def check_nesting(name: str, file: IO[bytes]) -> None:
    """Refuse a file of an archive with JSON that is nested too deep."""
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
        if self.begins not in (b"[", b"{"):
            return self.begins == b""
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
                refuse(
                    self.name,
                    f"has JSON lists and objects nested more than {self.most:,} deep",
                    "DEPTH",
                )
        return True


# Workbooks

# between the path of a workbook and the name of a sheet
SHEET = "#"
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
# how an old workbook begins
OLE = b"\xd0\xcf\x11\xe0"
# in the archives of Excel and of OpenDocument
PARTS = {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}
# that the library and the text need at most
BYTES_PER_CELL = 200


def read_workbook(job: str, name: str, data: Path | bytes, *arguments: Any) -> Answer:
    """Return what a job below, which runs in the child, finds in a workbook."""
    if importlib.util.find_spec("fastexcel") is None:
        raise InputError(f"{name} is a workbook; to read it: pip install 'finegold[excel]'")
    max_bytes = min(BYTES_PER_CELL * max(limit("CELLS"), DEFAULTS["CELLS"]), available_memory())
    try:
        return _in_child(job, data, name, *arguments, max_bytes=max_bytes)
    except ExhaustedError:
        excess = (
            f"cannot be read with {in_words(max_bytes)} of memory in {_seconds_for(data):.0f}"
            " seconds"
        )
        refuse(name, f"is damaged, or its cells lie too far apart: it {excess}", "CELLS")
    except FailedError as error:
        reason = " ".join(str(error).partition("Context:")[0].split())[:120]
        raise InputError(
            f"{name} is a damaged workbook ({reason}); save it again, or as CSV"
        ) from None


# What follows runs in the child.


def write_sheet(
    data: Path | bytes, output: IO[bytes], name: str, sheet: str | None
) -> dict[str, Any]:
    """Write the text of a sheet; without a name, there must be one that is not empty."""
    book = _open(data)
    if sheet is not None and sheet not in book.sheet_names:
        raise InputError(f'{name} has no sheet "{sheet}"; it has {_quote(book.sheet_names)}')
    if not book.sheet_names:
        raise InputError(f"{name} is a workbook without sheets; expected one with a table of votes")
    tables = {
        title: _rows(name, book, title)
        for title in ([sheet] if sheet is not None else book.sheet_names)
    }
    filled = [title for title, rows in tables.items() if not rows.is_empty()]
    if len(filled) > 1:
        path = "FILE" if isinstance(data, bytes) else name
        raise InputError(
            f"{name} holds the sheets {_quote(filled)}; choose one: {path}{SHEET}{filled[0]}"
        )
    if not filled:
        raise InputError(
            f'{name}: the sheet "{next(iter(tables))}" is empty; expected a table with a header'
        )
    output.write(tables[filled[0]].write_csv(include_header=False).encode())
    return {"sheet": filled[0]}


def find_sheets(data: Path | bytes, output: IO[bytes], name: str) -> dict[str, Any]:
    """Return the names of the sheets that are not empty."""
    book = _open(data)
    return {
        "sheets": [title for title in book.sheet_names if not _rows(name, book, title).is_empty()]
    }


def _open(data: Path | bytes) -> Any:
    import fastexcel

    source = data if isinstance(data, Path) else io.BytesIO(data)
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            if "content.xml" in archive.namelist():
                # tags that do not match make the library loop
                ParserCreate().Parse(archive.read("content.xml"), True)
    return fastexcel.read_excel(data)


def _rows(name: str, book: Any, sheet: str) -> Any:
    """Return every cell as text, 2 and not 2.0, without empty columns."""
    rows = book.load_sheet(sheet, header_row=None, dtypes="string").to_polars()
    if rows.height * rows.width > (most := limit("CELLS")):
        size = f"{rows.height:,} rows x {rows.width:,} columns"
        refuse(name, f"has a sheet of {size}, more than {most:,} cells", "CELLS")
    return rows.select(column for column in rows if column.null_count() < len(column))


def _quote(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
