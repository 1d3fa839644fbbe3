"""Sets of labels: options, tasks in doubt, and annotators."""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.insight.votes import Flags
from finegold.report.sections.common import (
    ANNOTATORS_TABLE,
    LABELS_TABLE,
    Shown,
    Subject,
    View,
    texts,
)
from finegold.results.sets import Answers, annotators_of_sets, quality_of, set_figures
from finegold.votes.frames import to_polars

# of each table
MAX_ROWS = 100
# an option with a probability between these is in doubt
DOUBT = (0.2, 0.8)
# where the option is right, as expected; fewer show no quality
MIN_ANSWERS = 5


def _in_doubt(subject: Subject) -> Flags:
    posterior = subject.result.posterior
    return (posterior > DOUBT[0]) & (posterior < DOUBT[1])


def options(subject: Subject) -> View:
    result, truth, votes = subject.result, subject.true_sets, subject.result.annotations
    has = result.posterior > 0.5
    # how often an option was chosen, how many tasks have it, and in how many it is in doubt
    columns = (quality_of(Answers(votes), result.posterior).chosen, has, _in_doubt(subject))
    counts = [column.sum(axis=0).astype(np.int64).tolist() for column in columns]
    compared = None
    if truth is not None:
        compared = {**set_figures(result, truth.task, truth.sets), "n": len(truth.sets)}
    rows = list(zip(texts(result.class_names), *counts, strict=True))
    return {
        "n_gold": int((votes.gold >= 0).sum()),
        "labels_per_task": float(has.sum() / votes.n_tasks),
        "compared": compared,
        "rows": sorted(rows, key=lambda row: -row[2]),
    }


def set_tasks(subject: Subject) -> View:
    """Return the tasks with an option in doubt, the least confident first."""
    result, in_doubt, names = subject.result, _in_doubt(subject), texts(subject.result.class_names)
    codes = np.flatnonzero(in_doubt.any(axis=1))
    codes = codes[np.argsort(result.confidence[codes], kind="stable")]
    chosen = codes[:MAX_ROWS]
    rows = [
        {
            "task": name,
            "labels": [names[k] for k in np.flatnonzero(result.posterior[i] > 0.5)],
            "confidence": float(result.confidence[i]),
            # options in doubt and their probabilities
            "doubtful": [(names[k], result.posterior[i, k]) for k in np.flatnonzero(in_doubt[i])],
            "n_votes": int(result.votes_per_task[i]),
        }
        for i, name in zip(chosen.tolist(), texts(result.task_names, chosen), strict=True)
    ]
    return {"rows": rows, "shown": Shown(len(rows), len(codes), "confidence", LABELS_TABLE)}


def set_annotators(subject: Subject) -> View:
    return _by_sensitivity(to_polars(annotators_of_sets(subject.result)))


def pairs(subject: Subject) -> View:
    """Return annotators and options, where the option is right in enough of their tasks."""
    result = subject.result
    table = to_polars(annotators_of_sets(result, by_option=True))
    asked = np.ravel(quality_of(Answers(result.annotations), result.posterior).asked)
    table = table.with_columns(asked=asked)
    return _by_sensitivity(table.filter(table["asked"] >= MIN_ANSWERS))


def _by_sensitivity(table: Any) -> View:
    rows = table.sort("sensitivity").head(MAX_ROWS).to_dicts()
    return {"rows": rows, "shown": Shown(len(rows), len(table), "sensitivity", ANNOTATORS_TABLE)}
