"""SageMaker Ground Truth: what workers answered, before Amazon made one label of it.

Worker responses: a file per object, .../worker-response/iteration-1/<object>/<time>.json,
{"answers": [...]}. Consolidation requests: files of many objects, [{"datasetObjectId",
"dataObject", "annotations": [...]}]. An output manifest holds labels only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from finegold.errors import leave_out
from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote, need
from finegold.io.source import Source

REMEDY = "give the folder annotations/worker-response of the job's output in S3"


def fits(seen: Source) -> bool:
    record, answers = seen.record, seen.record.get("answers")
    if isinstance(answers, list) and "datasetObjectId" not in record:
        are_workers = all(isinstance(each, dict) and "answerContent" in each for each in answers)
        return are_workers and (bool(answers) or "worker-response" in seen.name)
    return "datasetObjectId" in record or _is_manifest(record)


def _is_manifest(record: dict[str, Any]) -> bool:
    about = (value for name, value in record.items() if name.endswith("-metadata"))
    kinds = (str(value.get("type", "")) for value in about if isinstance(value, dict))
    return any(kind.startswith("groundtruth/") for kind in kinds)


def _votes(record: Any, options: ExportOptions) -> Iterator[Vote]:
    if "answers" in record:
        if options.task is not None:
            requests = "give the folder annotations/consolidated-annotation/consolidation-request"
            problem = f'worker responses do not say the "{options.task}" of an object'
            raise DamagedExport(problem, leave_out("task"), requests)
        if not isinstance(options.seen.data, Path):
            raise DamagedExport("a worker response is told apart by the folder that it lies in")
        # the response does not name its object
        task, given, inside = options.seen.data.resolve().parent.name, "answers", "answerContent"
    elif _is_manifest(record) or "consolidatedAnnotation" in record:
        raise DamagedExport("it holds one label per object, not what each worker said")
    else:
        task = base.need_id(record, "datasetObjectId", options, "dataObject")
        given, inside = "annotations", "annotationData"
    for answer in need(record, given, list):
        content = need(answer, inside, dict)
        if given == "annotations":
            text = content.get("content")
            try:
                content = {"content": json.loads(text) if isinstance(text, str) else text}
            except ValueError as error:
                problem = f'the "content" of an annotation is not JSON ({error})'
                raise DamagedExport(problem) from None
            content = need(content, "content", dict)
        yield from _answers(task, need(answer, "workerId", str), content, options)
    if not record[given]:
        yield Vote(task)


def _answers(
    task: Any, worker: str, answers: dict[str, Any], options: ExportOptions
) -> Iterator[Vote]:
    for question, answer in answers.items():
        label = answer
        if isinstance(answer, dict) and ("label" in answer or "labels" in answer):
            label = base.join_labels(answer.get("label", answer.get("labels")))
        elif isinstance(answer, dict) and all(isinstance(value, bool) for value in answer.values()):
            # {"yes": true, "no": false}, or a box of its own
            chosen = [option for option in answer if answer[option]]
            label = answer.popitem()[1] if len(answer) == 1 else base.join_labels(chosen)
        if isinstance(label, list | dict):
            options.left_out["answers that are not labels, such as boxes"] += 1
        else:
            yield Vote(task) if label is None else Vote(task, worker, label, question)


READ = base.by_record(_votes)
EXPORT = Export("sagemaker", "SageMaker Ground Truth", REMEDY, fits, READ, takes_task=True)
