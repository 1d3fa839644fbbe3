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

from finegold.errors import InputError, Placeholder, Remedy, use, warn_user
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
    for export, seen in zip(exports, sources, strict=True):
        if export is not exports[0]:
            first, other = (
                f"an export of {it.title}" if it else "a plain table" for it in (exports[0], export)
            )
            remedies = [
                Remedy(text="read them one at a time"),
                use(format=Placeholder("NAME"), text="for all"),
            ]
            raise InputError(
                f"{sources[0].name} is {first} but {seen.name} is {other}", remedies=remedies
            )
    return exports[0] if exports else None


def _export_of(seen: Source) -> Export | None:
    names = names_in(seen)
    for name in MARKS:
        if name != LAST and (export := _tool(name, seen, names)) is not None:
            return export
    # To look for packages takes longer than to read a small file, so a table of plain votes is
    # taken for one.
    if not all(
        candidates(seen.columns or list(seen.record), role) for role in (TASK, ANNOTATOR, LABEL)
    ):
        for export in _outside().values():
            if export.fits is not None and export.fits(seen):
                return export
    return _tool(LAST, seen, names)


def _tool(name: str, seen: Source, names: frozenset[str]) -> Export | None:
    """Return the reader of a format if this tool wrote the file."""
    if not has_marks(names, MARKS[name][1]):
        return None
    export = export_named(name)
    return export if export.fits is None or export.fits(seen) else None


def export_named(name: str) -> Export:
    """Return the reader of a format. Raise an InputError that lists all formats if there is none."""
    if name in MARKS:
        export: Export = import_module(f"{__name__}.{MARKS[name][0]}").EXPORT
        return export
    if name not in _outside():
        known = format_names()
        raise InputError(
            f'there is no format "{name}"; Finegold knows'
            f" {', '.join(known)}{did_you_mean(name, known)}"
        )
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
            if not isinstance(export, Export):
                raise InputError(f"it must be a finegold.io.exports.base.Export, not {export!r}")
            if export.name != point.name or export.name in MARKS:
                raise InputError(f'its name, "{export.name}", is not {point.name}, or is taken')
            readers[export.name] = export
        except Exception as error:
            # the other package can raise any exception
            package = point.dist.name if point.dist else "another package"
            reader = f"the export reader {point.name} of {package} ({point.value})"
            text = f"{reader} cannot be used: {type(error).__name__}: {error}"
            warn_user(text)
    return readers
