"""CBCC: community-based Bayesian classifier combination.

Matteo Venanzi, John Guiver, Gabriella Kazai, Pushmeet Kohli, Milad Shokouhi: Community-Based
Bayesian Aggregation Models for Crowdsourcing. WWW 2014. The settings are those of the Infer.NET
program in Y. Zheng, G. Li, Y. Li, C. Shan, R. Cheng: Truth Inference in Crowdsourcing: Is the
Problem Solved? PVLDB 10 (5), 2017, which the PTBCC paper compares.

    rho ~ Dirichlet(10)             how large the M communities are
    c_j ~ rho                       the community of annotator j
    u_mk ~ N(m0_k, V0_k)            scores of community m where the truth is k
    s_jk ~ N(u_{c_j, k}, I / w)     scores of annotator j
    tau ~ Dirichlet(1), z_i ~ tau   truth of task i
    y_ij ~ softmax(s_{j, z_i})      the vote

Inference is variational message passing: r_jm = q(c_j = m), U_mk = E u_mk, q(s_jk) = N(m_jk, V_jk),
phi_i = q(z_i), with the softmax bounded as in `kernels.cbcc`. The messages of the votes depend on
the current scores, and an undamped step can overshoot and permute classes, so the messages are
updated in five damped repeats.
"""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma

from finegold.engines.blocks import Block
from finegold.errors import InputError
from finegold.kernels import cbcc as kernels
from finegold.kernels.cbcc import message, scratch, tangent
from finegold.methods.base import (
    COUNT,
    POSITIVE,
    SHARE,
    Floats,
    Method,
    Range,
    setting,
    with_settings,
)
from finegold.methods.common import (
    ConfusionSums,
    Dirichlets,
    dirichlets,
    mean,
    start_from_shares,
    sweep_confusion,
)
from finegold.results.data import Learned
from finegold.votes.annotations import Annotations

# that the kernels process at a time
MAX_ANNOTATORS_PER_GROUP = 64
# the share of old values that is kept: the last change allowed
DAMPING = {0.0: 1.0, 0.5: 1e-3, 0.8: 1e-3, 0.95: 1e-3}
# groups of annotators have a multiple of this size
GROUP_SIZE_MULTIPLE = 8


class Communities(NamedTuple):
    # [K, K] prior of their scores: mean
    m0: Floats
    # [K, K, K] and inverse covariance
    precision: Floats
    # [M] Dirichlet counts of rho
    gamma: Floats
    # [M, K, K]
    U: Floats


class Annotators(NamedTuple):
    """Arrays in groups of X annotators: [G, K, ..., X]. The last group is padded."""

    # [G, M, X]
    r: Floats
    # [G, K, K, K, X] messages of the votes: precision
    Lam: Floats
    # [G, K, K, X] and linear term
    h: Floats
    # [G, K, K, K, X] prior of the scores: precision
    P: Floats
    # [G, K, K, X] and linear term
    b: Floats
    # [G, K, K, X] posterior mean of the scores
    m: Floats
    # [G, K, K, X] point at which the bound of the softmax is tight: about E softmax(s_jk)
    a: Floats


class Parameters(NamedTuple):
    # nu
    tau: Dirichlets
    # [W, L, K]
    log_v: Floats
    communities: Communities
    annotators: Annotators


