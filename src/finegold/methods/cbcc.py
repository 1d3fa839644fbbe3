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

Inference is variational message passing: q(z_i) = phi_i, q(c_j = m) = r_jm, q(s_jk) = N(m_jk, V_jk),
q(u_mk) = N(U_mk, VU_mk), q(rho) = Dirichlet(gamma), and v_jk = softmax(s_jk). The softmax has the
bound of Knowles and Minka (2011), which touches at a ~ softmax(m + (1/2 - a) diag V):

    E log v_l ~ m_l - sum_l a_l^2 V_ll / 2 - log sum_l exp(m_l + (1 - 2 a_l) V_ll / 2)

so that the votes n_jk, N in sum, send s_jk a message with the precision and linear term

    Lam_ll = N a_l (1 - a_l),  Lam_lr = -N a_l a_r (a_l + a_r),  h = n - N a + Lam m

and the community of an annotator, w I around U_m mixed by r_m, a prior with precision P and linear
term b. The messages of the votes depend on the current scores, and an undamped step can overshoot
and permute classes, so the messages are updated in five damped repeats.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma, logsumexp

from finegold.errors import InputError
from finegold.methods.base import COUNT, Floats, setting
from finegold.methods.common import (
    ConfusionMethod,
    ConfusionSums,
    Dirichlets,
    dirichlets,
    mean,
    softmax,
)
from finegold.results.data import Learned

# prior: the share of right votes, pseudo-count of annotators in each community, and the precision w
# of scores around those of a community
QUALITY, STRENGTH, SCORE_PRECISION = 0.7, 10.0, 5.0
# of the prior: the share of old values that is kept: the last change allowed
DAMPING = {0.0: 1.0, 0.5: 1e-3, 0.8: 1e-3, 0.95: 1e-3}
# of the messages: how often they are updated in a sweep, and the share of old values that is kept
REPEATS, KEEP = 5, 0.5


@dataclass(kw_only=True)
class CBCC(ConfusionMethod):
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
    """

    name: ClassVar[str] = "cbcc"
    order: ClassVar[int] = 3
    random_start = True

    tolerance: float = 0.0
    max_iterations: int = 40
    n_communities: int = setting(4, COUNT)

    def begin(self, statistics: ConfusionSums) -> Parameters:
        """Start with random communities and without votes: all scores equal those of the prior."""
        # They must be exactly equal. The largest community attracts nearly all annotators in the
        # first iteration, and communities of equal size must share them until votes distinguish the
        # communities, not until rounding does.
        W, _, K = statistics.n.shape
        M = self.n_communities
        r = np.eye(M)[np.random.default_rng(self.seed).integers(M, size=W)]
        m0, V0 = community_prior(K)
        gamma = STRENGTH + r.sum(axis=0)
        communities = Communities(m0, inverse(V0), gamma, np.tile(m0, (M, 1, 1)))
        none, nothing = np.zeros((W, K, K)), np.zeros((W, K, K, K))
        annotators = Annotators(r, nothing, none, nothing, none, none, np.full((W, K, K), 1 / K))
        pull = r.sum(axis=0)[:, None, None] * m0
        return self._parameters(np.ones(K), communities, annotators, pull)

    def expect(self, statistics: ConfusionSums, before: Parameters) -> Parameters:
        """Update the messages of the votes, then the communities, memberships and scores."""
        n = statistics.n.transpose(0, 2, 1)
        r, _, _, P, b, m, a = before.annotators
        Lam, h = message(n, m, a)
        for _ in range(REPEATS):
            V = inverse(P + Lam)
            m = times(V, b + h)
            a = tangent(m, V, a)
            new_Lam, new_h = message(n, m, a)
            Lam, h = KEEP * Lam + (1 - KEEP) * new_Lam, KEEP * h + (1 - KEEP) * new_h
        S = scores(before.communities.U, Lam, h)
        pull = np.einsum("jm,jmki->mki", r, S)
        annotators = Annotators(r, Lam, h, P, b, m, a)
        return self._parameters(1 + statistics.tau, before.communities, annotators, pull)

    def learned(self, parameters: Parameters) -> Learned:
        statistics = {
            "communities": parameters.annotators.r,
            "community_confusion": softmax(parameters.communities.U),
        }
        prior, confusion = mean(parameters.tau.counts), parameters.annotators.a
        return Learned(class_prior=prior, confusion=confusion, statistics=statistics)

    def _parameters(
        self, nu: Floats, communities: Communities, annotators: Annotators, pull: Floats
    ) -> Parameters:
        """Update communities from pull_mk = sum_j r_jm S_jmk, then memberships and scores."""
        w, (m0, P0, gamma, _), (r, Lam, h, _, _, _, a) = SCORE_PRECISION, communities, annotators
        identity = np.eye(len(m0))
        VU = inverse(P0 + w * r.sum(axis=0)[:, None, None, None] * identity)
        U = times(VU, times(P0, m0) + w * pull)

        # memberships: how well S fits community and votes
        S = scores(U, Lam, h)
        fit = -w / 2 * (S - U) ** 2 + (h[:, None] - times(Lam[:, None], S) / 2) * S
        log_rho = digamma(gamma) - digamma(gamma.sum())
        certainty = -w / 2 * np.trace(VU, axis1=2, axis2=3).sum(axis=1)
        r = softmax(log_rho + certainty + fit.sum(axis=(2, 3)))

        # one Gaussian (P^-1 b, P^-1) for the mixture of communities, then scores given the votes
        mb = np.einsum("jm,mki->jki", r, U)
        off = U - mb[:, None]
        P = inverse(identity / w + np.einsum("jm,jmki,jmkl->jkil", r, off, off, optimize=True))
        b = times(P, mb)
        V = inverse(P + Lam)
        m = times(V, b + h)
        a = tangent(m, V, a)
        log_v = np.ascontiguousarray(expected_log(m, V, a).transpose(0, 2, 1))
        communities = Communities(m0, P0, STRENGTH + r.sum(axis=0), U)
        return Parameters(dirichlets(nu), log_v, communities, Annotators(r, Lam, h, P, b, m, a))


class Communities(NamedTuple):
    # prior of their scores: mean [K, K] and inverse covariance [K, K, K]
    m0: Floats
    P0: Floats
    # [M] Dirichlet counts of rho
    gamma: Floats
    # [M, K, K]
    U: Floats


class Annotators(NamedTuple):
    # [W, M]
    r: Floats
    # messages of the votes: precision [W, K, K, K] and linear term [W, K, K]
    Lam: Floats
    h: Floats
    # prior of the scores: precision [W, K, K, K] and linear term [W, K, K]
    P: Floats
    b: Floats
    # [W, K, K] posterior mean of the scores
    m: Floats
    # [W, K, K] point at which the bound of the softmax is tight: about E softmax(s_jk)
    a: Floats


class Parameters(NamedTuple):
    # nu
    tau: Dirichlets
    # [W, L, K]
    log_v: Floats
    communities: Communities
    annotators: Annotators


def scores(U: Floats, Lam: Floats, h: Floats) -> Floats:
    """[W, M, K, K] Return S = (w I + Lam)^-1 (w U_m + h): the scores of j if a member of m."""
    w = SCORE_PRECISION
    return times(inverse(w * np.eye(U.shape[-1]) + Lam)[:, None], w * U + h[:, None])


def inverse(A: Floats) -> Floats:
    return np.asarray(np.linalg.inv(A), dtype=np.float64)


def times(A: Floats, x: Floats) -> Floats:
    return np.asarray((A @ x[..., None])[..., 0])


def tangent(m: Floats, V: Floats, a: Floats) -> Floats:
    """Take one step towards the tightest bound."""
    return softmax(m + (0.5 - a) * np.diagonal(V, axis1=-2, axis2=-1))


def message(n: Floats, m: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Return the precision Lam and the linear term h that votes n send to scores with mean m."""
    N, k = n.sum(axis=-1, keepdims=True), np.arange(n.shape[-1])
    row, column = a[..., :, None], a[..., None, :]
    Lam = -N[..., None] * row * column * (row + column)
    Lam[..., k, k] = N * a * (1 - a)
    return Lam, n - N * a + times(Lam, m)


