"""Convert a result to what is shown of it: plain dataclasses of text and numbers, ready for JSON.

Names are text here, and large data are summarised. Every shortened list has a `Shown` beside it
that says how many rows are shown, in which order, and where the rest is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from finegold.io.truth import match_truth
from finegold.report.views.annotators import Annotators, annotators, suspects
from finegold.report.views.classes import Classes, Prototypes, classes, prototypes
from finegold.report.views.common import Record, record
from finegold.report.views.quality import Quality, Trust, judge, quality, trust_of
from finegold.report.views.tasks import Reading, Tasks, reading, tasks
from finegold.results.data import ResultData

__all__ = ["View", "view"]


@dataclass(frozen=True)
class View:
    title: str
    quality: Quality
    reading: Reading
    tasks: Tasks
    annotators: Annotators
    # None for methods without prototypes
    prototypes: Prototypes | None
    classes: Classes
    trust: Trust
    record: Record
    # of a log of LLM judges: `JudgeReport.view`
    judges: dict[str, Any] | None = None


def view(
    result: ResultData,
    truth: Any = None,
    *,
    title: str = "Labels",
    command: str | None = None,
    judges: dict[str, Any] | None = None,
) -> View:
    """Return everything that the report shows. `truth` is what `finegold.io.truth.match_truth`
    takes.
    """
    key = None if truth is None else match_truth(result, truth)
    judgement = judge(result, key)
    suspicious = None if judgement is None else suspects(result, judgement.correlated)
    return View(
        title=title,
        quality=quality(result, key),
        reading=reading(result),
        tasks=tasks(result, key),
        annotators=annotators(result, key, suspicious),
        prototypes=prototypes(result),
        classes=classes(result),
        trust=trust_of(judgement),
        record=record(result, command),
        judges=judges,
    )
