"""What the pages of a Parquet file declare, found without decoding them.

Polars allocates what the header of a page declares before it reads the page, so a damaged header can end the process.
Headers are therefore compared with the footer first. Both are structs of Thrift's compact protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

__all__ = ["damaged_page"]

TAIL = struct.Struct("<I4s")  # the end of a file: the size of the footer, and a mark
LONGEST_HEADER = 2**16  # bytes; statistics of a page belong to its header
MOST_DEPTH = 20
ROW_GROUPS, COLUMNS, META_DATA = 4, 1, 3  # fields of FileMetaData, RowGroup and ColumnChunk
N_VALUES, COMPRESSED, FIRST_DATA_PAGE, DICTIONARY_PAGE = 5, 7, 9, 11  # fields of ColumnMetaData
UNPACKED_SIZE, PACKED_SIZE, DATA, DICTIONARY, DATA_V2 = 2, 3, 5, 7, 8  # fields of PageHeader
VALUES = 1  # the first field of every kind of page
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12  # types; 4, 5 and 6 are integers


def damaged_page(file: BinaryIO, most_bytes: int) -> str:
    """Return what is wrong with the first page that cannot be right, or nothing."""
    try:
        for chunk in _chunks(file):
            if wrong := _wrong_page(file, chunk, most_bytes):
                return wrong
    except (IndexError, KeyError, TypeError, struct.error, OverflowError, ValueError):
        return "a header of a page cannot be read"
    return ""


def _chunks(file: BinaryIO) -> Iterator[dict[int, Any]]:
    """Yield the metadata of each column of each row group."""
    end = file.seek(-TAIL.size, 2)
    size, _ = TAIL.unpack(file.read(TAIL.size))
    file.seek(end - size)
    footer, _ = _struct(file.read(size), 0)
    for group in footer.get(ROW_GROUPS, []):
        for column in group[COLUMNS]:
            yield column[META_DATA]


def _wrong_page(file: BinaryIO, chunk: dict[int, Any], most_bytes: int) -> str:
    place = min(chunk[FIRST_DATA_PAGE], chunk.get(DICTIONARY_PAGE) or chunk[FIRST_DATA_PAGE])
    end, left = place + chunk[COMPRESSED], chunk[N_VALUES]
    while place < end and left > 0:
        file.seek(place)
        page, length = _struct(file.read(LONGEST_HEADER), 0)
        n_values = (page.get(DATA) or page.get(DICTIONARY) or page[DATA_V2])[VALUES]
        if not 0 <= n_values <= left or not 0 <= page[UNPACKED_SIZE] <= most_bytes or page[PACKED_SIZE] < 0:
            return f"a page declares {n_values:,} values of {left:,}, and {page[UNPACKED_SIZE]:,} bytes"
        left -= 0 if DICTIONARY in page else n_values
        place += length + page[PACKED_SIZE]
    return ""


def _struct(data: bytes, place: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Return the fields of a struct by number, and where it ends."""
    if depth > MOST_DEPTH:
        raise ValueError("structs inside each other, too deep")
    fields: dict[int, Any] = {}
    field = 0
    while kind := data[place] & 15:
        step, place = data[place] >> 4, place + 1
        field, place = (field + step, place) if step else _signed(data, place)
        fields[field], place = _value(data, place, kind, depth)
    return fields, place + 1


def _value(data: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (TRUE, FALSE):
        return kind == TRUE, place
    if kind == BYTE:
        return data[place], place + 1
    if kind == DOUBLE:
        return None, place + 8
    if kind == BINARY:
        length, place = _unsigned(data, place)
        return None, place + length
    if kind in (LIST, SET):
        return _list(data, place, depth)
    if kind == STRUCT:
        return _struct(data, place, depth + 1)
    if kind in (4, 5, 6):
        return _signed(data, place)
    raise ValueError(f"type {kind} is not in Parquet")


def _list(data: bytes, place: int, depth: int) -> tuple[list[Any], int]:
    length, kind, place = data[place] >> 4, data[place] & 15, place + 1
    if length == 15:
        length, place = _unsigned(data, place)
    values: list[Any] = []
    if length > len(data) - place:  # every value takes a byte at least
        raise ValueError("a list that is longer than the data")
    for _ in range(length):
        value, place = (None, place + 1) if kind in (TRUE, FALSE) else _value(data, place, kind, depth + 1)
        values.append(value)
    return values, place


def _unsigned(data: bytes, place: int) -> tuple[int, int]:
    """Decode an integer of seven bits per byte, the lowest first."""
    value, shift = 0, 0
    while data[place] & 128:
        value, shift, place = value | (data[place] & 127) << shift, shift + 7, place + 1
    return value | data[place] << shift, place + 1


def _signed(data: bytes, place: int) -> tuple[int, int]:
    """Decode an integer whose lowest bit is its sign."""
    value, place = _unsigned(data, place)
    return value >> 1 ^ -(value & 1), place
