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
    join_labels,
    need,
    read_records,
    with_numbers,
)
from finegold.io.exports.label_studio import (
    ANNOTATIONS,
    REMEDY,
    TAXONOMY,
    annotations_of,
    answer_of,
)
from finegold.io.source import Source, sources_of
from finegold.results.data import ResultData
from finegold.system.files import replacing
from finegold.votes.encoding import text_of, to_list

ASK_QUESTION = use(question=Placeholder("NAME"), text="for the one that the labels are for")


class Label(NamedTuple):
    # of a class, or a list of options
    name: Any
    confidence: float
    agent: str


# of a task, by question
Labels = Mapping[str | None, Label]


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
    suggest, (inside, name) = TOOLS[tool.name]
    results = result if isinstance(result, Mapping) else {question: result}
    labels = {each: _labels_of(of) for each, of in results.items()}
    n_given = 0

    def with_labels(record: Any) -> list[dict[str, Any]]:
        nonlocal n_given
        fields = need(record, inside, dict)
        known = text_of(need(record, name, object) if task is None else fields.get(task))
        given = {each: found[known] for each, found in labels.items() if known in found}
        n_given += len(given)
        return [suggest(record, given)]

    with replacing(path) as (temporary,):
        with temporary.open("w", encoding="utf-8") as file:
            between = "[\n"
            for seen in sources:
                try:
                    for record in with_numbers(read_records(seen), with_labels):
                        # json.dump would not use the compiled encoder
                        file.write(between + json.dumps(record, ensure_ascii=False))
                        between = ",\n"
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
    classes = to_list(result.label) if result.label_sets is None else result.label_lists()
    rows = zip(to_list(result.task_names), classes, result.confidence.tolist(), strict=True)
    agent = f"finegold {result.method}"
    return {text_of(task): Label(label, confidence, agent) for task, label, confidence in rows}


def writable(sources: Sequence[Source], format: str | None) -> Export:
    """Return the tool that wrote these files. Refuse tools that labels cannot be written for."""
    export = find_export(sources, format)
    if export is None or export.name not in TOOLS:
        what = "plain tables" if export is None else f"exports of {export.title}"
        known = " and ".join(TOOLS)
        raise InputError(f"labels cannot be written back into {what}; they can for {known}")
    return export


def _suggest_to_argilla(record: dict[str, Any], given: Labels) -> dict[str, Any]:
    """Return a record, as `dataset.records.from_json` takes it, with suggestions, which replace
    older ones.
    """
    responses = need(record, "responses", dict)
    suggestions = dict(record.get("suggestions") or {})
    for question, label in given.items():
        if question is None and len(responses) != 1:
            raise DamagedExport("the record answers several questions", ASK_QUESTION)
        asked = next(iter(responses)) if question is None else question
        answers = [response["value"] for response in responses.get(asked, [])]
        value = _as_answer(answers, label.name, join_labels)
        suggestions[asked] = {"value": value, "score": label.confidence, "agent": label.agent}
    return {**record, "suggestions": suggestions}


def _predict_for_label_studio(record: dict[str, Any], given: Labels) -> dict[str, Any]:
    """Return a task, as Import takes it, with one prediction, which holds the labels for all
    questions and has the score of the least certain one.
    """
    if not any(name in record for name in ANNOTATIONS):
        remedy = f"predictions need the full one: {REMEDY}"
        raise DamagedExport("found no task with its data and annotations", remedy)
    prediction = {
        "model_version": next((each.agent for each in given.values()), ""),
        "score": min((each.confidence for each in given.values()), default=0),
        "result": [_as_result(record, name, label.name) for name, label in given.items()],
    }
    predictions = [prediction] if given else []
    return {"id": record["id"], "data": record["data"], "predictions": predictions}


def _as_result(record: dict[str, Any], question: str | None, label: Any) -> dict[str, Any]:
    """Return a label in the form of the answers to its question."""
    # what people and models answered to the question for the task as a whole
    results = [
        result
        for each in [*annotations_of(record), *need(record, "predictions", list, [])]
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
    value = _as_answer(answers, label, lambda answer: answer_of({key: answer}, wants_text=True))
    if key == TAXONOMY:
        # a list of paths
        value = [path.split("/") if isinstance(path, str) else path for path in value]
    form = {name: need(results[0], name, str) for name in ("from_name", "to_name", "type")}
    return {**form, "value": {key: value}}


def _as_answer(answers: list[Any], label: Any, label_of: Callable[[Any], Any]) -> Any:
    """Return the answer with this label, or the label in the form of the first answer: numbers as
    text, several labels as a list.
    """
    if isinstance(label, list):
        parts = [part for each in answers for part in (each if isinstance(each, list) else [each])]
        word_of = {text_of(part): part for part in parts if not isinstance(part, list | dict)}
        return [word_of.get(option, option) for option in label]
    same = (answer for answer in answers if text_of(label_of(answer)) == text_of(label))
    like = answers[0] if answers else label
    as_list = text_of(label).split(SEVERAL) if isinstance(like, list) else None
    return next(same, as_list or (text_of(label) if isinstance(like, str) else label))


# how a record gets suggestions, and its fields with the data and the id of the task
Suggest = Callable[[dict[str, Any], Labels], dict[str, Any]]
TOOLS: dict[str, tuple[Suggest, tuple[str, str]]] = {
    "label-studio": (_predict_for_label_studio, ("data", "id")),
    "argilla": (_suggest_to_argilla, ("fields", "id")),
}
