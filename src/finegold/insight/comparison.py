"""Compare the results of several methods on the same votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from finegold.insight.majority import flipped_tasks, n_flips
from finegold.insight.votes import Floats
from finegold.results import metrics
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import make_frame
from finegold.votes.key import Key

# columns of a comparison that need known truths
WITH_TRUTH = ("accuracy", "log_loss", "flips_right", "flips_wrong")


@dataclass(frozen=True)
class Comparison:
    """The results of several methods on the same tasks."""

    results: list[ResultData]
    majority: ResultData
    # [T] codes of K or more are classes without votes
    truth: Codes | None

    @property
    def agreement(self) -> Floats:
        """[M, M] Return the share of tasks to which two methods give the same label."""
        labels = [result.label_codes for result in self.results]
        return np.array([[float(np.mean(one == other)) for other in labels] for one in labels])

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per method: flips, objective, time, and accuracy if truths are known."""
        rows = []
        for result in self.results:
            objective = result.steps[-1].objective
            row: dict[str, Any] = {
                "method": result.method,
                "flips": n_flips(result),
                "ties": int(np.count_nonzero(result.tied)),
                "mean_confidence": float(result.confidence.mean()),
                "objective": objective if np.isfinite(objective) else None,
                "iterations": result.iterations,
                "converged": result.converged,
                "seconds": result.seconds,
            }
            if self.truth is not None:
                changed = flipped_tasks(result) & (self.truth >= 0)
                right = (self.truth == result.label_codes, self.truth == self.majority.label_codes)
                n_right, n_wrong = (int(np.count_nonzero(changed & each)) for each in right)
                row |= {
                    "accuracy": metrics.accuracy(result.posterior, self.truth),
                    "log_loss": metrics.log_loss(result.posterior, self.truth),
                    "flips_right": n_right,
                    "flips_wrong": n_wrong,
                }
            rows.append(row)
        return rows

    def table(self) -> Any:
        """Return `rows` as a data frame; what is not known is null."""
        rows = self.rows()
        names = [*rows[0], *(name for name in WITH_TRUTH if name not in rows[0])]
        columns = {name: [row.get(name) for row in rows] for name in names}
        return make_frame(columns, like=self.majority.task_names)

    def labels(self) -> Any:
        """Return a data frame with a row per task and a column per method, with the labels."""
        names = {each.method: each.class_names.take(each.label_codes) for each in self.results}
        tasks = self.majority.task_names
        return make_frame({"task": tasks, **names}, like=tasks)

    def _repr_html_(self) -> str:
        from finegold.insight.notebook import frame_html

        known = WITH_TRUTH[:2] if self.truth is not None else ()
        columns = ("method", *known, "flips", "mean_confidence", "seconds")
        n_tasks = f"{len(self.majority.label_codes):,}"
        title = f"<b>Comparison</b> of {len(self.results):,} methods on {n_tasks} tasks"
        return frame_html(title, self.table(), columns=columns)


def audit_table(result: ResultData, everything: ResultData, key: Key) -> Any:
    """Return one row per task with a label in use, the least probable label first."""
    # `everything` is the result with the tasks that have predictions only; `key` holds the labels
    # in use of its tasks.
    tasks = np.flatnonzero(key.codes != MISSING)
    p_wrong = 1 - _probability(everything.posterior[tasks], key.codes[tasks])
    order = np.lexsort((tasks, -p_wrong))
    tasks, p_wrong = tasks[order], p_wrong[order]
    current = key.codes[tasks]
    task, _, label = result.annotations.votes()
    agreeing = np.bincount(task[label == key.codes[task]], minlength=len(key.codes))[tasks]
    columns = {
        "task": everything.task_names.take(tasks.astype(np.int32)),
        "current": [key.class_names[code] for code in current.tolist()],
        "p_wrong": p_wrong,
        "label": everything.class_names.take(everything.label_codes[tasks]),
        "confidence": everything.confidence[tasks].astype(np.float64),
        "votes_for": agreeing,
        "votes_against": everything.votes_per_task[tasks] - agreeing,
    }
    # what the models predict, on average and as they gave it; null without a prediction
    if result.combined:
        predictions = result.combined.predictions
        n_models = predictions.known[:, tasks].sum(axis=0)
        mean = predictions.probabilities[:, tasks].sum(axis=0) / np.maximum(n_models, 1)[:, None]
        predicted = np.where(n_models > 0, mean.argmax(axis=1), MISSING).astype(np.int32)
        shares = zip(_probability(mean, current).tolist(), n_models.tolist(), strict=True)
        columns["predicted"] = everything.class_names.take(predicted)
        columns["p_current_predicted"] = [share if n else None for share, n in shares]
    return make_frame(columns, like=everything.task_names)


def _probability(probabilities: Floats, codes: Codes) -> Floats:
    """[n] Return the probability of the class in each row; 0 for a class without votes."""
    known = codes < probabilities.shape[1]
    return np.where(known, probabilities[np.arange(len(codes)), np.where(known, codes, 0)], 0.0)
