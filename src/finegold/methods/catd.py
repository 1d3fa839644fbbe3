"""CATD: confidence-aware truth discovery.

Q. Li, Y. Li, J. Gao, L. Su, B. Zhao, M. Demirbas, W. Fan, J. Han: A Confidence-Aware Approach for
Truth Discovery on Long-Tail Data. PVLDB 8 (4), 2014.

    e_j = number of j's votes that are not the label z_i of their task
    q_j in proportion to c_j / (e_j + 1e-9)
    z_i = the class with the highest sum of q_j over those who voted for it

c_j is the lower 2.5 % quantile of chi-square with N_j degrees of freedom: annotators with few votes
have less weight than their few errors suggest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from finegold.engines.base import Block
from finegold.methods.base import SHARE, Floats, Method, setting
from finegold.methods.common import ballots, set_posterior, start_from_shares
from finegold.results.data import Learned, Step

# an annotator without errors would have infinite weight
LEAST_ERROR = 1e-9


@dataclass(kw_only=True)
class CATD(Method):
    """A weighted vote: an annotator's weight is the inverse of their error rate, with caution for
    few votes.

    It assumes that an annotator's errors do not depend on the truth. Use it if most annotators cast
    few votes and a few cast many. An annotator without errors decides every label that they voted
    for, so the way in which ties are broken at the start can have a large effect: they are split
    among the classes. (The program that the PTBCC paper compares breaks them at random.) The fit
    stops when no further iteration can change anything, or after 100 iterations. It costs a few
    nanoseconds per vote and sweep.

    Args:
        tolerance: Stop when no probability of a class changes by more than this in a sweep.
        max_iterations: The largest number of sweeps.
        seed: Has no effect: nothing is drawn at random.
        alpha: An annotator's weight is in proportion to the alpha / 2 quantile of the chi-square
            distribution with as many degrees of freedom as they have votes.
    """

    name: ClassVar[str] = "catd"

    tolerance: float = 0.0
    max_iterations: int = 100
    alpha: float = setting(0.05, SHARE)

    def start(self, block: Block, restart: int) -> Statistics:
        start_from_shares(block)
        votes = np.bincount(ballots(block).j, minlength=block.n_annotators).astype(float)
        return self.vote(block, np.ones(block.n_annotators))._replace(votes=votes)

    def begin(self, statistics: Statistics) -> Parameters:
        return _parameters(self.chi_square(np.asarray(statistics.votes)), statistics)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        return self.vote(block, parameters.q)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        return _parameters(before.c, statistics)

    def converged(self, steps: list[Step]) -> bool:
        return steps[-1].largest_change <= self.tolerance

    def learned(self, parameters: Parameters) -> Learned:
        return Learned(class_prior=parameters.shares, statistics={"weight": parameters.q})

    def chi_square(self, votes: Floats) -> Floats:
        """[W] Return c_j."""
        return np.asarray(2 * gammaincinv(votes / 2, self.alpha / 2))

    def vote(self, block: Block, q: Floats) -> Statistics:
        """Set labels by weighted vote and count the errors of annotators."""
        x = ballots(block)
        score = x.by_class(q[x.j])
        change = set_posterior(block, score / score.sum(axis=1, keepdims=True))
        wins = self.winners(block, score == score.max(axis=1, keepdims=True))
        z = wins / wins.sum(axis=1, keepdims=True)
        is_known = block.gold >= 0
        z[is_known] = np.eye(block.n_classes)[block.gold[is_known]]
        return Statistics(change, z.sum(axis=0), x.by_annotator(1 - z[x.i, x.y]))

    def winners(self, block: Block, wins: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[T, K] Return which classes share the label of a task, of those with the highest sum."""
        return wins


class Statistics(NamedTuple):
    change: float
    # [K] number of tasks with label k
    z: Floats
    # [W] e_j
    error: Floats
    # [W] N_j, counted at the start
    votes: Floats | float = 0.0


class Parameters(NamedTuple):
    # [W]
    c: Floats
    # [W]
    q: Floats
    # [K]
    shares: Floats


def _parameters(c: Floats, statistics: Statistics) -> Parameters:
    q = c / (statistics.error + LEAST_ERROR)
    return Parameters(c, q / q.sum(), statistics.z / statistics.z.sum())
