"""Update the annotators of CBCC between two sweeps: small matrices for every annotator and truth.

Annotators are processed in groups of X, and x = 0..X-1 is the index within a group: votes n, means
m and so on are [G, K, K, X] (group, truth k, class voted for, annotator), precisions [G, K, K, K,
X], memberships r [G, M, X]. Messages of the votes (Lam, h) are combined with the prior that the
communities give to an annotator's scores (precision P, linear term b). U [M, K, K] are the means of
the communities' scores, w the precision of annotators around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.kernels import Floats
from finegold.kernels.jit import kernel
from finegold.kernels.numerics import exp_buffer, log_buffer


def scratch(X: int) -> tuple[Floats, Floats, Floats]:
    """Return scratch memory for the functions below: three rows of X numbers."""
    return np.empty(X), np.empty(X), np.empty(X)


@kernel
def invert(A: Any, room: Any) -> None:
    """Invert a symmetric positive definite matrix in place with the sweep operator, one pivot after
    the other.
    """
    # Only the lower triangle is used; sweeping all pivots leaves -A^-1 there.
    K, _, X = A.shape
    scale, factor = room[0], room[1]
    for p in range(K):
        for x in range(X):
            scale[x] = 1.0 / A[p, p, x]
            A[p, p, x] = -scale[x]
        for i in range(K):
            if i != p:
                row = A[i, p] if i > p else A[p, i]
                for x in range(X):
                    factor[x] = row[x] * scale[x]
                for c in range(i + 1):
                    if c != p:
                        column, entry = A[c, p] if c > p else A[p, c], A[i, c]
                        for x in range(X):
                            entry[x] -= factor[x] * column[x]
        for i in range(K):
            if i != p:
                row = A[i, p] if i > p else A[p, i]
                for x in range(X):
                    row[x] *= scale[x]
    for i in range(K):
        for c in range(i + 1):
            for x in range(X):
                A[i, c, x] = -A[i, c, x]
                A[c, i, x] = A[i, c, x]


@kernel
def times(A: Any, y: Any, out: Any) -> None:
    K, _, X = A.shape
    for i in range(K):
        for x in range(X):
            out[i, x] = A[i, 0, x] * y[0, x]
        for c in range(1, K):
            for x in range(X):
                out[i, x] += A[i, c, x] * y[c, x]


@kernel
def softmax(y: Any, room: Any) -> None:
    """Replace y by softmax(y) along its first axis; room[0] is the largest y, room[1] the sum of
    exp(y - largest).
    """
    largest, total = room[0], room[1]
    n, X = y.shape
    for x in range(X):
        largest[x] = y[0, x]
    for i in range(1, n):
        for x in range(X):
            largest[x] = max(largest[x], y[i, x])
    for i in range(n):
        for x in range(X):
            y[i, x] -= largest[x]
    exp_buffer(y.reshape(-1), y.size)
    for x in range(X):
        total[x] = y[0, x]
    for i in range(1, n):
        for x in range(X):
            total[x] += y[i, x]
    for i in range(n):
        for x in range(X):
            y[i, x] /= total[x]


@kernel
def tangent(m: Any, V: Any, a: Any, room: Any) -> None:
    """Set a to softmax(m + (1/2 - a) var): one step towards the tightest bound."""
    K, X = m.shape
    for i in range(K):
        for x in range(X):
            a[i, x] = m[i, x] + (0.5 - a[i, x]) * V[i, i, x]
    softmax(a, room)


@kernel
def message(n: Any, m: Any, a: Any, keep: float, Lam: Any, h: Any, room: Any) -> None:
    """Lam_ll = N a_l (1 - a_l), Lam_lr = -N a_l a_r (a_l + a_r), h = n - N a + Lam m; `keep`
    weights the old values.
    """
    K, X = n.shape
    new, N = 1.0 - keep, room[0]
    for x in range(X):
        N[x] = n[0, x]
    for i in range(1, K):
        for x in range(X):
            N[x] += n[i, x]
    for i in range(K):
        for x in range(X):
            h[i, x] = keep * h[i, x] + new * (n[i, x] - N[x] * a[i, x])
        for c in range(K):
            for x in range(X):
                weight = 1.0 - a[i, x] if i == c else -a[c, x] * (a[i, x] + a[c, x])
                value = N[x] * a[i, x] * weight
                h[i, x] += new * value * m[c, x]
                Lam[i, c, x] = keep * Lam[i, c, x] + new * value


@kernel
def expected_log(m: Any, V: Any, a: Any, out: Any, room: Any) -> None:
    """Approximate E log softmax(s)_l: m_l - sum a^2 var / 2 - log sum exp(m + (1 - 2 a) var / 2)."""
    K, X = m.shape
    for i in range(K):
        for x in range(X):
            out[i, x] = m[i, x] + (0.5 - a[i, x]) * V[i, i, x]
    softmax(out, room)
    norm, total, exponent = room
    log_buffer(total, X, exponent)
    for x in range(X):
        norm[x] += total[x]
    for i in range(K):
        for x in range(X):
            norm[x] += 0.5 * a[i, x] * a[i, x] * V[i, i, x]
    for i in range(K):
        for x in range(X):
            out[i, x] = m[i, x] - norm[x]


@kernel
def scores(P: Any, b: Any, Lam: Any, h: Any, V: Any, right: Any, m: Any, room: Any) -> None:
    """Compute the posterior of the scores: V = (P + Lam)^-1, m = V (b + h)."""
    K, X = b.shape
    for i in range(K):
        for x in range(X):
            right[i, x] = b[i, x] + h[i, x]
        for c in range(K):
            for x in range(X):
                V[i, c, x] = P[i, c, x] + Lam[i, c, x]
    invert(V, room)
    times(V, right, m)


@kernel
def listen(
    n: Floats,
    P: Floats,
    b: Floats,
    repeats: int,
    m: Floats,
    a: Floats,
    Lam: Floats,
    h: Floats,
    room: Any,
) -> None:
    """Compute new messages from the votes n, then move them halfway towards their fixed point
    `repeats` times.
    """
    # The means m of the scores and the points a, where the bound touches, move along.
    groups, K, _, X = n.shape
    V, right = np.empty((K, K, X)), np.empty((K, X))
    for j in range(groups):
        for k in range(K):
            message(n[j, k], m[j, k], a[j, k], 0.0, Lam[j, k], h[j, k], room)
            for _ in range(repeats):
                scores(P[j, k], b[j, k], Lam[j, k], h[j, k], V, right, m[j, k], room)
                tangent(m[j, k], V, a[j, k], room)
                message(n[j, k], m[j, k], a[j, k], 0.5, Lam[j, k], h[j, k], room)


@kernel
def conditional(w: float, Lam: Any, Vc: Any, room: Any) -> None:
    """Vc = (w I + Lam)^-1: the covariance of the scores of an annotator whose community is known."""
    K, _, X = Lam.shape
    for i in range(K):
        for c in range(K):
            for x in range(X):
                Vc[i, c, x] = Lam[i, c, x]
        for x in range(X):
            Vc[i, i, x] += w
    invert(Vc, room)


@kernel
def conditional_mean(w: float, Vc: Any, u: Any, h: Any, right: Any, S: Any) -> None:
    """S = Vc (w u + h)"""
    K, X = h.shape
    for i in range(K):
        for x in range(X):
            right[i, x] = w * u[i] + h[i, x]
    times(Vc, right, S)


@kernel
def pull(w: float, U: Floats, r: Floats, Lam: Floats, h: Floats, total: Floats, room: Any) -> None:
    """total_mk = sum_j r_jm S_jmk: the sum of the scores of a community's annotators."""
    groups, K, _, X = h.shape
    Vc, right, S = np.empty((K, K, X)), np.empty((K, X)), np.empty((K, X))
    for j in range(groups):
        for k in range(K):
            conditional(w, Lam[j, k], Vc, room)
            for g in range(U.shape[0]):
                conditional_mean(w, Vc, U[g, k], h[j, k], right, S)
                for i in range(K):
                    for x in range(X):
                        total[g, k, i] += r[j, g, x] * S[i, x]