@with_settings
class CBCC(Method):
    """Annotators belong to a few communities; those of a community have similar confusion matrices.

    It assumes that there are a few kinds of annotators. Use it if many annotators cast few votes
    each and the kinds are of interest; with few annotators all end up in one community. The
    defaults are the paper's settings: 40 iterations from random communities, converged or not. It
    learns from known truths. It costs a few nanoseconds per vote and sweep, less than a microsecond
    per annotator, class and sweep, and 2 K^3 numbers per annotator.

    Args:
        tolerance: Stop when no probability changes by more than this in a sweep; with 0, after all.
        max_iterations: The largest number of sweeps.
        seed: Seed of the random communities that it starts from.
        n_communities: The number of communities.
        community_strength: Pseudo-count of annotators in each community.
        w: Precision of scores around those of a community: if large, members are alike.
        quality: The share of right votes that the prior of the scores expects.
        repeats: Number of damped steps that update the messages of the votes in each sweep.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
        >>> finegold.aggregate(votes, "cbcc").label.tolist()
        ['x', 'y']
    """

    name: ClassVar[str] = "cbcc"
    random_start: ClassVar[bool] = True

    tolerance: float = 0.0
    max_iterations: int = 40
    n_communities: int = setting(4, COUNT)
    community_strength: float = setting(10.0, POSITIVE)
    w: float = setting(5.0, POSITIVE)
    quality: float = setting(0.7, SHARE)
    repeats: int = setting(5, Range("at least 0", 0, 1e6, whole=True))

    def n_parameters(self, annotations: Annotations) -> int:
        return 2 * annotations.n_annotators * annotations.n_classes**3

    def start(self, block: Block, restart: int) -> ConfusionSums:
        # the first sweep replaces these; known truths stay
        start_from_shares(block)
        K = block.n_classes
        return ConfusionSums(0.0, np.zeros(K), np.zeros((block.n_annotators, K, K)))

    def begin(self, statistics: ConfusionSums) -> Parameters:
        """Start with random communities and without votes: all scores equal those of the prior."""
        # They must be exactly equal. The largest community attracts nearly all annotators in the
        # first iteration, and communities of equal size must share them until votes distinguish the
        # communities, not until rounding does.
        W, _, K = statistics.n.shape
        r = np.eye(self.n_communities)[
            np.random.default_rng(self.seed).integers(self.n_communities, size=W)
        ]
        m0, V0 = community_prior(K, self.quality)
        gamma = self.community_strength + r.sum(axis=0)
        communities = Communities(m0, _inverse(V0), gamma, np.tile(m0, (self.n_communities, 1, 1)))
        vectors = np.zeros_like(_group(statistics.n))
        groups, _, _, X = vectors.shape
        matrices, a = np.zeros((groups, K, K, K, X)), np.full_like(vectors, 1 / K)
        annotators = Annotators(_group(r), matrices, vectors, matrices, vectors, vectors, a)
        pulled = r.sum(axis=0)[:, None, None] * m0
        return self._parameters(W, np.ones(K), communities, annotators, pulled)

    def sweep(self, block: Block, parameters: Parameters) -> ConfusionSums:
        return sweep_confusion(block, parameters.tau.log, parameters.log_v)

    def expect(self, statistics: ConfusionSums, before: Parameters) -> Parameters:
        """Update the messages of the votes, then the communities, memberships and scores."""
        old = before.annotators
        new = old._replace(
            m=old.m.copy(), a=old.a.copy(), Lam=np.zeros_like(old.Lam), h=np.zeros_like(old.h)
        )
        n = _group(statistics.n.transpose(0, 2, 1))
        buffers = scratch(new.r.shape[2])
        kernels.listen(n, old.P, old.b, self.repeats, new.m, new.a, new.Lam, new.h, buffers)
        pulled = np.zeros_like(before.communities.U)
        kernels.pull(self.w, before.communities.U, new.r, new.Lam, new.h, pulled, buffers)
        return self._parameters(
            len(statistics.n), 1 + statistics.tau, before.communities, new, pulled
        )

    def learned(self, parameters: Parameters) -> Learned:
        W, scores = len(parameters.log_v), parameters.communities.U
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        statistics = {
            "communities": _ungroup(parameters.annotators.r, W),
            "community_confusion": mean(weights),
        }
        confusion = _ungroup(parameters.annotators.a, W)
        return Learned(
            class_prior=mean(parameters.tau.counts), confusion=confusion, statistics=statistics
        )

    def _parameters(
        self, W: int, nu: Floats, communities: Communities, annotators: Annotators, pulled: Floats
    ) -> Parameters:
        m0, precision, gamma, _ = communities
        # expected number of annotators in each community
        size = annotators.r.sum(axis=(0, 2))
        # [M, K, K, K]
        VU = _inverse(precision + self.w * size[:, None, None, None] * np.eye(len(m0)))
        U = np.einsum("mkij,mkj->mki", VU, np.einsum("kij,kj->ki", precision, m0) + self.w * pulled)
        spread = np.trace(VU, axis1=2, axis2=3).sum(axis=1)
        log_rho = digamma(gamma) - digamma(gamma.sum()) - 0.5 * self.w * spread
        r, Lam, h, P, b, m, a = annotators
        r, P, b, m, log_v = map(np.empty_like, (r, P, b, m, h))
        new = Annotators(r, Lam, h, P, b, m, a.copy())
        kernels.assign(self.w, log_rho, U, Lam, h, r, P, b, m, new.a, log_v, scratch(r.shape[2]))
        members = _ungroup(r, W)
        communities = Communities(m0, precision, self.community_strength + members.sum(axis=0), U)
        by_vote = np.ascontiguousarray(_ungroup(log_v, W).transpose(0, 2, 1))
        return Parameters(dirichlets(nu), by_vote, communities, new._replace(r=_group(members)))


