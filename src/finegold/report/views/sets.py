"""The view of sets of labels: options, tasks in doubt, and annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from finegold.io.truth import match_sets
from finegold.report.views.common import ANNOTATORS_TABLE, LABELS_TABLE, Floats, Shown, texts
from finegold.results.multi import MultiResult, annotators_table
from finegold.results.multi_metrics import set_figures
from finegold.votes.frames import to_polars

__all__ = ["SetsView", "view_sets"]

MOST_ROWS = 100  # of each table
DOUBT = (0.2, 0.8)  # an option with a probability between these is in doubt
FEWEST_ANSWERS = 5  # where the option is right, as expected; fewer show no quality


@dataclass(frozen=True)
class OptionRow:
    option: str
    n_chosen: int
    n_tasks: int  # whose set holds the option
    n_doubtful: int


@dataclass(frozen=True)
class DoubtRow:
    task: str
    labels: list[str]
    confidence: float
    doubtful: list[tuple[str, float]]  # options in doubt and their probabilities
    n_votes: int


@dataclass(frozen=True)
class SetsView:
    """The values of the page."""

    title: str
    command: str | None
    method: str
    stopped: str
    n_votes: int
    n_tasks: int
    n_annotators: int
    n_gold: int
    labels_per_task: float
    confidence: float  # mean
    judged: dict[str, Any] | None  # metrics, if truths are known
    options: list[OptionRow]
    tasks: list[DoubtRow]
    tasks_shown: Shown
    annotators: list[dict[str, Any]]
    annotators_shown: Shown
    pairs: list[dict[str, Any]]  # annotators and options
    pairs_shown: Shown


def view_sets(result: MultiResult, truth: Any = None, *, title: str, command: str | None = None) -> SetsView:
    """Return the values of the page. `truth` holds true sets, if they are known."""
    n_labels, n_doubtful, doubtful_task = _counts(result)
    tasks = np.flatnonzero(doubtful_task)
    tasks = tasks[np.argsort(result.confidence[tasks], kind="stable")]
    annotators, pairs = _annotators(result), _pairs(result)
    return SetsView(
        title=title,
        command=command,
        method=result.method,
        stopped=result.stopped,
        n_votes=int(result.votes_per_task.sum()),
        n_tasks=result.votes.n_tasks,
        n_annotators=result.votes.n_annotators,
        n_gold=int((result.votes.gold >= 0).sum()),
        labels_per_task=float(n_labels.sum() / result.votes.n_tasks),
        confidence=float(result.confidence.mean()),
        judged=None if truth is None else set_figures(result, *match_sets(result.votes, truth)),
        options=_options(result, n_labels, n_doubtful),
        tasks=_doubts(result, tasks[:MOST_ROWS]),
        tasks_shown=Shown(min(len(tasks), MOST_ROWS), len(tasks), "confidence", LABELS_TABLE),
        annotators=annotators[:MOST_ROWS],
        annotators_shown=Shown(min(len(annotators), MOST_ROWS), len(annotators), "sensitivity", ANNOTATORS_TABLE),
        pairs=pairs[:MOST_ROWS],
        pairs_shown=Shown(min(len(pairs), MOST_ROWS), len(pairs), "sensitivity", ANNOTATORS_TABLE),
    )


def _is_doubtful(found: Floats) -> Any:
    return (found > DOUBT[0]) & (found < DOUBT[1])


def _counts(result: MultiResult) -> tuple[Any, Any, Any]:
    """Return the tasks whose set holds each option, those where it is in doubt, and whether each task has a doubt."""
    n_labels, n_doubtful, by_task = 0, 0, []
    for _, found in result.pieces():
        doubtful = _is_doubtful(found)
        n_labels, n_doubtful = n_labels + (found > 0.5).sum(axis=0), n_doubtful + doubtful.sum(axis=0)
        by_task.append(doubtful.any(axis=1))
    return n_labels, n_doubtful, np.concatenate(by_task)


def _options(result: MultiResult, n_labels: Any, n_doubtful: Any) -> list[OptionRow]:
    chosen = result.quality[1].sum(axis=0)
    columns = (result.option_names, chosen, n_labels, n_doubtful)
    rows = [OptionRow(name, int(n), int(tasks), int(some)) for name, n, tasks, some in zip(*columns, strict=True)]
    return sorted(rows, key=lambda row: -row.n_tasks)


def _doubts(result: MultiResult, tasks: Any) -> list[DoubtRow]:
    wanted = {int(task): number for number, task in enumerate(tasks)}
    rows: dict[int, DoubtRow] = {}
    for block, found in result.pieces():
        for task in wanted.keys() & set(range(block.start, block.stop)):
            p = found[task - block.start]
            doubtful = [(result.option_names[code], float(p[code])) for code in np.flatnonzero(_is_doubtful(p))]
            name, n_votes = texts(result.task_names, [task])[0], int(result.votes_per_task[task])
            confidence = float(result.confidence[task])
            rows[wanted[task]] = DoubtRow(name, result.names_of(p > 0.5), confidence, doubtful, n_votes)
    return [rows[number] for number in sorted(rows)]


def _annotators(result: MultiResult) -> list[dict[str, Any]]:
    return to_polars(annotators_table(result)).sort("sensitivity").to_dicts()


def _pairs(result: MultiResult) -> list[dict[str, Any]]:
    """Return annotators and options with answers that show something, the lowest sensitivity first."""
    import polars as pl

    asked = pl.Series("asked", np.ravel(result.quality[2]))
    table = to_polars(annotators_table(result, by_option=True)).with_columns(asked)
    return table.filter(pl.col("asked") >= FEWEST_ANSWERS).sort("sensitivity").to_dicts()
