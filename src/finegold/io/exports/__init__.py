"""Exports of annotation tools -> Annotations. Each tool has a file; files from outside come by an
entry point.

Files are read record by record: memory depends on the distinct names and the votes, not on the size
of the file. To find the tool that wrote a file, its column names or fields are compared with MARKS;
only a reader whose marks are there is imported and asked. Packages add readers below
`[project.entry-points."finegold.exports"]`.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from finegold.errors import FinegoldWarning, InputError, Placeholder, Remedy, use
from finegold.io.columns import ANNOTATOR, LABEL, TASK, candidates
from finegold.io.source import BOM, Source
from finegold.system.memory import did_you_mean

if TYPE_CHECKING:
    from finegold.io.exports.base import Export

__all__ = [
    "ALL",
    "GROUP",
    "add_nested_hint",
    "export_named",
    "find_export",
    "format_names",
]

# the question that means every one of them
ALL = "all"
# entry points of readers from outside
GROUP = "finegold.exports"
# stands for a field that holds a list or an object
NESTED = "<nested>"
# stands for a row of Qualtrics below the header
IMPORT_ID = "<ImportId>"
# a reader of any tool's JSON, so that all others are asked before it
LAST = "nested-json"

# The module of each format, and names of columns, fields or archive members, of which one group is
# in every file of the tool; "|" is between the groups. A name may begin or end with *.
MARKS = {
    "label-studio": (
        "label_studio",
        "id annotations | id completions | task result | id annotation_id lead_time",
    ),
    "prodigy": ("prodigy", "_input_hash answer"),
    "doccano": (
        "doccano",
        "id label | id cats | id labels | id annotations | *.jsonl | *.json | *.csv",
    ),
    "argilla": ("argilla", "fields responses | *.responses.users"),
    "inspect": ("inspect_ai", "status eval | header.json | _journal/start.json"),
    "mturk": ("mturk", "HITId WorkerId AssignmentId"),
    "toloka": ("toloka", "ASSIGNMENT:*"),
    "appen": ("appen", "_unit_id"),
    "qualtrics": ("qualtrics", f"StartDate | {IMPORT_ID} | V*"),
    "sagemaker": ("sagemaker", "answers | datasetObjectId | *-metadata"),
    "mt-bench": ("judges", "question_id judge"),
    "judgebench": ("judges", "pair_id judgments"),
    "alpaca-eval": ("judges", "instruction preference"),
    "arena": ("judges", "judge games model | winner"),
    "zooniverse": ("zooniverse", "user_name subject_ids annotations"),
    LAST: ("nested_json", NESTED),
}


def find_export(
    sources: Sequence[Source], format: str | None = None, *, may_be_table: bool = False
) -> Export | None:
    """Return the tool that wrote these files, or None for plain tables."""
    if format is not None:
        return export_named(format)
    if may_be_table and all(seen.is_table for seen in sources):
        return None
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


def export_named(name: str) -> Export:
    """Return the reader of a format. Raise an InputError that lists all formats if there is none."""
    # a module has an EXPORT or, if it reads several formats, EXPORTS
    if name in MARKS:
        reader = import_module(f"{__name__}.{MARKS[name][0]}")
        exports: Sequence[Export] = getattr(reader, "EXPORTS", None) or [reader.EXPORT]
        return next(export for export in exports if export.name == name)
    if (export := _outside().get(name)) is None:
        known = format_names()
        raise InputError(
            f'there is no format "{name}"; Finegold knows'
            f" {', '.join(known)}{did_you_mean(name, known)}"
        )
    return export


def format_names() -> list[str]:
    """Return the names of all formats: Finegold's own, then those that other packages have."""
    return [*MARKS, *_outside()]


def add_nested_hint(error: InputError, sources: Sequence[Source]) -> None:
    """Add to an error about a table of JSON how votes inside lists and objects are read."""
    for seen in sources:
        _refuse_one_object(seen)
    if any(_is_nested(seen) for seen in sources) and not any(
        "format" in each.options for each in error.remedies
    ):
        error.remedies = (use("if every task holds its votes", format=LAST), *error.remedies)


