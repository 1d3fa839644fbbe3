"""How likely expected counts are under one Dirichlet-multinomial a class, and where its parameters go next.

For the truth k, annotator j's votes n_jk are drawn from Dirichlet-multinomial(alpha_k), A_k = sum_l alpha_kl:

    value_k = sum_j [ log B(alpha_k + n_jk) - log B(alpha_k) ]
    up_kl   = sum_j [ psi(alpha_kl + n_jkl) - psi(alpha_kl) ],   down_k = sum_j [ psi(A_k + N_jk) - psi(A_k) ]

so that up - down is the slope of the value, and alpha up / down is Minka's fixed point. Tables have the vote before
the truth, as in kernels/confusion.py. Counts of exactly 0 add nothing and cost nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.kernels.dirichlet import digamma_and_gammaln
from karat.kernels.jit import kernel

__all__ = ["evidence", "expected_logs"]

Floats = NDArray[np.float64]


@kernel
def evidence(
    n: Floats,  # IN [W, L, K]
    alpha: Floats,  # IN [L, K]
    value: Floats,  # OUT [K]
    up: Floats,  # OUT [L, K]
    down: Floats,  # OUT [K]
) -> None:
    L, K = alpha.shape  # c runs over the classes voted for, the paper's l
    psi, gamma = np.empty((L + 1, K)), np.empty((L + 1, K))  # of alpha; last row: of its sum A
    _of_alpha(alpha, psi, gamma)
    value[:], up[:], down[:] = 0.0, 0.0, 0.0
    for j in range(n.shape[0]):
        for k in range(K):
            total, A = 0.0, 0.0
            for c in range(L):
                A += alpha[c, k]
                if n[j, c, k] > 0.0:
                    total += n[j, c, k]
                    p, g = digamma_and_gammaln(alpha[c, k] + n[j, c, k])
                    up[c, k] += p - psi[c, k]
                    value[k] += g - gamma[c, k]
            if total > 0.0:
                p, g = digamma_and_gammaln(A + total)
                down[k] += p - psi[L, k]
                value[k] -= g - gamma[L, k]


@kernel
def _of_alpha(alpha: Floats, psi: Floats, gamma: Floats) -> None:
    L, K = alpha.shape
    for k in range(K):
        A = 0.0
        for c in range(L):
            A += alpha[c, k]
            psi[c, k], gamma[c, k] = digamma_and_gammaln(alpha[c, k])
        psi[L, k], gamma[L, k] = digamma_and_gammaln(A)


@kernel
def expected_logs(n: Floats, alpha: Floats, logs: Floats) -> float:
    """logs_jlk = E log v_jkl for v_jk ~ Dirichlet(alpha_k + n_jk). -> sum of n logs, which the bound needs."""
    expected = 0.0
    L, K = alpha.shape
    psi, gamma = np.empty((L + 1, K)), np.empty((L + 1, K))
    _of_alpha(alpha, psi, gamma)
    for j in range(n.shape[0]):
        for k in range(K):
            total, A = 0.0, 0.0
            for c in range(L):
                A += alpha[c, k]
                total += n[j, c, k]
            of_sum = digamma_and_gammaln(A + total)[0]
            for c in range(L):
                has = n[j, c, k] > 0.0
                logs[j, c, k] = (digamma_and_gammaln(alpha[c, k] + n[j, c, k])[0] if has else psi[c, k]) - of_sum
                expected += n[j, c, k] * logs[j, c, k]
    return expected
