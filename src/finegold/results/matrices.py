"""How annotators vote given the truth: matrices c_j (truth in rows, vote in columns), and
likelihoods.

The three kinds of matrices are linear in `rows` [W, ...], what the method learned about each
annotator, so the mean of rows gives the mean of matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.results.data import ResultData
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# limits the evidence of a vote that the model considers impossible
LEAST_PROBABILITY = 1e-9
# weight of an annotator's own matrix in the evidence of the anchored vote; the rest is everybody's
OWN_SHARE = 0.7


def matrices(result: ResultData, annotators: Codes, classes: Integers) -> Floats:
    """[n, k, k] Return the matrices of these annotators, restricted to these classes."""
    return _of(result, _rows(result)[annotators], classes)


def probability(result: ResultData, annotator: Codes, truth: Codes, label: Codes) -> Floats:
    """[n] Return P(label | truth) for each annotator."""
    rows, prototypes = _rows(result), result.learned.prototypes
    if rows.ndim == 3:
        return np.asarray(rows[annotator, truth, label])
    if rows.ndim == 2 and prototypes is not None:
        return np.asarray((rows[annotator] * prototypes[:, truth, label].T).sum(axis=1))
    return _coin(result, rows[annotator], truth, label)


def _rows(result: ResultData) -> Floats:
    """[W, ...] Return what the method learned about each annotator: matrices [W, K, K], weights of
    prototypes [W, S], or accuracies [W].
    """
    learned = result.learned
    if learned.confusion is not None:
        return learned.confusion
    return result.annotator_accuracy if learned.weights is None else learned.weights


def _of(result: ResultData, rows: Floats, classes: Integers) -> Floats:
    prototypes = result.learned.prototypes
    if rows.ndim == 3:
        return np.asarray(rows[:, classes[:, None], classes], dtype=np.float64)
    if rows.ndim == 2 and prototypes is not None:
        # select classes before mixing, since there can be many
        return np.tensordot(rows, prototypes[:, classes[:, None], classes], axes=1)
    return _coin(result, rows[:, None, None], classes[:, None], classes)


def _coin(result: ResultData, right: Floats, truth: Any, label: Any) -> Floats:
    """Return what an accuracy gives, if every error is equally likely."""
    return np.where(truth == label, right, (1 - right) / max(len(result.class_names) - 1, 1))


def evidence(
    result: ResultData, annotator: Codes, label: Codes, for_class: Codes, against: Codes
) -> Floats:
    """[n] Return log P(vote | for_class) - log P(vote | against): how strongly votes support a class.

    The anchored vote uses the weighted mean of those of the annotator's own and the pooled matrix.
    """

    def log_ratio(p: Floats, q: Floats) -> Floats:
        least = LEAST_PROBABILITY
        return np.asarray(np.log(np.maximum(p, least)) - np.log(np.maximum(q, least)))

    own = log_ratio(
        probability(result, annotator, for_class, label),
        probability(result, annotator, against, label),
    )
    if (mu := result.learned.statistics.get("everybody")) is None:
        return own
    pooled = log_ratio(mu[for_class, label], mu[against, label])
    return np.asarray(OWN_SHARE * own + (1 - OWN_SHARE) * pooled)


def group_matrices(result: ResultData, share: Floats, group: Integers, n_groups: int) -> Floats:
    """[G, K, K] Return the mean matrix of each group, weighted by the share of each annotator."""
    rows = _rows(result)
    total = np.bincount(group, weights=share, minlength=n_groups)
    weights = (share / np.maximum(total[group], 1e-300)).reshape(-1, *[1] * (rows.ndim - 1))
    means = np.stack([(weights * rows)[group == g].sum(axis=0) for g in range(n_groups)])
    return _of(result, means, np.arange(len(result.class_names)))


def votes_by_truth(votes: Annotations, posterior: Floats, group: Integers | None = None) -> Floats:
    """[n, K, K] Return the expected votes of each annotator, or of each group of annotators, whose
    numbers [W] are given, or MISSING: truth in rows, vote in columns.
    """
    # loads slowly
    from scipy.sparse import csr_array

    task, who, label = votes.votes()
    group = np.arange(votes.n_annotators) if group is None else group
    counted = np.flatnonzero(group[who] != MISSING)
    n, K = int(group.max()) + 1, votes.n_classes
    cell = group[who[counted]] * K + label[counted]
    shape = (n * K, votes.n_tasks)
    counts = csr_array((np.ones(len(cell)), (cell, task[counted])), shape=shape) @ posterior
    return np.asarray(counts.reshape(n, K, posterior.shape[1]).transpose(0, 2, 1))


def pooled_votes(votes: Annotations, posterior: Floats) -> Floats:
    """[K, K] Return the expected votes of all annotators together."""
    everybody = np.zeros(votes.n_annotators, np.int64)
    return np.asarray(votes_by_truth(votes, posterior, everybody)[0])
