"""Exports of annotation tools: which tool wrote a file, and who reads it.

Each tool has a file here; readers from outside come by an entry point below
`[project.entry-points."finegold.exports"]`. Files are read record by record: memory depends on the
distinct names and the votes, not on the size of the file.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from os.path import commonpath
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from finegold.errors import FinegoldWarning, InputError, Placeholder, Remedy, use
from finegold.io.columns import ANNOTATOR, LABEL, TASK, candidates
from finegold.io.source import BOM, Source
from finegold.system.memory import did_you_mean

if TYPE_CHECKING:
    from finegold.io.exports.base import Export

__all__ = ["ALL", "GROUP", "add_nested_hint", "export_named", "find_export", "format_names"]

# the question that means every one of them
ALL = "all"
# entry points of readers from outside
GROUP = "finegold.exports"
# a reader of any tool's JSON, so that all others are asked before it
LAST = "nested-json"

# The module of each format, and the marks of its files: names of columns, of fields of the first
# record, or of files in an archive. All marks of one group must be there; "|" is between groups, a
# comma between names of which one suffices, and * stands for anything. data{} is a field that holds
# an object, annotations[] one that holds a list; <sheet>, <json> and <zip> are kinds of files. A
# reader is imported only if its marks are there, and asked only if it has a test of its own (`fits`).
_SHORT = "id annotator annotation_id lead_time"
_DATA = "id text,filename,data"
MARKS = {
    "label-studio": (
        "label_studio",
        "id data{} annotations[],completions[] | task{} result |"
        f" <sheet> {_SHORT} | <json> {_SHORT}",
    ),
    "prodigy": ("prodigy", "_input_hash answer"),
    "doccano": (
        "doccano",
        f"<zip> *.jsonl,*.json,*.csv | <sheet> {_DATA} label |"
        f" <json> {_DATA} label[],cats[],labels[] | id text annotations[] annotation_approver,meta",
    ),
    "argilla": ("argilla", "fields responses[],responses{} | *.responses.users"),
    "inspect": ("inspect_ai", "version status eval{} | <zip> header.json,_journal/start.json"),
    "mturk": ("mturk", "<sheet> HITId WorkerId AssignmentId AssignmentStatus,Answer.*"),
    "toloka": ("toloka", "<sheet> ASSIGNMENT:*"),
    "appen": ("appen", "<sheet> _unit_id _golden,_tainted,_trust"),
    "qualtrics": (
        "qualtrics",
        "<sheet> StartDate ResponseId,ResponseID | <sheet> <below:*ImportId*> |"
        " <sheet> V1 <below:StartDate> <below:ResponseI*>",
    ),
    "sagemaker": (
        "sagemaker",
        "<json> datasetObjectId annotations,consolidatedAnnotation | <json> answers | <json> *-metadata{}",
    ),
    "mt-bench": ("judges", "question_id judge"),
    "judgebench": ("judges", "pair_id judgments"),
    "alpaca-eval": ("judges", "instruction preference"),
    "arena": ("judges", "judge games model | winner"),
    "zooniverse": ("zooniverse", "<sheet> user_name subject_ids annotations"),
    LAST: ("nested_json", "<json> *{} | <json> *[]"),
}
# Tools whose exports hold marks in images or texts, and how to recognise those.
REGIONS = {
    "Labelbox": "data_row{} projects{} | DataRow_ID Label",
    "V7": "item{},image{} annotations[] version,dataset",
    "SuperAnnotate": "metadata{} instances[]",
    "COCO": "images[] annotations[] categories[]",
    "LabelMe": "shapes[] imagePath",
    "CVAT": "<text:<annotations>>",
    "INCEpTION": "%TYPES | %FEATURE_STRUCTURES | <text:#FORMAT=WebAnno> | <text:<xmi:XMI>",
}
SUFFIXES_OF_TEXTS = {".ann": "brat", ".conll": "CoNLL", ".iob": "CoNLL", ".bio": "CoNLL"}
# fields of a mark in a text
PLACES = {"start", "start_offset"}
TEXTS = {"INCEpTION", *SUFFIXES_OF_TEXTS.values()}


def _has_marks(names: frozenset[str], marks: str) -> bool:
    def is_there(mark: str) -> bool:
        if "*" not in mark:
            return mark in names
        pattern = re.compile(re.escape(mark).replace(r"\*", ".*"), re.DOTALL)
        return any(map(pattern.fullmatch, names))

    return any(
        all(any(map(is_there, mark.split(","))) for mark in group.split())
        for group in marks.split("|")
    )


def _names_in(seen: Source) -> frozenset[str]:
    """Return what marks can name in a file."""
    kinds = {
        "<sheet>": seen.is_delimited,
        "<json>": bool(seen.record),
        "<zip>": bool(seen.members),
        **{
            f"<text:{start}>": start.encode() in seen.text
            for start in ("<annotations>", "#FORMAT=WebAnno", "<xmi:XMI")
        },
    }
    names = {kind for kind, is_so in kinds.items() if is_so}
    names |= {name.replace(" ", "_") for name in (*seen.columns, *seen.record, *seen.members)}
    names |= {name + "[]" for name, value in seen.record.items() if isinstance(value, list)}
    names |= {name + "{}" for name, value in seen.record.items() if isinstance(value, dict)}
    return frozenset(names | {f"<below:{cell}>" for row in seen.rows for cell in row})


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
    names = _names_in(seen)
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
    if not _has_marks(names, MARKS[name][1]):
        return None
    export = export_named(name)
    return export if export.fits is None or export.fits(seen) else None


def refuse_marks(sources: Sequence[Source]) -> None:
    """Refuse exports that hold marks in texts or images by the name of the tool."""
    for seen in sources:
        title = SUFFIXES_OF_TEXTS.get(PurePath(seen.name).suffix)
        names = frozenset[str]() if title else _names_in(seen)
        title = title or next((t for t, marks in REGIONS.items() if _has_marks(names, marks)), None)
        if title in TEXTS:
            problem = f"{seen.name} is an export of {title}: marked texts, not votes on whole tasks"
            raise InputError(problem, remedies=[read_spans(sources)])
        if title is not None:
            problem = (
                f"{seen.name} is an export of {title}, which marks regions; Finegold reads votes on"
                " whole tasks and marked texts, and neither boxes nor segmentations (see CVAT,"
                " datumaro, STAPLE)"
            )
            classes = "for its classes of whole tasks, write a table of task, annotator and label"
            raise InputError(problem, remedies=[Remedy(text=classes)])


def read_spans(sources: Sequence[Source]) -> Remedy:
    """Return the command that reads marked texts: of several files, those of their folder."""
    names = [seen.name for seen in sources]
    return Remedy(text=f"run finegold spans {names[0] if len(names) == 1 else commonpath(names)}")


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
        for name, value in seen.record.items():
            marks = value if isinstance(value, list) else []
            if any(isinstance(mark, dict) and PLACES & mark.keys() for mark in marks):
                problem = f'"{name}" marks spans in texts, which are not votes on whole tasks'
                raise InputError(problem, seen.name, [read_spans(sources)])
        refuse_one_object(seen)
    is_nested = any(_has_marks(_names_in(seen), MARKS[LAST][1]) for seen in sources)
    if is_nested and not any("format" in each.options for each in error.remedies):
        error.remedies = (use("if every task holds its votes", format=LAST), *error.remedies)


def refuse_one_object(seen: Source) -> None:
    """Say what a file with a single JSON object is: columns, settings or anything else, but no
    table of votes.
    """
    if seen.layout == "list" or not seen.record:
        return
    content = _only_object(seen)
    if content is None:
        return
    names = list(content)
    fields = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    values = list(content.values())
    # columns are lists of one length, or objects with the same keys, as pandas writes them
    shapes = {
        (type(value), len(value) if isinstance(value, list) else tuple(value))
        for value in values
        if isinstance(value, list | dict)
    }
    are_columns = len(values) > 1 and len(shapes) == 1 and not all(map(str.isdigit, names))
    if are_columns and all(isinstance(value, list | dict) for value in values):
        problem = f"the file is an object of columns ({fields}) and not a list of rows"
        rows = Remedy(text='write rows, in pandas with orient="records"')
        nested = use("if every field is an annotator or a task that holds votes", format=LAST)
        raise InputError(problem, seen.name, [rows, nested])
    for name, value in content.items():
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            problem = f'the rows stand in the field "{name}" of one object'
            remedy = Remedy(text=f"write this list of {len(value):,} records to a file of its own")
            raise InputError(problem, seen.name, [remedy])
    if not candidates(names, LABEL):
        problem = (
            f"the file is a single JSON object with the fields {fields}, and not a table of votes"
        )
        hint = [use("if every field is a task that holds its votes", format=LAST)]
        is_nested = any(isinstance(value, list | dict) for value in values)
        raise InputError(problem, seen.name, hint if is_nested else [])


def _only_object(seen: Source) -> dict[str, Any] | None:
    """Return the content of a file with one JSON object; None if it holds more, or damage."""
    import json

    with seen.open_bytes() as file:
        try:
            content = json.loads(file.read().removeprefix(BOM))
        except (ValueError, RecursionError):
            return None
    return content if isinstance(content, dict) else None


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
            text = (
                f"the export reader {point.name} of {package} ({point.value}) cannot be used:"
                f" {type(error).__name__}: {error}"
            )
            warnings.warn(text, FinegoldWarning, stacklevel=2)
    return readers
