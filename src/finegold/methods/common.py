"""What several methods share: the votes as arrays, first posteriors, sweeps with a confusion matrix
per annotator, Dirichlets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.engines.base import Block
from finegold.kernels import cells, confusion
from finegold.methods.base import Floats, Method

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Integers = NDArray[np.int64]
# the least count of a Dirichlet: digamma needs positive numbers
LEAST_COUNT = 1e-9


class Ballots(NamedTuple):
    """The votes of a block, sorted by task: annotator j[n] gave task i[n] the class y[n]."""

    i: Integers
    j: Integers
    y: Integers
    # [T + 1] first vote of each task
    first: Integers
    n_annotators: int
    n_classes: int

    def by_class(self, weight: Floats) -> Floats:
        """[T, K] Return the sum of the weights of the votes on each task for each class."""
        return _sums(weight, (len(self.first) - 1, self.n_classes), self.i, self.y)

    def by_annotator(self, weight: Floats) -> Floats:
        """[W] Return the sum of the weights of each annotator's votes."""
        return _sums(weight, (self.n_annotators,), self.j)

    def by_annotator_and_class(self, weight: Floats) -> Floats:
        """[W, K] Return the sum of the weights of each annotator's votes for each class."""
        return _sums(weight, (self.n_annotators, self.n_classes), self.j, self.y)

    def by_task(self, weight: Floats) -> Floats:
        """[T] Return the sum of the weights of the votes on each task."""
        return _sums(weight, (len(self.first) - 1,), self.i)

    def cast(self) -> csr_array:
        """[T, W] Return the number of votes of each annotator on each task, as a sparse matrix."""
        from scipy.sparse import csr_array

        shape = (len(self.first) - 1, self.n_annotators)
        return csr_array((np.ones(len(self.j)), self.j, self.first), shape=shape)


def ballots(block: Block) -> Ballots:
    first, row = block.rows
    j, label = np.divmod(row.astype(np.int64), block.n_classes)
    ends = first.astype(np.int64)
    i = np.repeat(np.arange(block.n_tasks), np.diff(ends))
    return Ballots(i, j, label, ends, block.n_annotators, block.n_classes)


def _sums(weight: Floats, shape: tuple[int, ...], *at: Integers) -> Floats:
    place = at[0] if len(at) == 1 else at[0] * shape[1] + at[1]
    sums = np.bincount(place, weight, math.prod(shape)).reshape(shape)
    return sums.astype(np.float64, copy=False)


def sum_rows(at: NDArray[Any], values: Floats, n: int) -> Floats:
    """[n, K] Return the sum of the rows of values that have the same place."""
    from scipy.sparse import csc_array

    shape = (n, len(at))
    return np.asarray(csc_array((np.ones(len(at)), at, np.arange(len(at) + 1)), shape) @ values)


def start_from_shares(block: Block) -> None:
    """Set the posterior to vote shares, and to certainty for tasks with a known truth."""
    cells.vote_shares(block.votes, block.gold, block.posterior)


def softmax(score: Floats) -> Floats:
    """Return exp(score), normalised to sum to one along the last axis."""
    p = np.exp(score - score.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    return np.asarray(p)


def set_posterior(block: Block, phi: Floats) -> float:
    """Replace the posterior of the tasks without a known truth; return its largest change."""
    phi = np.where(block.gold[:, None] < 0, phi, block.posterior)
    change = float(np.abs(phi - block.posterior).max(initial=0.0))
    block.posterior[:] = phi
    return change


class ConfusionSums(NamedTuple):
    change: float
    # [K] sum_i phi_ik
    tau: Floats
    # [W, L, K] sum of phi_ik over j's votes for l; votes before truths, the order in which the
    # kernels read
    n: Floats
    # sum_i log of the normaliser of phi_i
    log_norm: float = 0.0


def sweep_confusion(block: Block, log_tau: Floats, log_v: Floats) -> ConfusionSums:
    """Set phi_ik in proportion to tau_k times the product of v_jlk over the votes (j, l) on task i."""
    tau, n = np.zeros_like(log_tau), np.zeros_like(log_v)
    change, log_norm = confusion.sweep(
        block.classes, block.votes, block.gold, log_tau, log_v, block.posterior, tau, n
    )
    return ConfusionSums(change, tau, n, log_norm)


def start_confusion(block: Block) -> ConfusionSums:
    """Set the posterior to vote shares, and count the expected votes of each annotator by truth."""
    start_from_shares(block)
    n: Floats = np.zeros((block.n_annotators, block.n_classes, block.n_classes))
    confusion.counts(block.classes, block.votes, block.posterior, n)
    return ConfusionSums(0.0, block.class_sums(), n)


@dataclass(kw_only=True)
class ConfusionMethod(Method):
    """A method with a confusion matrix per annotator. Its parameters have Dirichlets of the classes,
    `tau`, and `log_v` [W, L, K], the log-probabilities of the votes.
    """

    order: ClassVar[int] = 2

    def start(self, block: Block, restart: int) -> ConfusionSums:
        return start_confusion(block)

    def sweep(self, block: Block, parameters: Any) -> ConfusionSums:
        return sweep_confusion(block, parameters.tau.log, parameters.log_v)


class Dirichlets(NamedTuple):
    """Dirichlet distributions along the last axis."""

    counts: Floats
    # E log p, equations (5)-(7)
    log: Floats
    # sum of the log-normalisers log B(counts)
    log_beta: float


def dirichlets(counts: Floats) -> Dirichlets:
    from scipy.special import digamma, gammaln

    total = counts.sum(axis=-1, keepdims=True)
    logs = digamma(counts) - digamma(total)
    return Dirichlets(counts, logs, float(gammaln(counts).sum() - gammaln(total).sum()))


def mean(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))
