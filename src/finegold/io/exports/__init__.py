"""Exports of annotation tools: which tool wrote a file, and who reads it.

Each tool has a file here. Files are read record by record: memory depends on the distinct names and
the votes, not on the size of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from finegold.errors import InputError, Placeholder, use
from finegold.io.exports.marks import MARKS, has_marks, names_in, refuse_marks
from finegold.io.source import Source
from finegold.system.memory import did_you_mean

if TYPE_CHECKING:
    from finegold.io.exports.base import Export

# the question that means every one of them
ALL = "all"


def find_export(
    sources: Sequence[Source], format: str | None = None, *, may_be_table: bool = False
) -> Export | None:
    """Return the tool that wrote these files, or None for plain tables."""
    if format is not None:
        return export_named(format)
    if may_be_table and all(seen.is_table for seen in sources):
        return None
    refuse_marks(sources)
    exports = [_export_of(seen) for seen in sources]
    titles = [f"an export of {each.title}" if each else "a plain table" for each in exports]
    for title, seen in zip(titles, sources, strict=True):
        if title != titles[0]:
            problem = f"{sources[0].name} is {titles[0]} but {seen.name} is {title}"
            remedies = [
                use(text="read them one at a time"),
                use(format=Placeholder("NAME"), text="for all"),
            ]
            raise InputError(problem, remedies=remedies)
    return exports[0] if exports else None


def _export_of(seen: Source) -> Export | None:
    names = names_in(seen)
    marked = (export_named(name) for name, (_, marks) in MARKS.items() if has_marks(names, marks))
    return next((each for each in marked if each.fits is None or each.fits(seen)), None)


def export_named(name: str) -> Export:
    """Return the reader of a format. Raise an InputError that lists all formats if there is none."""
    if name not in MARKS:
        problem = f'there is no format "{name}"; Finegold knows {", ".join(MARKS)}'
        raise InputError(f"{problem}{did_you_mean(name, MARKS)}")
    export: Export = import_module(f"{__name__}.{MARKS[name][0]}").EXPORT
    return export
