"""The softmax of Gaussian scores, by the bound of D. A. Knowles, T. P. Minka: Non-conjugate Variational Message
Passing for Multinomial and Binary Regression. NIPS 2011.

Scores s ~ N(m, V) stand for the probabilities softmax(s). Votes n are summarised by a Gaussian message about s with
precision Lam and linear term h, which depends on a vector a of probabilities, the point of tangency of the bound.

Many such problems are solved side by side: vectors are [K, X] and matrices [K, K, X], where x = 0..X-1 is the index of
the problem, so that every inner loop runs over adjacent numbers and is vectorised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.exponential import exp_buffer
from finegold.kernels.gamma import log_buffer
from finegold.kernels.jit import kernel

__all__ = ["Scratch", "expected_log", "invert", "message", "scratch", "softmax", "tangent", "times"]

Floats = NDArray[np.float64]
Scratch = tuple[Floats, Floats, Floats]


def scratch(X: int) -> Scratch:
    """Return scratch memory for the functions below: three rows of X numbers."""
    return np.empty(X), np.empty(X), np.empty(X)


@kernel
def invert(A: Any, room: Any) -> None:
    """Invert a symmetric positive definite matrix in place with the sweep operator, one pivot after the other.

    Only the lower triangle is used; sweeping all pivots leaves -A^-1 there.
    """
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
                        column = A[c, p] if c > p else A[p, c]
                        eliminate(A[i, c], factor, column)
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
def eliminate(entry: Any, factor: Any, column: Any) -> None:
    for x in range(entry.size):
        entry[x] -= factor[x] * column[x]


@kernel
def times(A: Any, y: Any, out: Any) -> None:
    """out = A y"""
    K, _, X = A.shape
    for i in range(K):
        for x in range(X):
            out[i, x] = A[i, 0, x] * y[0, x]
        for c in range(1, K):
            for x in range(X):
                out[i, x] += A[i, c, x] * y[c, x]


@kernel
def softmax(y: Any, room: Any) -> None:
    """Replace y by softmax(y) along its first axis; room[0] is the largest y, room[1] the sum of exp(y - largest)."""
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
    """Lam_ll = N a_l (1 - a_l), Lam_lr = -N a_l a_r (a_l + a_r), h = n - N a + Lam m; `keep` weights the old values."""
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
