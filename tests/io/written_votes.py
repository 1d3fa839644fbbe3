"""The same votes as files of every format that Finegold reads, with how many votes each file holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tests.support.exports_made import annotation, choices, zipped

MARK = {"start_offset": 0, "end_offset": 1}


class Said(NamedTuple):
    """A vote. Without a label the annotator gave no answer; one that is out was cancelled, rejected or failed."""

    task: str
    annotator: str
    label: str
    is_out: bool = False


class Written(NamedTuple):
    """Files by name, how to read them, and how many votes they hold."""

    files: dict[str, str | bytes]
    votes: int
    options: dict[str, Any]


Votes = list[Said]


def _once(said: Votes) -> Votes:
    """Return the first vote of each annotator on each task."""
    return list({(one.task, one.annotator): one for one in reversed(said)}.values())


def _by_task(said: Votes) -> dict[str, Votes]:
    tasks: dict[str, Votes] = {}
    for one in said:
        tasks.setdefault(one.task, []).append(one)
    return tasks


def _rows(header: str, rows: Iterable[Iterable[str]], mark: str = ",") -> str:
    return "\n".join([header.replace(",", mark), *(mark.join(row) for row in rows)]) + "\n"


def _in_json(file: str, records: list[Any]) -> str:
    return "\n".join(map(json.dumps, records)) if file.endswith("l") else json.dumps(records)


def _quoted(value: Any) -> str:
    return '"' + json.dumps(value).replace('"', '""') + '"'


def _score(one: Said, of_cat: Any, of_dog: Any, of_none: Any) -> Any:
    """Return what a judge says instead of the name of a class."""
    return of_none if one.is_out else {"cat": of_cat, "dog": of_dog, "": of_none}[one.label]


def _verdict(one: Said) -> str | None:
    return _score(one, "A>B", "B>A", None)


# The first word of a name is the `format` to read it with, except for plain tables.
# One JSON object for each vote
RECORDS: dict[str, tuple[str, Callable[[Said], Any]]] = {
    "plain lines": ("v.jsonl", lambda one: {"task": one.task, "worker": one.annotator, "label": one.label or None}),
    "plain list": ("v.json", lambda one: {"task": one.task, "worker": one.annotator, "label": one.label}),
    "prodigy": ("v.jsonl", lambda one: {
        "text": "x", "accept": [one.label] if one.label else [], "answer": "ignore" if one.is_out else "accept",
        "_input_hash": one.task, "_annotator_id": one.annotator, "_view_id": "choice",
    }),
}  # fmt: skip

# A row for each vote: the names of the columns, and the row
ROWS: dict[str, tuple[str, str, Callable[[Said, int], list[str]]]] = {
    "plain table": ("v.csv", "task,worker,label", lambda one, n: list(one[:3])),
    "mturk": (
        "v.csv", "HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.q,Approve,Reject",
        lambda one, n: [one.task, f"A{n}", one.annotator, "Rejected" if one.is_out else "Approved", one.label],
    ),
    "toloka": (
        "v.tsv", "OUTPUT:q,ASSIGNMENT:task_id,ASSIGNMENT:worker_id,ASSIGNMENT:status",
        lambda one, n: [one.label, one.task, one.annotator, "REJECTED" if one.is_out else "APPROVED"],
    ),
    "appen": (
        "v.csv", "_unit_id,_tainted,_worker_id,q,q_gold",
        lambda one, n: [one.task, str(one.is_out).lower(), one.annotator, one.label, ""],
    ),
    "zooniverse": (
        "v.csv", "user_name,annotations,subject_ids",
        lambda one, n: [one.annotator, _quoted([{"task": "T0", "value": one.label or None}]), one.task],
    ),
}  # fmt: skip

# A JSON object for each task, with all of its votes
TASKS: dict[str, tuple[str, Callable[[str, Votes], Any]]] = {
    "nested-json lists": ("v.jsonl", lambda task, said: {
        "id": task, "annotations": [{"annotator": one.annotator, "label": one.label or None} for one in said],
    }),
    "label-studio": ("v.json", lambda task, said: {
        "id": task, "data": {"text": "x"},
        "annotations": [
            annotation({"email": one.annotator}, *[choices("q", one.label)] * bool(one.label), was_cancelled=one.is_out)
            for one in said
        ],
    }),
    "argilla": ("v.json", lambda task, said: {
        "id": task, "fields": {"text": "x"}, "suggestions": {},
        "responses": {"q": [
            {"value": one.label or None, "user_id": one.annotator, "status": "discarded" if one.is_out else "submitted"}
            for one in said
        ]},
    }),
}  # fmt: skip


def _wide(said: Votes) -> Written:
    votes = {(one.task, one.annotator): one.label for one in _once(said)}
    tasks, people = sorted({task for task, _ in votes}), sorted({who for _, who in votes})
    rows = ([task, *(votes.get((task, who), "") for who in people)] for task in tasks)
    return Written(
        {"v.csv": _rows(",".join(["task", *people]), rows)},
        len(tasks) * len(people),
        {"layout": "wide"},
    )


def _per_annotator(said: Votes) -> Written:
    votes = _once(said)
    files: dict[str, str | bytes] = {
        f"{who}.csv": _rows(
            "task,label", ((one.task, one.label) for one in votes if one.annotator == who)
        )
        for who in {one.annotator for one in votes}
    }
    return Written(files, len(votes), {})


def _nested(said: Votes) -> Written:
    votes = _once(said)
    tasks = {
        task: {one.annotator: one.label or None for one in mine}
        for task, mine in _by_task(votes).items()
    }
    return Written({"v.json": json.dumps(tasks)}, len(votes), {"format": "nested-json"})


def _doccano(said: Votes) -> Written:
    files: dict[str, list[Any]] = {f"{one.annotator}.jsonl": [] for one in said}
    for one in said:
        files[f"{one.annotator}.jsonl"].append(
            {"id": one.task, "text": "x", "label": [one.label] if one.label else []}
        )
    packed = zipped({name: _in_json(name, records) for name, records in files.items()})
    return Written({"v.zip": packed}, len(said), {"format": "doccano"})


def _old_doccano(said: Votes) -> Written:
    votes = [one for one in _once(said) if one.label]
    records = [
        {"id": task, "text": "x", "meta": {},
         "annotations": [{"label": one.label, "user": one.annotator, **(MARK if one.is_out else {})}
                         for one in mine]}
        for task, mine in _by_task(votes).items()
    ]  # fmt: skip
    return Written({"v.jsonl": _in_json("v.jsonl", records)}, len(votes), {"format": "doccano"})


def _inspect(said: Votes) -> Written:
    votes = _once(said)
    samples = [
        {"id": task, "epoch": 1,
         "scores": {one.annotator: {"value": None if one.is_out else one.label or None} for one in mine}}
        for task, mine in _by_task(votes).items()
    ]  # fmt: skip
    log = {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m"},
        "samples": samples,
    }
    return Written({"v.json": json.dumps(log, indent=1)}, len(votes), {"format": "inspect"})


def _qualtrics(said: Votes) -> Written:
    votes = {(one.task, one.annotator): one.label for one in _once(said)}
    tasks, people = (
        sorted({task for (task, _), label in votes.items() if label}),
        sorted({who for _, who in votes}),
    )
    rows = (["2024-01-01", who, *(votes.get((task, who), "") for task in tasks)] for who in people)
    text = _rows(",".join(["StartDate", "ResponseId", *tasks]), rows)
    return Written(
        {"v.csv": text}, len(tasks) * len(people), {"format": "qualtrics", "task": ",".join(tasks)}
    )


def _sagemaker(said: Votes) -> Written:
    votes = [one for one in said if one.label]
    contents = [
        json.dumps({"q": {"boxes": []} if one.is_out else {"label": one.label}}) for one in votes
    ]
    requests = [
        {"datasetObjectId": one.task, "dataObject": {},
         "annotations": [{"workerId": one.annotator, "annotationData": {"content": content}}]}
        for one, content in zip(votes, contents, strict=True)
    ]  # fmt: skip
    return Written({"v.json": json.dumps(requests)}, len(votes), {"format": "sagemaker"})


OTHERS: dict[str, Callable[[Votes], Written]] = {
    "plain wide table": _wide,
    "plain file per annotator": _per_annotator,
    "nested-json": _nested,
    "doccano": _doccano,
    "doccano old": _old_doccano,
    "inspect": _inspect,
    "qualtrics": _qualtrics,
    "sagemaker": _sagemaker,
}
FORMATS = [*RECORDS, *ROWS, *TASKS, *OTHERS]


def write_votes(name: str, said: Votes) -> Written:
    """Write votes in a format."""
    if name in OTHERS:
        return OTHERS[name](said)
    if name in ROWS:
        file, header, row = ROWS[name]
        content = _rows(
            header,
            (row(one, n) for n, one in enumerate(said)),
            "\t" if file.endswith("tsv") else ",",
        )
    elif name in RECORDS:
        file, record = RECORDS[name]
        content = _in_json(file, list(map(record, said)))
    else:
        file, of_task = TASKS[name]
        content = _in_json(file, [of_task(task, votes) for task, votes in _by_task(said).items()])
    tool = name.split()[0]
    return Written({file: content}, len(said), {} if tool == "plain" else {"format": tool})
