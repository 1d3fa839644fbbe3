"""What a file may ask for: limits that the environment can raise, and the nesting of JSON."""

from __future__ import annotations

import os
from typing import IO, NoReturn

import numpy as np

from finegold.errors import InputError

__all__ = ["CHUNK", "DEFAULTS", "Nesting", "check_nesting", "limit", "refuse", "remedy_of"]

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
