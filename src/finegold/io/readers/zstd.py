"""An upper bound of the unpacked size of a zstd file, from its block headers: Python 3.11 cannot unpack it."""

from __future__ import annotations

from typing import BinaryIO

__all__ = ["most_unpacked"]

MAGIC = 0xFD2FB528
SKIPPABLE = 0x184D2A50  # to ...5F: frames that hold no data
MOST_IN_BLOCK = 2**17
RAW, RLE = 0, 1


def most_unpacked(file: BinaryIO) -> int:
    """Return an upper bound of the bytes of all frames. What follows damage does not count."""
    size = 0
    while len(head := file.read(4)) == 4:
        magic = int.from_bytes(head, "little")
        if magic & ~0xF == SKIPPABLE:
            file.seek(int.from_bytes(file.read(4), "little"), 1)
        elif magic == MAGIC:
            size += _frame(file)
        else:
            break
    return size


def _frame(file: BinaryIO) -> int:
    """Return the size that the header declares or that the blocks allow, whichever is less."""
    descriptor = int.from_bytes(file.read(1), "little")
    is_single, has_checksum = bool(descriptor & 0x20), bool(descriptor & 4)
    file.read((0 if is_single else 1) + (0, 1, 2, 4)[descriptor & 3])
    width = (1 if is_single else 0, 2, 4, 8)[descriptor >> 6]
    said = int.from_bytes(file.read(width), "little") + (256 if width == 2 else 0)
    size = _blocks(file)
    file.read(4 if has_checksum else 0)
    return min(size, said) if width else size


def _blocks(file: BinaryIO) -> int:
    size = 0
    while len(head := file.read(3)) == 3:
        header = int.from_bytes(head, "little")
        kind, length = header >> 1 & 3, header >> 3
        size += length if kind in (RAW, RLE) else MOST_IN_BLOCK
        file.seek(1 if kind == RLE else length, 1)
        if header & 1:  # the last block
            break
    return size
