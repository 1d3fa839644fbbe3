"""DS: maximum likelihood by expectation maximisation.

A. P. Dawid, A. M. Skene: Maximum Likelihood Estimation of Observer Error-Rates Using the EM
Algorithm. Applied Statistics 28 (1), 1979. The settings are those of Y. Zheng, G. Li, Y. Li, C.
Shan, R. Cheng: Truth Inference in Crowdsourcing: Is the Problem Solved? PVLDB 10 (5), 2017, which
the PTBCC paper compares.

    z_i ~ p                       truth of task i
    y_ij ~ v_{j, z_i}             the vote of annotator j: row z_i of j's confusion matrix

    E:  phi_ik proportional to p_k prod_j v_{j, k, y_ij}
    M:  p_k = mean_i phi_ik,  v_jkl = n_jkl / sum_l n_jkl,  n_jkl = sum over j's votes for l of
        phi_ik

There is no smoothing: once annotator j has no expected votes for l where the truth is k, v_jkl
stays 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from finegold.engines.base import Block
from finegold.methods.base import SHARE, Floats, setting
from finegold.methods.common import ConfusionMethod, ConfusionSums, sweep_confusion
from finegold.results.data import Learned


@dataclass(kw_only=True)
class DS(ConfusionMethod):
    """Each annotator has a confusion matrix of their own, found by maximum likelihood (Dawid-Skene,
    EM).

    Assumes that annotators err independently given the truth, each in their own way. Use it where
    annotators cast many votes for every class (dozens at least): without a prior, K x K numbers are
    learned from each annotator's votes alone. It stops after 20 iterations, as in the paper:
    without a prior, more of them fit the votes better and the truth worse (real data, means over
    families: .7247, and .7222 with `max_iterations=500, tolerance=1e-3`). Costs a few nanoseconds
    per vote and sweep, and K x K numbers per annotator.

    Args:
        tolerance: Stop when no probability changes by more than this in a sweep; with 0, after all.
        max_iterations: The largest number of sweeps.
        seed: Has no effect: nothing is drawn at random.
        quality: The share of right votes of every annotator at the start.
    """

    name: ClassVar[str] = "ds"
    has_objective: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    tolerance: float = 0.0
    max_iterations: int = 20
    quality: float = setting(0.7, SHARE)

    def begin(self, statistics: ConfusionSums) -> Parameters:
        """Start with equally likely classes; classes without votes have probability 0."""
        n_annotators, _, K = statistics.n.shape
        occurs = statistics.tau > 0
        v = np.tile(self.first_confusion(K), (n_annotators, 1, 1))
        if self.earlier is not None:
            v = _shares(self.earlier, v)
        return _parameters(occurs / occurs.sum(), v, np.zeros_like(statistics.n))

    def sweep(self, block: Block, parameters: Parameters) -> ConfusionSums:
        return sweep_confusion(block, parameters.log_p, parameters.log_v)

    def expect(self, statistics: ConfusionSums, before: Parameters) -> Parameters:
        """Run the M step; row k stays as at the start if annotator j has no task that can be k."""
        p = statistics.tau / statistics.tau.sum()
        n = statistics.n if self.earlier is None else statistics.n + self.earlier
        return _parameters(p, _shares(n, self.first_confusion(len(p))), n)

    def objective(self, parameters: Parameters, statistics: ConfusionSums) -> float:
        """Return the log-likelihood of votes and known truths for the parameters that the sweep
        used.
        """
        return statistics.log_norm

    def learned(self, parameters: Parameters) -> Learned:
        confusion = parameters.v.transpose(0, 2, 1).copy()
        return Learned(parameters.p, confusion=confusion, statistics={"n": parameters.n})

    def first_confusion(self, n_classes: int) -> Floats:
        """[K, K] Return a confusion matrix that is right with probability q0; every error is
        equally likely.
        """
        if n_classes == 1:
            return np.ones((1, 1))
        error = (1 - self.quality) / (n_classes - 1)
        return error + (self.quality - error) * np.eye(n_classes)


class Parameters(NamedTuple):
    # [K]
    p: Floats
    # [W, L, K]
    v: Floats
    log_p: Floats
    log_v: Floats
    # [W, L, K] expected votes of each annotator
    n: Floats


def _shares(n: Floats, otherwise: Floats) -> Floats:
    """[W, L, K] Return the share of each vote l where the truth is k, or `otherwise` if there are
    no votes.
    """
    total = n.sum(axis=1, keepdims=True)
    shares: Floats = np.where(total > 0, n / np.where(total > 0, total, 1.0), otherwise)
    return shares


def _parameters(p: Floats, v: Floats, n: Floats) -> Parameters:
    # log 0 = -inf is intended
    with np.errstate(divide="ignore"):
        return Parameters(p, v, np.log(p), np.log(v), n)
