"""Zooniverse: classification exports, a CSV with a row per subject and volunteer; each workflow step is a question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from finegold.io.exports.base import (
    DamagedExport,
    Export,
    ExportOptions,
    Peek,
    Vote,
    in_batches,
    join_labels,
    need,
    read_rows,
    unknown_task,
    with_numbers,
)
from finegold.io.tables import scan_delimited

__all__ = ["EXPORT"]

USER, SUBJECT, ANSWERS = "user_name", "subject_ids", "annotations"
WORKFLOW, GOLD = "workflow_id", "gold_standard"
MARKS = "marks and drawings"


def fits(seen: Peek) -> bool:
    return seen.source.is_delimited and {USER, SUBJECT, ANSWERS} <= set(seen.columns)


def read(seen: Peek, options: ExportOptions) -> Iterator[pl.DataFrame]:
    task = options.task or SUBJECT
    if task not in seen.columns:
        raise unknown_task(f'there is no column "{task}"', seen.columns)
    has_workflows = _has_several_workflows(seen)
    rows = read_rows(seen, [task, USER, ANSWERS, WORKFLOW, GOLD])
    return in_batches(with_numbers(rows, lambda row: _votes(row, task, has_workflows, options)))


def _has_several_workflows(seen: Peek) -> bool:
    """Return whether the file has several workflows: each has a step T0."""
    if WORKFLOW not in seen.columns:
        return False
    return int(scan_delimited(seen.source).select(pl.col(WORKFLOW).n_unique()).collect(engine="streaming").item()) > 1


def _votes(row: dict[str, Any], task: str, has_workflows: bool, options: ExportOptions) -> Iterator[Vote]:
    is_gold, is_voted = str(row.get(GOLD)).lower() in ("true", "1"), False
    for step, value in _steps(_answers(row[ANSWERS])):
        label = _label(value)
        if label is None:
            options.left_out[MARKS if value else "steps without an answer"] += 1
            continue
        is_voted = True
        question = f"{row[WORKFLOW]}/{step}" if has_workflows else step
        yield Vote(row[task], row[USER], label, question, label if is_gold else None)
    if not is_voted:
        yield Vote(row[task])


def _answers(cell: str | None) -> list[Any]:
    try:
        found = json.loads(cell or "[]")
    except ValueError as error:
        raise DamagedExport(f"the annotations are not valid JSON ({error})") from None
    if not isinstance(found, list):
        raise DamagedExport(f"found {found!r:.40} for the annotations, expected a list")
    return found


def _steps(answers: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each workflow step. A combined step holds others."""
    for answer in answers:
        step, value = need(answer, "task", str), answer.get("value")
        if isinstance(value, list) and value and all(isinstance(one, dict) and "task" in one for one in value):
            yield from _steps(value)
        else:
            yield step, value


def _label(value: Any) -> Any:
    """Return the answer to a question, the choices of a survey or a drop-down list; None for marks and no answer."""
    values = value if isinstance(value, list) else [value]
    labels = [_plain(one) for one in values]
    return None if None in labels else join_labels(labels)


def _plain(value: Any) -> Any:
    """Return an answer. That of a survey is an object with its choice, that of a drop-down list one with its label."""
    if not isinstance(value, dict):
        return None if isinstance(value, list) else value
    if "choice" in value:
        return value["choice"]
    return value.get("label", value.get("value")) if "option" in value else None


EXPORT = Export(
    name="zooniverse",
    title="Zooniverse",
    remedy="export it again: Lab, Data Exports, Request new classification export",
    fits=fits,
    read=read,
    takes_task=True,
    has_gold=True,
)
