"""digamma and log-gamma of many numbers. One logarithm serves both, where SciPy needs several calls."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from karat.kernels.jit import kernel

__all__ = ["expected_logs"]

Floats = NDArray[np.float64]

HALF_LOG_2PI = 0.9189385332046727
ASYMPTOTIC = 10.0  # from here on, eight terms of the series are exact to the last digit


@kernel
def digamma_and_gammaln(x: float) -> tuple[float, float]:
    """Shift x up by the recurrences, then use the asymptotic series. Return NaN if x is not positive."""
    if not x > 0.0:  # e.g. from a damaged file; the recurrence would never end
        return math.nan, math.nan
    reciprocals, product = 0.0, 1.0
    while x < ASYMPTOTIC:
        reciprocals += 1.0 / x
        product *= x
        x += 1.0
    log_x, y = math.log(x), 1.0 / x
    z = y * y
    # Bernoulli numbers B_2n / 2n, then B_2n / (2n (2n - 1)).
    psi = 1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12)))))
    gamma = 1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z / 156)))))
    log_gamma = (x - 0.5) * log_x - x + HALF_LOG_2PI + y * gamma
    if product != 1.0:
        log_gamma -= math.log(product)
    return log_x - 0.5 * y - z * psi - reciprocals, log_gamma


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
