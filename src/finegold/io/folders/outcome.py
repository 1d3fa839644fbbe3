"""What a fit returns whose labels stay in files that the workers wrote."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from finegold.fitting.solve import Descent
from finegold.io.folders.ingest import Remote
from finegold.io.folders.labels import Tally
from finegold.results.data import Learned, ResultData, accuracies
from finegold.results.tables import annotators_table
from finegold.votes.encoding import Names

__all__ = ["Outcome", "outcome", "template", "without_learned"]


@dataclass(frozen=True)
class Outcome:
    """Everything except the labels, which are the rows of the Parquet files in `folder`."""

    folder: Path
    result: ResultData  # of the annotators; it has no tasks
    n_votes: int
    n_tasks: int
    n_gold: int
    tied: int
    outvoted: int  # labels with fewer votes than another class

    def annotators(self) -> Any:
        return annotators_table(self.result)


def template(votes: Remote, made: Descent) -> ResultData:
    """Return a result without tasks and without sums over annotators."""
    nobody: Any = np.empty(0)
    none: Names = _names(votes.annotators)[:0]
    return ResultData(
        method=made.method.name,
        settings=made.method.settings,
        task_names=none,
        annotator_names=none,
        class_names=votes.classes,
        unlabelled=none,
        posterior=np.empty((0, len(votes.classes))),
        label_codes=np.empty(0, np.int32),
        tied=np.empty(0, np.bool_),
        votes_per_task=np.empty(0, np.int64),
        gold=np.empty(0, np.int32),
        **dict.fromkeys(("votes_per_annotator", "agreement", "accuracy", "accuracy_low", "accuracy_high"), nobody),
        learned=made.method.learned(made.parameters),
        steps=made.steps,
        counts=votes.counts,
        converged=made.converged,
        stopped=made.stopped,
    )


def without_learned(made: ResultData) -> ResultData:
    """What labels do not need: it grows with the annotators, and would travel to every worker."""
    return replace(made, learned=Learned(class_prior=np.empty(0)), steps=[])


def outcome(folder: Path, made: ResultData, votes: Remote, tally: Tally, seconds: float, notes: list[str]) -> Outcome:
    accuracy, low, high = accuracies(tally.votes, tally.expected)
    result = replace(
        made,
        annotator_names=_names(votes.annotators),
        unlabelled=_names(votes.unlabelled),
        votes_per_annotator=tally.votes,
        agreement=tally.agreed / tally.votes,
        accuracy=accuracy,
        accuracy_low=low,
        accuracy_high=high,
        seconds=seconds,
        notes=notes,
    )
    return Outcome(folder, result, votes.n_votes, votes.n_tasks, votes.n_gold, tally.tied, tally.outvoted)


def _names(series: Any) -> Any:
    return nw.from_native(series, series_only=True)
