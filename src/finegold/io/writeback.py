"""Labels back into the tool that the votes came from: its export is read again and written with
suggestions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from finegold.errors import InputError, Placeholder, use
from finegold.io.exports import find_export
from finegold.io.exports.base import (
    SEVERAL,
    DamagedExport,
    Export,
    need,
    read_records,
    with_numbers,
)
from finegold.io.exports.label_studio import ANNOTATIONS, REMEDY, TAXONOMY, answer_of
from finegold.io.source import Source, sources_of
from finegold.results.data import ResultData
from finegold.system.files import replacing
from finegold.votes.encoding import text_of, to_list


class Label(NamedTuple):
    # of a class, or a list of options
    name: Any
    confidence: float
    agent: str


# by question and task
Labels = Mapping[str | None, Mapping[str, Label]]


def write_back(
    result: ResultData | Mapping[str, ResultData],
    export: Any,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    question: str | None = None,
    task: str | None = None,
) -> None:
    """Write the labels into the export that the votes came from, so that the tool can import them.

    Labels become predictions (Label Studio) or suggestions (Argilla).

    Args:
        result (Result or mapping of str to Result): The labels of one question, or of several by
            the names that `finegold.read_each` gives them.
        export (path or sequence of paths): The files that the votes were read from.
        path (str or Path): The JSON file to write.
        format: The tool that wrote the export, if it is not recognised.
        question: The question that the labels are for, if the export has several.
        task: The field that identifies tasks, if the votes were read with it.

    Raises:
        InputError: If labels cannot be written back into such files, or if no label belongs to a
            task of the export.

    Examples:
        >>> import finegold
        >>> result = finegold.aggregate("export.json")  # doctest: +SKIP
        >>> finegold.write_back(result, "export.json", "with_labels.json")  # doctest: +SKIP
    """
    sources = sources_of(export)
    tool = writable(sources, format)
    results = result if isinstance(result, Mapping) else {question: result}
    labels = {name: _labels_of(each) for name, each in results.items()}

    def suggest(record: Any) -> list[tuple[dict[str, Any], int]]:
        return [TOOLS[tool.name](record, labels, task)]

    n_records = n_given = 0
    with replacing(path) as (temporary,):
        with temporary.open("w", encoding="utf-8") as file:
            for seen in sources:
                try:
                    for record, n_labels in with_numbers(read_records(seen), suggest):
                        file.write(",\n" if n_records else "[\n")
                        # json.dump would not use the compiled encoder
                        file.write(json.dumps(record, ensure_ascii=False))
                        n_records, n_given = n_records + 1, n_given + n_labels
                except DamagedExport as error:
                    raise error.of_tool(seen, tool) from None
            file.write("\n]\n")
        if not n_given:
            raise InputError(
                "no label belongs to a task of the export; give the one that the votes came from"
            )


def _labels_of(result: ResultData) -> dict[str, Label]:
    """Return labels by the text of the task: the export may have the text "7" where the result has
    the number.
    """
    classes = to_list(result.label) if result.label_sets is None else result.sets()
    rows = zip(to_list(result.task_names), classes, result.confidence.tolist(), strict=True)
    agent = f"finegold {result.method}"
    return {text_of(task): Label(label, confidence, agent) for task, label, confidence in rows}


def writable(sources: Sequence[Source], format: str | None) -> Export:
    """Return the tool that wrote these files. Refuse tools that labels cannot be written for."""
    export = find_export(sources, format)
    if export is None or export.name not in TOOLS:
        what = "plain tables" if export is None else f"exports of {export.title}"
        raise InputError(
            f"labels cannot be written back into {what}; they can for {' and '.join(TOOLS)}"
        )
    return export


def _given(labels: Labels, task: Any) -> dict[str | None, Label]:
    """Return the labels of a task by question."""
    return {name: known[text_of(task)] for name, known in labels.items() if text_of(task) in known}


def _suggest_to_argilla(
    record: Any, labels: Labels, task: str | None
) -> tuple[dict[str, Any], int]:
    """Return a record, as `dataset.records.from_json` takes it, with suggestions, which replace
    older ones.
    """
    if not isinstance(record, dict) or not isinstance(record.get("responses"), dict):
        remedy = "suggestions need dataset.records.to_json(FILE)"
        raise DamagedExport("found no record with its responses", remedy)
    responses = need(record, "responses", dict)
    name = record.get("id") if task is None else need(record, "fields", dict).get(task)
    given = _given(labels, name)
    suggestions = dict(record.get("suggestions") or {})
    for question, label in given.items():
        if question is None and len(responses) != 1:
            raise DamagedExport("the record answers several questions", ASK_QUESTION)
        asked = next(iter(responses)) if question is None else question
        answers = [response["value"] for response in responses.get(asked, [])]
        value = _in_words_of(answers, label.name)
        suggestions[asked] = {"value": value, "score": label.confidence, "agent": label.agent}
    return {**record, "suggestions": suggestions}, len(given)


def _predict_for_label_studio(
    record: Any, labels: Labels, task: str | None
) -> tuple[dict[str, Any], int]:
    """Return a task, as Import takes it, with one prediction, which holds the labels for all
    questions and has the score of the least certain one.
    """
    is_task = isinstance(record, dict) and "data" in record
    if not is_task or not any(name in record for name in ANNOTATIONS):
        remedy = f"predictions need the full one: {REMEDY}"
        raise DamagedExport("found no task with its data and annotations", remedy)
    data = need(record, "data", dict)
    given = _given(labels, record["id"] if task is None else data.get(task))
    predictions = []
    if given:
        prediction = {
            "model_version": next(iter(given.values())).agent,
            "score": min(each.confidence for each in given.values()),
            "result": [_as_result(record, name, label.name) for name, label in given.items()],
        }
        predictions.append(prediction)
    return {"id": record["id"], "data": data, "predictions": predictions}, len(given)


def _as_result(record: dict[str, Any], question: str | None, label: Any) -> dict[str, Any]:
    """Return a label in the form of the answers to its question."""
    name = next(name for name in ANNOTATIONS if name in record)
    models = need(record, "predictions", list, [])
    # what people and models answered to the question for the task as a whole
    results = [
        result
        for each in [*need(record, name, list), *models]
        if isinstance(each, dict)
        for result in need(each, "result", list, [])
        if question in (None, asked := result.get("from_name"))
        and answer_of(result.get("value") or {}, wants_text=asked == question) is not None
    ]
    if not results:
        raise DamagedExport(
            f'the task has no answer to "{question}"', "give the export that the votes came from"
        )
    if len({result["from_name"] for result in results}) > 1:
        raise DamagedExport("the task answers several questions", ASK_QUESTION)
    key = next(iter(results[0]["value"]))
    answers = [result["value"][key] for result in results]
    if key != TAXONOMY:
        value = _in_words_of(answers, label)
    elif isinstance(label, list):
        # a taxonomy has a list of paths
        value = [path.split("/") for path in label]
    else:
        same = next((answer for answer in answers if answer_of({key: answer}) == label), None)
        value = same or [path.split("/") for path in str(label).split(SEVERAL)]
    return {
        **{name: need(results[0], name, str) for name in ("from_name", "to_name", "type")},
        "value": {key: value},
    }


def _in_words_of(answers: list[Any], label: Any) -> Any:
    """Return the label as annotators wrote it, or like the first answer: numbers as text, several
    labels as a list.
    """
    # a set of options
    if isinstance(label, list):
        parts = [part for each in answers for part in (each if isinstance(each, list) else [each])]
        word_of = {text_of(part): part for part in parts if not isinstance(part, list | dict)}
        return [word_of.get(option, option) for option in label]
    for answer in answers:
        is_list = isinstance(answer, list)
        text = SEVERAL.join(sorted(map(text_of, answer))) if is_list else text_of(answer)
        if text == text_of(label):
            return answer
    like = answers[0] if answers else label
    if isinstance(like, list):
        return text_of(label).split(SEVERAL)
    return text_of(label) if isinstance(like, str) else label


ASK_QUESTION = use(question=Placeholder("NAME"), text="for the one that the labels are for")
Suggest = Callable[[Any, Labels, str | None], tuple[dict[str, Any], int]]
TOOLS: dict[str, Suggest] = {
    "label-studio": _predict_for_label_studio,
    "argilla": _suggest_to_argilla,
}
