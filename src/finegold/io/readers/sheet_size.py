"""The number of cells that the sheets of a workbook span, found without building them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from typing import IO, NamedTuple
from xml.parsers.expat import ParserCreate

__all__ = ["Size", "sheet_sizes"]

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
