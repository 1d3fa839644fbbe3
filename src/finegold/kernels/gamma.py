"""digamma and log-gamma, of one number and of whole buffers; the compiler turns the latter into vector instructions.

In a buffer every x is shifted by 8 at once, without a branch: with P(x) = x (x+1) ... (x+7) and y = x + 8,

    digamma(x) = digamma(y) - P'(x) / P(x),    log Gamma(x) = log Gamma(y) - log P(x),

and from 8 on a few terms of the asymptotic series are exact to the last digits. Good for x from 1e-30 to 1e30.
One number is shifted only as far as it needs, which is more accurate, but needs a branch.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import kernel

__all__ = ["digamma_and_gammaln", "digamma_and_gammaln_buffer", "log_buffer"]

Floats = NDArray[np.float64]

HALF_LOG_2PI = 0.9189385332046727
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
SHIFT = 8
ASYMPTOTIC = 10.0  # from here on eight terms of the series are exact to the last digit


@kernel
def digamma_and_gammaln(x: float) -> tuple[float, float]:
    """Shift x up by the recurrences, then use the asymptotic series. NaN where x is not positive."""
    if not x > 0.0:  # a count from a damaged file: the recurrence would never end
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
def log_buffer(x: Floats, n: int, exponent: Floats) -> None:
    """Replace x by log(x), for positive normal numbers. x = 2**e m, with m between sqrt(1/2) and sqrt(2)."""
    bits = x.view(np.int64)
    for i in range(n):
        e = (bits[i] - SQRT_HALF_BITS) >> 52
        exponent[i] = np.float64(np.int32(e))
        bits[i] -= e << 52
    for i in range(n):
        f = x[i] - 1.0
        s = f / (2.0 + f)
        z = s * s
        p = 1.479819860511658591e-01  # polynomial of FreeBSD's log: minimax, error below 2**-58
        p = p * z + 1.531383769920937332e-01
        p = p * z + 1.818357216161805012e-01
        p = p * z + 2.222219843214978396e-01
        p = p * z + 2.857142874366239149e-01
        p = p * z + 3.999999999940941908e-01
        p = p * z + 6.666666666666735130e-01
        half = 0.5 * f * f
        x[i] = exponent[i] * LN2_HIGH - ((half - (s * (half + p * z) + exponent[i] * LN2_LOW)) - f)


@kernel
def digamma_and_gammaln_buffer(
    x: Floats,  # IN
    n: int,
    psi: Floats,  # OUT
    log_gamma: Floats,  # OUT
    scratch: Floats,  # [3, at least n]
) -> None:
    ratio, log_y, exponent = scratch[0], scratch[1], scratch[2]
    for i in range(n):
        product, slope = x[i], 1.0
        for step in range(1, SHIFT):
            factor = x[i] + step
            slope = slope * factor + product
            product *= factor
        ratio[i] = slope / product
        log_gamma[i] = product
        log_y[i] = x[i] + SHIFT
    log_buffer(log_gamma, n, exponent)
    log_buffer(log_y, n, exponent)
    for i in range(n):
        y = x[i] + SHIFT
        t = 1.0 / y
        z = t * t
        # Bernoulli numbers B_2m / 2m, then B_2m / (2m (2m - 1)).
        a = 1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12)))))
        b = 1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z / 156)))))
        psi[i] = log_y[i] - 0.5 * t - z * a - ratio[i]
        log_gamma[i] = (y - 0.5) * log_y[i] - y + HALF_LOG_2PI + t * b - log_gamma[i]