@kernel
def assign(
    w: float, log_rho: Floats, U: Floats, Lam: Floats, h: Floats,
    r: Floats, P: Floats, b: Floats, m: Floats, a: Floats, log_v: Floats, room: Any,
) -> None:  # fmt: skip
    """Compute memberships r, the prior (P, b) that they give to each annotator's scores, and the
    expected logs of v.
    """
    # log_rho [M] are the log sizes of the communities and the certainty of their scores. a moves
    # along.
    groups, K, _, X = h.shape
    V, right, S = np.empty((K, K, X)), np.empty((K, X)), np.empty((K, X))
    for j in range(groups):
        for g in range(U.shape[0]):
            r[j, g] = log_rho[g]
        for k in range(K):
            conditional(w, Lam[j, k], V, room)
            for g in range(U.shape[0]):
                conditional_mean(w, V, U[g, k], h[j, k], right, S)
                # how well S fits community and votes: -w/2 |S - u|^2 - S' Lam S / 2 + h' S
                for i in range(K):
                    for x in range(X):
                        r[j, g, x] += (
                            h[j, k, i, x] * S[i, x] - 0.5 * w * (S[i, x] - U[g, k, i]) ** 2
                        )
                    for c in range(K):
                        for x in range(X):
                            r[j, g, x] -= 0.5 * S[i, x] * Lam[j, k, i, c, x] * S[c, x]
        softmax(r[j], room)
        for k in range(K):
            # One Gaussian for the mixture: mean mb, P = (I / w + sum_m r_m (U_m - mb)(U_m -
            # mb)')^-1.
            mean, off, precision = right, S, P[j, k]
            mean[:] = 0.0
            precision[:] = 0.0
            for g in range(U.shape[0]):
                for i in range(K):
                    for x in range(X):
                        mean[i, x] += r[j, g, x] * U[g, k, i]
            for g in range(U.shape[0]):
                for i in range(K):
                    for x in range(X):
                        off[i, x] = U[g, k, i] - mean[i, x]
                for i in range(K):
                    for c in range(K):
                        for x in range(X):
                            precision[i, c, x] += r[j, g, x] * off[i, x] * off[c, x]
            for i in range(K):
                for x in range(X):
                    precision[i, i, x] += 1.0 / w
            invert(precision, room)
            times(precision, mean, b[j, k])
            scores(P[j, k], b[j, k], Lam[j, k], h[j, k], V, right, m[j, k], room)
            tangent(m[j, k], V, a[j, k], room)
            expected_log(m[j, k], V, a[j, k], log_v[j, k], room)
