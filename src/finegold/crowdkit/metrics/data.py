"""How much the votes on a task, or of a worker, agree: consistency, uncertainty and Krippendorff's
alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from finegold.crowdkit.aggregation.base import Floats, encode
from finegold.crowdkit.aggregation.weighted import MajorityVote, shares, weighted_scores
from finegold.errors import InputError

__all__ = ["alpha_krippendorff", "consistency", "uncertainty"]


class MissingSkillError(InputError, AssertionError):
    """A worker has no skill; crowd-kit raises an AssertionError."""


class UnknownColumnError(InputError, KeyError):
    """There is no such column; crowd-kit raises a KeyError."""


def consistency(
    answers: Any, workers_skills: Any = None, aggregator: Any = None, by_task: bool = False
) -> Any:
    """Return the posterior probability of the aggregated labels, given skills as the chance of a
    right vote.

    Args:
        answers: The votes, with the columns task, worker and label.
        workers_skills: The skill of each worker. By default the `skills_` of the aggregator.
        aggregator (BaseClassificationAggregator, default MajorityVote()): Gives the labels.
        by_task: Return the probability of every task.

    Returns:
        float or pandas.Series: The mean, or the probability of every task.
    """
    aggregator = MajorityVote() if aggregator is None else aggregator
    labels = aggregator.fit_predict(answers)
    if workers_skills is None:
        workers_skills = _skills_of(aggregator)
    votes = encode(answers)
    right, wrong = _chances(answers, workers_skills, len(votes.labels))
    # all labels are equally frequent
    scores = np.ones((len(votes.tasks), len(votes.labels)))
    for label in range(len(votes.labels)):
        np.multiply.at(scores[:, label], votes.task, np.where(votes.label == label, right, wrong))
    best = votes.labels.get_indexer(labels.reindex(votes.tasks))
    index = pd.Index(votes.tasks, name="task")
    posterior = pd.Series(scores[np.arange(len(best)), best] / scores.sum(axis=1), index=index)
    return posterior.sort_index() if by_task else posterior.mean()


def _skills_of(aggregator: Any) -> Any:
    if not hasattr(aggregator, "skills_"):
        raise MissingSkillError(f"{type(aggregator).__name__} has no skills_; give workers_skills")
    return aggregator.skills_


def _chances(answers: Any, skills: Any, n_labels: int) -> tuple[Floats, Floats]:
    """Return for each vote the probability that it is right, and that the truth is a certain other
    label.
    """
    right = (
        np.ones(len(answers))
        if skills is None
        else answers["worker"].map(skills).to_numpy(dtype=np.float64)
    )
    if np.isnan(right).any():
        raise MissingSkillError(
            f"there is no skill for the worker {answers['worker'][np.isnan(right)].iloc[0]!r}"
        )
    return right, (1 - right) / max(n_labels - 1, 1)


def uncertainty(
    answers: Any,
    workers_skills: Any = None,
    aggregator: Any = None,
    compute_by: str = "task",
    aggregate: bool = True,
) -> Any:
    """Return the entropy of the labels of tasks or workers, in nats.

    Args:
        answers: The votes, with the columns task, worker and label.
        workers_skills: The skill of each worker: that much of a vote counts for its label, the rest
            for the other labels.
        aggregator (BaseClassificationAggregator, optional): Its `skills_` are used if
            `workers_skills` is not given.
        compute_by ({"task", "worker"}, default "task"): Whose entropy is computed.
        aggregate: Return the mean.

    Returns:
        float or pandas.Series: The mean, or the entropy of every task or worker.
    """
    from scipy.special import entr

    if compute_by not in ("task", "worker"):
        raise UnknownColumnError(f'compute_by must be "task" or "worker", not {compute_by!r}')
    if workers_skills is None and aggregator is not None:
        workers_skills = _skills_of(aggregator.fit(answers))
    votes = encode(answers)
    right, wrong = _chances(answers, workers_skills, len(votes.labels))
    if compute_by == "worker":
        votes = votes._replace(task=votes.worker, tasks=votes.workers)
    others = np.bincount(votes.task, wrong, len(votes.tasks))
    entropy = entr(shares(weighted_scores(votes, right - wrong) + others[:, None])).sum(axis=1)
    named = pd.Series(entropy, index=pd.Index(votes.tasks, name=compute_by)).sort_index()
    return named.mean() if aggregate else named


def alpha_krippendorff(answers: Any, distance: Callable[[Any, Any], float] | None = None) -> float:
    """Return Krippendorff's alpha, the agreement beyond chance.

    Args:
        answers: The votes, with the columns task, worker and label.
        distance (callable, optional): The distance of two labels, between 0 and 1. By default 0 for
            equal labels, else 1.

    Returns:
        float: Alpha: 1 for full agreement, 0 for the agreement of chance.
    """
    votes = encode(answers)
    counts = weighted_scores(votes, np.ones(len(answers)))
    # a single vote agrees with no other
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        # no two votes can be compared
        return float("nan")
    apart = 1.0 - np.eye(len(votes.labels))
    if distance is not None:
        apart = np.array(
            [[distance(a, b) for b in votes.labels] for a in votes.labels], dtype=np.float64
        )
    n, total = counts.sum(axis=1), counts.sum(axis=0)
    observed = (np.einsum("tk,kl,tl->t", counts, apart, counts) / (n - 1)).sum()
    expected = total @ apart @ total / (total.sum() - 1)
    return 1.0 if expected == 0 else float(1 - observed / expected)
