"""Exports of annotation tools: which tool wrote a file, and who reads it.

Each tool has a file here; readers from outside come by an entry point below
`[project.entry-points."finegold.exports"]`. Files are read record by record: memory depends on the
distinct names and the votes, not on the size of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from finegold.errors import InputError, Placeholder, use, warn_user
from finegold.io.columns import ANNOTATOR, LABEL, TASK, candidates
from finegold.io.exports.marks import LAST, MARKS, has_marks, names_in, refuse_marks
from finegold.io.source import Source
from finegold.system.memory import did_you_mean

if TYPE_CHECKING:
    from finegold.io.exports.base import Export

# the question that means every one of them
ALL = "all"
# entry points of readers from outside
GROUP = "finegold.exports"


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
            remedies = [use(text="one at a time"), use(format=Placeholder("NAME"), text="for all")]
            raise InputError(problem, remedies=remedies)
    return exports[0] if exports else None


def _export_of(seen: Source) -> Export | None:
    names = names_in(seen)
    outside: dict[str, Export] = {}
    # To look for packages takes longer than to read a small file, so a table of plain votes is
    # taken for one.
    columns = seen.columns or list(seen.record)
    if not all(candidates(columns, role) for role in (TASK, ANNOTATOR, LABEL)):
        outside = _outside()
    for name in [*(each for each in MARKS if each != LAST), *outside, LAST]:
        if name in outside or has_marks(names, MARKS[name][1]):
            export = export_named(name)
            if export.fits(seen) if export.fits is not None else name in MARKS:
                return export
    return None


def export_named(name: str) -> Export:
    """Return the reader of a format. Raise an InputError that lists all formats if there is none."""
    if name in MARKS:
        export: Export = import_module(f"{__name__}.{MARKS[name][0]}").EXPORT
        return export
    if name not in _outside():
        known = format_names()
        problem = f'there is no format "{name}"; Finegold knows {", ".join(known)}'
        raise InputError(f"{problem}{did_you_mean(name, known)}")
    return _outside()[name]


def format_names() -> list[str]:
    """Return the names of all formats: Finegold's own, then those that other packages have."""
    return [*MARKS, *_outside()]


@cache
def _outside() -> dict[str, Export]:
    """Return the readers of installed packages. A broken one is reported and does not affect
    others.
    """
    from importlib.metadata import entry_points

    from finegold.io.exports.base import Export

    readers: dict[str, Export] = {}
    for point in entry_points(group=GROUP):
        try:
            export = point.load()
            if not isinstance(export, Export) or point.name in MARKS:
                raise InputError("it is no finegold.io.exports.base.Export, or its name is taken")
            readers[point.name] = export
        except Exception as error:
            # the other package can raise any exception
            name = f"the export reader {point.name} ({point.value})"
            warn_user(f"{name} cannot be used: {type(error).__name__}: {error}")
    return readers
