"""How a file of each tool is recognised: a table of names that are in all of its files."""

from __future__ import annotations

import re

from finegold.io.source import Source

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
    "zooniverse": ("zooniverse", "<sheet> user_name subject_ids annotations"),
    LAST: ("nested_json", "<json> *{} | <json> *[]"),
}


def has_marks(names: frozenset[str], marks: str) -> bool:
    """Return whether all marks of a group are among the names of a file."""

    def is_there(mark: str) -> bool:
        if "*" not in mark:
            return mark in names
        pattern = re.compile(re.escape(mark).replace(r"\*", ".*"), re.DOTALL)
        return any(map(pattern.fullmatch, names))

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
