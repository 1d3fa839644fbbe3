"""Limits on files. They are checked before memory is allocated, and each can be raised.

The environment variable FINEGOLD_MAX_<NAME> sets a limit. Every message that refuses a file names the variable.
"""

from __future__ import annotations

import os
from typing import NoReturn

from finegold.errors import InputError

__all__ = ["DEFAULTS", "limit", "refuse", "remedy_of"]

DEFAULTS = {
    "CELLS": 10_000_000,  # of a sheet of a workbook, or of a Parquet or Arrow file (empty cells included)
    "CLASSES": 10_000,  # that a column of labels may hold
    "COLUMNS": 20_000,  # of a table
    "DEPTH": 100,  # of lists and objects inside each other in JSON
    "LINE": 2**24,  # bytes of one line of JSON Lines, or of a field of a CSV
    "UNPACKED": 2**26,  # bytes of a compressed file after unpacking, unless PACKED_TIMES its size is more
}
PACKED_TIMES = 100


def limit(name: str) -> int:
    """Return the limit of the environment, or its default."""
    value = os.environ.get(f"FINEGOLD_MAX_{name}")
    try:
        return DEFAULTS[name] if value is None else int(float(value))
    except (ValueError, OverflowError):
        raise InputError(f"FINEGOLD_MAX_{name} is {value!r}; expected a number, such as {DEFAULTS[name]}") from None


def refuse(file: str, found: str, name: str) -> NoReturn:
    """Raise an InputError that names the limit and how to raise it."""
    raise InputError(f"{file} {found}, which is the limit; {remedy_of(name)}")


def remedy_of(name: str) -> str:
    """Return the end of such a message."""
    return f"if you trust the file, raise the limit: FINEGOLD_MAX_{name}=N in the environment"
