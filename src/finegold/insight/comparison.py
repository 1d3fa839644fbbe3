"""Compare the results of several methods on the same votes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.fitting.solve import fit
from finegold.insight.majority import flipped_tasks, n_flips
from finegold.methods.base import Method
from finegold.methods.lookup import method_class
from finegold.results import metrics
from finegold.results.data import ResultData, votes_of
from finegold.votes.annotations import Annotations, Predictions
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import make_frame, take
from finegold.votes.key import Key

Fit = Callable[[Method, Annotations], ResultData]


@dataclass(frozen=True)
class Comparison:
    """The results of several methods on the same tasks."""

    results: list[ResultData]
    majority: ResultData
    truth: Codes | None  # [T] codes of K or more are classes without votes

    @property
    def methods(self) -> list[str]:
        return [result.method for result in self.results]

    @property
    def agreement(self) -> NDArray[np.float64]:
        """[M, M] Return the share of tasks to which two methods give the same label."""
        labels = [result.label_codes for result in self.results]
        return np.array([[float(np.mean(one == other)) for other in labels] for one in labels])

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per method: flips of the majority vote, bound, time, and accuracy if truths are known."""
        return [self._row(result) for result in self.results]

    def labels(self) -> Any:
        """Return a data frame with a row per task and a column per method, with the labels."""
        names = {result.method: take(result.class_names, result.label_codes) for result in self.results}
        return make_frame({"task": self.majority.task_names, **names}, like=self.majority.task_names)

    def _repr_html_(self) -> str:
        from finegold.insight.notebook import comparison_html

        return comparison_html(self)

    def _row(self, result: ResultData) -> dict[str, Any]:
        bound = result.steps[-1].bound
        row: dict[str, Any] = {
            "method": result.method,
            "flips": n_flips(result),
            "ties": int(np.count_nonzero(result.tied)),
            "mean_confidence": float(result.confidence.mean()),
            "bound": bound if np.isfinite(bound) else None,
            "iterations": result.iterations,
            "converged": result.converged,
            "seconds": result.seconds,
        }
        if self.truth is not None:
            row |= self._judgement(result, self.truth)
        return row

    def _judgement(self, result: ResultData, truth: Codes) -> dict[str, float]:
        flips = flipped_tasks(result) & (truth >= 0)
        better = np.count_nonzero(flips & (result.label_codes == truth))
        worse = np.count_nonzero(flips & (self.majority.label_codes == truth))
        return {
            "accuracy": metrics.accuracy(result.posterior, truth),
            "log_loss": metrics.log_loss(result.posterior, truth),
            "flips_right": int(better),
            "flips_wrong": int(worse),
        }


def compare(
    annotations: Annotations, methods: Iterable[Method], *, truth: Codes | None = None, run: Fit = fit
) -> Comparison:
    """Fit each method to the votes. `run` can be a fit function that shows progress."""
    majority = fit(method_class("mv")(), annotations)
    return Comparison([run(method, annotations) for method in methods], majority, truth)


Floats = NDArray[np.float64]


def audit_table(result: ResultData, everything: ResultData, key: Key) -> Any:
    """Return one row per task with a label in use, the least probable label first.

    `everything` is the result with the tasks that have predictions only; `key` holds the labels in use of its tasks.
    """
    tasks = np.flatnonzero(key.codes != MISSING)
    p_wrong = 1 - _probability(everything.posterior[tasks], key.codes[tasks])
    order = np.lexsort((tasks, -p_wrong))
    tasks, p_wrong = tasks[order], p_wrong[order]
    current = key.codes[tasks]
    for_label = _votes_for(result, len(everything.posterior), tasks, current)
    columns = {
        "task": take(everything.task_names, tasks.astype(np.int32)),
        "current": [key.class_names[code] for code in current.tolist()],
        "p_wrong": p_wrong,
        "label": take(everything.class_names, everything.label_codes[tasks]),
        "confidence": everything.confidence[tasks].astype(np.float64),
        "votes_for": for_label,
        "votes_against": everything.votes_per_task[tasks] - for_label,
    }
    if result.combined:
        columns |= _opinion(everything, result.combined.predictions, tasks, current)
    return make_frame(columns, like=everything.task_names)


def _probability(probabilities: Floats, codes: Codes) -> Floats:
    """[n] Return the probability of the class in each row; 0 for a class that the votes do not have."""
    known = np.flatnonzero(codes < probabilities.shape[1])
    found = np.zeros(len(codes))
    found[known] = probabilities[known, codes[known]]
    return found


def _votes_for(result: ResultData, n_tasks: int, tasks: NDArray[Any], current: Codes) -> NDArray[np.int64]:
    """[n] Return the number of votes for the label in use."""
    wanted = np.full(n_tasks, MISSING, np.int32)
    wanted[tasks] = current
    task, _, label = votes_of(result).votes()
    agreeing = np.bincount(task[label == wanted[task]], minlength=n_tasks)
    return np.asarray(agreeing[tasks], dtype=np.int64)


def _opinion(result: ResultData, predictions: Predictions, tasks: NDArray[Any], current: Codes) -> dict[str, Any]:
    """Return what the models predict, on average and as they gave it, for each task; null without a prediction."""
    n_models = predictions.known[:, tasks].sum(axis=0)
    mean = predictions.probabilities[:, tasks].sum(axis=0) / np.maximum(n_models, 1)[:, None]
    has_any = n_models > 0
    share = _probability(mean, current).tolist()
    return {
        "predicted": take(result.class_names, np.where(has_any, mean.argmax(axis=1), MISSING).astype(np.int32)),
        "p_current_predicted": [p if has else None for p, has in zip(share, has_any.tolist(), strict=True)],
    }
