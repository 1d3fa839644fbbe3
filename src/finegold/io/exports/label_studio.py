"""Label Studio: its full export (JSON), a list of tasks, each with its annotations; and the short
ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from finegold.errors import leave_out
from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote, join_labels, need
from finegold.io.source import Source

REMEDY = "export it again: on the project's page, Export, format JSON"
SNAPSHOT = 'make an export snapshot with "predictions": {"only_id": false}'
# the second is the name of old versions
ANNOTATIONS = ("annotations", "completions")
TAXONOMY = "taxonomy"
# in the value of a result
ANSWERS = frozenset({"choices", "rating", "number", "selected", TAXONOMY, "datetime"})
# what is written into a text area
TEXT = "text"
SOME_MODEL = "model"
# the marks of JSON-MIN and CSV
SHORT = {"id", "annotator", "annotation_id", "lead_time"}
# columns of a CSV that are not answers
ABOUT = SHORT | {"created_at", "updated_at", "agreement"}


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    is_min = seen.record.keys() >= SHORT
    if not seen.is_delimited and not is_min:
        return base.by_record(lambda record, _: _votes(record, seen, options))(seen, options)
    if options.gold or options.include:
        what = "gold marks" if options.gold else "predictions"
        raise DamagedExport(f"JSON-MIN and CSV hold no {what}", REMEDY)
    return base.by_record(_votes_of_min)(seen, options) if is_min else _read_csv(seen, options)


# The full export.


def _votes(record: Any, seen: Source, options: ExportOptions) -> list[Vote]:
    # In cloud storages, Label Studio writes a file per annotation, which holds its task.
    if isinstance(record, dict) and isinstance(record.get("task"), dict) and "result" in record:
        record = {**record["task"], "annotations": [record]}
    task = base.need_id(record, "id", options, "data")
    name = ANNOTATIONS[0] if ANNOTATIONS[0] in record else ANNOTATIONS[1]
    votes = []
    annotations = need(record, name if name in record else ANNOTATIONS[0], list)
    for number, annotation in enumerate(annotations, start=1):
        results = need(annotation, "result", list, [])
        annotator = annotation.get("completed_by")
        # people know the e-mail address better than the number
        if isinstance(annotator, dict):
            annotator = annotator.get("email") or annotator.get("id")
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            options.left_out["cancelled annotations"] += 1
            continue
        if annotator is None:
            annotator = _nobody(annotation, number, name, len(annotations), seen, options)
        if annotator is None:
            options.left_out["annotations without an annotator"] += 1
            continue
        if not results:
            label = options.nothing("annotations without an answer")
            votes += [] if label is None else [Vote(task, annotator, label)]
        is_gold = annotation.get("ground_truth") is True
        votes += [
            Vote(task, annotator, label, question, label if is_gold else None)
            for question, label in _answers(results, options)
        ]
    for prediction in need(record, "predictions", list, []):
        if "predictions" not in options.include:
            options.left_out["predictions of models"] += 1
            continue
        if not isinstance(prediction, dict):
            problem = "of predictions there are only the numbers"
            raise DamagedExport(problem, leave_out("include"), SNAPSHOT)
        answers = _answers(need(prediction, "result", list, []), options)
        model = prediction.get("model_version") or SOME_MODEL
        votes += [Vote(task, model, label, question) for question, label in answers]
    if drafts := len(need(record, "drafts", list, [])):
        options.left_out["drafts"] += drafts
    return votes or [Vote(task)]


def _nobody(
    annotation: Any,
    number: int,
    name: str,
    n_annotations: int,
    seen: Source,
    options: ExportOptions,
) -> Any:
    """Return who made an annotation that does not say so: the person whose file it is, or its place
    among the completions of an old version.
    """
    if n_annotations == 1 and (annotator := options.annotator_of_file(seen)) is not None:
        return annotator
    if name == ANNOTATIONS[0] or "completed_by" in annotation:
        return None
    options.warn_once(
        f"{seen.name} does not say who annotated, as Label Studio before 1.0 does not; the"
        " completions of a task are taken as those of the annotators 1, 2, ..."
    )
    return number


def _answers(results: list[Any], options: ExportOptions) -> Iterator[tuple[str, Any]]:
    """Yield each question that is answered for the whole task, with the answer."""
    for result in results:
        question, value = need(result, "from_name", str, ""), need(result, "value", dict, {})
        label = answer_of(value, wants_text=question == options.question)
        if label is not None:
            yield question, label
        elif question or value:
            # what has neither relates regions to each other
            options.left_out["free texts" if value.keys() == {TEXT} else _regions(value)] += 1


def answer_of(value: dict[str, Any], wants_text: bool = False) -> Any:
    """Return the label of a value such as {"choices": ["pos"]}, or None for regions and free text."""
    if len(value) != 1:
        return None
    [(key, answer)] = value.items()
    if key not in ANSWERS and not (key == TEXT and wants_text):
        return None
    if key == TAXONOMY:
        answer = ["/".join(map(str, path)) for path in answer]
    return join_labels(answer) if isinstance(answer, list) else answer


# The short exports: JSON-MIN, with the answers between the id and the annotator, and CSV.


def _votes_of_min(record: Any, options: ExportOptions) -> Iterator[Vote]:
    task = base.need_id(record, "id", options)
    names = list(record)
    end = names.index("annotator") if "annotator" in record else len(names)
    questions = names[names.index("id") + 1 : end] if "id" in record else []
    if options.question in record:
        questions = [options.question]
    for question in questions:
        yield Vote(task, record.get("annotator"), _short_label(record[question], options), question)
    if not questions:
        yield Vote(task)


def _read_csv(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    task = base.task_column(seen, options.task, "id")
    questions = others = [column for column in seen.columns if column not in ABOUT | {task}]
    if options.question in seen.columns:
        questions = [str(options.question)]
    else:
        # Every annotation of a task repeats its data, so what differs is an answer. Hashes are
        # enough, and small.
        hashed = pl.col(others).fill_null("").hash()
        parts = [part.select("id", hashed) for part in base.read_columns(seen, ["id", *others])]
        spread = pl.concat(parts).group_by("id").agg(pl.col(others).n_unique() > 1)
        questions = [column for column in others if spread[column].any()] or others
    for part in base.read_columns(seen, [task, "annotator", *questions]):
        # Answers that are not plain text stand there as JSON.
        labels = {
            question: base.replace_cells(
                part[question], r"^[\[{]", lambda cell, _: _short_label(json.loads(cell), options)
            )
            for question in questions
        }
        yield from base.votes_of_questions(part, task, "annotator", labels)


def _short_label(value: Any, options: ExportOptions) -> Any:
    """One choice is a text, several are {"choices": [...]}, all other answers a list such as
    [{"rating": 4}].
    """
    known = []
    for item in value if isinstance(value, list) else [value]:
        answer = answer_of(item) if isinstance(item, dict) else item
        if answer is None and isinstance(item, dict):
            options.left_out[_regions(item)] += 1
        known += [] if answer is None else [answer]
    return join_labels(known)


def _regions(value: dict[str, Any]) -> str:
    """Return what marks are counted as: `finegold.spans` reads those in texts."""
    is_text = {"start", "end"} <= value.keys() and "channel" not in value
    return base.SPANS if is_text else "marked regions"


EXPORT = Export(
    "label-studio",
    "Label Studio",
    REMEDY,
    None,
    read,
    ("predictions",),
    takes_task=True,
    has_gold=True,
)
