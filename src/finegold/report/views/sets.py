"""The view of sets of labels: options, tasks in doubt, and annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from finegold.io.truth import match_sets
from finegold.report.views.common import ANNOTATORS_TABLE, LABELS_TABLE, Shown, texts
from finegold.results.data import ResultData, votes_of
from finegold.results.sets import Answers, annotators_of_sets, quality_of, set_figures
from finegold.votes.frames import to_polars

# of each table
MOST_ROWS = 100
# an option with a probability between these is in doubt
DOUBT = (0.2, 0.8)
# where the option is right, as expected; fewer show no quality
FEWEST_ANSWERS = 5


@dataclass(frozen=True)
class OptionRow:
    option: str
    n_chosen: int
    # whose set holds the option
    n_tasks: int
    n_doubtful: int


@dataclass(frozen=True)
class DoubtRow:
    task: str
    labels: list[str]
    confidence: float
    # options in doubt and their probabilities
    doubtful: list[tuple[str, float]]
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
    # mean
    confidence: float
    # metrics, if truths are known
    judged: dict[str, Any] | None
    options: list[OptionRow]
    tasks: list[DoubtRow]
    tasks_shown: Shown
    annotators: list[dict[str, Any]]
    annotators_shown: Shown
    # annotators and options
    pairs: list[dict[str, Any]]
    pairs_shown: Shown


def view_sets(
    result: ResultData, truth: Any = None, *, title: str, command: str | None = None
) -> SetsView:
    """Return the values of the page. `truth` holds true sets, if they are known."""
    votes, posterior = votes_of(result), result.posterior
    doubtful = (posterior > DOUBT[0]) & (posterior < DOUBT[1])
    confidence = result.confidence
    tasks = np.flatnonzero(doubtful.any(axis=1))
    tasks = tasks[np.argsort(confidence[tasks], kind="stable")]
    quality, options = quality_of(Answers(votes), posterior), texts(result.class_names)
    columns = (quality.chosen, posterior > 0.5, doubtful)
    counts = (column.sum(axis=0).astype(np.int64).tolist() for column in columns)
    doubts = []
    for task, name in zip(
        tasks[:MOST_ROWS].tolist(), texts(result.task_names, tasks[:MOST_ROWS]), strict=True
    ):
        p = posterior[task]
        in_doubt = [(options[code], float(p[code])) for code in np.flatnonzero(doubtful[task])]
        labels = [options[code] for code in np.flatnonzero(p > 0.5)]
        doubts.append(
            DoubtRow(
                name, labels, float(confidence[task]), in_doubt, int(result.votes_per_task[task])
            )
        )
    annotators = to_polars(annotators_of_sets(result)).sort("sensitivity").to_dicts()
    by_option = to_polars(annotators_of_sets(result, by_option=True)).with_columns(
        asked=np.ravel(quality.asked)
    )
    pairs = by_option.filter(by_option["asked"] >= FEWEST_ANSWERS).sort("sensitivity").to_dicts()
    known = None if truth is None else match_sets(votes, truth)
    return SetsView(
        title=title,
        command=command,
        method=result.method,
        stopped=result.stopped,
        n_votes=int(result.votes_per_task.sum()),
        n_tasks=votes.n_tasks,
        n_annotators=votes.n_annotators,
        n_gold=int((votes.gold >= 0).sum()),
        labels_per_task=float((posterior > 0.5).sum() / votes.n_tasks),
        confidence=float(confidence.mean()),
        judged=known
        and {**set_figures(result, known.task, known.sets), "n_truths": len(known.sets)},
        options=sorted(map(OptionRow, options, *counts), key=lambda row: -row.n_tasks),
        tasks=doubts,
        tasks_shown=Shown(min(len(tasks), MOST_ROWS), len(tasks), "confidence", LABELS_TABLE),
        annotators=annotators[:MOST_ROWS],
        annotators_shown=Shown(
            min(len(annotators), MOST_ROWS), len(annotators), "sensitivity", ANNOTATORS_TABLE
        ),
        pairs=pairs[:MOST_ROWS],
        pairs_shown=Shown(min(len(pairs), MOST_ROWS), len(pairs), "sensitivity", ANNOTATORS_TABLE),
    )
