"""Compare the results of several methods on the same votes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.fitting.solve import fit
from finegold.insight.majority import flipped_tasks, n_flips
from finegold.methods.lookup import Method, method_class
from finegold.results import metrics
from finegold.results.data import ResultData
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import Codes
from finegold.votes.frames import make_frame, take

__all__ = ["Comparison", "compare"]

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
