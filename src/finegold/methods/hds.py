"""HDS: hierarchical Dawid-Skene, confusion matrices whose common prior is learned from all
annotators.

    tau ~ Dirichlet(u)            how frequent the classes are; u: summed vote shares, or 1 each
    v_jk ~ Dirichlet(alpha_k)     how annotator j votes when the truth is k; all share alpha
    z_i ~ tau                     truth of task i
    y_ij ~ v_{j, z_i}             the vote

Inference is mean-field variational Bayes for z, tau and v, and empirical Bayes for alpha: q(z_i) =
phi_i, q(v_jk) = Dirichlet(alpha_k + n_jk) with n_jkl = sum over j's votes for l of phi_ik, and
q(tau) = Dirichlet(u + sum_i phi_i). The matrix of an annotator with few votes is close to the
pooled matrix, that of an annotator with many votes to their own votes; alpha determines how many
votes are needed.

Each sweep runs two steps of Minka's fixed point for alpha (T. P. Minka: Estimating a Dirichlet
Distribution, 2000), which raises the evidence of the expected votes n, with A_k = sum_l alpha_kl:

    evidence_k = sum_j log B(alpha_k + n_jk) - log B(alpha_k)
    up_kl      = sum_j psi(alpha_kl + n_jkl) - psi(alpha_kl)
    down_k     = sum_j psi(A_k + N_jk) - psi(A_k)
    alpha_kl  <- alpha_kl up_kl / down_k

Minka's proof requires counts that are 0 or at least 1, which expected counts are not, but no step
was ever seen to lower the evidence. So the bound over phi, q(tau), q(v) and alpha never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from finegold.methods.base import Floats, setting
from finegold.methods.common import (
    LEAST_COUNT,
    ConfusionMethod,
    ConfusionSums,
    Dirichlets,
    dirichlets,
    mean,
)
from finegold.results.data import Learned

# votes that do not occur for a truth stay possible
LEAST_ALPHA = 1e-3
# alpha starts at (pooled row + .1) * 2
FIRST_STRENGTH, FIRST_EXTRA = 2.0, 0.1
STEPS_PER_SWEEP = 2


@dataclass(kw_only=True)
class HDS(ConfusionMethod):
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
    """

    name: ClassVar[str] = "hds"
    has_objective: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    class_prior: Literal["votes", "flat"] = setting("votes", ("votes", "flat"))

    def begin(self, statistics: ConfusionSums) -> Parameters:
        # summed vote shares
        shares = statistics.tau
        u = np.maximum(shares if self.class_prior == "votes" else shares > LEAST_COUNT, LEAST_COUNT)
        # [L, K]
        pooled = statistics.n.sum(axis=0)
        row = pooled / np.maximum(pooled.sum(axis=0), LEAST_COUNT)
        return self._parameters(u, FIRST_STRENGTH * (row + FIRST_EXTRA), shares, statistics.n)

    def expect(self, statistics: ConfusionSums, before: Parameters) -> Parameters:
        return self._parameters(before.u, before.alpha, statistics.tau, statistics.n)

    def objective(self, parameters: Parameters, statistics: ConfusionSums) -> float:
        """Return a lower bound of log p(votes | alpha, u), from the parameters of the sweep and the
        phi it computed.
        """
        u, tau = parameters.u, parameters.tau
        of_tau = float(np.vdot(u - tau.counts, tau.log)) + tau.log_beta - dirichlets(u).log_beta
        return statistics.log_norm + of_tau + parameters.of_v

    def learned(self, parameters: Parameters) -> Learned:
        u, tau, alpha, n, *_ = parameters
        statistics = {"alpha": alpha.T.copy(), "nu": tau.counts, "u": u, "n": n}
        confusion = mean((alpha + n).transpose(0, 2, 1).copy())
        return Learned(class_prior=mean(tau.counts), confusion=confusion, statistics=statistics)

    def _parameters(self, u: Floats, alpha: Floats, tau: Floats, counts: Floats) -> Parameters:
        n = counts if self.earlier is None else counts + self.earlier
        alpha, evidence = learn(n, alpha)
        a = alpha + n
        log_v = digamma(a) - digamma(a.sum(axis=1, keepdims=True))
        of_v = evidence - float(np.vdot(n, log_v))
        return Parameters(u, dirichlets(u + tau), alpha, n, log_v, of_v)


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


def learn(n: Floats, alpha: Floats, steps: int = STEPS_PER_SWEEP) -> tuple[Floats, float]:
    """Run Minka's fixed point for each class; return alpha [L, K] and its evidence."""
    alpha = np.maximum(alpha, LEAST_ALPHA)
    for _ in range(steps):
        _, up, down = _evidence(n, alpha)
        ratio = np.divide(up, down, out=np.ones_like(up), where=down > 0)
        alpha = np.maximum(alpha * ratio, LEAST_ALPHA)
    return alpha, float(_evidence(n, alpha)[0].sum())


def _evidence(n: Floats, alpha: Floats) -> tuple[Floats, Floats, Floats]:
    """Return evidence [K], up [L, K] and down [K]; labels that an annotator never gave add nothing."""
    A, N = alpha.sum(axis=0), n.sum(axis=1)
    value = -(gammaln(A + N) - gammaln(A)).sum(axis=0)
    down = (digamma(A + N) - digamma(A)).sum(axis=0)
    up = np.zeros_like(alpha)
    for label, alpha_l in enumerate(alpha):
        # [annotators who gave the label, K]
        a = alpha_l + n[n[:, label].sum(axis=1) > 0, label]
        value += (gammaln(a) - gammaln(alpha_l)).sum(axis=0)
        up[label] = (digamma(a) - digamma(alpha_l)).sum(axis=0)
    return value, up, down
