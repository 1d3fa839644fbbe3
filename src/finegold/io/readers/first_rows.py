"""Text files whose first line is no header: a title is above it, or there is none. This runs after an error only."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import NamedTuple

from finegold.io.readers.columns import ANNOTATOR, LABEL, TASK, WIDE_TASK, bare_name
from finegold.io.readers.proposal import propose
from finegold.io.readers.source import BOM, Source, text_start

__all__ = ["wrong_header"]

MOST_LINES = 30
KNOWN = frozenset().union(*(role.words for role in (TASK, ANNOTATOR, LABEL, WIDE_TASK))) - {""}


class Found(NamedTuple):
    what: str
    remedy: str  # with options
    repair: str  # of the file itself
    options: dict[str, str | None]


def wrong_header(source: Source) -> Found | None:
    """Return what is wrong with the first line and the options that repair it, or None."""
    if not source.is_delimited or source.header != 1 or source.compression == "zstd":
        return None
    rows = _rows(source)
    return (_title(rows) or _data(rows)) if len(rows) > 1 else None


def _rows(source: Source) -> list[list[str]]:
    """Split the first lines by the mark that is most frequent in them. A line may be blank."""
    lines = text_start(source).removeprefix(BOM).decode(errors="replace").splitlines()[:MOST_LINES]
    mark = source.separator or max(",;\t|", key="".join(lines).count)
    mark = mark if any(mark in line for line in lines) else " "
    return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]


def _title(rows: list[list[str]]) -> Found | None:
    filled = [sum(map(bool, row)) for row in rows]
    width = max(filled)
    first = filled.index(width)
    header = [cell for cell in rows[first] if cell]
    above = filled[:first]
    if not first or width < 2 or max(above) > max(1, width // 2) or not _are_names(header):
        return None
    blank = not any(above)
    what = "line 1 holds a title" if first == 1 else f"lines 1 to {first} hold a title"
    what = "the first line is blank" if blank else what
    remedy = f"say --header-line {first + 1} (header={first + 1} in Python)"
    found = f"{what}, and line {first + 1} the names of the columns"
    return Found(found, remedy, "remove the lines above", {"--header-line": str(first + 1)})


def _are_names(header: Sequence[str]) -> bool:
    known = any(bare_name(name) in KNOWN for name in header)
    plain = len(set(header)) == len(header) and not any(map(_is_number, header))
    return known or (plain and len(header) > 2)


def _data(rows: list[list[str]]) -> Found | None:
    """Say that the first line looks like the others: its values are numbers, or occur below in the same column."""
    header, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if not below or any(bare_name(name) in KNOWN for name in header):
        return None
    columns = list(zip(*below, strict=True))
    like = [_is_number(name) or name in column for name, column in zip(header, columns, strict=True)]
    if sum(like) * 2 < len(like) or len(header) < 2:
        return None
    shown = ", ".join(header[:6])
    found = f"the first line ({shown}) looks like data and not like the names of columns"
    remedy = "if there is no header, say --no-header (header=False in Python) and name the columns by number"
    names = [str(number) for number in range(1, len(header) + 1)]
    chosen = propose(names, [[*column] for column in zip(header, *below, strict=True)], [TASK, ANNOTATOR, LABEL], [])
    return Found(found, remedy, "if there is no header, add a line with the names", {"--no-header": "", **chosen})


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
