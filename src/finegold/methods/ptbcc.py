"""PTBCC: prototype-driven Bayesian classifier combination.

Ju Chen, Jun Feng, Shenyu Zhang: Understanding the Essence: Delving into Annotator Prototype
Learning for Multi-Class Annotation Aggregation. AAAI 2026. Equation numbers are the paper's.

    tau ~ Dirichlet(u)            how frequent the classes are
    pi_j ~ Dirichlet(beta_j)      annotator j's mixture of S prototypes
    v_sk ~ Dirichlet(a_sk)        how prototype s votes when the truth is k
    z_i ~ tau, x_ji ~ pi_j        truth of task i; the prototype that j follows on it
    y_ij ~ v_{x_ji, z_i}          the vote

Inference is mean-field variational Bayes: q(z_i) = phi_i, q(x_ji) = theta_ji, and Dirichlets with
parameters nu, eta_j and mu_sk:

    (8)     nu_k    = u_k + sum_i phi_ik
    (9)     eta_js  = beta_js + sum over j's votes of theta_jis
    (10)    mu_skl  = a_skl + sum over the votes for l of phi_ik theta_jis
    (11)    theta_jis proportional to exp(E log pi_js + sum_k phi_ik E log v_skl), with l = y_ij
    (12)    phi_ik    proportional to exp(E log tau_k + sum_j sum_s theta_jis E log v_skl)

A sweep computes (11), (12) and the sums of (8) to (10), `expect` adds the priors u, beta and a. These
are made from the first assignments of the votes, in which theta_jis = sum_k phi_ik v_skl for the
first prototypes v. Everything is expressed as odds against the first prototype, so sums are kept of
the D = S - 1 others: those of the first follow from the totals. `kernels/ptbcc.py` has the algebra.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from finegold.engines.base import Block
from finegold.kernels import ptbcc as kernels
from finegold.kernels.cells import cells_of, voters_of
from finegold.kernels.ptbcc import MAX_LOG_ODDS, Model
from finegold.methods.base import COUNT, POSITIVE, Floats, Method, setting
from finegold.methods.common import (
    LEAST_COUNT,
    Dirichlets,
    dirichlets,
    mean,
    start_from_shares,
    sum_rows,
)
from finegold.results.data import Learned
from finegold.votes.annotations import Annotations

# cells times classes at a time, at the start
PAIRS_PER_RUN = 2**22


@dataclass(kw_only=True)
class PTBCC(Method):
    """A few prototype confusion matrices shared by all annotators; each annotator is a mixture of
    them.

    Use it if annotators cast few votes each or classes are unbalanced: prototypes are learned from
    all annotators. It costs a few nanoseconds per vote and sweep.

    Args:
        tolerance: Stop when no probability of a class changes by more than this in a sweep.
        max_iterations: The largest number of sweeps.
        seed: Seed of the random prototypes, if there are more than two.
        n_prototypes: Number of prototypes: first a skilled annotator, then a confused one.
        e: Pseudo-count of a wrong vote in the first prototype, a right one in the second.
        f: Pseudo-count of right votes in the first prototype: f / (f + (K - 1) e) are right at
            first.
        m: Pseudo-count of a wrong vote in the second prototype: e / (e + (K - 1) m) are right at
            first.
        pi_strength: Strength of the prior of each annotator's mixture: the factor of the first
            assignments of votes.
        v_strength: Strength of the prior of the prototypes: the factor of the first assignments of
            votes.
        further: How prototypes beyond the second start: drawn at random, or with all votes equally
            likely.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
        >>> finegold.aggregate(votes, "ptbcc").label.tolist()
        ['x', 'y']
    """

    name: ClassVar[str] = "ptbcc"
    has_objective: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    n_prototypes: int = setting(2, COUNT)
    e: float = setting(1.0, POSITIVE)
    f: float = setting(5.0, POSITIVE)
    m: float = setting(1.35, POSITIVE)
    pi_strength: float = setting(0.4, POSITIVE)
    v_strength: float = setting(0.5, POSITIVE)
    further: Literal["dirichlet", "uniform"] = setting("dirichlet", ("dirichlet", "uniform"))

    def n_parameters(self, annotations: Annotations) -> int:
        return 3 * self.n_prototypes * (annotations.n_classes**2 + annotations.n_annotators)

    def first_prototypes(self, n_classes: int) -> Floats:
        """[S, K, K] Return a skilled annotator, a confused one, and further ones that are random or
        uniform. With earlier prototypes, each keeps its meaning; new classes start as by default.
        """
        identity = np.eye(n_classes)
        skilled = self.e + (self.f - self.e) * identity
        confused = self.m + (self.e - self.m) * identity
        others = np.ones((max(self.n_prototypes - 2, 0), n_classes, n_classes))
        if self.further == "dirichlet" and len(others):
            others = np.random.default_rng(self.seed).dirichlet(
                np.ones(n_classes), others.shape[:2]
            )
        first = mean(np.concatenate([[skilled, confused], others]))[: self.n_prototypes]
        return first if self.earlier is None else mean(self.earlier.v + first)

    def start(self, block: Block, restart: int) -> First:
        """Assign votes with theta_s = sum_k phi_ik v_skl, the same for all votes of a cell."""
        start_from_shares(block)
        v, who = self.first_prototypes(block.n_classes), voters_of(block.votes)
        (task, cell), (size, label) = block.places, cells_of(block.votes)
        (S, K, _), W, first_vote = v.shape, block.n_annotators, np.append(0, np.cumsum(size))
        pi, confusion = np.zeros((2, W, S)), np.zeros((2, K, S, K))
        step = max(PAIRS_PER_RUN // K, 1)
        for first in range(0, len(size), step):
            run = slice(first, first + step)
            votes = slice(*first_vote[[first, min(first + step, len(size))]])
            phi = block.posterior[task[run]]
            raw = np.stack([(phi * of_s.T[label[run]]).sum(axis=1) for of_s in v], axis=1)
            total = raw.sum(axis=1, keepdims=True)
            share = np.divide(raw, total, out=np.full_like(raw, 1 / S), where=total > 0)
            for n, theta in enumerate((raw, share)):
                pi[n] += sum_rows(who[votes], theta[cell[votes] - first], W)
                for s, times in enumerate((size[run, None] * theta).T):
                    confusion[n, :, s] += sum_rows(label[run], times[:, None] * phi, K)
        return First(0.0, block.class_sums(), *pi, *confusion)

    def begin(self, first: First) -> Parameters:
        priors, confusion = self._priors(first), first.confusion.transpose(1, 2, 0)
        return _parameters(priors, first.tau, first.pi, confusion)

    def _priors(self, first: First) -> Priors:
        u = np.maximum(first.tau, LEAST_COUNT)
        beta = np.maximum(self.pi_strength * first.raw_pi, LEAST_COUNT)
        a = np.maximum(self.v_strength * first.raw_v, LEAST_COUNT).transpose(1, 2, 0)
        if self.earlier is not None:
            beta, a = beta + self.earlier.pi, a + self.earlier.v
        log_beta = sum(dirichlets(prior).log_beta for prior in (u, beta, a))
        return Priors(u, beta, a, log_beta, votes=first.pi.sum(axis=1).round())

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        """Compute (11), (12) and the sums of (8)-(10) for the tasks of a block."""
        model = parameters.model
        sums = kernels.Sums(*map(np.zeros_like, model))
        change, log_norm, entropy = kernels.sweep(
            block.classes,
            block.length(len(parameters.v.counts) - 1),
            block.votes,
            block.places,
            block.gold,
            model,
            block.posterior,
            sums,
        )
        return Statistics(change, *sums, log_norm, entropy)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        return _parameters(before.priors, statistics.tau, *_with_first(statistics, before))

    def objective(self, parameters: Parameters, statistics: Statistics) -> float:
        """Return (4), with constants, of the parameters that the sweep used and the phi and theta
        it computed.
        """
        (u, beta, a, prior_log_beta, _), tau, pi, v, model = parameters
        pi_sums, confusion = _with_first(statistics, parameters)
        of_pi = float(np.vdot(beta - pi.counts + pi_sums, pi.log))
        of_v = np.vdot(a - v.counts + confusion, v.log)
        expectations = np.vdot(u - tau.counts + statistics.tau, tau.log) + of_pi + of_v
        normalisers = tau.log_beta + pi.log_beta + v.log_beta - prior_log_beta
        phi_entropy = (
            statistics.log_norm - np.vdot(statistics.tau, tau.log) - np.vdot(confusion, v.log)
        )
        theta_entropy = statistics.entropy - float(np.vdot(statistics.pi, model.log_odds_pi))
        return float(expectations + normalisers + phi_entropy + theta_entropy)

    def learned(self, parameters: Parameters) -> Learned:
        u, beta, a, *_ = parameters.priors
        nu, eta, mu = (family.counts for family in parameters[1:4])
        statistics = {"eta": eta, "mu": mu, "nu": nu, "beta": beta, "a": a, "u": u}
        return Learned(
            class_prior=mean(nu), prototypes=mean(mu), weights=mean(eta), statistics=statistics
        )


class Statistics(NamedTuple):
    """The sums of (8) to (10), of the prototypes except the first."""

    change: float
    # [K] sum_i phi_ik
    tau: Floats
    # [W, D] sum_i theta_jis
    pi: Floats
    # [L, K] sum over votes for l of phi_ik
    total: Floats
    # [L, D, K] sum over votes for l of phi_ik theta_jis
    confusion: Floats
    # sum_i log of the normaliser of phi_i
    log_norm: float
    # entropy of theta, without the part that follows from pi
    entropy: float


class First(NamedTuple):
    """Sums of the first pass, with theta before and after normalisation."""

    change: float
    tau: Floats
    # [W, S]
    raw_pi: Floats
    pi: Floats
    # [L, S, K]
    raw_v: Floats
    confusion: Floats


class Priors(NamedTuple):
    # [K]
    u: Floats
    # [W, S]
    beta: Floats
    # [S, K, L]
    a: Floats
    # of all three
    log_beta: float
    # [W] number of votes of each annotator
    votes: Floats


class Earlier(NamedTuple):
    """Prior knowledge from an earlier run: the counts of its posterior."""

    # [W, S]
    pi: Floats
    # [S, K, L]
    v: Floats


class Parameters(NamedTuple):
    priors: Priors
    # nu [K]
    tau: Dirichlets
    # eta [W, S]
    pi: Dirichlets
    # mu [S, K, L]
    v: Dirichlets
    # what a sweep needs of their logs
    model: Model


def _parameters(priors: Priors, tau: Floats, pi: Floats, confusion: Floats) -> Parameters:
    """Compute (8), (9) and (10)."""
    of_tau, of_pi, of_v = map(dirichlets, (priors.u + tau, priors.beta + pi, priors.a + confusion))
    # [L, S, K], the order in which the kernel reads
    log_v = of_v.log.transpose(2, 0, 1)
    log_odds_pi = _against_first(of_pi.log).clip(-MAX_LOG_ODDS, MAX_LOG_ODDS)
    model = Model(of_tau.log, log_odds_pi, np.ascontiguousarray(log_v[:, 0]), _against_first(log_v))
    return Parameters(priors, of_tau, of_pi, of_v, model)


def _against_first(log_p: Floats) -> Floats:
    """Return the log-odds of the other prototypes (second axis) against the first."""
    # contiguous
    return (log_p[:, 1:] - log_p[:, :1]).copy()


def _with_first(statistics: Statistics, parameters: Parameters) -> tuple[Floats, Floats]:
    """Return the sums of all prototypes, [W, S] and [S, K, L]: the first is the total minus the
    others.
    """
    pi = np.column_stack([parameters.priors.votes - statistics.pi.sum(axis=1), statistics.pi])
    rest = statistics.total[:, None] - statistics.confusion.sum(axis=1, keepdims=True)
    confusion = np.concatenate([rest, statistics.confusion], axis=1).transpose(1, 2, 0)
    return np.maximum(pi, 0.0), np.maximum(confusion, 0.0)
