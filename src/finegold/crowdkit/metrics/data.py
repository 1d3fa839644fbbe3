"""How much the votes on a task, or of a worker, agree: consistency, uncertainty and Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from finegold.crowdkit.aggregation.base import CodedVotes, Floats, encode
from finegold.crowdkit.aggregation.utils import normalize_rows
from finegold.crowdkit.aggregation.weighted import MajorityVote, weighted_scores
from finegold.errors import InputError

__all__ = ["alpha_krippendorff", "consistency", "uncertainty"]


class MissingSkillError(InputError, AssertionError):
    """A worker has no skill; crowd-kit raises an AssertionError."""


class UnknownColumnError(InputError, KeyError):
    """There is no such column; crowd-kit raises a KeyError."""


def consistency(answers: Any, workers_skills: Any = None, aggregator: Any = None, by_task: bool = False) -> Any:
    """Return the posterior probability of the aggregated labels, given skills as the chance of a right vote.

    Parameters
    ----------
    answers : pandas.DataFrame
        The votes, with the columns task, worker and label.
    workers_skills : pandas.Series, optional
        The skill of each worker. By default the `skills_` of the aggregator.
    aggregator : BaseClassificationAggregator, default MajorityVote()
        Gives the labels.
    by_task : bool, default False
        Return the probability of every task.

    Returns
    -------
    float or pandas.Series
        The mean, or the probability of every task.
    """
    aggregator = MajorityVote() if aggregator is None else aggregator
    labels = aggregator.fit_predict(answers)
    if workers_skills is None:
        if not hasattr(aggregator, "skills_"):
            raise InputError(f"{type(aggregator).__name__} has no skills_; give workers_skills")
        workers_skills = aggregator.skills_
    votes = encode(answers)
    posterior = _posterior(votes, *_chances(answers, workers_skills, len(votes.labels)))
    best = votes.labels.get_indexer(labels.reindex(votes.tasks))
    found = pd.Series(posterior.to_numpy()[np.arange(len(best)), best], index=posterior.index)
    return found.sort_index() if by_task else found.mean()


def _chances(answers: Any, skills: Any, n_labels: int) -> tuple[Floats, Floats]:
    """Return for each vote the probability that it is right, and that the truth is a certain other label."""
    right = np.ones(len(answers)) if skills is None else answers["worker"].map(skills).to_numpy(dtype=np.float64)
    return right, (1 - right) / max(n_labels - 1, 1)


def _posterior(votes: CodedVotes, right: Floats, wrong: Floats) -> Any:
    """Return the posterior probability of every label of every task; all labels are equally frequent."""
    scores = np.ones((len(votes.tasks), len(votes.labels)))
    for label in range(len(votes.labels)):
        np.multiply.at(scores[:, label], votes.task, np.where(votes.label == label, right, wrong))
    return normalize_rows(votes.frame(scores))


def uncertainty(
    answers: Any,
    workers_skills: Any = None,
    aggregator: Any = None,
    compute_by: str = "task",
    aggregate: bool = True,
) -> Any:
    """Return the entropy of the labels of tasks or workers, in nats.

    Parameters
    ----------
    answers : pandas.DataFrame
        The votes, with the columns task, worker and label.
    workers_skills : pandas.Series, optional
        The skill of each worker: that much of a vote counts for its label, the rest for the other labels.
    aggregator : BaseClassificationAggregator, optional
        Its `skills_` are used if `workers_skills` is not given.
    compute_by : {"task", "worker"}, default "task"
        Whose entropy is computed.
    aggregate : bool, default True
        Return the mean.

    Returns
    -------
    float or pandas.Series
        The mean, or the entropy of every task or worker.
    """
    if compute_by not in ("task", "worker"):
        raise UnknownColumnError(f'compute_by must be "task" or "worker", not {compute_by!r}')
    if workers_skills is None and aggregator is not None:
        aggregator.fit(answers)
        workers_skills = aggregator.skills_
    votes = encode(answers)
    right, wrong = _chances(answers, workers_skills, len(votes.labels))
    if np.isnan(right).any():
        raise MissingSkillError(f"there is no skill for the worker {answers['worker'][np.isnan(right)].iloc[0]!r}")
    if compute_by == "worker":
        votes = votes._replace(task=votes.worker, tasks=votes.workers)
    others = np.bincount(votes.task, wrong, len(votes.tasks))
    entropy = _entropy(weighted_scores(votes, right - wrong) + others[:, None])
    found = pd.Series(entropy, index=pd.Index(votes.tasks, name=compute_by)).sort_index()
    return found.mean() if aggregate else found


def _entropy(weights: Any) -> Any:
    """Return the entropy of each row, divided by its sum."""
    from scipy.special import entr

    return entr(weights / weights.sum(axis=1, keepdims=True)).sum(axis=1)


def alpha_krippendorff(answers: Any, distance: Callable[[Any, Any], float] | None = None) -> float:
    """Return Krippendorff's alpha, the agreement beyond chance.

    Parameters
    ----------
    answers : pandas.DataFrame
        The votes, with the columns task, worker and label.
    distance : callable, optional
        The distance of two labels, between 0 and 1. By default 0 for equal labels, otherwise 1.

    Returns
    -------
    float
        Alpha: 1 for full agreement, 0 for the agreement of chance.
    """
    votes = encode(answers)
    counts = weighted_scores(votes, np.ones(len(answers)))
    counts = counts[counts.sum(axis=1) > 1]  # a single vote agrees with no other
    if not len(counts):
        return float("nan")  # no two votes can be compared
    apart = _distances(votes.labels, distance)
    n, total = counts.sum(axis=1), counts.sum(axis=0)
    observed = (np.einsum("tk,kl,tl->t", counts, apart, counts) / (n - 1)).sum()
    expected = total @ apart @ total / (total.sum() - 1)
    return 1.0 if expected == 0 else float(1 - observed / expected)


def _distances(labels: Any, distance: Callable[[Any, Any], float] | None) -> Any:
    if distance is None:
        return 1.0 - np.eye(len(labels))
    return np.array([[distance(a, b) for b in labels] for a in labels], dtype=np.float64)
