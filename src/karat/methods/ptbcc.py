"""PTBCC: prototype-driven Bayesian classifier combination.

Ju Chen, Jun Feng, Shenyu Zhang: Understanding the Essence: Delving into Annotator Prototype Learning for
Multi-Class Annotation Aggregation. AAAI 2026. Equation numbers are the paper's.

    tau ~ Dirichlet(u)            how frequent the classes are
    pi_j ~ Dirichlet(beta_j)      annotator j's mixture of S prototypes
    v_sk ~ Dirichlet(a_sk)        how prototype s votes when the truth is k
    z_i ~ tau, x_ji ~ pi_j        truth of task i; the prototype that j follows on it
    y_ij ~ v_{x_ji, z_i}          the vote

Inference is mean-field variational Bayes: q(z_i) = phi_i, q(x_ji) = theta_ji, and Dirichlets with parameters
nu, eta_j and mu_sk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from karat.engines.blocks import Block
from karat.errors import InputError
from karat.kernels import ptbcc as kernels
from karat.kernels.jit import fixed_length
from karat.methods.base import Floats, Knowledge, Method, start_from_shares
from karat.methods.dirichlet import expected_log, log_beta, mean
from karat.result import beta_interval

__all__ = ["PTBCC"]

LEAST_COUNT = 1e-9  # digamma needs positive counts
SCRATCH = 2048  # numbers per buffer of a kernel: small enough to stay in the first-level cache


class Statistics(NamedTuple):
    """Sums over votes. D counts the prototypes but the first: its share is what is left."""

    change: float
    tau: Floats  # [K]       sum_i phi_ik
    pi: Floats  # [W, D]     sum_i theta_jis
    total: Floats  # [L, K]  sum over votes for l of phi_ik
    confusion: Floats  # [L, D, K]  sum over votes for l of phi_ik theta_jis
    log_norm: float  # sum_i log of the normaliser of phi_i
    entropy: float  # theta's entropy, but for the part that follows from pi


class First(NamedTuple):
    """Sums of the first pass: theta before and after it is normalised."""

    change: float
    tau: Floats
    raw_pi: Floats  # [W, S]
    raw_v: Floats  # [L, S, K]
    pi: Floats
    confusion: Floats


class Priors(NamedTuple):
    u: Floats  # [K]
    beta: Floats  # [W, S]
    a: Floats  # [S, K, L]
    votes: Floats  # [W] votes of each annotator


class Parameters(NamedTuple):
    priors: Priors
    nu: Floats  # [K]
    eta: Floats  # [W, S]
    mu: Floats  # [S, K, L]
    log_tau: Floats  # E log tau, and so on
    log_pi: Floats
    log_v: Floats


@dataclass(kw_only=True)
class PTBCC(Method):
    """A few prototype confusion matrices shared by all annotators; each annotator is a mixture of them.

    Use it where annotators cast few votes each, or classes are unbalanced: prototypes learn from everybody.
    Costs a few nanoseconds per vote and sweep.

    >>> import karat
    >>> votes = karat.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
    >>> karat.aggregate(votes, "ptbcc").label.tolist()
    ['x', 'y']
    """

    name: ClassVar[str] = "ptbcc"
    has_bound: ClassVar[bool] = True

    n_prototypes: int = 2
    e: float = 1.0
    f: float = 5.0
    m: float = 1.35
    pi_strength: float = 0.4  # weight of the first assignments in the prior of pi
    v_strength: float = 0.5  # and in that of v
    further: Literal["dirichlet", "uniform"] = "dirichlet"  # how prototypes beyond the second start
    prototypes: ArrayLike | None = None  # [S, K, K] to start from, instead of all of the above

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_prototypes < 1:
            raise InputError(f"n_prototypes must be at least 1, not {self.n_prototypes}")
        for name in ("e", "f", "m", "pi_strength", "v_strength"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be positive, but is {getattr(self, name)}")
        if self.further not in ("dirichlet", "uniform"):
            raise InputError(f'further must be "dirichlet" or "uniform", not {self.further!r}')

    def first_prototypes(self, n_classes: int) -> Floats:
        """A skilled annotator, a confused one, and further ones drawn at random or uniform: [S, K, K]."""
        if self.prototypes is not None:
            return _checked(np.array(self.prototypes, dtype=float), n_classes)
        identity = np.eye(n_classes)
        skilled = self.e + (self.f - self.e) * identity
        confused = self.m + (self.e - self.m) * identity
        others = np.ones((max(self.n_prototypes - 2, 0), n_classes, n_classes))
        if self.further == "dirichlet":
            others = np.random.default_rng(self.seed).dirichlet(np.ones(n_classes), others.shape[:2])
        return mean(np.concatenate([[skilled, confused], others]))[: self.n_prototypes]

    def start(self, block: Block, restart: int) -> First:
        start_from_shares(block)
        v = np.ascontiguousarray(self.first_prototypes(block.n_classes).transpose(2, 0, 1))  # [L, S, K]
        pi = np.zeros((block.n_annotators, v.shape[1]))
        sums = First(0.0, block.posterior.sum(axis=0), pi, np.zeros_like(v), np.zeros_like(pi), np.zeros_like(v))
        kernels.start(*block.votes, block.posterior, v, *sums[2:])
        return sums

    def begin(self, first: First) -> Parameters:
        priors = Priors(
            u=np.maximum(first.tau, LEAST_COUNT),
            beta=np.maximum(self.pi_strength * first.raw_pi, LEAST_COUNT),
            a=np.maximum(self.v_strength * first.raw_v, LEAST_COUNT).transpose(1, 2, 0),
            votes=first.pi.sum(axis=1).round(),
        )
        return _parameters(priors, first.tau, first.pi, first.confusion.transpose(1, 2, 0))

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        """(11), (12) and the sums of (8)-(10) for the tasks of a block."""
        log_odds_pi = _against_first(parameters.log_pi, axis=1)
        log_v = parameters.log_v.transpose(2, 0, 1)  # [L, S, K], as the kernel walks through it
        base, diff = np.ascontiguousarray(log_v[:, 0]), _against_first(log_v, axis=1)
        tau, pi, total, confusion = map(np.zeros_like, (parameters.log_tau, log_odds_pi, base, diff))
        n_labels, n_others, n_classes = diff.shape
        change, log_norm, entropy = kernels.sweep(
            fixed_length(n_classes),
            fixed_length(n_others),
            *block.votes,
            block.gold,
            parameters.log_tau,
            log_odds_pi,
            np.exp(np.clip(log_odds_pi, -300, 300)),
            base,
            diff,
            block.posterior,
            tau,
            pi,
            total,
            confusion,
            max(SCRATCH // (n_classes * max(n_others, 1)), 1),
        )
        return Statistics(change, tau, pi, total, confusion, log_norm, entropy)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        return _parameters(before.priors, statistics.tau, *_with_first(statistics, before))

    def bound(self, parameters: Parameters, statistics: Statistics) -> float:
        """Equation (4), with the constants: parameters as the sweep used them, phi and theta as it left them."""
        p, (u, beta, a, _) = parameters, parameters.priors
        pi, confusion = _with_first(statistics, p)
        expectations = (
            np.vdot(u - p.nu + statistics.tau, p.log_tau)
            + np.vdot(beta - p.eta + pi, p.log_pi)
            + np.vdot(a - p.mu + confusion, p.log_v)
        )
        pairs = ((p.nu, u), (p.eta, beta), (p.mu, a))
        normalisers = sum(np.sum(log_beta(counts) - log_beta(prior)) for counts, prior in pairs)
        phi_entropy = statistics.log_norm - np.vdot(statistics.tau, p.log_tau) - np.vdot(confusion, p.log_v)
        theta_entropy = statistics.entropy - np.vdot(statistics.pi, _against_first(p.log_pi, axis=1))
        return float(expectations + normalisers + phi_entropy + theta_entropy)

    def knowledge(self, parameters: Parameters) -> Knowledge:
        prototypes, weights, tau = mean(parameters.mu), mean(parameters.eta), mean(parameters.nu)
        return Knowledge(
            class_prior=tau,
            prototypes=prototypes,
            weights=weights,
            accuracy=_accuracy(parameters, prototypes, weights, tau),
            more={"eta": parameters.eta, "mu": parameters.mu, "nu": parameters.nu},
        )


def _checked(prototypes: Floats, n_classes: int) -> Floats:
    if prototypes.ndim != 3 or prototypes.shape[1:] != (n_classes, n_classes):
        raise InputError(
            f"prototypes must have the shape (any, {n_classes}, {n_classes}) for {n_classes} classes, "
            f"not {prototypes.shape}"
        )
    if not (prototypes >= 0).all() or not np.allclose(prototypes.sum(axis=2), 1):
        raise InputError("each row of a prototype must be a probability distribution (not negative, sum 1)")
    return prototypes


def _parameters(priors: Priors, tau: Floats, pi: Floats, confusion: Floats) -> Parameters:
    nu = priors.u + tau  # (8)
    eta = priors.beta + pi  # (9)
    mu = priors.a + confusion  # (10)
    return Parameters(priors, nu, eta, mu, expected_log(nu), expected_log(eta), expected_log(mu))  # (5)-(7)


def _against_first(log_p: Floats, axis: int) -> Floats:
    """Log-odds of the other prototypes against the first."""
    first, others = np.split(log_p, [1], axis=axis)
    return np.ascontiguousarray(others - first)


def _with_first(statistics: Statistics, parameters: Parameters) -> tuple[Floats, Floats]:
    """The sums of all prototypes, [W, S] and [S, K, L]: the first one has what the others leave."""
    pi = np.column_stack([parameters.priors.votes - statistics.pi.sum(axis=1), statistics.pi])
    rest = statistics.total[:, None] - statistics.confusion.sum(axis=1, keepdims=True)
    confusion = np.concatenate([rest, statistics.confusion], axis=1).transpose(1, 2, 0)
    return np.maximum(pi, 0.0), np.maximum(confusion, 0.0)


def _accuracy(p: Parameters, prototypes: Floats, weights: Floats, tau: Floats) -> tuple[Floats, Floats, Floats]:
    """Each annotator's chance to be right on a task like these: mean and 95 % interval under q.

    Accuracy is sum_s pi_js r_s with r_s = sum_k tau_k v_skk; its variance follows from those of the Dirichlets.
    """
    diagonal = np.diagonal(prototypes, axis1=1, axis2=2)  # [S, K]
    right = diagonal @ tau
    right_variance = (diagonal * (1 - diagonal) / (p.mu.sum(axis=2) + 1)) @ tau**2
    accuracy = weights @ right
    spread = (weights @ right**2 - accuracy**2) / (p.eta.sum(axis=1) + 1)
    variance = np.maximum(spread, 0.0) + weights**2 @ right_variance
    return (accuracy, *beta_interval(accuracy, variance))
