"""BWA: Bayesian weighted average.

Y. Li, B. I. P. Rubinstein, T. Cohn: Truth Inference at Scale: A Bayesian Model for Adjudicating
Highly Redundant Crowd Annotations. WWW 2019.

There is one separate problem for each class k; x_ij = 1 if annotator j votes for k on task i, else
0:

    z_i ~ Normal(mu, 1 / lambda)          the truth, treated as a real number
    x_ij ~ Normal(z_i, 1 / w_j)           the vote
    w_j ~ Gamma(a_v / 2, b_v / 2)         the precision of annotator j, which is their weight

    w_j = (a_v + N_j) / (b_v + sum_i (z_i - x_ij)^2)
    z_i = (lambda mu + sum_j w_j x_ij) / (lambda + sum_j w_j),  mu = mean_i z_i

with b_v such that the prior mean of the precision is that of majority vote. The posterior is z,
normalised, so z_ik = phi_ik size_i with size_i = sum_k z_ik.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.engines.base import Block
from finegold.methods.base import POSITIVE, Floats, Method, setting
from finegold.methods.common import Ballots, ballots, start_from_shares
from finegold.results.data import Learned, Step

# with unanimous votes, precisions would be infinite
LEAST_SPREAD = 1e-9
# changes are relative to z + this
LEAST_Z = 1e-5


@dataclass(kw_only=True)
class BWA(Method):
    """A weighted vote: each annotator has a weight per class, which is higher the more they agree
    with the rest.

    Assumes that an annotator's errors do not depend on the truth. Use it as a fast, deterministic
    and robust step up from majority vote; it keeps K numbers per annotator, so it needs far fewer
    votes of each than a confusion matrix does. It costs a few nanoseconds per vote, class and
    sweep. Each class stops separately, when none of its averages changes by more than `tolerance`,
    relative to its size.

    Args:
        tolerance: A class stops when no average of it changes by more than this share of its size.
        max_iterations: The largest number of sweeps.
        seed: Has no effect: nothing is drawn at random.
        a_v: How many votes the prior of an annotator's weight is worth.
        lam: Weight of the mean of all tasks in the average of each, the paper's lambda.
    """

    name: ClassVar[str] = "bwa"
    order: ClassVar[int] = 1

    a_v: float = setting(15.0, POSITIVE)
    lam: float = setting(1.0, POSITIVE)

    def start(self, block: Block, restart: int) -> Statistics:
        start_from_shares(block)
        block.state["size"] = np.ones(block.n_tasks)
        x, s = ballots(block), block.posterior
        cast = np.bincount(x.j, minlength=block.n_annotators).astype(float)
        votes = x.by_class(np.ones(len(x.y)))
        d = votes.sum(axis=1, keepdims=True)
        # s_ik = votes_ik / d_i also for known truths
        spread = (votes * (1 - votes / d)).sum(axis=0)
        return Statistics(0.0, s.sum(axis=0), _errors(x, s), 0.0, spread, cast, block.n_tasks)

    def begin(self, statistics: Statistics) -> Parameters:
        _, z, error, _, spread, cast, n_tasks = statistics
        b = self.a_v * spread / np.sum(cast) * 4 * (1 - 1 / len(z))
        w, active = self._weights(cast, b, error), np.ones(len(z), np.bool_)
        return Parameters(n_tasks, cast, b, z > 0, z / n_tasks, w, active)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        mu, w, active = parameters.mu, parameters.w, parameters.active
        x, size = ballots(block), block.state["size"]
        before = block.posterior * size[:, None]
        z = self.lam * mu + x.by_class(w[x.j, x.y])
        z /= self.lam + x.cast() @ w
        z = np.where(active & (block.gold[:, None] < 0), z, before)
        move = np.abs(z - before) / (LEAST_Z + z)
        size[:] = z.sum(axis=1)
        block.posterior[:] = z / size[:, None]
        unsettled = np.count_nonzero(move > self.tolerance, axis=0).astype(float)
        return Statistics(float(move.max()), z.sum(axis=0), _errors(x, z), unsettled)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        w = self._weights(before.cast, before.b, statistics.error)
        mu = statistics.z / before.n_tasks
        return before._replace(mu=mu, w=w, active=statistics.unsettled > 0)

    def converged(self, steps: list[Step]) -> bool:
        return steps[-1].largest_change <= self.tolerance

    def learned(self, parameters: Parameters) -> Learned:
        weight = parameters.w[:, parameters.occurs].mean(axis=1)
        prior = parameters.mu / parameters.mu.sum()
        return Learned(
            class_prior=prior, statistics={"weight": weight, "class_weight": parameters.w}
        )

    def _weights(self, cast: Any, b: Floats, error: Floats) -> Floats:
        """[W, K] Return w_jk = (a_v + N_j) / (b_k + error_jk)."""
        return np.asarray((self.a_v + cast[:, None]) / np.maximum(b + error, LEAST_SPREAD))


class Statistics(NamedTuple):
    change: float
    # [K] sum_i z_ik
    z: Floats
    # [W, K] sum over j's votes of (z_ik - x_ijk)^2
    error: Floats
    # [K] number of tasks whose z changed
    unsettled: Any
    # at the start: sum_i d_i s_ik (1 - s_ik) [K], votes of each annotator [W], number of tasks
    spread: Any = 0.0
    cast: Any = 0.0
    n_tasks: int = 0


class Parameters(NamedTuple):
    n_tasks: int
    # [W] N_j
    cast: Any
    # [K] b_v
    b: Floats
    # [K] whether the class has votes
    occurs: NDArray[np.bool_]
    # [K]
    mu: Floats
    # [W, K]
    w: Floats
    # [K] whether the class has not converged yet
    active: NDArray[np.bool_]


def _errors(x: Ballots, z: Floats) -> Floats:
    """[W, K] Return the sum over j's votes of (z_ik - x_ijk)^2 = z_ik^2, and 1 - 2 z_ik more if j voted k."""
    return np.asarray(x.cast().T @ z**2 + x.by_annotator_and_class(1 - 2 * z[x.i, x.y]))
