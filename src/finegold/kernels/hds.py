"""The likelihood of expected counts under one Dirichlet-multinomial per class, and the update of
its parameters.

For the truth k, annotator j's votes n_jk are drawn from Dirichlet-multinomial(alpha_k), A_k = sum_l
alpha_kl:

    value_k = sum_j [ log B(alpha_k + n_jk) - log B(alpha_k) ]
    up_kl   = sum_j [ psi(alpha_kl + n_jkl) - psi(alpha_kl) ],   down_k = sum_j [ psi(A_k + N_jk) -
    psi(A_k) ]

Then up - down is the gradient of the value, and alpha up / down is Minka's fixed point. Tables have
the vote before the truth, as in kernels/confusion.py. Labels that an annotator never gave
contribute nothing and are skipped: psi and log Gamma are computed only for the others, one
annotator at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Floats
from finegold.kernels.jit import kernel
from finegold.kernels.numerics import digamma_and_gammaln_buffer


@kernel
def evidence(n: Floats, alpha: Floats, value: Floats, up: Floats, down: Floats) -> None:
    """From n [W, L, K] and alpha [L, K], write value [K], up [L, K] and down [K]."""
    # c is the class voted for, l in the paper
    L, K = alpha.shape
    room = (L + 1) * K
    x, psi, gamma, scratch = np.empty(room), np.empty(room), np.empty(room), np.empty((3, room))
    psi_0, gamma_0 = _of_alpha(alpha)
    given, total = np.empty(L, np.int64), np.empty(K)
    value[:], up[:], down[:] = 0.0, 0.0, 0.0
    for j in range(n.shape[0]):
        labels = _prepare(n[j], alpha, given, total, x)
        digamma_and_gammaln_buffer(x, (labels + 1) * K, psi, gamma, scratch)
        for row in range(labels):
            c = given[row]
            for k in range(K):
                up[c, k] += psi[row * K + k] - psi_0[c, k]
                value[k] += gamma[row * K + k] - gamma_0[c, k]
        for k in range(K):
            down[k] += psi[labels * K + k] - psi_0[L, k]
            value[k] -= gamma[labels * K + k] - gamma_0[L, k]


@kernel
def expected_logs(n: Floats, alpha: Floats, logs: Floats) -> float:
    """logs_jlk = E log v_jkl for v_jk ~ Dirichlet(alpha_k + n_jk). Return the sum of n logs, for
    the bound.
    """
    expected = 0.0
    L, K = alpha.shape
    room = (L + 1) * K
    x, psi, gamma, scratch = np.empty(room), np.empty(room), np.empty(room), np.empty((3, room))
    psi_0, _ = _of_alpha(alpha)
    given, total = np.empty(L, np.int64), np.empty(K)
    for j in range(n.shape[0]):
        labels = _prepare(n[j], alpha, given, total, x)
        digamma_and_gammaln_buffer(x, (labels + 1) * K, psi, gamma, scratch)
        for c in range(L):
            for k in range(K):
                logs[j, c, k] = psi_0[c, k] - psi[labels * K + k]
        for row in range(labels):
            c = given[row]
            for k in range(K):
                logs[j, c, k] = psi[row * K + k] - psi[labels * K + k]
                expected += n[j, c, k] * logs[j, c, k]
    return expected


@kernel
def _prepare(n: Floats, alpha: Floats, given: NDArray[np.int64], total: Floats, x: Floats) -> int:
    """Write alpha + n of each given label (one row of truths each), then A + N, to x. Return the
    number of labels.
    """
    L, K = alpha.shape
    labels = 0
    total[:] = 0.0
    for c in range(L):
        votes = 0.0
        for k in range(K):
            votes += n[c, k]
            total[k] += alpha[c, k] + n[c, k]
        if votes > 0.0:
            for k in range(K):
                x[labels * K + k] = alpha[c, k] + n[c, k]
            given[labels] = c
            labels += 1
    for k in range(K):
        x[labels * K + k] = total[k]
    return labels


@kernel
def _of_alpha(alpha: Floats) -> tuple[Floats, Floats]:
    """Return psi and log Gamma of alpha; the last row holds those of its sums A."""
    L, K = alpha.shape
    x = np.zeros((L + 1, K))
    for c in range(L):
        for k in range(K):
            x[c, k] = alpha[c, k]
            x[L, k] += alpha[c, k]
    psi, gamma, scratch = np.empty(x.size), np.empty(x.size), np.empty((3, x.size))
    digamma_and_gammaln_buffer(x.ravel(), x.size, psi, gamma, scratch)
    return psi.reshape(L + 1, K), gamma.reshape(L + 1, K)
