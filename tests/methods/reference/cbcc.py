"""CBCC in plain NumPy: slow and obvious, straight from the equations. What the fast one must equal.

Scores s_jk are [W, K, K]: annotator, truth, class voted for. Communities have the index m.
"""

import numpy as np
from scipy.special import digamma, logsumexp

from tests.methods.reference import softmax

PRECISION = 5.0
STRENGTH = 10.0
INNER = 5


def variance(V):
    return np.diagonal(V, axis1=-2, axis2=-1)


def tangent(a, m, V):
    """One update of the auxiliary vector of the Knowles-Minka bound."""
    return softmax(m + (0.5 - a) * variance(V))


def message(a, n, m):
    """Precision and linear term that votes n send to scores with mean m."""
    N = n.sum(axis=-1)[..., None]
    Lam = -N[..., None] * a[..., :, None] * a[..., None, :] * (a[..., :, None] + a[..., None, :])
    K = a.shape[-1]
    Lam[..., range(K), range(K)] = N * a * (1 - a)
    return Lam, n - N * a + times(Lam, m)


def times(A, x):
    return np.einsum("...ij,...j->...i", A, x)


def expected_log(a, m, V):
    var = variance(V)
    norm = 0.5 * (a**2 * var).sum(axis=-1) + logsumexp(m + (1 - 2 * a) * var / 2, axis=-1)
    return m - norm[..., None]


def community_prior(K, iterations=50):
    """(m0, V0): [K, K] and [K, K, K]."""
    means, covariances = [], []
    for k in range(K):
        n = np.zeros(K)
        n[k] = max(7 / 3 * (K - 1) - 1, 0)
        mu, T, m, V, a = np.zeros(K), np.eye(K), np.zeros(K), np.eye(K), np.full(K, 1 / K)
        for _ in range(iterations):
            a = tangent(a, m, V)
            Lam, h = message(a, n, m)
            V = np.linalg.inv(T + Lam)
            m = V @ (T @ mu + h)
            Vmu = np.linalg.inv(np.eye(K) + T)
            mu = Vmu @ T @ m
            R = np.eye(K) + 0.5 * (V + Vmu + np.outer(m - mu, m - mu))
            T = 1.5 * np.linalg.inv(R)
        means.append(m)
        covariances.append(V)
    return np.array(means), np.array(covariances)


def fit(task, annotator, label, r, n_classes, iterations, gold=None):
    """r: first memberships [W, M]. -> phi, (r, U)."""
    K, n_tasks = n_classes, task.max() + 1
    W, M = r.shape
    identity = np.eye(K)
    m0, V0 = community_prior(K)
    P0 = np.linalg.inv(V0)
    U, VU = np.tile(m0, (M, 1, 1)), np.tile(V0, (M, 1, 1, 1))
    Lam, h = np.zeros((W, K, K, K)), np.zeros((W, K, K))
    a, nu = np.full((W, K, K), 1 / K), np.ones(K)
    gamma = STRENGTH + r.sum(axis=0)
    for _ in range(iterations):
        # 1, 2
        Vc = np.linalg.inv(PRECISION * identity + Lam)
        S = np.einsum("jkab,jmkb->jmka", Vc, PRECISION * U + h[:, None])
        VU = np.linalg.inv(P0 + PRECISION * r.sum(axis=0)[:, None, None, None] * identity)
        U = times(VU, times(P0, m0) + PRECISION * np.einsum("jm,jmka->mka", r, S))
        S = np.einsum("jkab,jmkb->jmka", Vc, PRECISION * U + h[:, None])
        # 3
        misfit = ((S - U) ** 2).sum(axis=-1) + np.trace(VU, axis1=-2, axis2=-1)
        evidence = -0.5 * np.einsum("jmka,jkab,jmkb->jmk", S, Lam, S) + np.einsum(
            "jka,jmka->jmk", h, S
        )
        log_r = (
            digamma(gamma) - digamma(gamma.sum()) + (-PRECISION / 2 * misfit + evidence).sum(axis=2)
        )
        r = softmax(log_r)
        gamma = STRENGTH + r.sum(axis=0)
        # 4
        mb = np.einsum("jm,mka->jka", r, U)
        off = U[None] - mb[:, None]
        C = identity / PRECISION + np.einsum("jm,jmka,jmkb->jkab", r, off, off)
        P = np.linalg.inv(C)
        V = np.linalg.inv(P + Lam)
        m = times(V, times(P, mb) + h)
        # 5
        a = tangent(a, m, V)
        log_v = expected_log(a, m, V)
        score = np.tile(digamma(nu) - digamma(nu.sum()), (n_tasks, 1))
        np.add.at(score, task, log_v[annotator, :, label])
        phi = softmax(score)
        if gold is not None:
            phi[gold >= 0] = np.eye(K)[gold[gold >= 0]]
        nu = 1 + phi.sum(axis=0)
        # 6
        n = np.zeros((W, K, K))
        np.add.at(n, (annotator, slice(None), label), phi[task])
        Lam, h = message(a, n, m)
        for _ in range(INNER):
            V = np.linalg.inv(P + Lam)
            m = times(V, times(P, mb) + h)
            a = tangent(a, m, V)
            new_Lam, new_h = message(a, n, m)
            Lam, h = (Lam + new_Lam) / 2, (h + new_h) / 2
    return phi, (r, U)
