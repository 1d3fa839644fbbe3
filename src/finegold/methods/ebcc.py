"""EBCC: enhanced Bayesian classifier combination.

Yuan Li, Benjamin I. P. Rubinstein, Trevor Cohn: Exploiting Worker Correlation for Label Aggregation
in Crowdsourcing. ICML 2019.

    tau ~ Dirichlet(alpha)          how frequent the classes are; alpha: summed vote shares
    pi_k ~ Dirichlet(a_pi / G)      how frequent the G subtypes of class k are
    v_jkg ~ Dirichlet(b_k)          how annotator j votes on tasks of subtype g of class k
    z_i ~ tau, g_i ~ pi_{z_i}       truth and subtype of task i
    y_ij ~ v_{j, z_i, g_i}          the vote

Given the truth alone, the votes on a task depend on each other, through its subtype. Inference is
mean-field variational Bayes: q(z_i, g_i) = rho_i, phi_ik = sum_g rho_ikg, and Dirichlets with
parameters nu, eta_k and mu_jkg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from finegold.engines.base import Block
from finegold.kernels import ebcc as kernels
from finegold.methods.base import COUNT, Floats, Method, setting
from finegold.methods.common import LEAST_COUNT, Dirichlets, dirichlets, mean, start_from_shares
from finegold.results.data import Learned

# pseudo-counts: of the subtypes of a class in sum, of right votes and of each wrong one
A_PI, B_RIGHT, B_WRONG = 0.1, 4.0, 1.0
# random numbers drawn at a time
DRAW_SIZE = 2**16


@dataclass(kw_only=True)
class EBCC(Method):
    """Tasks of a class come in subtypes, such as easy and hard; annotators have a confusion matrix
    for each subtype.

    It assumes that annotators make the same errors on some kinds of tasks, the subtypes. Use it if
    annotators cast many votes each and their errors are correlated. The result depends on a random
    start, so the best of 40 is returned (`n_restarts`); use fewer for a quick look. It learns from
    known truths. Each restart costs about ten nanoseconds per vote and sweep at first, fewer later,
    and W K G K numbers.

    Args:
        tolerance: Stop when no probability of a class changes by more than this in a sweep.
        max_iterations: The largest number of sweeps of each restart.
        seed: Seed of the random starts.
        n_subtypes: The largest number of subtypes of each class, the paper's G.
        n_restarts: The number of random starts. The result with the highest bound is returned.
    """

    name: ClassVar[str] = "ebcc"
    order: ClassVar[int] = 2
    has_objective: ClassVar[bool] = True
    random_start = True

    n_subtypes: int = setting(10, COUNT)
    n_restarts: int = setting(40, COUNT)

    def start(self, block: Block, restart: int) -> Statistics:
        """Set rho_ikg = s_ik D_ikg with random D_ik ~ Dirichlet(1, ..., 1)."""
        start_from_shares(block)
        vote_ptr, row = block.rows
        K, G = block.n_classes, self.n_subtypes
        rng = np.random.default_rng([self.seed, restart, block.index])
        sums = _zeros(block.n_annotators, K, G)
        step = max(DRAW_SIZE // (K * G), 1)
        for first in range(0, block.n_tasks, step):
            phi = block.posterior[first : first + step]
            draws = rng.standard_exponential((len(phi), K, G))
            some = vote_ptr[first : first + len(phi) + 1]
            kernels.start(some, row, phi, draws, sums.pi.reshape(-1), sums.votes.reshape(-1, K * G))
        return sums

    def begin(self, statistics: Statistics) -> Parameters:
        return _parameters(np.maximum(statistics.pi.sum(axis=1), LEAST_COUNT), statistics)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        K, G = parameters.log_prior.shape
        sums, tables = _zeros(block.n_annotators, K, G), (parameters.log_prior, parameters.log_v)
        log_prior, log_v = (table.reshape(-1, K * G) for table in tables)
        pi, votes = sums.pi.reshape(-1), sums.votes.reshape(-1, K * G)
        change, log_norm = kernels.sweep(
            *block.rows, block.gold, log_prior[0], log_v, block.posterior, pi, votes
        )
        return sums._replace(change=change, log_norm=log_norm)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        return _parameters(before.alpha, statistics)

    def objective(self, parameters: Parameters, statistics: Statistics) -> float:
        """Return the ELBO with its constants. At the optimal rho, all terms in rho are its
        log-normalisers.
        """
        return float(statistics.log_norm - parameters.divergence)

    def learned(self, parameters: Parameters) -> Learned:
        eta, mu, nu = parameters.eta.counts, parameters.mu, parameters.tau.counts
        v = mu / mu.sum(axis=1, keepdims=True)
        confusion = np.ascontiguousarray(np.einsum("jlkg,kg->jkl", v, mean(eta)))
        # [K, G, L] votes for l
        votes = (mu - _prior(len(eta))).sum(axis=0).transpose(1, 2, 0)
        # subtypes with the most tasks come first
        order = np.argsort(-eta, axis=1, kind="stable")
        statistics = {
            "subtypes": np.take_along_axis(eta, order, axis=1),
            "subtype_votes": np.take_along_axis(votes, order[:, :, None], axis=1),
            "nu": nu,
        }
        return Learned(mean(nu), confusion=confusion, statistics=statistics)


class Statistics(NamedTuple):
    change: float
    # [K, G] sum_i rho_ikg
    pi: Floats
    # [W, L, K, G] the same over the tasks on which annotator j voted l
    votes: Floats
    # sum_i log of the normaliser of rho_i
    log_norm: float


class Parameters(NamedTuple):
    # [K]
    alpha: Floats
    # nu [K]
    tau: Dirichlets
    # eta [K, G]
    eta: Dirichlets
    # [W, L, K, G]
    mu: Floats
    # [K, G] E log tau_k + E log pi_kg
    log_prior: Floats
    # [W, L, K, G]
    log_v: Floats
    # of all Dirichlets from their priors
    divergence: float


def _zeros(W: int, K: int, G: int) -> Statistics:
    return Statistics(0.0, np.zeros((K, G)), np.zeros((W, K, K, G)), 0.0)


def _parameters(alpha: Floats, sums: Statistics) -> Parameters:
    K, G = sums.pi.shape
    a, b = np.full((K, G), A_PI / G), _prior(K)
    tau, eta = dirichlets(alpha + sums.pi.sum(axis=1)), dirichlets(a + sums.pi)
    mu = b + sums.votes
    total = mu.sum(axis=1, keepdims=True)
    log_v = digamma(mu) - digamma(total)
    v_log_beta = float(gammaln(mu).sum() - gammaln(total).sum())
    b_log_beta = len(mu) * G * dirichlets(b[:, :, 0].T).log_beta
    divergence = (
        np.vdot(sums.pi.sum(axis=1), tau.log)
        + np.vdot(sums.pi, eta.log)
        + np.vdot(sums.votes, log_v)
        - (tau.log_beta + eta.log_beta + v_log_beta)
        + (dirichlets(alpha).log_beta + dirichlets(a).log_beta + b_log_beta)
    )
    log_prior = tau.log[:, None] + eta.log
    return Parameters(alpha, tau, eta, mu, log_prior, log_v, float(divergence))


def _prior(K: int) -> Floats:
    """[L, K, 1] Return b, the prior of v."""
    return (B_WRONG + (B_RIGHT - B_WRONG) * np.eye(K))[:, :, None]
