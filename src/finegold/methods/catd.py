"""CATD: confidence-aware truth discovery.

Q. Li, Y. Li, J. Gao, L. Su, B. Zhao, M. Demirbas, W. Fan, J. Han: A Confidence-Aware Approach for
Truth Discovery on Long-Tail Data. PVLDB 8 (4), 2014. The printed table and random ties follow the
program of Y. Zheng, G. Li, Y. Li, C. Shan, R. Cheng: Truth Inference in Crowdsourcing: Is the
Problem Solved? PVLDB 10 (5), 2017, which the PTBCC paper compares.

    e_j = number of j's votes that are not the label z_i of their task
    q_j in proportion to c_j / (e_j + 1e-9)
    z_i = the class with the highest sum of q_j over those who voted for it

c_j is the lower 2.5 % quantile of chi-square with N_j degrees of freedom: annotators with few votes
have less weight than their few errors suggest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from finegold.engines.base import Block
from finegold.errors import InputError
from finegold.methods.base import SHARE, Floats, Method, setting
from finegold.methods.common import ballots, set_posterior, start_from_shares
from finegold.results.data import Learned, Step

Numbers = NDArray[np.uint64]

# an annotator without errors would have infinite weight
LEAST_ERROR = 1e-9
NORMAL_QUANTILE = 1.95996

# As printed: two decimals, with a misprint for two degrees of freedom (.0506 is correct).
PRINTED = np.array(
    (
        *(0.001, 0.02, 0.22, 0.48, 0.83, 1.24, 1.69, 2.18, 2.7, 3.25),
        *(3.82, 4.4, 5.01, 5.63, 6.27, 6.91, 7.56, 8.23, 8.91, 9.59),
        *(10.28, 10.98, 11.69, 12.4, 13.12, 13.84, 14.57, 15.31, 16.05, 16.79),
    )
)


@dataclass(kw_only=True)
class CATD(Method):
    """A weighted vote: an annotator's weight is the inverse of their error rate, with caution for
    few votes.

    It assumes that an annotator's errors do not depend on the truth. Use it if most annotators cast
    few votes and a few cast many. An annotator without errors decides every label that they voted
    for, so the way in which ties are broken at the start can have a large effect: by default ties
    are split. The paper breaks them at random (`ties="random"`, by `seed`) and uses a printed table
    for c_j (`quantiles="printed"`). The fit stops when no further iteration can change anything, or
    after 100 iterations. It costs a few nanoseconds per vote and sweep.

    Args:
        tolerance: Stop when no probability of a class changes by more than this in a sweep.
        max_iterations: The largest number of sweeps.
        seed: Seed of the draws that decide ties, with `ties="random"`.
        ties: Whether ties are decided at random or divided among classes.
        quantiles: Quantiles of chi-square: those of the printed table that the public program uses,
            or exact ones.
        alpha: An annotator's weight is in proportion to the alpha / 2 quantile of the chi-square
            distribution with as many degrees of freedom as they have votes.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
        >>> finegold.aggregate(votes, "catd").label.tolist()
        ['x', 'y']
    """

    name: ClassVar[str] = "catd"

    tolerance: float = 0.0
    max_iterations: int = 100
    ties: Literal["random", "split"] = setting("split", ("random", "split"))
    quantiles: Literal["printed", "exact"] = setting("exact", ("printed", "exact"))
    alpha: float = setting(0.05, SHARE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quantiles == "printed" and self.alpha != 0.05:
            raise InputError(
                'the printed table is for alpha = 0.05 only; leave out quantiles="printed"'
            )
        self.random_start = self.ties == "random"

    def start(self, block: Block, restart: int) -> Statistics:
        start_from_shares(block)
        votes = np.bincount(ballots(block).j, minlength=block.n_annotators)
        return self._vote(block, 0, np.ones(block.n_annotators))._replace(votes=votes.astype(float))

    def begin(self, statistics: Statistics) -> Parameters:
        return _parameters(1, self.chi_square(np.asarray(statistics.votes)), statistics)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        return self._vote(block, parameters.iteration, parameters.q)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        return _parameters(before.iteration + 1, before.c, statistics)

    def converged(self, steps: list[Step]) -> bool:
        return steps[-1].change <= self.tolerance

    def learned(self, parameters: Parameters) -> Learned:
        return Learned(class_prior=parameters.shares, statistics={"weight": parameters.q})

    def chi_square(self, votes: Floats) -> Floats:
        """Return c_j, exactly or from the printed table (up to 30 votes) and Fisher's approximation
        (above).
        """
        if self.quantiles == "exact":
            return np.asarray(2 * gammaincinv(votes / 2, self.alpha / 2))
        fisher = 0.5 * (np.sqrt(2 * votes - 1) - NORMAL_QUANTILE) ** 2
        few = np.minimum(votes, len(PRINTED)).astype(int)
        return np.where(votes > len(PRINTED), fisher, PRINTED[few - 1])

    def _vote(self, block: Block, iteration: int, q: Floats) -> Statistics:
        """Set labels by weighted vote and count the errors of annotators. Random ties report a
        change of 1.
        """
        x, K = ballots(block), block.n_classes
        score = x.by_class(q[x.j])
        change = set_posterior(block, score / score.sum(axis=1, keepdims=True))
        wins = score == score.max(axis=1, keepdims=True)
        n_winners = wins.sum(axis=1)
        if self.ties == "random":
            chosen = _draw(self.seed, iteration, block.votes.task_ptr[:-1], n_winners)
            wins &= wins.cumsum(axis=1) == chosen[:, None] + 1
        z = wins / wins.sum(axis=1, keepdims=True)
        is_known = block.gold >= 0
        z[is_known] = np.eye(K)[block.gold[is_known]]
        if self.ties == "random" and (n_winners > 1)[~is_known].any():
            change = 1.0
        return Statistics(change, z.sum(axis=0), x.by_annotator(1 - z[x.i, x.y]))


class Statistics(NamedTuple):
    change: float
    # [K] number of tasks with label k
    z: Floats
    # [W] e_j
    error: Floats
    # [W] N_j, counted at the start
    votes: Floats | float = 0.0


class Parameters(NamedTuple):
    iteration: int
    # [W]
    c: Floats
    # [W]
    q: Floats
    # [K]
    shares: Floats


def _parameters(iteration: int, c: Floats, statistics: Statistics) -> Parameters:
    q = c / (statistics.error + LEAST_ERROR)
    return Parameters(iteration, c, q / q.sum(), statistics.z / statistics.z.sum())


def _draw(seed: int, iteration: int, task: Numbers, n: NDArray[np.int64]) -> Numbers:
    """[T] Return random numbers below n that depend on seed, iteration and task, not on blocks or threads."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        key = _mix(np.array([seed % 2**64], np.uint64) + golden)
        key = _mix(key + np.uint64(iteration) * golden)
        return _mix(key + task * golden) % n.astype(np.uint64)


def _mix(x: Numbers) -> Numbers:
    """Hash integers with the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
