"""Sheets of Excel and OpenDocument -> comma-separated text, which is then read like a CSV file."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple
from xml.parsers.expat import ParserCreate

import polars as pl

from finegold.errors import InputError
from finegold.io.source import WORKBOOKS, Source, archive_members, limit, refuse, start_of

__all__ = ["SHEET", "Size", "is_workbook", "sheet_names", "sheet_sizes", "sheet_text", "xls_sizes"]


CHUNK = 2**20
ROW = re.compile(rb"<(?:\w+:)?row\b")
ROW_NUMBER = re.compile(rb"""\s(?:[^>]*?\s)??r\s*=\s*["']([0-9]{1,10})["']""")
ANY_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
PLACE = re.compile(rb"""<(?:\w+:)?c\s(?:[^>]*?\s)??r\s*=\s*["']([A-Za-z]{1,7})([0-9]{1,10})["']""")
ODS_TAG = re.compile(rb"<table:(table-row|table-cell|covered-table-cell|table)\b([^>]*)")
REPEATED = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["']([0-9]{1,10})["']""")
ROW_HEADER, LAST_KIND_OF_CELL = 0, 11  # records of an .xlsb sheet: each begins with the row or the column


class Size(NamedTuple):
    """The last row and the last column of a sheet, counted from 1."""

    rows: int = 0
    columns: int = 0


def sheet_sizes(archive: zipfile.ZipFile) -> Iterator[Size]:
    """Yield the size of every part that may be a sheet, whatever its name."""
    for name in archive.namelist():
        with archive.open(name) as file:
            if name == "content.xml":
                yield from _ods_sizes(file.read())
            elif name.lower().endswith(".xml"):
                yield _xlsx_size(file)
            elif name.lower().endswith(".bin"):
                yield _xlsb_size(file.read())


def _xlsx_size(file: IO[bytes]) -> Size:
    """Measure a sheet. A cell is where its attribute r says, or next to the cell before it."""
    row, most = 0, Size()
    for text in _whole_rows(file):
        places = PLACE.findall(text)
        if places:
            rows, columns = max(int(place[1]) for place in places), max(map(_column, {place[0] for place in places}))
            most = Size(max(most.rows, rows), max(most.columns, columns))
        if len(ANY_CELL.findall(text)) > len(places):
            row, columns = _without_places(text, row)
            most = Size(max(most.rows, row), max(most.columns, columns))
    return most


def _without_places(text: bytes, row: int) -> tuple[int, int]:
    """Return the last row, and the largest number of cells in a row."""
    columns = 0
    for part in ROW.split(text)[1:]:
        number = ROW_NUMBER.match(part)
        row = int(number[1]) if number else row + 1
        columns = max(columns, len(ANY_CELL.findall(part)))
    return row, columns


def _whole_rows(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the text in pieces, each of which ends before a row begins."""
    rest = b""
    while chunk := file.read(CHUNK):
        rest += chunk
        cut = max(rest.rfind(b"<row"), rest.rfind(b":row"))
        if cut > 0:
            cut = rest.rfind(b"<", 0, cut + 1)
            yield rest[:cut]
            rest = rest[cut:]
    yield rest


@lru_cache(maxsize=2**15)
def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


def _ods_sizes(text: bytes) -> Iterator[Size]:
    """Measure sheets. Empty cells and rows at the end are repeated very often, and do not count."""
    ParserCreate().Parse(text, True)  # the library never ends with a sheet whose tags do not match
    row = column = repeated_rows = 0
    most = Size()
    for tag, attributes in ODS_TAG.findall(text):
        times = int(found[1]) if (found := REPEATED.search(attributes)) else 1
        if tag == b"table":
            yield most
            row, repeated_rows, most = 0, 0, Size()
        elif tag == b"table-row":
            row, repeated_rows, column = row + repeated_rows, times, 0
        else:
            column += times
            if b"value" in attributes or not attributes.rstrip().endswith(b"/"):
                most = Size(max(most.rows, row + repeated_rows), max(most.columns, column))
    yield most


def _xlsb_size(data: bytes) -> Size:
    place, row, rows, columns = 0, 0, 0, 0
    while place + 2 < len(data):
        kind, place = _number(data, place, 2)
        length, place = _number(data, place, 4)
        first = int.from_bytes(data[place : place + 4], "little")
        if kind == ROW_HEADER:
            row = first + 1
        elif kind <= LAST_KIND_OF_CELL:
            rows, columns = max(rows, row), max(columns, first + 1)
        place += length
    return Size(rows, columns)


def _number(data: bytes, place: int, most_bytes: int) -> tuple[int, int]:
    """Decode an integer in groups of seven bits, and return the position after it."""
    number = 0
    for step, byte in enumerate(data[place : place + most_bytes]):
        number |= (byte & 0x7F) << 7 * step
        if byte < 0x80:
            break
    return number, place + step + 1


HEADER = 512  # bytes before the first sector
SMALLEST_SECTOR = 512
COUNTS = (40, 44, 64, 72)  # where the numbers of sectors of the directory and of the three tables are
NO_SECTOR = 0xFFFFFFFA  # and above: the end of a chain
ENTRY = 128  # bytes of an entry of the directory
STREAMS = ("Workbook", "Book")
BEGIN = 0x809  # of a sheet
CELLS = {0x06, 0x7E, 0xD6, 0x201, 0x203, 0x204, 0x205, 0x27E, 0xFD, 0x01}
SEVERAL_CELLS = {0xBD, 0xBE}  # which end with their last column


def xls_sizes(data: bytes) -> Iterator[Size]:
    """Yield the size of each sheet, or nothing if the file is too damaged."""
    try:
        stream = _workbook(data)
    except (struct.error, IndexError):
        return
    most, place = Size(), 0
    while place + 4 <= len(stream):
        kind, length = struct.unpack_from("<HH", stream, place)
        body = stream[place + 4 : place + 4 + length]
        if kind == BEGIN:
            yield most
            most = Size()
        elif kind in CELLS | SEVERAL_CELLS and len(body) >= 6:
            row, column = struct.unpack_from("<HH", body)
            last = struct.unpack_from("<H", body, length - 2)[0] if kind in SEVERAL_CELLS else column
            most = Size(max(most.rows, row + 1), max(most.columns, column + 1, last + 1))
        place += 4 + length
    yield most


def _workbook(data: bytes) -> bytes:
    """Return the stream of the workbook from the sectors of an OLE file."""
    _check_counts(data)
    shift, small_shift = struct.unpack_from("<HH", data, 30)
    first_of_directory, _, small_below, first_of_small = struct.unpack_from("<4I", data, 48)
    sectors = [number for number in struct.unpack_from("<109I", data, 76) if number < NO_SECTOR]
    table = _numbers(_joined(data, sectors, shift, HEADER))
    directory = _joined(data, _chain(table, first_of_directory), shift, HEADER)
    entries = [directory[place : place + ENTRY] for place in range(0, len(directory) - ENTRY + 1, ENTRY)]
    first, size = _entry(entries, STREAMS)
    if size >= small_below:
        return _joined(data, _chain(table, first), shift, HEADER)[:size]
    small_table = _numbers(_joined(data, _chain(table, first_of_small), shift, HEADER))
    small = _joined(data, _chain(table, _entry(entries, ("Root Entry",))[0]), shift, HEADER)
    return _joined(small, _chain(small_table, first), small_shift, 0)[:size]


def _check_counts(data: bytes) -> None:
    """Refuse more sectors than the file has: the workbook library reserves memory for them, up to 17 GB."""
    counts = [struct.unpack_from("<I", data, place)[0] for place in COUNTS]
    if max(counts) > len(data) // SMALLEST_SECTOR:
        raise ValueError("its header counts more sectors than there are")


def _entry(entries: list[bytes], names: tuple[str, ...]) -> tuple[int, int]:
    """Return the start and the size of a stream."""
    found = [entry for entry in entries if entry[:64].decode("utf-16-le", "replace").split("\0")[0] in names]
    first, size = struct.unpack_from("<II", found[0], 116)
    return int(first), int(size)


def _chain(table: Sequence[int], number: int) -> list[int]:
    """Return a chain of sectors. Refuse a loop, which the workbook library would follow for ever."""
    chain: list[int] = []
    while number < len(table):
        if len(chain) == len(table):
            raise ValueError("its sectors form a circle")
        chain.append(number)
        number = table[number]
    return chain


def _joined(data: bytes, numbers: Sequence[int], shift: int, offset: int) -> bytes:
    size = 1 << min(shift, 20)
    return b"".join(data[offset + number * size : offset + (number + 1) * size] for number in numbers)


def _numbers(data: bytes) -> Sequence[int]:
    return struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])


SHEET = "#"  # between the path of a workbook and the name of a sheet
OLE, ZIP = b"\xd0\xcf\x11\xe0", b"PK\x03\x04"
PARTS = {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}  # in the archives of Excel and of OpenDocument


def is_workbook(source: Source) -> bool:
    """Recognise a workbook by its content, because any file may be called .xls; a damaged one by its name."""
    start = start_of(source)[: len(ZIP)]
    if start == ZIP:
        with suppress(zipfile.BadZipFile, OSError):
            return not PARTS.isdisjoint(member.filename for member in archive_members(source))
    return start == OLE or (start == ZIP and source.name.lower().endswith(WORKBOOKS))


def sheet_text(source: Source, sheet: str | None = None) -> Source:
    """Return the sheet of this name, or the only one that is not empty, as comma-separated text."""
    book = _open(source)
    name = _only(source, book) if sheet is None else _named(source, book, sheet)
    rows = _rows(source, book, name)
    if rows.is_empty():
        raise InputError(f'{source.name}: the sheet "{name}" is empty; expected a table with a header')
    text = rows.write_csv(include_header=False).encode()
    return Source(f'{source.name}, sheet "{name}"', text)


def sheet_names(source: Source) -> list[str]:
    """Return the names of the sheets that are not empty."""
    book = _open(source)
    return [name for name in book.sheet_names if not _rows(source, book, name).is_empty()]


def _open(source: Source) -> Any:
    try:
        import fastexcel
    except ImportError:
        raise InputError(f"{source.name} is a workbook; to read it: pip install 'finegold[excel]'") from None
    with _whole_workbook(source):
        _check_size(source)
        return fastexcel.read_excel(source.data)


@contextmanager
def _whole_workbook(source: Source) -> Iterator[None]:
    """Raise an InputError for a damaged workbook. Libraries raise many classes, and Rust's panic is no Exception."""
    try:
        yield
    except (InputError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise InputError(f"{source.name} is a damaged workbook ({_said(error)}); save it again, or as CSV") from None


def _check_size(source: Source) -> None:
    """Refuse huge sheets: the library allocates every cell between the first and the last, up to 549 GB."""
    most = limit("CELLS")
    with _whole_workbook(source):
        sizes = list(_sizes(source))
    for rows, columns in sizes:
        if rows * columns > most:
            found = f"has a sheet of {rows:,} rows x {columns:,} columns, more than {most:,} cells"
            refuse(source.name, found, "CELLS")


def _sizes(source: Source) -> Iterator[Size]:
    if start_of(source).startswith(ZIP):
        with zipfile.ZipFile(_data(source)) as archive:
            yield from sheet_sizes(archive)
    else:
        yield from xls_sizes(source.data if isinstance(source.data, bytes) else source.data.read_bytes())


def _only(source: Source, book: Any) -> str:
    if not book.sheet_names:
        raise InputError(f"{source.name} is a workbook without sheets; expected one with a table of votes")
    filled = [name for name in book.sheet_names if not _rows(source, book, name).is_empty()]
    if len(filled) > 1:
        names = ", ".join(f'"{name}"' for name in filled)
        path = "FILE" if isinstance(source.data, bytes) else source.name
        raise InputError(f"{source.name} holds the sheets {names}; choose one: {path}{SHEET}{filled[0]}")
    return filled[0] if filled else str(book.sheet_names[0])


def _named(source: Source, book: Any, sheet: str) -> str:
    if sheet not in book.sheet_names:
        names = ", ".join(f'"{name}"' for name in book.sheet_names)
        raise InputError(f'{source.name} has no sheet "{sheet}"; it has {names}')
    return sheet


def _rows(source: Source, book: Any, name: str) -> pl.DataFrame:
    """Return every cell as text, 2 and not 2.0, without empty columns."""
    with _whole_workbook(source):
        rows: pl.DataFrame = book.load_sheet(name, header_row=None, dtypes="string").to_polars()
    return rows.select(column for column in rows if column.null_count() < len(column))


def _data(source: Source) -> Path | io.BytesIO:
    return io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data


def _said(error: BaseException) -> str:
    return " ".join(str(error).partition("Context:")[0].split())[:120]
