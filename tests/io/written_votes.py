"""The same votes as files of every format that Finegold reads, with how many votes each file holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tests.support.exports_made import annotation, choices, zipped


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
    options: dict[str, Any] = {}  # noqa: RUF012 (a named tuple has no default factory)


def _once(said: Iterable[Said]) -> list[Said]:
    """Return the first vote of each annotator on each task."""
    return list({(one.task, one.annotator): one for one in reversed(list(said))}.values())


def _by_task(said: Iterable[Said]) -> dict[str, list[Said]]:
    found: dict[str, list[Said]] = {}
    for one in said:
        found.setdefault(one.task, []).append(one)
    return found


def _rows(header: str, rows: Iterable[Iterable[str]], mark: str = ",") -> str:
    return "\n".join([header.replace(",", mark), *(mark.join(row) for row in rows)]) + "\n"


def _lines(records: Iterable[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _export(name: str, file: str, content: str | bytes, votes: int) -> Written:
    return Written({file: content}, votes, {"format": name})


def _long(said: list[Said]) -> Written:
    return Written({"v.csv": _rows("task,worker,label", (one[:3] for one in said))}, len(said))


def _json_lines(said: list[Said]) -> Written:
    records = [{"task": one.task, "worker": one.annotator, "label": one.label or None} for one in said]
    return Written({"v.jsonl": _lines(records)}, len(said))


def _json_rows(said: list[Said]) -> Written:
    records = [{"task": one.task, "worker": one.annotator, "label": one.label} for one in said]
    return Written({"v.json": json.dumps(records)}, len(said))


def _wide(said: list[Said]) -> Written:
    votes = {(one.task, one.annotator): one.label for one in _once(said)}
    tasks, people = sorted({task for task, _ in votes}), sorted({who for _, who in votes})
    rows = ([task, *(votes.get((task, who), "") for who in people)] for task in tasks)
    return Written({"v.csv": _rows(",".join(["task", *people]), rows)}, len(tasks) * len(people), {"wide": True})


def _per_annotator(said: list[Said]) -> Written:
    votes = _once(said)
    people = sorted({one.annotator for one in votes})
    files: dict[str, str | bytes] = {
        f"{who}.csv": _rows("task,label", ((one.task, one.label) for one in votes if one.annotator == who))
        for who in people
    }
    return Written(files, len(votes))


def _nested(said: list[Said]) -> Written:
    votes = _once(said)
    tasks = {task: {one.annotator: one.label or None for one in mine} for task, mine in _by_task(votes).items()}
    return _export("nested-json", "v.json", json.dumps(tasks), len(votes))


def _nested_lists(said: list[Said]) -> Written:
    records = [
        {"id": task, "annotations": [{"annotator": one.annotator, "label": one.label or None} for one in mine]}
        for task, mine in _by_task(said).items()
    ]
    return _export("nested-json", "v.jsonl", _lines(records), len(said))


def _label_studio(said: list[Said]) -> Written:
    tasks = [
        {"id": task, "data": {"text": "x"},
         "annotations": [annotation({"email": one.annotator}, *([choices("q", one.label)] if one.label else []),
                                    was_cancelled=one.is_out) for one in mine]}
        for task, mine in _by_task(said).items()
    ]  # fmt: skip
    return _export("label-studio", "v.json", json.dumps(tasks), len(said))


def _prodigy(said: list[Said]) -> Written:
    records = [
        {"text": "x", "accept": [one.label] if one.label else [], "answer": "ignore" if one.is_out else "accept",
         "_input_hash": one.task, "_annotator_id": one.annotator, "_view_id": "choice"}
        for one in said
    ]  # fmt: skip
    return _export("prodigy", "v.jsonl", _lines(records), len(said))


def _doccano(said: list[Said]) -> Written:
    people = sorted({one.annotator for one in said})
    members = {
        f"{who}.jsonl": _lines({"id": one.task, "text": "x", "label": [one.label] if one.label else []}
                               for one in said if one.annotator == who)
        for who in people
    }  # fmt: skip
    return _export("doccano", "v.zip", zipped(members), len(said))


def _old_doccano(said: list[Said]) -> Written:
    votes = [one for one in _once(said) if one.label]
    records = [
        {"id": task, "text": "x", "meta": {},
         "annotations": [{"label": one.label, "user": one.annotator, **({"start_offset": 0} if one.is_out else {})}
                         for one in mine]}
        for task, mine in _by_task(votes).items()
    ]  # fmt: skip
    return _export("doccano", "v.jsonl", _lines(records), len(votes))


def _argilla(said: list[Said]) -> Written:
    records = [
        {"id": task, "fields": {"text": "x"}, "suggestions": {},
         "responses": {"q": [{"value": one.label or None, "user_id": one.annotator,
                              "status": "discarded" if one.is_out else "submitted"} for one in mine]}}
        for task, mine in _by_task(said).items()
    ]  # fmt: skip
    return _export("argilla", "v.json", json.dumps(records), len(said))


def _inspect(said: list[Said]) -> Written:
    votes = _once(said)
    samples = [
        {"id": task, "epoch": 1,
         "scores": {one.annotator: {"value": None if one.is_out else one.label or None} for one in mine}}
        for task, mine in _by_task(votes).items()
    ]  # fmt: skip
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples}
    return _export("inspect", "v.json", json.dumps(log, indent=1), len(votes))


def _mturk(said: list[Said]) -> Written:
    header = "HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.q,Approve,Reject"
    states = {True: "Rejected", False: "Approved"}
    rows = ((one.task, f"A{n}", one.annotator, states[one.is_out], one.label) for n, one in enumerate(said))
    return _export("mturk", "v.csv", _rows(header, rows), len(said))


def _toloka(said: list[Said]) -> Written:
    header = "OUTPUT:q,ASSIGNMENT:task_id,ASSIGNMENT:worker_id,ASSIGNMENT:status"
    states = {True: "REJECTED", False: "APPROVED"}
    rows = ((one.label, one.task, one.annotator, states[one.is_out]) for one in said)
    return _export("toloka", "v.tsv", _rows(header, rows, "\t"), len(said))


def _appen(said: list[Said]) -> Written:
    rows = ((one.task, str(one.is_out).lower(), one.annotator, one.label, "") for one in said)
    return _export("appen", "v.csv", _rows("_unit_id,_tainted,_worker_id,q,q_gold", rows), len(said))


def _qualtrics(said: list[Said]) -> Written:
    votes = {(one.task, one.annotator): one.label for one in _once(said)}
    answered = {task for (task, _), label in votes.items() if label}
    tasks, people = sorted(answered), sorted({who for _, who in votes})
    rows = (["2024-01-01", who, *(votes.get((task, who), "") for task in tasks)] for who in people)
    written = _export(
        "qualtrics", "v.csv", _rows(",".join(["StartDate", "ResponseId", *tasks]), rows), len(tasks) * len(people)
    )
    return written._replace(options={**written.options, "task": ",".join(tasks)})


def _sagemaker(said: list[Said]) -> Written:
    votes = [one for one in said if one.label]
    contents = [json.dumps({"q": {"boxes": []} if one.is_out else {"label": one.label}}) for one in votes]
    requests = [
        {"datasetObjectId": one.task, "dataObject": {},
         "annotations": [{"workerId": one.annotator, "annotationData": {"content": content}}]}
        for one, content in zip(votes, contents, strict=True)
    ]  # fmt: skip
    return _export("sagemaker", "v.json", json.dumps(requests), len(votes))


def _zooniverse(said: list[Said]) -> Written:
    cells = (json.dumps([{"task": "T0", "value": one.label or None}]) for one in said)
    quoted = ('"' + cell.replace('"', '""') + '"' for cell in cells)
    rows = ((one.annotator, cell, one.task) for one, cell in zip(said, quoted, strict=True))
    return _export("zooniverse", "v.csv", _rows("user_name,annotations,subject_ids", rows), len(said))


def _mt_bench(said: list[Said]) -> Written:
    scores = {"cat": 1, "dog": 2, "": -1}
    records = [
        {"question_id": one.task, "model": "m", "judge": [one.annotator, "p"],
         "score": -1 if one.is_out else scores[one.label]}
        for one in said
    ]  # fmt: skip
    return _export("mt-bench", "v.jsonl", _lines(records), len(said))


def _alpaca_eval(said: list[Said]) -> Written:
    preferences = {"cat": 1, "dog": 2, "": None}
    records = [
        {"instruction": one.task, "output_1": "x", "output_2": "y", "generator_1": "b", "generator_2": "a",
         "annotator": one.annotator, "preference": None if one.is_out else preferences[one.label]}
        for one in said
    ]  # fmt: skip
    return _export("alpaca-eval", "v.json", json.dumps(records), len(said))


def _verdict(one: Said) -> str | None:
    return None if one.is_out else {"cat": "A>B", "dog": "B>A", "": None}[one.label]


def _judge_bench(said: list[Said]) -> Written:
    records = [
        {"pair_id": one.task, "judge_name": one.annotator, "judgments": [{"decision": _verdict(one)}]} for one in said
    ]
    return _export("judgebench", "v.jsonl", _lines(records), len(said))


def _arena_hard(said: list[Said]) -> Written:
    records = [
        {"uid": one.task, "model": "m", "judge": one.annotator, "games": [{"score": _verdict(one)}]} for one in said
    ]
    return _export("arena", "v.jsonl", _lines(records), len(said))


def _battles(said: list[Said]) -> Written:
    winners = {"cat": "model_a", "dog": "tie", "": ""}
    rows = ((one.task, "x", "y", "error" if one.is_out else winners[one.label], one.annotator) for one in said)
    return _export("arena", "v.csv", _rows("id,model_a,model_b,winner,judge", rows), len(said))


FORMATS: dict[str, Callable[[list[Said]], Written]] = {
    "long": _long,
    "json lines": _json_lines,
    "json rows": _json_rows,
    "wide": _wide,
    "per annotator": _per_annotator,
    "nested": _nested,
    "nested lists": _nested_lists,
    "label studio": _label_studio,
    "prodigy": _prodigy,
    "doccano": _doccano,
    "old doccano": _old_doccano,
    "argilla": _argilla,
    "inspect": _inspect,
    "mturk": _mturk,
    "toloka": _toloka,
    "appen": _appen,
    "qualtrics": _qualtrics,
    "sagemaker": _sagemaker,
    "zooniverse": _zooniverse,
    "mt bench": _mt_bench,
    "alpaca eval": _alpaca_eval,
    "judge bench": _judge_bench,
    "arena hard": _arena_hard,
    "battles": _battles,
}
