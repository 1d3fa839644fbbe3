"""Zooniverse: classification exports, a CSV with a row per subject and volunteer; each workflow
step is a question.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote
from finegold.io.source import Source

REMEDY = "export it again: Lab, Data Exports, Request new classification export"
USER, SUBJECT, ANSWERS = "user_name", "subject_ids", "annotations"
WORKFLOW, GOLD = "workflow_id", "gold_standard"


def read(seen: Source, options: ExportOptions) -> Iterator[Vote]:
    task = base.task_column(seen, options.task, SUBJECT)
    # several workflows, each with a step T0
    workflows = {name for row in base.read_rows(seen, [WORKFLOW]) for name in row.values()}
    rows = base.read_rows(seen, [task, USER, ANSWERS, WORKFLOW, GOLD])
    return base.with_numbers(rows, lambda row: _votes(row, task, len(workflows) > 1, options))


def _votes(
    row: dict[str, Any], task: str, has_workflows: bool, options: ExportOptions
) -> Iterable[Vote]:
    try:
        answers = json.loads(row[ANSWERS] or "[]")
    except ValueError as error:
        raise DamagedExport(f"the annotations are not valid JSON ({error})") from None
    is_gold, votes = str(row.get(GOLD)).lower() in ("true", "1"), []
    for step, value in _steps(base.need({ANSWERS: answers}, ANSWERS, list)):
        label = _label(value)
        if label is None:
            options.left_out["marks and drawings" if value else "steps without an answer"] += 1
        else:
            question = f"{row[WORKFLOW]}/{step}" if has_workflows else step
            votes.append(Vote(row[task], row[USER], label, question, label if is_gold else None))
    return votes or [Vote(row[task])]


def _steps(answers: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each workflow step. A combined step holds others."""
    for answer in answers:
        step, value = base.need(answer, "task", str), answer.get("value")
        parts = value if isinstance(value, list) else []
        if parts and all(isinstance(part, dict) and "task" in part for part in parts):
            yield from _steps(parts)
        else:
            yield step, value


def _label(value: Any) -> Any:
    """Return the answer to a question, the choices of a survey or a drop-down list; None for marks
    and no answer.
    """
    labels = []
    for answer in value if isinstance(value, list) else [value]:
        label = None if isinstance(answer, list) else answer
        # that of a survey has a choice, that of a drop-down list an option
        if isinstance(answer, dict):
            option = answer.get("label", answer.get("value")) if "option" in answer else None
            label = answer.get("choice", option)
        labels.append(label)
    return None if None in labels else base.join_labels(labels)


EXPORT = Export("zooniverse", "Zooniverse", REMEDY, None, read, takes_task=True, has_gold=True)