def community_prior(
    n_classes: int, quality: float = 0.7, iterations: int = 50
) -> tuple[Floats, Floats]:
    """Return (m0 [K, K], V0 [K, K, K]): scores of an annotator who is right with this probability,
    for each truth.
    """
    # mu ~ N(0, I), T ~ Wishart(1, I), s ~ N(mu, T^-1), and softmax(s) is observed through
    # pseudo-counts for the truth. Undamped steps, which are the paper's, go to and fro with 8
    # classes or more and away with 14 or more; from there on they are damped until they converge.
    for keep, tolerance in DAMPING.items():
        with suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
            m, V, change = _prior_scores(n_classes, quality, int(iterations / (1 - keep)), keep)
            if change < tolerance and V.diagonal().min() > 0:
                # k has what 0 had
                orders = [np.r_[1 : k + 1, 0, k + 1 : len(m)] for k in range(len(m))]
                return np.array([m[order, 0] for order in orders]), np.array(
                    [V[np.ix_(o, o)] for o in orders]
                )
    raise InputError(
        f"cbcc finds no prior for {n_classes:,} classes with quality {quality:g}; use another"
        " method"
    )


def _prior_scores(
    K: int, quality: float, iterations: int, keep: float
) -> tuple[Floats, Floats, float]:
    """Return the mean [K, 1] and covariance [K, K] of the scores if the first class is true, and
    the last change.
    """
    identity = np.eye(K)
    n, room, change = np.zeros((K, 1)), scratch(1), np.inf
    n[0] = max(quality / (1 - quality) * (K - 1) - 1, 0.0)
    mu, m, h, a = np.zeros((K, 1)), np.zeros((K, 1)), np.zeros((K, 1)), np.full((K, 1), 1 / K)
    T, V, Lam = identity.copy(), identity.copy(), np.zeros((K, K, 1))
    for _ in range(iterations):
        tangent(m, V[:, :, None], a, room)
        message(n, m, a, keep, Lam, h, room)
        V, before = _inverse(T + Lam[:, :, 0]), m
        m = V @ (T @ mu + h)
        mu_spread = _inverse(identity + T)
        mu = mu_spread @ T @ m
        T = 1.5 * _inverse(identity + 0.5 * (V + mu_spread + (m - mu) @ (m - mu).T))
        change = float(np.abs(m - before).max())
    return m, V, change


def _inverse(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrices), dtype=np.float64)


def _group(values: Floats) -> Floats:
    """Convert [W, ...] to [G, ..., X], padded with zeros."""
    W = len(values)
    X = min(MAX_ANNOTATORS_PER_GROUP, -(-W // GROUP_SIZE_MULTIPLE) * GROUP_SIZE_MULTIPLE)
    padded = np.zeros((-(-W // X) * X, *values.shape[1:]))
    padded[:W] = values
    return np.ascontiguousarray(np.moveaxis(padded.reshape(-1, X, *values.shape[1:]), 1, -1))


def _ungroup(values: Floats, W: int) -> Floats:
    return np.ascontiguousarray(np.moveaxis(values, -1, 1).reshape(-1, *values.shape[1:-1])[:W])
