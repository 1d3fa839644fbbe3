"""HDS: hierarchical Dawid-Skene, confusion matrices whose common prior is learned from all
annotators.

    tau ~ Dirichlet(u)            how frequent the classes are; u = summed vote shares, as in PTBCC,
    or 1 each v_jk ~ Dirichlet(alpha_k)     how annotator j votes when the truth is k; alpha is
    shared by all and learned z_i ~ tau                     truth of task i y_ij ~ v_{j, z_i}
    the vote

Inference is mean-field variational Bayes for z, tau and v, and empirical Bayes for alpha: q(z_i) =
phi_i, q(v_jk) = Dirichlet(alpha_k + n_jk) with n_jkl = sum over j's votes for l of phi_ik, and
q(tau) = Dirichlet(u + sum_i phi_i). The matrix of an annotator with few votes is close to the
pooled matrix, that of an annotator with many votes to their own votes; alpha determines how many
votes are needed.

Each sweep runs two steps of Minka's fixed point for alpha (T. P. Minka: Estimating a Dirichlet
Distribution, 2000): alpha_kl <- alpha_kl up_kl / down_k, see kernels/hds.py. Minka's proof that a
step raises the evidence requires counts that are 0 or at least 1, which expected counts are not. No
step was ever seen to lower the evidence, but to be certain, a step that would lower the evidence of
class k is skipped. So the bound over phi, q(tau), q(v) and alpha never falls.
"""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import numpy as np

from finegold.engines.blocks import Block
from finegold.kernels import hds as kernels
from finegold.kernels.jit import in_threads
from finegold.methods.base import Floats, Method, SufficientStatistics, with_settings
from finegold.methods.common import (
    ConfusionSums,
    Dirichlets,
    dirichlets,
    mean,
    start_confusion,
    sweep_confusion,
)
from finegold.results.data import Learned, ResultData
from finegold.votes.annotations import Annotations

# in u: digamma needs positive counts
LEAST_COUNT = 1e-9
# votes that do not occur for a truth stay possible
LEAST_ALPHA = 1e-3
# alpha starts at (pooled row + .1) * 2
FIRST_STRENGTH, FIRST_EXTRA = 2.0, 0.1
STEPS_PER_SWEEP = 2
# fewer are not worth a thread
ANNOTATORS_PER_BATCH = 2**12


class First(NamedTuple):
    change: float
    tau: Floats
    n: Floats
    # [K] summed vote shares
    u: Floats


class Parameters(NamedTuple):
    # [K]
    u: Floats
    # nu [K]
    tau: Dirichlets
    # [L, K]
    alpha: Floats
    # [W, L, K]
    n: Floats
    # [W, L, K] E log v_jkl
    log_v: Floats
    # sum_jk log B(alpha_k + n_jk) - log B(alpha_k) - n_jk E log v_jk, for the bound
    of_v: float


