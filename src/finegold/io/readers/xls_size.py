"""The number of cells that the sheets of an old binary workbook (.xls) span, from the records of its cells."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from finegold.io.readers.sheet_size import Size

__all__ = ["xls_sizes"]

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
