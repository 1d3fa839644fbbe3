"""SageMaker Ground Truth: what workers answered, before Amazon made one label of it.

Worker responses: a file per object, .../worker-response/iteration-1/<object>/<time>.json,
{"answers": [...]}. Consolidation requests: files of many objects, [{"datasetObjectId",
"dataObject", "annotations": [...]}]. Output manifest: labels only, unless the job's own function
kept "annotationsFromAllWorkers".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from finegold.errors import leave_out
from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote, need
from finegold.io.source import Source

REMEDY = "give the folder annotations/worker-response of the job's output in S3"
ALL_WORKERS = "annotationsFromAllWorkers"


def fits(seen: Source) -> bool:
    return "datasetObjectId" in seen.record or _is_response(seen) or _is_manifest(seen.record)


def _is_response(seen: Source) -> bool:
    answers = seen.record.get("answers")
    if isinstance(answers, list) and answers:
        return isinstance(answers[0], dict) and "answerContent" in answers[0]
    return list(seen.record) == ["answers"] and "worker-response" in seen.name


def _is_manifest(record: dict[str, Any]) -> bool:
    about = (value for name, value in record.items() if name.endswith("-metadata"))
    kinds = (str(value.get("type", "")) for value in about if isinstance(value, dict))
    return any(kind.startswith("groundtruth/") for kind in kinds)


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    votes_of = _of_manifest if _is_manifest(seen.record) else _of_request
    if _is_response(seen):
        if options.task is not None:
            requests = "give the folder annotations/consolidated-annotation/consolidation-request"
            problem = f'worker responses do not say the "{options.task}" of an object'
            raise DamagedExport(problem, leave_out("task"), requests)
        if not isinstance(seen.data, Path):
            problem = "a worker response is told apart by the folder that it lies in"
            raise DamagedExport(problem, REMEDY)
        # the response does not name its object
        task = seen.data.resolve().parent.name

        def votes_of(record: Any, options: ExportOptions) -> Iterator[Vote]:
            for answer in need(record, "answers", list):
                content = need(answer, "answerContent", dict)
                yield from _votes(task, need(answer, "workerId", str), content, options)

    return base.by_record(votes_of)(seen, options)


def _of_request(record: Any, options: ExportOptions) -> Iterator[Vote]:
    task = base.need_id(record, "datasetObjectId", options, "dataObject")
    if "annotations" not in record:
        problem = "this is the answer to a consolidation request, which holds labels only"
        raise DamagedExport(problem, REMEDY)
    return _of_annotations(task, need(record, "annotations", list), options)


def _of_manifest(record: Any, options: ExportOptions) -> Iterator[Vote]:
    names = (options.task, "source-ref", "source")
    task = next((record[name] for name in names if record.get(name) is not None), None)
    kept = [value for value in record.values() if isinstance(value, dict) and ALL_WORKERS in value]
    if not kept:
        problem = "an output manifest holds one label per object, not what each worker said"
        raise DamagedExport(problem, REMEDY)
    for value in kept:
        yield from _of_annotations(task, need(value, ALL_WORKERS, list), options)


def _of_annotations(task: Any, annotations: list[Any], options: ExportOptions) -> Iterator[Vote]:
    for annotation in annotations:
        content = need(annotation, "annotationData", dict).get("content")
        try:
            answers = json.loads(content) if isinstance(content, str) else content
        except ValueError as error:
            raise DamagedExport(f'the "content" of an annotation is not JSON ({error})') from None
        if not isinstance(answers, dict):
            raise DamagedExport('found no JSON object in the "content" of an annotation')
        yield from _votes(task, need(annotation, "workerId", str), answers, options)
    if not annotations:
        yield Vote(task)


def _votes(
    task: Any, worker: str, answers: dict[str, Any], options: ExportOptions
) -> Iterator[Vote]:
    for question, answer in answers.items():
        label = answer
        if isinstance(answer, dict) and ("label" in answer or "labels" in answer):
            label = answer.get("label", answer.get("labels"))
            label = base.join_labels(label) if isinstance(label, list) else label
        elif isinstance(answer, dict) and all(isinstance(value, bool) for value in answer.values()):
            # {"yes": true, "no": false}, or a box of its own
            chosen = [option for option in answer if answer[option]]
            label = answer.popitem()[1] if len(answer) == 1 else base.join_labels(chosen)
        if isinstance(label, list | dict):
            options.left_out["answers that are not labels, such as boxes"] += 1
        else:
            yield Vote(task) if label is None else Vote(task, worker, label, question)


EXPORT = Export("sagemaker", "SageMaker Ground Truth", REMEDY, fits, read, takes_task=True)