@with_settings
class HDS(Method):
    """Each annotator has a confusion matrix of their own, drawn from a common prior that is learned
    (hierarchical DS).

    It assumes that annotators err independently given the truth. Use it if some annotators cast
    many votes and differ, and others cast few: the common prior fills in for missing votes. Started
    from vote shares, it can converge to a poor optimum on sparse votes. If a class is rare, most
    votes for it are errors: `class_prior="flat"` allows it to be rarer than its votes. It costs a
    few nanoseconds per vote, class and sweep.

    Args:
        tolerance: Stop when no probability of a class changes by more than this in a sweep.
        max_iterations: The largest number of sweeps.
        seed: Has no effect: nothing is drawn at random.
        class_prior: Pseudo-counts of the classes: summed vote shares, or 1 for each class that has
            votes.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
        >>> finegold.aggregate(votes, "hds").label.tolist()
        ['x', 'y']
    """

    name: ClassVar[str] = "hds"
    has_bound: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True
    remembers: ClassVar[tuple[str, ...]] = ("confusion", "seen")
    keeps: ClassVar[dict[str, str]] = {"alpha": "KK", "nu": "K", "u": "K", "seen": "WK"}

    class_prior: Literal["votes", "flat"] = "votes"

    def n_parameters(self, annotations: Annotations) -> int:
        return 3 * annotations.n_annotators * annotations.n_classes**2

    def start(self, block: Block, restart: int) -> First:
        _, shares, n, _ = start_confusion(block)
        return First(0.0, shares, n, shares)

    def begin(self, first: First) -> Parameters:
        # [L, K]
        pooled = first.n.sum(axis=0)
        row = pooled / np.maximum(pooled.sum(axis=0), LEAST_COUNT)
        return self._parameters(
            self._class_counts(first.u), FIRST_STRENGTH * (row + FIRST_EXTRA), first.tau, first.n
        )

    def sweep(self, block: Block, parameters: Parameters) -> ConfusionSums:
        return sweep_confusion(block, parameters.tau.log, parameters.log_v)

    def expect(self, statistics: ConfusionSums, before: Parameters) -> Parameters:
        return self._parameters(before.u, before.alpha, statistics.tau, statistics.n)

    def bound(self, parameters: Parameters, statistics: ConfusionSums) -> float:
        """Return a lower bound of log p(votes | alpha, u), from the parameters of the sweep and the
        phi it computed.
        """
        u, tau = parameters.u, parameters.tau
        of_tau = float(np.vdot(u - tau.counts, tau.log)) + tau.log_beta - dirichlets(u).log_beta
        return statistics.log_norm + of_tau + parameters.of_v

    def learned(self, parameters: Parameters) -> Learned:
        u, tau, alpha, n, *_ = parameters
        statistics = {"alpha": alpha.T.copy(), "nu": tau.counts, "u": u, "seen": n.sum(axis=1)}
        confusion = mean((alpha + n).transpose(0, 2, 1).copy())
        return Learned(class_prior=mean(tau.counts), confusion=confusion, statistics=statistics)

    def sufficient_statistics(self, result: ResultData) -> SufficientStatistics:
        known, more = result.learned, result.learned.statistics
        assert known.confusion is not None
        a = known.confusion * (more["alpha"].sum(axis=1) + more["seen"])[:, :, None]
        counts = np.maximum(a - more["alpha"], 0.0).transpose(0, 2, 1).copy()
        tau = more["nu"] - more["u"]
        parameters = self._parameters(more["u"], more["alpha"].T.copy(), tau, counts)
        return SufficientStatistics(
            First(0.0, tau, counts, more["u"]), ConfusionSums(0.0, tau, counts), parameters
        )

    def recompute_priors(self, parameters: Parameters, first: First) -> Parameters:
        # flat: 1 stays 1
        shares = first.u if self.class_prior == "votes" else np.maximum(first.u, parameters.u)
        return parameters._replace(u=self._class_counts(shares))

    def _class_counts(self, shares: Floats) -> Floats:
        return np.maximum(
            shares if self.class_prior == "votes" else shares > LEAST_COUNT, LEAST_COUNT
        )

    def _parameters(self, u: Floats, alpha: Floats, tau: Floats, counts: Floats) -> Parameters:
        n = counts if self.earlier is None else counts + self.earlier
        alpha, evidence = learn(n, alpha)
        log_v = np.empty_like(n)
        jobs = zip(_batches(n), _batches(log_v), strict=True)
        of_v = evidence - sum(
            in_threads(lambda job: kernels.expected_logs(job[0], alpha, job[1]), jobs)
        )
        return Parameters(u, dirichlets(u + tau), alpha, n, log_v, of_v)


def learn(n: Floats, alpha: Floats, steps: int = STEPS_PER_SWEEP) -> tuple[Floats, float]:
    """Run Minka's fixed point for each class while the evidence rises; return alpha [L, K] and its
    evidence.
    """
    alpha = np.maximum(alpha, LEAST_ALPHA)
    value, up, down = _evidence(n, alpha)
    for _ in range(steps):
        ratio = np.divide(up, down, out=np.ones_like(up), where=down > 0)
        proposal = np.maximum(alpha * ratio, LEAST_ALPHA)
        new_value, new_up, new_down = _evidence(n, proposal)
        rises = new_value >= value
        alpha, value = np.where(rises, proposal, alpha), np.where(rises, new_value, value)
        up, down = np.where(rises, new_up, up), np.where(rises, new_down, down)
    return alpha, float(value.sum())


def _evidence(n: Floats, alpha: Floats) -> tuple[Floats, Floats, Floats]:
    def of(run: Floats) -> tuple[Floats, Floats, Floats]:
        value, up, down = np.empty(alpha.shape[1]), np.empty_like(alpha), np.empty(alpha.shape[1])
        kernels.evidence(run, alpha, value, up, down)
        return value, up, down

    value, up, down = zip(*in_threads(of, _batches(n)), strict=True)
    return np.asarray(sum(value)), np.asarray(sum(up)), np.asarray(sum(down))


def _batches(of_annotators: Floats) -> list[Floats]:
    """Split into batches of fixed size, so that sums do not depend on the number of threads."""
    firsts = range(0, len(of_annotators), ANNOTATORS_PER_BATCH)
    return [of_annotators[first : first + ANNOTATORS_PER_BATCH] for first in firsts]
