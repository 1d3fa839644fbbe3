"""Label Studio: its full export (JSON), a list of tasks, each with its annotations; and the short
ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from finegold.errors import leave_out
from finegold.io.exports import base
from finegold.io.exports.base import (
    DamagedExport,
    Export,
    ExportOptions,
    Span,
    Spans,
    Vote,
    join_labels,
    need,
)
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
# what a result says about its question, and the fields of marks in a text
QUESTION = ("from_name", "to_name", "type")
CLASSES = ("labels", "hypertextlabels", "paragraphlabels")
# the marks of JSON-MIN and CSV
SHORT = {"id", "annotator", "annotation_id", "lead_time"}
# columns of a CSV that are not answers
ABOUT = SHORT | {"created_at", "updated_at", "agreement"}


def read(seen: Source, options: ExportOptions) -> Iterable[Vote]:
    is_min = seen.record.keys() >= SHORT
    if not seen.is_delimited and not is_min:
        return base.by_record(_votes)(seen, options)
    if options.gold or options.include:
        what = "gold marks" if options.gold else "predictions"
        raise DamagedExport(f"JSON-MIN and CSV hold no {what}", REMEDY)
    return base.by_record(_votes_of_min)(seen, options) if is_min else _read_csv(seen, options)


# The full export.


def annotations_of(record: dict[str, Any]) -> list[Any]:
    name = next((name for name in ANNOTATIONS if name in record), ANNOTATIONS[0])
    return need(record, name, list)


def _person(annotation: dict[str, Any]) -> Any:
    """Return who made an annotation: people know the e-mail address better than the number."""
    who = annotation.get("completed_by")
    return who.get("email") or who.get("id") if isinstance(who, dict) else who


def _votes(record: Any, options: ExportOptions) -> list[Vote]:
    # In cloud storages, Label Studio writes a file per annotation, which holds its task.
    if isinstance(record, dict) and isinstance(record.get("task"), dict) and "result" in record:
        record = {**record["task"], "annotations": [record]}
    task = base.need_id(record, "id", options, "data")
    votes, data = [], need(record, "data", dict, {})
    texts = [text for text in data.values() if isinstance(text, str)]
    text = texts[0] if len(texts) == 1 else None
    annotations = annotations_of(record)
    for number, annotation in enumerate(annotations, start=1):
        results, annotator = need(annotation, "result", list, []), _person(annotation)
        if annotator is None and len(annotations) == 1:
            annotator = options.annotator_of_file()
        if annotator is None and {"annotations", "completed_by"}.isdisjoint([*record, *annotation]):
            options.warn_once(
                f"{options.seen.name} does not say who annotated, as Label Studio before 1.0 does not;"
                " the completions of a task are taken as those of the annotators 1, 2, ..."
            )
            annotator = number
        is_cancelled = bool(annotation.get("was_cancelled") or annotation.get("skipped"))
        if options.leaves_out(is_cancelled, "cancelled annotations") or options.leaves_out(
            annotator is None, "annotations without an annotator"
        ):
            continue
        if not results and (label := options.nothing("annotations without an answer")):
            votes.append(Vote(task, annotator, label, text=text))
        is_gold = annotation.get("ground_truth") is True
        for question, label in _answers(results, data, options):
            if isinstance(label, Spans):
                # the text that the marks were made in
                text = text or data.get((label.form or {}).get("to_name"), data.get(TEXT))
            gold = label if is_gold else None
            votes.append(Vote(task, annotator, label, question, gold, text))
    for prediction in need(record, "predictions", list, []):
        if options.leaves_out(True, "predictions of models", "predictions"):
            continue
        if not isinstance(prediction, dict):
            problem = "of predictions there are only the numbers"
            raise DamagedExport(problem, leave_out("include"), SNAPSHOT)
        model = prediction.get("model_version") or "model"
        for question, label in _answers(need(prediction, "result", list, []), data, options):
            votes.append(Vote(task, model, label, question))
    for _ in need(record, "drafts", list, []):
        options.left_out["drafts"] += 1
    return votes or [Vote(task)]


def _answers(
    results: list[Any], data: dict[str, Any], options: ExportOptions
) -> Iterator[tuple[str, Any]]:
    """Yield each question that is answered for the whole task or by marks in its text, with the
    answer.
    """
    for result in results:
        question, value = need(result, "from_name", str, ""), need(result, "value", dict, {})
        label = answer_of(value, wants_text=question == options.question)
        if label is not None:
            yield question, label
        elif marks := _marks_of(value):
            form = {name: result[name] for name in QUESTION if name in result}
            yield question, Spans(marks, {"data": data, **form})
        elif question or value:
            # what has neither relates regions to each other
            what = "free texts" if value.keys() == {TEXT} else "marked regions"
            options.left_out[what] += 1


def answer_of(value: dict[str, Any], wants_text: bool = False) -> Any:
    """Return the label of a value such as {"choices": ["pos"]}, or None for regions and free text."""
    if len(value) != 1:
        return None
    [(key, answer)] = value.items()
    if key not in ANSWERS and not (key == TEXT and wants_text):
        return None
    return join_labels(["/".join(map(str, path)) for path in answer] if key == TAXONOMY else answer)


def _marks_of(value: dict[str, Any]) -> list[Span]:
    """Return the marks in a text, whose places in HTML are counted over the whole text as well."""
    if not {"start", "end"} <= value.keys() or "channel" in value:
        return []
    places = value.get("globalOffsets") or value
    classes = [str(name) for kind in CLASSES for name in value.get(kind) or ()]
    return [(int(places["start"]), int(places["end"]), name) for name in classes]


# The short exports: JSON-MIN, with the answers between the id and the annotator, and CSV.


def _votes_of_min(record: Any, options: ExportOptions) -> Iterator[Vote]:
    task, names = base.need_id(record, "id", options), list(record)
    questions = names[names.index("id") + 1 : names.index("annotator")]
    for question in [options.question] if options.question in record else questions:
        label = _short_label(record[question], options)
        yield Vote(task, record["annotator"], label, question, text=record.get(TEXT))
    if not questions:
        yield Vote(task, record["annotator"], text=record.get(TEXT))


def _read_csv(seen: Source, options: ExportOptions) -> Iterator[Vote]:
    task = base.task_column(seen, options.task, "id")
    others = [column for column in seen.columns if column not in ABOUT | {task}]
    questions = base.answer_columns(seen, "id", others, options.question) or others

    def votes(row: dict[str, Any]) -> Iterator[Vote]:
        for question in questions:
            # answers that are not plain text stand there as JSON
            said = row[question]
            with suppress(ValueError):
                said = json.loads(said) if (said or "")[:1] in ("[", "{") else said
            yield Vote(row[task], row["annotator"], _short_label(said, options), question)

    rows = base.read_rows(seen, [task, "annotator", *questions])
    return base.with_numbers(rows, votes)


def _short_label(value: Any, options: ExportOptions) -> Any:
    """One choice is a text, several are {"choices": [...]}, all other answers a list such as
    [{"rating": 4}].
    """
    known: list[Any] = []
    marks: list[Span] = []
    for item in value if isinstance(value, list) else [value]:
        answer = answer_of(item) if isinstance(item, dict) else item
        found = _marks_of(item) if isinstance(item, dict) and answer is None else []
        marks += found
        options.leaves_out(
            isinstance(item, dict) and answer is None and not found, "marked regions"
        )
        known += [] if answer is None else [answer]
    return Spans(marks) if marks else join_labels(known)


INCLUDE = ("predictions",)
EXPORT = Export("label-studio", "Label Studio", REMEDY, None, read, INCLUDE, True, has_gold=True)
