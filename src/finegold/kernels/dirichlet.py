"""Expected logarithms of Dirichlet variables: one logarithm serves digamma and log-gamma, SciPy needs several calls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.gamma import digamma_and_gammaln
from finegold.kernels.jit import kernel

__all__ = ["expected_logs"]

Floats = NDArray[np.float64]


@kernel
def expected_logs(counts: Floats, logs: Floats) -> float:
    """Write E log p for p ~ Dirichlet(counts[r]) of every row r to logs. Return the sum of log B(counts[r])."""
    log_beta = 0.0
    for r in range(counts.shape[0]):
        total = 0.0
        for k in range(counts.shape[1]):
            total += counts[r, k]
        psi_total, gamma_total = digamma_and_gammaln(total)
        log_beta -= gamma_total
        for k in range(counts.shape[1]):
            psi, gamma = digamma_and_gammaln(counts[r, k])
            logs[r, k] = psi - psi_total
            log_beta += gamma
    return log_beta