def expected_log(m: Floats, V: Floats, a: Floats) -> Floats:
    variance = np.diagonal(V, axis1=-2, axis2=-1)
    norm = logsumexp(m + (0.5 - a) * variance, axis=-1, keepdims=True)
    return np.asarray(m - norm - (a**2 * variance).sum(axis=-1, keepdims=True) / 2)


def community_prior(n_classes: int) -> tuple[Floats, Floats]:
    """Return (m0 [K, K], V0 [K, K, K]): scores of an annotator who is right with this probability,
    for each truth.
    """
    # mu ~ N(0, I), T ~ Wishart(1, I), s ~ N(mu, T^-1), and softmax(s) is observed through
    # pseudo-counts for the truth. Undamped steps, which are the paper's, go to and fro with 8
    # classes or more and away with 14 or more; from there on they are damped until they converge.
    for keep, tolerance in DAMPING.items():
        with suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
            m, V, change = _prior_scores(n_classes, int(50 / (1 - keep)), keep)
            if change < tolerance and V.diagonal().min() > 0:
                # k has what 0 had
                orders = [np.r_[1 : k + 1, 0, k + 1 : len(m)] for k in range(len(m))]
                means, covariances = [m[o] for o in orders], [V[np.ix_(o, o)] for o in orders]
                return np.array(means), np.array(covariances)
    raise InputError(f"cbcc finds no prior for {n_classes:,} classes; use another method")


def _prior_scores(K: int, iterations: int, keep: float) -> tuple[Floats, Floats, float]:
    """Return the mean [K] and covariance [K, K] of the scores if the first class is true, and the
    last change.
    """
    identity, change = np.eye(K), np.inf
    n = max(QUALITY / (1 - QUALITY) * (K - 1) - 1, 0.0) * identity[0]
    mu, m, h, a = np.zeros(K), np.zeros(K), np.zeros(K), np.full(K, 1 / K)
    T, V, Lam = identity, identity, np.zeros((K, K))
    for _ in range(iterations):
        a = tangent(m, V, a)
        new_Lam, new_h = message(n, m, a)
        Lam, h = keep * Lam + (1 - keep) * new_Lam, keep * h + (1 - keep) * new_h
        V, before = inverse(T + Lam), m
        m = V @ (T @ mu + h)
        Vmu = inverse(identity + T)
        mu = Vmu @ T @ m
        T = 1.5 * inverse(identity + 0.5 * (V + Vmu + np.outer(m - mu, m - mu)))
        change = float(np.abs(m - before).max())
    return m, V, change
