"""Sets of labels: options, tasks in doubt, and annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from finegold.report.sections.common import ANNOTATORS_TABLE, LABELS_TABLE, Shown, texts
from finegold.report.sections.subject import Subject
from finegold.results.data import votes_of
from finegold.results.sets import Answers, annotators_of_sets, quality_of, set_figures
from finegold.votes.frames import to_polars

# of each table
MAX_ROWS = 100
# an option with a probability between these is in doubt
DOUBT = (0.2, 0.8)
# where the option is right, as expected; fewer show no quality
MIN_ANSWERS = 5


@dataclass(frozen=True)
class OptionRow:
    option: str
    n_chosen: int
    # whose set holds the option
    n_tasks: int
    n_doubtful: int


@dataclass(frozen=True)
class Options:
    n_gold: int
    labels_per_task: float
    # metrics, if truths are known
    compared: dict[str, Any] | None
    rows: list[OptionRow]


@dataclass(frozen=True)
class DoubtRow:
    task: str
    labels: list[str]
    confidence: float
    # options in doubt and their probabilities
    doubtful: list[tuple[str, float]]
    n_votes: int


@dataclass(frozen=True)
class Rows:
    """Some rows of a table."""

    rows: list[Any]
    shown: Shown


def options(subject: Subject) -> Options:
    result, posterior, truth = subject.result, subject.result.posterior, subject.true_sets
    votes = votes_of(result)
    is_doubtful = (posterior > DOUBT[0]) & (posterior < DOUBT[1])
    columns = (quality_of(Answers(votes), posterior).chosen, posterior > 0.5, is_doubtful)
    counts = (column.sum(axis=0).astype(np.int64).tolist() for column in columns)
    compared = None
    if truth is not None:
        compared = {**set_figures(result, truth.task, truth.sets), "n": len(truth.sets)}
    rows = map(OptionRow, texts(result.class_names), *counts)
    return Options(
        n_gold=int((votes.gold >= 0).sum()),
        labels_per_task=float((posterior > 0.5).sum() / votes.n_tasks),
        compared=compared,
        rows=sorted(rows, key=lambda row: -row.n_tasks),
    )


def set_tasks(subject: Subject) -> Rows:
    """Return the tasks with an option in doubt, the least confident first."""
    result, posterior = subject.result, subject.result.posterior
    is_doubtful = (posterior > DOUBT[0]) & (posterior < DOUBT[1])
    confidence, names = result.confidence, texts(result.class_names)
    codes = np.flatnonzero(is_doubtful.any(axis=1))
    codes = codes[np.argsort(confidence[codes], kind="stable")]
    chosen = codes[:MAX_ROWS].tolist()
    rows = []
    for task, name in zip(chosen, texts(result.task_names, chosen), strict=True):
        p = posterior[task]
        rows.append(
            DoubtRow(
                task=name,
                labels=[names[code] for code in np.flatnonzero(p > 0.5)],
                confidence=float(confidence[task]),
                doubtful=[(names[k], float(p[k])) for k in np.flatnonzero(is_doubtful[task])],
                n_votes=int(result.votes_per_task[task]),
            )
        )
    return Rows(rows, Shown(len(rows), len(codes), "confidence", LABELS_TABLE))


def set_annotators(subject: Subject) -> Rows:
    return _by_sensitivity(to_polars(annotators_of_sets(subject.result)))


def pairs(subject: Subject) -> Rows:
    """Return annotators and options, where the option is right in enough of their tasks."""
    result = subject.result
    table = to_polars(annotators_of_sets(result, by_option=True))
    asked = np.ravel(quality_of(Answers(votes_of(result)), result.posterior).asked)
    table = table.with_columns(asked=asked)
    return _by_sensitivity(table.filter(table["asked"] >= MIN_ANSWERS))


def _by_sensitivity(table: Any) -> Rows:
    rows = table.sort("sensitivity").head(MAX_ROWS).to_dicts()
    return Rows(rows, Shown(len(rows), len(table), "sensitivity", ANNOTATORS_TABLE))
