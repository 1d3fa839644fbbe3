"""Audit labels in use: how likely each is wrong, judged by votes and predictions, with the evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.results.data import ResultData, votes_of
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import make_frame, take
from finegold.votes.key import Key
from finegold.votes.predictions import Predictions

__all__ = ["audit_table"]

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
