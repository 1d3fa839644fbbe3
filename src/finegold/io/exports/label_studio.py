"""Label Studio: its full export (JSON), a list of tasks, each with its annotations; and the short ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import polars as pl

from finegold.errors import leave_out
from finegold.io.exports.base import (
    DamagedExport,
    Export,
    ExportOptions,
    Peek,
    Vote,
    in_batches,
    join_labels,
    need,
    read_records,
    unknown_task,
    with_numbers,
)
from finegold.io.tables import batches, scan_delimited

__all__ = ["EXPORT", "REMEDY", "TITLE", "answer_of", "fits_csv", "fits_min", "read_csv", "read_min"]


ABOUT = frozenset(["id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"])
MARKS = frozenset(("id", "annotator", "annotation_id", "lead_time"))
REGIONS = "marked regions"

AnswerOf = Callable[[dict[str, Any]], Any]


def fits_min(seen: Peek) -> bool:
    return seen.is_list and seen.record.keys() >= MARKS


def fits_csv(seen: Peek) -> bool:
    return seen.source.is_delimited and set(seen.columns) >= MARKS


def read_min(seen: Peek, options: ExportOptions, answer_of: AnswerOf) -> Iterator[pl.DataFrame]:
    return in_batches(with_numbers(read_records(seen), lambda record: _votes(record, options, answer_of)))


def read_csv(seen: Peek, options: ExportOptions, answer_of: AnswerOf) -> Iterator[pl.DataFrame]:
    task = options.task or "id"
    if task not in seen.columns:
        raise unknown_task(f'there is no column "{task}"', seen.columns)
    scan = scan_delimited(seen.source)
    questions = [options.question] if options.question in seen.columns else _answered(scan, seen.columns, task)
    for batch in batches(seen.source, scan, list(dict.fromkeys([task, "annotator", *questions]))):
        for question in questions:
            label = _plain(batch.get_column(question), options, answer_of)
            yield batch.select(task=task, annotator="annotator", label=label, question=pl.lit(question))


def _votes(record: Any, options: ExportOptions, answer_of: AnswerOf) -> Iterator[Vote]:
    if not isinstance(record, dict) or record.get("id") is None:
        raise DamagedExport('found no annotation with the "id" of its task')
    task = record.get(options.task or "id")
    if task is None:
        raise unknown_task(f'there is no "{options.task}"', record)
    names = list(record)
    end = names.index("annotator") if "annotator" in record else len(names)
    found = [options.question] if options.question in record else names[names.index("id") + 1 : end]
    for question in found:
        yield Vote(task, record.get("annotator"), _label(record[question], options, answer_of), question)
    if not found:
        yield Vote(task)


def _label(value: Any, options: ExportOptions, answer_of: AnswerOf) -> Any:
    """One choice is a text, several are {"choices": [...]}, all other answers a list such as [{"rating": 4}]."""
    values = value if isinstance(value, list) else [value]
    answers = [answer_of(item) if isinstance(item, dict) else item for item in values]
    known = [answer for answer in answers if answer is not None]
    options.left_out.update({REGIONS: 1} if len(known) < len(answers) else {})
    return join_labels(known)


def _answered(scan: pl.LazyFrame, columns: tuple[str, ...], task: str) -> list[str]:
    """Every annotation of a task repeats its data, so what differs is an answer. Hashes are enough, and small."""
    candidates = [column for column in columns if column not in ABOUT | {task}]
    hashed = pl.col(candidates).fill_null("").hash()
    spread = scan.group_by("id").agg(hashed.min() != hashed.max()).select(pl.col(candidates).any())
    found = spread.collect(engine="streaming").row(0, named=True)
    return [column for column in candidates if found[column]] or candidates


def _plain(cells: pl.Series, options: ExportOptions, answer_of: AnswerOf) -> pl.Series:
    """Answers that are not plain text stand there as JSON; few of them differ."""
    odd = cells.unique().drop_nulls()
    odd = odd.filter(odd.str.contains(r"^[\[{]"))
    meant: dict[str, str | None] = {}
    for cell in odd:
        with suppress(ValueError):  # a label that begins like JSON
            label = _label(json.loads(cell), options, answer_of)
            meant[cell] = None if label is None else str(label)
    return cells.replace(meant) if meant else cells


TITLE = "Label Studio"
REMEDY = "export it again: on the project's page, Export, format JSON"
SNAPSHOT = 'make an export snapshot with "predictions": {"only_id": false}'
ANNOTATIONS = ("annotations", "completions")  # the second is the name of old versions
TAXONOMY = "taxonomy"
ANSWERS = {"choices", "rating", "number", "selected", TAXONOMY, "datetime"}  # in the value of a result
TEXT = "text"  # what is written into a text area
SOME_MODEL = "model"


def fits(seen: Peek) -> bool:
    return _is_task(_as_task(seen.record)) or fits_min(seen) or fits_csv(seen)


def _is_task(record: dict[str, Any]) -> bool:
    has_data = isinstance(record.get("data"), dict) and "id" in record
    return has_data and any(isinstance(record.get(name), list) for name in ANNOTATIONS)


def _as_task(record: Any) -> Any:
    """Return a task. In cloud storages, Label Studio writes a file per annotation, which holds its task."""
    if isinstance(record, dict) and isinstance(record.get("task"), dict) and "result" in record:
        return {**record["task"], "annotations": [record]}
    return record


def read(seen: Peek, options: ExportOptions) -> Iterator[pl.DataFrame]:
    short = read_csv if seen.source.is_delimited else read_min if fits_min(seen) else None
    if short is not None:
        _check_short(options)
        return short(seen, options, answer_of)
    return in_batches(with_numbers(read_records(seen), lambda record: _votes_label_studio(_as_task(record), options)))


def _check_short(options: ExportOptions) -> None:
    if options.gold or options.include:
        what = "gold marks" if options.gold else "predictions"
        raise DamagedExport(f"JSON-MIN and CSV hold no {what}", REMEDY)


def _votes_label_studio(record: Any, options: ExportOptions) -> Iterator[Vote]:
    """Yield votes, and tasks without a vote."""
    task, is_voted = _task(record, options), False
    for annotation in _annotations(record):
        for vote in _of_annotation(task, annotation, options):
            is_voted = True
            yield vote
    for prediction in need(record, "predictions", list, []):
        for vote in _of_prediction(task, prediction, options):
            is_voted = True
            yield vote
    if drafts := len(need(record, "drafts", list, [])):
        options.left_out["drafts"] += drafts
    if not is_voted:
        yield Vote(task)


def _task(record: Any, options: ExportOptions) -> Any:
    if not isinstance(record, dict) or record.get("id") is None:
        raise DamagedExport('found no task with an "id"')
    if options.task is None:
        return record["id"]
    data = need(record, "data", dict)
    if data.get(options.task) is None:
        raise unknown_task(f'the data of the task have no "{options.task}"', data)
    return data[options.task]


def _annotations(record: dict[str, Any]) -> list[Any]:
    name = next((name for name in ANNOTATIONS if name in record), ANNOTATIONS[0])
    return need(record, name, list)


def _of_annotation(task: Any, annotation: Any, options: ExportOptions) -> Iterator[Vote]:
    results = need(annotation, "result", list, [])
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        options.left_out["cancelled annotations"] += 1
        return
    annotator = annotator_of(annotation.get("completed_by"))
    if annotator is None:
        options.left_out["annotations without an annotator"] += 1
        return
    if not results and (label := options.nothing("annotations without an answer")) is not None:
        yield Vote(task, annotator, label)
    is_gold = annotation.get("ground_truth") is True
    for question, label in _answers(results, options):
        yield Vote(task, annotator, label, question, label if is_gold else None)


def _of_prediction(task: Any, prediction: Any, options: ExportOptions) -> Iterator[Vote]:
    if "predictions" not in options.include:
        options.left_out["predictions of models"] += 1
        return
    if not isinstance(prediction, dict):
        raise DamagedExport("of predictions there are only the numbers", leave_out("include"), SNAPSHOT)
    for question, label in _answers(need(prediction, "result", list, []), options):
        yield Vote(task, prediction.get("model_version") or SOME_MODEL, label, question)


def annotator_of(completed_by: Any) -> Any:
    """Return a number, or the e-mail address of an object, which people know better than its number."""
    if isinstance(completed_by, dict):
        return completed_by.get("email") or completed_by.get("id")
    return completed_by


def _answers(results: list[Any], options: ExportOptions) -> Iterator[tuple[str, Any]]:
    """Yield each question that is answered for the whole task, with the answer."""
    for result in results:
        question = need(result, "from_name", str, "")
        value = need(result, "value", dict, {})
        label = answer_of(value, wants_text=question == options.question)
        if label is not None:
            yield question, label
        elif question:  # what has no name relates regions to each other
            options.left_out["free texts" if set(value) == {TEXT} else REGIONS] += 1


def answer_of(value: dict[str, Any], wants_text: bool = False) -> Any:
    """Return the label of a value such as {"choices": ["pos"]}, or None for regions and free text."""
    keys = [key for key in value if key in ANSWERS or (key == TEXT and wants_text)]
    if len(keys) != 1 or len(value) > 1:
        return None
    answer = value[keys[0]]
    if keys[0] == TAXONOMY:
        answer = ["/".join(map(str, path)) for path in answer]
    return join_labels(answer) if isinstance(answer, list) else answer


EXPORT = Export(
    name="label-studio",
    title=TITLE,
    remedy=REMEDY,
    fits=fits,
    read=read,
    include=("predictions",),
    takes_task=True,
    has_gold=True,
)
