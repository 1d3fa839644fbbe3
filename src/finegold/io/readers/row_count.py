"""The number of rows that a Parquet or Arrow file declares, found without reading them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

import polars as pl

from finegold.errors import InputError
from finegold.io.readers.limits import PACKED_TIMES, limit, refuse
from finegold.io.readers.parquet_pages import damaged_page
from finegold.io.readers.source import Source, open_bytes, size_of

__all__ = ["ARROW", "ARROW_STREAM", "PARQUET", "check_rows"]

PARQUET, ARROW, ARROW_STREAM = b"PAR1", b"ARRO", b"\xff" * 4  # how such files begin
CELLS_PER_BYTE = 50  # sparse wide tables have about 30
TYPE, HEADER, BODY_LENGTH = 1, 2, 3  # fields of a message (Message.fbs of Arrow)
SCHEMA, RECORD_BATCH = 1, 3  # types of a message
COLUMNS, ROWS = 1, 0  # a field of a schema, and one of a record batch


def check_rows(source: Source, start: bytes) -> None:
    """Refuse a small file that declares a huge table: nulls and repeated values take no bytes in a file."""
    rows, columns = _size_of_stream(source) if start == ARROW_STREAM else _size_of_file(source, start)
    most = max(limit("CELLS"), CELLS_PER_BYTE * size_of(source))
    if start == PARQUET and (wrong := _damage(source)):
        raise InputError(f"{source.name} is no whole Parquet file ({wrong}); fetch or write the file again")
    if rows * columns > most:
        refuse(source.name, f"has {rows:,} rows x {columns:,} columns, more than {most:,} cells", "CELLS")


def _damage(source: Source) -> str:
    with open_bytes(source) as file:
        return damaged_page(file, max(limit("UNPACKED"), PACKED_TIMES * size_of(source)))


def _size_of_file(source: Source, start: bytes) -> tuple[int, int]:
    scan = pl.scan_parquet if start == PARQUET else pl.scan_ipc
    table = scan(source.data, glob=False, hive_partitioning=False)
    return int(table.select(pl.len()).collect().item()), len(table.collect_schema())


def _size_of_stream(source: Source) -> tuple[int, int]:
    """Return the rows and columns that an Arrow stream declares. Polars can only read a stream as a whole."""
    rows, columns = 0, 0
    with open_bytes(source) as file, suppress(struct.error):  # damage is left to those who read the file
        for message, table in _messages(file):
            kind = _number("<B", message, _field(message, table, TYPE))
            header = _follow(message, _field(message, table, HEADER))
            if kind == SCHEMA:
                columns = _number("<I", message, _follow(message, _field(message, header, COLUMNS)))
            elif kind == RECORD_BATCH:
                rows += _number("<q", message, _field(message, header, ROWS))
    return rows, columns


def _messages(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield every message and the position of its table."""
    while (size := struct.unpack("<4xi", file.read(8))[0]) > 0:
        message = file.read(size)
        table = _follow(message, 0)
        yield message, table
        file.seek(max(_number("<q", message, _field(message, table, BODY_LENGTH)), 0), 1)


def _field(message: bytes, table: int, field: int) -> int | None:
    """Return the position of a field of a flatbuffer's table, or None if it has its default, which is 0 here."""
    layout = table - _number("<i", message, table)
    if 4 + 2 * field >= _number("<H", message, layout):
        return None
    place = _number("<H", message, layout + 4 + 2 * field)
    return table + place if place else None


def _follow(message: bytes, place: int | None) -> int:
    """Return the position that an offset points to."""
    return (place or 0) + _number("<I", message, place)


def _number(kind: str, message: bytes, place: int | None) -> int:
    return 0 if place is None else int(struct.unpack_from(kind, message, place)[0])
