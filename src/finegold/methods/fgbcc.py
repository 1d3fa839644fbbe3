"""FGBCC: Bayesian classifier combination with Gaussian scores behind every confusion matrix.

Chen et al. 2025, as compared by Ju Chen, Jun Feng, Shenyu Zhang: Understanding the Essence: Delving
into Annotator Prototype Learning for Multi-Class Annotation Aggregation. AAAI 2026.

    tau ~ Dirichlet(alpha)              how frequent the classes are
    z_i ~ tau                           truth of task i
    s_jkl ~ Normal(mu_jkl, sig_jkl)     score of annotator j for the vote l where the truth is k
    y_ij ~ softmax(s_{j, z_i})          the vote

Variational Bayes with q(z_i) = phi_i, q(tau) = Dirichlet(gam) and q(s_jkl) = Normal(lam_jkl,
eta_jkl), the softmax bounded through zeta_jk = sum_l exp(lam_jkl + eta_jkl / 2). After each
iteration q(s) is the prior of the next: mu <- lam, sig <- eta. With the expected votes n_jkl and
N_jk = sum_l n_jkl,

    lam maximises  F = sum n lam - N / zeta exp(lam + eta / 2) - (lam - mu)^2 / (2 sig)
    eta solves     -N / zeta exp(lam + eta / 2) / 2 - 1 / (2 sig) + 1 / (2 eta) = 0
    phi_ik proportional to exp(E log tau_k + sum_j (lam_jkl - log zeta_jk) for the votes l = y_ij)

Scores are stored as [W, L, K]: the axis of votes before that of truths, as the sweep reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize

from finegold.methods.base import Floats
from finegold.methods.common import (
    LEAST_COUNT,
    ConfusionMethod,
    ConfusionSums,
    Dirichlets,
    dirichlets,
    mean,
    softmax,
)
from finegold.results.data import Learned, Step

# L-BFGS-B stops at this relative decrease or size of the gradient
LBFGS = {"maxiter": 35, "ftol": 1e-5, "gtol": 1e-5}
# of the derivative, at which Newton's method ends
NEWTON_SLOPE = 1e-5
# two or three are typical
MAX_NEWTON_STEPS = 100
# exp of it is still finite
LARGEST_EXPONENT = 700.0


@dataclass(kw_only=True)
class FGBCC(ConfusionMethod):
    """Each annotator's confusion matrix is a softmax of Gaussian scores; the prior of the scores
    follows them.

    Use it if annotators confuse different classes and cast a few dozen votes each. It needs
    hundreds of iterations, each a sweep over the votes and a short optimisation over all W K K
    scores. It follows the paper: one call of L-BFGS-B for all scores, stopped early. The early stop
    affects the result, since the scores become the prior of the next iteration. The start depends
    on the size of the data. It learns from known truths.

    Args:
        tolerance: Stop when the bound changes by less than this share of its size.
        max_iterations: The largest number of sweeps.
        seed: Has no effect: nothing is drawn at random.
    """

    name: ClassVar[str] = "fgbcc"
    # The prior moves, so the ELBO may fall: has_objective stays False.

    tolerance: float = 1e-6
    max_iterations: int = 1000

    def begin(self, statistics: ConfusionSums) -> Parameters:
        mu, sig = first_scores(statistics)
        return self._update(statistics, np.maximum(statistics.tau, LEAST_COUNT), mu, sig)

    def expect(self, statistics: ConfusionSums, before: Parameters) -> Parameters:
        return self._update(statistics, before.alpha, before.lam, before.eta)

    def _update(
        self, statistics: ConfusionSums, alpha: Floats, mu: Floats, sig: Floats
    ) -> Parameters:
        """Update q(tau) and q(s) given phi; the search starts at mu and sig, the previous q(s)."""
        n, N = statistics.n, statistics.n.sum(axis=1, keepdims=True)
        rate = N / _zeta(mu, sig) * np.exp(sig / 2)
        lam = self._search_means(n, rate, mu, sig)
        eta = solve_variances(N / _zeta(lam, sig) * np.exp(lam), sig)
        log_v, drift = lam - np.log(_zeta(lam, eta)), float(np.sum((lam - mu) ** 2 / (2 * eta)))
        return Parameters(alpha, dirichlets(alpha + statistics.tau), lam, eta, log_v, n, drift)

    def _search_means(self, n: Floats, rate: Floats, mu: Floats, sig: Floats) -> Floats:
        """Run L-BFGS-B once for all entries of lam; it stops before the optimum, as in the paper."""

        def loss(flat: Floats) -> tuple[float, Floats]:
            lam = flat.reshape(mu.shape)
            away, expected = lam - mu, rate * np.exp(np.minimum(lam, LARGEST_EXPONENT))
            f = np.sum(expected - n * lam + away**2 / (2 * sig))
            return float(f), (expected - n + away / sig).ravel()

        best = minimize(loss, mu.ravel(), jac=True, method="L-BFGS-B", options=LBFGS)
        return np.asarray(best.x).reshape(mu.shape)

    def objective(self, parameters: Parameters, statistics: ConfusionSums) -> float:
        """Return the ELBO of the parameters that the sweep used and the phi that it computed."""
        log_tau, log_v = parameters.tau.log, parameters.log_v
        entropy = (
            statistics.log_norm - np.sum(statistics.tau * log_tau) - np.sum(statistics.n * log_v)
        )
        scores = np.sum(parameters.n * log_v) - parameters.drift - log_v.size / 2
        return float(parameters.tau.log_beta + scores + entropy)

    def converged(self, steps: list[Step]) -> bool:
        if len(steps) < 2:
            return False
        old, new = steps[-2].objective, steps[-1].objective
        return abs(new - old) <= self.tolerance * abs(old)

    def learned(self, parameters: Parameters) -> Learned:
        v = softmax(parameters.lam.transpose(0, 2, 1))
        return Learned(class_prior=mean(parameters.tau.counts), confusion=np.ascontiguousarray(v))


class Parameters(NamedTuple):
    # [K] prior of tau
    alpha: Floats
    # gam [K]
    tau: Dirichlets
    # [W, L, K]
    lam: Floats
    # [W, L, K]
    eta: Floats
    # [W, L, K] E log v
    log_v: Floats
    # [W, L, K] the expected votes that lam and eta were found from
    n: Floats
    # sum (lam - mu)^2 / (2 eta)
    drift: float


def first_scores(statistics: ConfusionSums) -> tuple[Floats, Floats]:
    """Return the first means and variances; the original program chooses them by the size of the
    data.
    """
    n = statistics.n
    n_tasks, n_annotators = round(float(statistics.tau.sum())), len(n)
    # share of annotators with more than 30 votes
    busy = float(np.mean(n.sum(axis=(1, 2)) > 30.5))
    if n_annotators < 100 and n_tasks >= 1000:
        off, diagonal, variance = 2.0, 6.0, 30.0
    elif (500 <= n_tasks < 1000 and n_annotators >= 150) or (n_tasks >= 1000 and busy > 0.5):
        off, diagonal, variance = 0.0, 0.0, 15.0
    else:
        off, diagonal, variance = 0.0, 2.0, 4.0
    mu = np.full(n.shape, off)
    mu[:, np.arange(n.shape[1]), np.arange(n.shape[1])] = diagonal
    return mu, np.full(n.shape, variance)


def _zeta(lam: Floats, eta: Floats) -> Floats:
    """[W, 1, K]"""
    return np.asarray(np.exp(lam + eta / 2).sum(axis=1, keepdims=True))


def solve_variances(rate: Floats, sig: Floats) -> Floats:
    """Solve -rate exp(eta / 2) / 2 - 1 / (2 sig) + 1 / (2 eta) = 0 for every entry, by Newton's method
    in log eta, from sig.
    """
    # Here the rate is (N_jk / zeta_jk) exp(lam).
    eta = sig.copy()
    for _ in range(MAX_NEWTON_STEPS):
        push = rate * np.exp(np.minimum(eta / 2, LARGEST_EXPONENT))
        slope = (1 / eta - push - 1 / sig) / 2
        moving = np.abs(slope) > NEWTON_SLOPE
        if not moving.any():
            break
        curve = -push / 4 - 1 / (2 * eta**2)
        eta = np.where(moving, eta * np.exp(-slope / (slope + curve * eta)), eta)
    return eta