def _refuse_one_object(seen: Source) -> None:
    """Say what a file with a single JSON object is: columns, settings or anything else, but no
    table of votes.
    """
    if seen.layout == "list" or not seen.record:
        return
    content: Any = None
    with seen.open_bytes() as file, suppress(ValueError, RecursionError):
        content = json.loads(file.read().removeprefix(BOM))
    if not isinstance(content, dict):
        return
    fields = ", ".join(map(str, list(content)[:6])) + (", ..." if len(content) > 6 else "")
    values = list(content.values())
    # Columns are lists of one length, or objects with the keys 0, 1, 2, ... as pandas writes them.
    are_columns = bool(values) and all(isinstance(value, dict | list) and value for value in values)
    if are_columns and all(isinstance(value, list) for value in values):
        are_columns = len(values) > 1 and len({len(value) for value in values}) == 1
    elif are_columns:
        rows = [str(number) for number in range(len(values[0]))]
        are_columns = all(isinstance(value, dict) and list(value) == rows for value in values)
    if are_columns and not all(map(str.isdigit, content)):
        problem = f"the file is an object of columns ({fields}) and not a list of rows"
        raise InputError(
            problem, seen.name, [Remedy(text='write rows, in pandas with orient="records"')]
        )
    if not candidates(content, LABEL):
        problem = (
            f"the file is a single JSON object with the fields {fields}, and not a table of votes"
        )
        remedies = (
            [use("if every field is a task that holds its votes", format=LAST)]
            if _is_nested(seen)
            else []
        )
        raise InputError(problem, seen.name, remedies)


def _is_nested(seen: Source) -> bool:
    return any(isinstance(value, dict | list) for value in seen.record.values())


def _export_of(seen: Source) -> Export | None:
    names = {*seen.columns, *seen.record, *seen.members}
    names |= {NESTED} if _is_nested(seen) else set()
    names |= {IMPORT_ID} if any("ImportId" in cell for row in seen.rows for cell in row) else set()

    def is_there(mark: str) -> bool:
        if mark.startswith("*"):
            return any(name.endswith(mark[1:]) for name in names)
        return (
            any(name.startswith(mark[:-1]) for name in names)
            if mark.endswith("*")
            else mark in names
        )

    groups_of = {
        name: [group.split() for group in marks.split("|")] for name, (_, marks) in MARKS.items()
    }
    marked = [
        name
        for name, groups in groups_of.items()
        if any(all(map(is_there, group)) for group in groups)
    ]
    for name in marked:
        if name != LAST and export_named(name).fits(seen):
            return export_named(name)
    # To look for packages takes longer than to read a small file, so a table of plain votes is
    # taken for one.
    if not all(
        candidates(seen.columns or list(seen.record), role) for role in (TASK, ANNOTATOR, LABEL)
    ):
        for export in _outside().values():
            if export.fits(seen):
                return export
    return export_named(LAST) if LAST in marked and export_named(LAST).fits(seen) else None


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
            name, export = point.name, point.load()
            if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
                raise InputError(
                    f"a format's name has small letters, digits and hyphens only, not {name!r}"
                )
            if name in MARKS:
                raise InputError(f"{name} is a format of Finegold; choose another name")
            if not isinstance(export, Export):
                raise InputError(f"it must be a finegold.io.exports.base.Export, not {export!r}")
            if export.name != name:
                raise InputError(f'the Export must have the name "{name}", not {export.name!r}')
            readers[name] = export
        except Exception as error:
            # the other package can raise any exception
            package = point.dist.name if point.dist else "another package"
            reason = f"{type(error).__name__}: {error}"
            text = (
                f"the export reader {point.name} of {package} ({point.value}) cannot be used:"
                f" {reason}"
            )
            warnings.warn(text, FinegoldWarning, stacklevel=2)
    return readers
