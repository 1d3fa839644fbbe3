"""What a file is by the names in it: the export of a tool, or something that holds no votes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from os.path import commonpath
from pathlib import PurePath

from finegold.errors import InputError, Remedy, use
from finegold.io.columns import LABEL, candidates
from finegold.io.source import BOM, Source

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
        f" <json> {_DATA} label[],cats[],labels[],entities[] | id text annotations[] annotation_approver,meta",
    ),
    "argilla": ("argilla", "fields responses{},responses[] | *.responses.users"),
    "inspect": ("inspect_ai", "version status eval{} | <zip> header.json,_journal/start.json"),
    "mturk": ("mturk", "<sheet> HITId WorkerId AssignmentId AssignmentStatus,Answer.*"),
    "toloka": ("toloka", "<sheet> ASSIGNMENT:*"),
    "appen": ("appen", "<sheet> _unit_id _golden,_tainted,_trust"),
    "qualtrics": (
        "qualtrics",
        "<sheet> StartDate ResponseId | <sheet> <below:*ImportId*> | <sheet> V1 <below:StartDate>",
    ),
    "sagemaker": (
        "sagemaker",
        "<json> datasetObjectId annotations,consolidatedAnnotation | <json> answers[] |"
        " <json> *-metadata{}",
    ),
    "zooniverse": ("zooniverse", "<sheet> user_name subject_ids annotations"),
    LAST: ("nested_json", "<json> *{} | <json> *[]"),
}
# Marked texts, by suffix or by how they begin.
TEXTS = {".ann": "brat", ".conll": "CoNLL", ".iob": "CoNLL", ".bio": "CoNLL", ".xmi": "INCEpTION"}
INCEPTION = re.compile(rb'#FORMAT=WebAnno|<xmi:XMI|\{\s*"%(TYPES|FEATURE_STRUCTURES)"')
# Tools whose exports mark regions, and the names in those.
REGIONS = {
    "Labelbox": "data_row{} projects{} | DataRow_ID Label",
    "V7": "item{},image{} annotations[] version,dataset",
    "SuperAnnotate": "metadata{} instances[]",
    "COCO": "images[] annotations[] categories[]",
}
CVAT = b"<annotations>"
# fields of a mark in a text
PLACES = {"start", "start_offset"}


def has_marks(names: frozenset[str], marks: str) -> bool:
    """Return whether all marks of a group are among the names of a file."""

    def is_there(mark: str) -> bool:
        return mark in names or (
            "*" in mark and any(fnmatchcase(name, mark.replace("[", "[[]")) for name in names)
        )

    return any(
        all(any(map(is_there, mark.split(","))) for mark in group.split())
        for group in marks.split("|")
    )


def names_in(seen: Source) -> frozenset[str]:
    """Return what marks can name in a file."""
    kinds = {
        "<sheet>": seen.is_delimited,
        "<json>": bool(seen.record),
        "<zip>": bool(seen.members),
    }
    names = {kind for kind, is_so in kinds.items() if is_so}
    names |= {name.replace(" ", "_") for name in (*seen.columns, *seen.record, *seen.members)}
    names |= {name + "[]" for name, value in seen.record.items() if isinstance(value, list)}
    names |= {name + "{}" for name, value in seen.record.items() if isinstance(value, dict)}
    return frozenset(names | {f"<below:{cell}>" for row in seen.rows for cell in row})


def refuse_marks(sources: Sequence[Source]) -> None:
    """Refuse exports that hold marks in texts or images by the name of the tool."""
    for seen in sources:
        inside = "INCEpTION" if INCEPTION.search(seen.text) else ""
        if title := TEXTS.get(PurePath(seen.name).suffix, inside):
            problem = f"{seen.name} is an export of {title}: marked texts, not votes on whole tasks"
            raise InputError(problem, remedies=[read_spans(sources)])
        names = names_in(seen)
        tools = [tool for tool, marks in REGIONS.items() if has_marks(names, marks)]
        if CVAT in seen.text or tools:
            problem = (
                f"{seen.name} is an export of {[*tools, 'CVAT'][0]}, which marks regions; Finegold reads votes on"
                " whole tasks and marked texts, and neither boxes nor segmentations"
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
    """Refuse a file with a single JSON object: columns, settings or anything else, but no table."""
    if seen.layout == "list" or not seen.record:
        return
    with seen.open_bytes() as file:
        try:
            content = json.loads(file.read().removeprefix(BOM))
        except (ValueError, RecursionError):
            # more than one object, or damage
            return
    fields = ", ".join([*content][:6]) + (", ..." if len(content) > 6 else "")
    inner = [value for value in content.values() if isinstance(value, list | dict)]
    if not inner and candidates(content, LABEL):
        return
    problem = f"the file is a single JSON object with the fields {fields}, and not a list of rows"
    rows = Remedy(text='write a list of rows, in pandas with orient="records"')
    nested = use("if every field is a task or an annotator that holds its votes", format=LAST)
    raise InputError(problem, seen.name, [rows, nested] if inner else [rows])
