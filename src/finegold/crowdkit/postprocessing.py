"""Leave out workers who nearly always give the same label."""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.crowdkit.metrics.data import uncertainty

__all__ = ["entropy_threshold"]


def entropy_threshold(
    answers: Any, workers_skills: Any = None, percentile: int = 10, min_answers: int = 2
) -> Any:
    """Leave out the votes of workers whose labels have a low entropy.

    Args:
        answers: The votes, with the columns task, worker and label.
        workers_skills: The skill of each worker.
        percentile: Workers whose entropy is at or below this percentile are left out.
        min_answers: Workers with fewer votes are kept.

    Returns:
        pandas.DataFrame: The votes that remain.
    """
    often = answers[answers.groupby("worker")["label"].transform("size") >= min_answers]
    if not len(often):
        return answers
    entropy = uncertainty(often, workers_skills, compute_by="worker", aggregate=False)
    low = entropy[entropy <= np.percentile(entropy, percentile)].index
    return answers[~answers["worker"].isin(low)]
