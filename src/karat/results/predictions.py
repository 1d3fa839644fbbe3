"""How an annotator is expected to vote on a task: sum_k phi_ik c_j[k, l].

c_j is what the method knows of annotator j: their confusion matrix (its posterior mean), their mixture of prototypes,
or, for methods that know neither, a coin: right with the annotator's accuracy, every error equally likely. Somebody who
has not voted is expected to be like the mean of those who have; a task without votes is as likely as all tasks to
belong to each class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.errors import InputError
from karat.results.data import Knowledge, ResultData
from karat.votes.encoding import MISSING, Codes

__all__ = [
    "evidence",
    "group_matrices",
    "likelihood",
    "matrices",
    "predictive",
    "votes_by_truth",
]

Floats = NDArray[np.float64]

LEAST_PROBABILITY = 1e-9  # a vote that was thought impossible costs much, but not everything


def predictive(result: ResultData, task: Codes, annotator: Codes) -> Floats:
    """[n, K]: the probability of each label, for pairs of a task and an annotator (codes; MISSING: one not seen)."""
    known = result.knowledge
    phi = np.vstack([result.posterior, known.class_prior])[task]  # MISSING is -1, the last row
    if known.confusion is not None:
        return _by_confusion(phi, known.confusion, annotator)
    if known.weights is not None and known.prototypes is not None:
        return _by_prototypes(phi, known, annotator)
    return _by_coin(phi, _with_mean(result.accuracy)[annotator])


def likelihood(result: ResultData, annotator: Codes, truth: Codes, label: Codes) -> Floats:
    """[n]: the probability that this annotator gives this label when that is the truth."""
    known = result.knowledge
    if known.confusion is not None:
        return np.asarray(known.confusion[annotator, truth, label])
    if known.weights is not None and known.prototypes is not None:
        return np.asarray((known.weights[annotator] * known.prototypes[:, truth, label].T).sum(axis=1))
    right, others = result.accuracy[annotator], max(len(result.class_names) - 1, 1)
    return np.where(truth == label, right, (1 - right) / others)


def evidence(result: ResultData, annotator: Codes, label: Codes, one: Codes, other: Codes) -> Floats:
    """[n]: log P(vote | one) - log P(vote | other): how much each vote speaks for one class against another.

    The anchored vote takes the mean of two such logs: by the annotator's own matrix and by everybody's.
    """
    own = _log_ratio(*(likelihood(result, annotator, side, label) for side in (one, other)))
    share = result.settings.get("own_share")
    if share is None:
        return own
    mu = result.knowledge.more["mu"]
    mixed: Floats = share * own + (1 - share) * _log_ratio(mu[one, label], mu[other, label])
    return mixed


def _log_ratio(one: Floats, other: Floats) -> Floats:
    for_one, for_other = (np.log(np.maximum(p, LEAST_PROBABILITY)) for p in (one, other))
    return np.asarray(for_one - for_other)


def matrices(result: ResultData, annotators: Codes, classes: NDArray[np.int64]) -> Floats:
    """[n, k, k]: how each of these annotators votes (columns) when the truth is given (rows), for these classes."""
    known = result.knowledge
    if known.confusion is not None:
        return np.asarray(known.confusion[np.ix_(annotators, classes, classes)], dtype=np.float64)
    if known.weights is not None and known.prototypes is not None:
        # before they are mixed: there may be many classes
        prototypes = known.prototypes[:, classes[:, None], classes]
        return np.tensordot(known.weights[annotators], prototypes, axes=1)
    return _coins(result.accuracy[annotators], len(result.class_names))[:, classes[:, None], classes]


def group_matrices(result: ResultData, share: Floats, group: NDArray[np.int64], n_groups: int) -> Floats:
    """[G, K, K]: how each group of annotators votes, truth in rows; members count by their share."""
    total = np.bincount(group, weights=share, minlength=n_groups)
    share = share / np.maximum(total[group], 1e-300)
    known = result.knowledge
    if known.confusion is not None:
        return _by_group(known.confusion, share, group, n_groups)
    if known.weights is not None and known.prototypes is not None:
        return np.tensordot(_by_group(known.weights, share, group, n_groups), known.prototypes, axes=1)
    return _coins(_by_group(result.accuracy, share, group, n_groups), len(result.class_names))


def _coins(right: Floats, K: int) -> Floats:
    """[n, K, K]: right so often, every error equally likely."""
    right = right[:, None, None]
    return np.asarray(np.where(np.eye(K), right, (1 - right) / max(K - 1, 1)))


def _by_group(of_annotators: Floats, share: Floats, group: NDArray[np.int64], n_groups: int) -> Floats:
    """The mean of each group."""
    weigh = share.reshape(-1, *[1] * (of_annotators.ndim - 1))
    means = np.zeros((n_groups, *of_annotators.shape[1:]))
    for g in range(n_groups):
        means[g] = (weigh * of_annotators)[group == g].sum(axis=0)
    return means


def votes_by_truth(result: ResultData, annotators: NDArray[np.int64] | None = None) -> Floats:
    """[n, K, K]: the votes (columns) of these annotators, or of all, by the truth (rows), in expectation."""
    if result.annotations is None:
        raise InputError("this model was saved without its votes; fit again with this Karat and save it")
    K, W = len(result.class_names), len(result.annotator_names)
    task, annotator, label = result.annotations.votes()
    if annotators is not None:
        row = np.full(W, MISSING, np.int64)
        row[annotators] = np.arange(len(annotators))
        among = np.flatnonzero(row[annotator] != MISSING)
        task, annotator, label, W = task[among], row[annotator[among]].astype(np.int32), label[among], len(annotators)
    cell = annotator.astype(np.int64) * K + label
    columns = (np.bincount(cell, weights=result.posterior[task, k], minlength=W * K) for k in range(K))
    return np.stack([column.reshape(W, K) for column in columns], axis=1)


def _by_confusion(phi: Floats, confusion: Floats, annotator: Codes) -> Floats:
    matrices = _with_mean(confusion)
    expected = np.zeros_like(phi)
    for k in range(phi.shape[1]):  # class by class, so that no [n, K, K] is needed
        expected += phi[:, k, None] * matrices[annotator, k]
    return expected


def _by_prototypes(phi: Floats, known: Knowledge, annotator: Codes) -> Floats:
    assert known.weights is not None
    assert known.prototypes is not None
    weights = _with_mean(known.weights)[annotator]
    expected = np.zeros_like(phi)
    for s, prototype in enumerate(known.prototypes):
        expected += weights[:, s, None] * (phi @ prototype)
    return expected


def _by_coin(phi: Floats, accuracy: Floats) -> Floats:
    K = phi.shape[1]
    if K == 1:
        return phi
    right = accuracy[:, None]
    expected: Floats = right * phi + (1 - right) * (1 - phi) / (K - 1)
    return expected


def _with_mean(of_annotators: Floats) -> Floats:
    """A last row is added, where the code MISSING (-1) finds the mean of all."""
    assert MISSING == -1
    return np.concatenate([of_annotators, of_annotators.mean(axis=0, keepdims=True)])
