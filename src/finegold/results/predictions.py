"""Predict how an annotator votes on a task: sum_k phi_ik c_j[k, l].

c_j is the matrix of annotator j, truth in rows and vote in columns (`annotator_matrices`). An annotator who has not
voted is expected to vote like the mean of those who have. A task without votes belongs to each class as often as all
tasks do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from finegold.results.data import ResultData, votes_of
from finegold.results.matrices import AnnotatorMatrices, annotator_matrices
from finegold.votes.encoding import MISSING, Codes

__all__ = ["evidence", "group_matrices", "likelihood", "matrices", "predictive", "votes_by_truth"]

Floats = NDArray[np.float64]


LEAST_PROBABILITY = 1e-9  # limits the evidence of a vote that the model considers impossible


def predictive(result: ResultData, task: Codes, annotator: Codes) -> Floats:
    """[n, K] Return the probability of each vote, for pairs of a task and an annotator (codes; MISSING if unknown)."""
    phi = np.vstack([result.posterior, result.learned.class_prior])[task]  # MISSING is -1 and selects the last row
    return _with_mean(annotator_matrices(result)).predict(phi, annotator)


def likelihood(result: ResultData, annotator: Codes, truth: Codes, label: Codes) -> Floats:
    """[n] Return the probability that the annotator votes for the label given the truth."""
    return annotator_matrices(result).at(annotator, truth, label)


def evidence(result: ResultData, annotator: Codes, label: Codes, one: Codes, other: Codes) -> Floats:
    """[n] Return log P(vote | one) - log P(vote | other): how strongly each vote supports one class over another.

    The anchored vote uses the weighted mean of two such logs: from the annotator's own matrix and from the pooled one.
    """
    own = _log_ratio(*(likelihood(result, annotator, side, label) for side in (one, other)))
    share = result.settings.get("own_share")
    if share is None:
        return own
    mu = result.learned.statistics["mu"]
    mixed: Floats = share * own + (1 - share) * _log_ratio(mu[one, label], mu[other, label])
    return mixed


def _log_ratio(one: Floats, other: Floats) -> Floats:
    for_one, for_other = (np.log(np.maximum(p, LEAST_PROBABILITY)) for p in (one, other))
    return np.asarray(for_one - for_other)


def matrices(result: ResultData, annotators: Codes, classes: NDArray[np.int64]) -> Floats:
    """[n, k, k] Return the confusion matrices of these annotators for these classes: truth in rows, vote in columns."""
    return annotator_matrices(result).of(annotators, classes)


def group_matrices(result: ResultData, share: Floats, group: NDArray[np.int64], n_groups: int) -> Floats:
    """[G, K, K] Return the mean confusion matrix of each group, weighted by the share of each annotator."""
    total = np.bincount(group, weights=share, minlength=n_groups)
    share = share / np.maximum(total[group], 1e-300)
    found = annotator_matrices(result)
    means = replace(found, rows=_by_group(found.rows, share, group, n_groups))
    return means.of(np.arange(n_groups), np.arange(len(result.class_names)))


def _by_group(rows: Floats, share: Floats, group: NDArray[np.int64], n_groups: int) -> Floats:
    """Return the weighted mean of each group."""
    weigh = share.reshape(-1, *[1] * (rows.ndim - 1))
    means = np.zeros((n_groups, *rows.shape[1:]))
    for g in range(n_groups):
        means[g] = (weigh * rows)[group == g].sum(axis=0)
    return means


def _with_mean(found: AnnotatorMatrices) -> AnnotatorMatrices:
    """Append the mean of all annotators as last row, which the code MISSING (-1) selects."""
    assert MISSING == -1
    return replace(found, rows=np.concatenate([found.rows, found.rows.mean(axis=0, keepdims=True)]))


def votes_by_truth(result: ResultData, annotators: NDArray[np.int64] | None = None) -> Floats:
    """[n, K, K] Return the expected votes of these annotators, or of all: truth in rows, vote in columns."""
    K, W = len(result.class_names), len(result.annotator_names)
    task, annotator, label = votes_of(result).votes()
    if annotators is not None:
        row = np.full(W, MISSING, np.int64)
        row[annotators] = np.arange(len(annotators))
        among = np.flatnonzero(row[annotator] != MISSING)
        task, annotator, label, W = task[among], row[annotator[among]].astype(np.int32), label[among], len(annotators)
    cell = annotator.astype(np.int64) * K + label
    columns = (np.bincount(cell, weights=result.posterior[task, k], minlength=W * K) for k in range(K))
    return np.stack([column.reshape(W, K) for column in columns], axis=1)
