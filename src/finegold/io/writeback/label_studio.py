"""Predictions for Label Studio: tasks with `predictions`, as its Import takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from finegold.io.exports.base import SEVERAL, Wrong, need
from finegold.io.exports.label_studio import ANNOTATIONS, REMEDY, TAXONOMY, answer_of
from finegold.io.writeback.labels import Labels, in_words_of

__all__ = ["suggested"]

NAMES = ("from_name", "to_name", "type")  # what says where an answer belongs


def suggested(record: Any, labels: Mapping[str | None, Labels], task: str | None) -> dict[str, Any]:
    """Return the task with one prediction, which holds the labels for all questions."""
    if not isinstance(record, dict) or "data" not in record or not any(name in record for name in ANNOTATIONS):
        raise Wrong("found no task with its data and annotations", remedy=f"predictions need the full one: {REMEDY}")
    data = need(record, "data", dict)
    name = record["id"] if task is None else data.get(task)
    answers = [_answer(record, question, found, name) for question, found in labels.items()]
    given = [answer for answer in answers if answer is not None]
    predictions = [_prediction(given, next(iter(labels.values())).method)] if given else []
    return {"id": record["id"], "data": data, "predictions": predictions}


def _prediction(given: list[tuple[dict[str, Any], float]], method: str) -> dict[str, Any]:
    """Return a prediction whose score is that of the least certain answer."""
    return {
        "model_version": method,
        "score": min(confidence for _, confidence in given),
        "result": [result for result, _ in given],
    }


def _answer(
    record: dict[str, Any], question: str | None, labels: Labels, task: Any
) -> tuple[dict[str, Any], float] | None:
    label = labels.get(task)
    if label is None:
        return None
    results = list(_results(record, question))
    if not results:
        raise Wrong(f'the task has no answer to "{question}"', remedy="give the export that the votes came from")
    if len({result["from_name"] for result in results}) > 1:
        raise Wrong("the task answers several questions", remedy="name the one that the labels are for (--question)")
    key = next(iter(results[0]["value"]))
    value = {key: _value(key, [result["value"][key] for result in results], label.label)}
    return {**{name: need(results[0], name, str) for name in NAMES}, "value": value}, label.confidence


def _value(key: str, answers: list[Any], label: Any) -> Any:
    """Return the label as a value of this kind. A taxonomy has a list of paths."""
    if key != TAXONOMY:
        return in_words_of(answers, label)
    if isinstance(label, list):
        return [path.split("/") for path in label]
    given = next((answer for answer in answers if answer_of({key: answer}) == label), None)
    return given or [path.split("/") for path in str(label).split(SEVERAL)]


def _results(record: dict[str, Any], question: str | None) -> Iterator[dict[str, Any]]:
    """Yield what people and models answered to the question for the task as a whole."""
    name = next(name for name in ANNOTATIONS if name in record)
    models = [one for one in need(record, "predictions", list, []) if isinstance(one, dict)]
    for annotation in [*need(record, name, list), *models]:
        for result in need(annotation, "result", list, []):
            asked = result.get("from_name")
            is_of_task = answer_of(result.get("value") or {}, wants_text=asked == question) is not None
            if is_of_task and question in (None, asked):
                yield result
