"""Files that hold no votes on whole tasks: marks in texts and images, and single objects of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os.path import commonpath
from pathlib import PurePath

from finegold.errors import InputError, Remedy, use
from finegold.io.columns import LABEL, candidates
from finegold.io.exports.marks import LAST, MARKS, has_marks, names_in
from finegold.io.source import BOM, Source

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


def refuse_marks(sources: Sequence[Source]) -> None:
    """Refuse exports that hold marks in texts or images by the name of the tool."""
    for seen in sources:
        title = SUFFIXES_OF_TEXTS.get(PurePath(seen.name).suffix)
        names = frozenset[str]() if title else names_in(seen)
        title = title or next((t for t, marks in REGIONS.items() if has_marks(names, marks)), None)
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


def add_nested_hint(error: InputError, sources: Sequence[Source]) -> None:
    """Add to an error about a table of JSON how votes inside lists and objects are read."""
    for seen in sources:
        for name, value in seen.record.items():
            marks = value if isinstance(value, list) else []
            if any(isinstance(mark, dict) and PLACES & mark.keys() for mark in marks):
                problem = f'"{name}" marks spans in texts, which are not votes on whole tasks'
                raise InputError(problem, seen.name, [read_spans(sources)])
        refuse_one_object(seen)
    is_nested = any(has_marks(names_in(seen), MARKS[LAST][1]) for seen in sources)
    if is_nested and not any("format" in each.options for each in error.remedies):
        error.remedies = (use("if every task holds its votes", format=LAST), *error.remedies)


def refuse_one_object(seen: Source) -> None:
    """Say what a file with a single JSON object is: columns, settings or anything else, but no
    table of votes.
    """
    if seen.layout == "list" or not seen.record:
        return
    with seen.open_bytes() as file:
        try:
            content = json.loads(file.read().removeprefix(BOM))
        except (ValueError, RecursionError):
            # more than one object, or damage
            return
    names, values = list(content), list(content.values())
    fields = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    # columns are lists of one length, or objects with the same keys, as pandas writes them
    shapes = {
        (type(value), tuple(value) if isinstance(value, dict) else len(value))
        if isinstance(value, list | dict)
        else None
        for value in values
    }
    if len(values) > 1 and len(shapes) == 1 and None not in shapes and not _are_numbers(names):
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
        hint = use("if every field is a task that holds its votes", format=LAST)
        is_nested = any(isinstance(value, list | dict) for value in values)
        raise InputError(problem, seen.name, [hint] if is_nested else [])


def _are_numbers(names: list[str]) -> bool:
    return all(map(str.isdigit, names))
