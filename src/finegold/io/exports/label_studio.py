"""Label Studio: its full export (JSON), a list of tasks, each with its annotations; and the short
ones.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import polars as pl

from finegold.errors import FinegoldWarning, leave_out
from finegold.io.exports import base
from finegold.io.exports.base import (
    DamagedExport,
    Export,
    ExportOptions,
    Vote,
    by_record,
    join_labels,
    need,
)
from finegold.io.source import Source
from finegold.io.tables import batches, scan_delimited

REMEDY = "export it again: on the project's page, Export, format JSON"
SNAPSHOT = 'make an export snapshot with "predictions": {"only_id": false}'
# the second is the name of old versions
ANNOTATIONS = ("annotations", "completions")
TAXONOMY = "taxonomy"
# in the value of a result
ANSWERS = {"choices", "rating", "number", "selected", TAXONOMY, "datetime"}
# what is written into a text area
TEXT = "text"
SOME_MODEL = "model"
REGIONS = "marked regions"
# the marks of JSON-MIN and CSV
SHORT = {"id", "annotator", "annotation_id", "lead_time"}
# columns of a CSV that are not answers
ABOUT = SHORT | {"created_at", "updated_at", "agreement"}


def fits(seen: Source) -> bool:
    record = _as_task(seen.record)
    is_task = "id" in record and isinstance(record.get("data"), dict)
    is_full = is_task and any(isinstance(record.get(name), list) for name in ANNOTATIONS)
    is_short = (
        seen.record.keys() >= SHORT
        if seen.layout == "list"
        else seen.is_delimited and set(seen.columns) >= SHORT
    )
    return is_full or is_short


def _as_task(record: Any) -> Any:
    """Return a task. In cloud storages, Label Studio writes a file per annotation, which holds its
    task.
    """
    if isinstance(record, dict) and isinstance(record.get("task"), dict) and "result" in record:
        return {**record["task"], "annotations": [record]}
    return record


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    is_min = seen.layout == "list" and seen.record.keys() >= SHORT
    if (first := seen.record.get(ANNOTATIONS[1])) and "completed_by" not in first[0]:
        text = f"{seen.name} does not say who annotated, as Label Studio before 1.0 does not"
        text = f"{text}; the completions of a task are taken as those of the annotators 1, 2, ..."
        warnings.warn(text, FinegoldWarning, stacklevel=2)
    if not seen.is_delimited and not is_min:
        return by_record(lambda record, _: _votes(_as_task(record), options))(seen, options)
    if options.gold or options.include:
        raise DamagedExport(
            f"JSON-MIN and CSV hold no {'gold marks' if options.gold else 'predictions'}", REMEDY
        )
    return by_record(_votes_of_min)(seen, options) if is_min else _read_csv(seen, options)


# The full export.


def _votes(record: Any, options: ExportOptions) -> list[Vote]:
    task = base.need_id(record, "id", "task with an ")
    if options.task is not None:
        task = base.chosen_task(
            need(record, "data", dict), options.task, "the data of the task have no"
        )
    name = next((name for name in ANNOTATIONS if name in record), ANNOTATIONS[0])
    votes = []
    for number, annotation in enumerate(need(record, name, list), start=1):
        nobody = number if name == ANNOTATIONS[1] and "completed_by" not in annotation else None
        results = need(annotation, "result", list, [])
        annotator = annotation.get("completed_by", nobody)
        # people know the e-mail address better than the number
        if isinstance(annotator, dict):
            annotator = annotator.get("email") or annotator.get("id")
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            options.left_out["cancelled annotations"] += 1
        elif annotator is None:
            options.left_out["annotations without an annotator"] += 1
        else:
            if (
                not results
                and (label := options.nothing("annotations without an answer")) is not None
            ):
                votes.append(Vote(task, annotator, label))
            is_gold = annotation.get("ground_truth") is True
            answers = _answers(results, options)
            votes += [
                Vote(task, annotator, label, question, label if is_gold else None)
                for question, label in answers
            ]
    for prediction in need(record, "predictions", list, []):
        if "predictions" not in options.include:
            options.left_out["predictions of models"] += 1
            continue
        if not isinstance(prediction, dict):
            raise DamagedExport(
                "of predictions there are only the numbers", leave_out("include"), SNAPSHOT
            )
        answers = _answers(need(prediction, "result", list, []), options)
        model = prediction.get("model_version") or SOME_MODEL
        votes += [Vote(task, model, label, question) for question, label in answers]
    if drafts := len(need(record, "drafts", list, [])):
        options.left_out["drafts"] += drafts
    return votes or [Vote(task)]


def _answers(results: list[Any], options: ExportOptions) -> Iterator[tuple[str, Any]]:
    """Yield each question that is answered for the whole task, with the answer."""
    for result in results:
        question = need(result, "from_name", str, "")
        value = need(result, "value", dict, {})
        label = answer_of(value, wants_text=question == options.question)
        if label is not None:
            yield question, label
        elif question:
            # what has no name relates regions to each other
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


# The short exports: JSON-MIN, with the answers between the id and the annotator, and CSV.


def _votes_of_min(record: Any, options: ExportOptions) -> Iterator[Vote]:
    if not isinstance(record, dict) or record.get("id") is None:
        raise DamagedExport('found no annotation with the "id" of its task')
    task = base.chosen_task(record, options.task or "id", "there is no")
    names = list(record)
    end = names.index("annotator") if "annotator" in record else len(names)
    questions = (
        [options.question] if options.question in record else names[names.index("id") + 1 : end]
    )
    for question in questions:
        yield Vote(task, record.get("annotator"), _short_label(record[question], options), question)
    if not questions:
        yield Vote(task)


def _read_csv(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    task = options.task or "id"
    if task not in seen.columns:
        raise base.unknown_task(f'there is no column "{task}"', seen.columns)
    scan = scan_delimited(seen)
    if options.question in seen.columns:
        questions = [str(options.question)]
    else:
        # Every annotation of a task repeats its data, so what differs is an answer. Hashes are
        # enough, and small.
        others = [column for column in seen.columns if column not in ABOUT | {task}]
        hashed = pl.col(others).fill_null("").hash()
        spread = scan.group_by("id").agg(hashed.min() != hashed.max()).select(pl.col(others).any())
        differs = spread.collect(engine="streaming").row(0, named=True)
        questions = [column for column in others if differs[column]] or others
    for batch in batches(seen, scan, list(dict.fromkeys([task, "annotator", *questions]))):
        for question in questions:
            # Answers that are not plain text stand there as JSON.
            label = base.replace_cells(
                batch.get_column(question),
                r"^[\[{]",
                lambda cell: _short_label(json.loads(cell), options),
            )
            yield batch.select(
                task=task, annotator="annotator", label=label, question=pl.lit(question)
            )


def _short_label(value: Any, options: ExportOptions) -> Any:
    """One choice is a text, several are {"choices": [...]}, all other answers a list such as
    [{"rating": 4}].
    """
    values = value if isinstance(value, list) else [value]
    answers = [answer_of(item) if isinstance(item, dict) else item for item in values]
    known = [answer for answer in answers if answer is not None]
    if len(known) < len(answers):
        options.left_out[REGIONS] += 1
    return join_labels(known)


EXPORT = Export(
    "label-studio",
    "Label Studio",
    REMEDY,
    fits,
    read,
    include=("predictions",),
    takes_task=True,
    has_gold=True,
)
