"""How annotators vote given the truth: matrices c_j (truth in rows, vote in columns), and
likelihoods.

The three kinds of matrices are linear in `rows` [W, ...], what the method learned about each
annotator, so the mean of rows gives the mean of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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


@dataclass(frozen=True, eq=False)
class Confusion:
    """Each annotator has a matrix: rows [W, K, K]."""

    rows: Floats

    def at(self, annotator: Codes, truth: Codes, label: Codes) -> Floats:
        """[n] Return P(label | truth) for each annotator."""
        return np.asarray(self.rows[annotator, truth, label])

    def of(self, annotators: Codes | Integers, classes: Integers) -> Floats:
        """[n, k, k] Return the matrices of these annotators, restricted to these classes."""
        return np.asarray(self.rows[np.ix_(annotators, classes, classes)], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Each annotator mixes prototypes [S, K, K]: rows [W, S] are the weights."""

    rows: Floats
    prototypes: Floats

    def at(self, annotator: Codes, truth: Codes, label: Codes) -> Floats:
        return np.asarray((self.rows[annotator] * self.prototypes[:, truth, label].T).sum(axis=1))

    def of(self, annotators: Codes | Integers, classes: Integers) -> Floats:
        # select classes before mixing, since there can be many
        chosen = self.prototypes[:, classes[:, None], classes]
        return np.tensordot(self.rows[annotators], chosen, axes=1)


@dataclass(frozen=True, eq=False)
class Coin:
    """Each annotator is right with an accuracy, rows [W], and every error is equally likely."""

    rows: Floats
    n_classes: int

    def at(self, annotator: Codes, truth: Codes, label: Codes) -> Floats:
        right = self.rows[annotator]
        return np.where(truth == label, right, (1 - right) / max(self.n_classes - 1, 1))

    def of(self, annotators: Codes | Integers, classes: Integers) -> Floats:
        return self.at(annotators[:, None, None], classes[:, None], classes)  # type: ignore[arg-type]


def annotator_matrices(result: ResultData) -> Confusion | Mixture | Coin:
    """Return the matrices that the method learned, or `Coin` with the accuracies."""
    learned = result.learned
    if learned.confusion is not None:
        return Confusion(learned.confusion)
    if learned.weights is not None and learned.prototypes is not None:
        return Mixture(learned.weights, learned.prototypes)
    return Coin(result.accuracy, len(result.class_names))


def matrices(result: ResultData, annotators: Codes, classes: Integers) -> Floats:
    """[n, k, k] Return the confusion matrices of these annotators for these classes."""
    return annotator_matrices(result).of(annotators, classes)


def evidence(
    result: ResultData, annotator: Codes, label: Codes, for_class: Codes, against: Codes
) -> Floats:
    """[n] Return log P(vote | for_class) - log P(vote | against): how strongly votes support a class.

    The anchored vote uses the weighted mean of those of the annotator's own and the pooled matrix.
    """

    def log_ratio(p: Floats, q: Floats) -> Floats:
        least = LEAST_PROBABILITY
        return np.asarray(np.log(np.maximum(p, least)) - np.log(np.maximum(q, least)))

    each = annotator_matrices(result)
    own = log_ratio(each.at(annotator, for_class, label), each.at(annotator, against, label))
    if (mu := result.learned.statistics.get("everybody")) is None:
        return own
    pooled = log_ratio(mu[for_class, label], mu[against, label])
    return np.asarray(OWN_SHARE * own + (1 - OWN_SHARE) * pooled)


def group_matrices(result: ResultData, share: Floats, group: Integers, n_groups: int) -> Floats:
    """[G, K, K] Return the mean matrix of each group, weighted by the share of each annotator."""
    each = annotator_matrices(result)
    total = np.bincount(group, weights=share, minlength=n_groups)
    weights = (share / np.maximum(total[group], 1e-300)).reshape(-1, *[1] * (each.rows.ndim - 1))
    weighted = weights * each.rows
    means = np.stack([weighted[group == g].sum(axis=0) for g in range(n_groups)])
    return replace(each, rows=means).of(np.arange(n_groups), np.arange(len(result.class_names)))


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
