"""Functions of numbers and of whole buffers: exp, log, digamma, log-gamma, softmax, expected logs
of Dirichlets.

`math.exp` in a loop is one call per element. Plain arithmetic is vectorised by the compiler, which
takes an eighth of the time and is accurate to the last digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from finegold.kernels import Floats, Known
from finegold.kernels.compiling import ONE, ZERO, Kernel, kernel, kernel_as_written

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# below, exp(x) is not a normal number; a posterior of 1e-308 serves as zero
MIN_ARGUMENT = -708.0
# adding it rounds a number to an integer, which the last bits then hold
ROUNDING = 1.5 * 2.0**52


def _recast(_: Any, number: Any) -> Any:
    """Return the type, and the instructions, of the bits of a float as an integer, or of the
    opposite.
    """
    from numba import types

    to = types.int64 if isinstance(number, types.Float) else types.float64
    return to(number), lambda context, builder, _, given: builder.bitcast(
        given[0], context.get_value_type(to)
    )


recast: Any = Kernel(_recast, intrinsic=True)


# if reordered, adding and subtracting ROUNDING would cancel
@kernel_as_written
def exp_buffer(x: Floats, n: Any) -> None:
    """Replace x by exp(x), for x up to 700."""
    # exp(x) = 2**e exp(r), with an integer e and |r| <= ln(2)/2. exp(r) = 1 + r + r**2 p(r), where
    # p interpolates at the ten Chebyshev points of that range. 2**e is added to the bits of the
    # exponent.
    for i in range(n):
        z = max(x[i], MIN_ARGUMENT)
        shifted = z * LOG2_E + ROUNDING
        e = shifted - ROUNDING
        r = (z - e * LN2_HIGH) - e * LN2_LOW
        p = 2.510038549551032e-08
        p = p * r + 2.7620088445409746e-07
        p = p * r + 2.7557268459997064e-06
        p = p * r + 2.4801521295954376e-05
        p = p * r + 1.9841269863053618e-04
        p = p * r + 1.3888888917213717e-03
        p = p * r + 8.333333333330062e-03
        p = p * r + 4.166666666662413e-02
        p = p * r + 1.6666666666666669e-01
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        x[i] = recast(recast(p) + (recast(shifted) << 52))


# Rows are passed as array and index: creating a view of a row would cost more than the loop over
# it.


@kernel
def add_row(scale: Any, x: Floats, k: int, total: Floats) -> None:
    for u in range(total.size):
        total[u] += scale * x[k, u]


@kernel
def dot_row(x: Floats, y: Floats, k: int) -> Any:
    total = 0.0
    for u in range(x.size):
        total += x[u] * y[k, u]
    return total


# a running product is converted to a logarithm when it exceeds this
LARGE = 1e90


@kernel
def fill_scores(K: Any, tasks: Any, log_tau: Floats, score: Floats) -> None:
    """Set score_ik = log tau_k, to which the votes are added later."""
    row = ZERO
    for _ in range(tasks):
        for k in range(np.uint64(len(K))):
            score[row + k] = log_tau[k]
        row += np.uint64(len(K))


@kernel
def subtract_largest(K: Any, tasks: Any, score: Floats, known: Known) -> float:
    """Subtract the maximum, so that exp cannot overflow. Return the sum of the maxima (of a known
    truth: its score).
    """
    total = 0.0
    row = ZERO
    for i in range(tasks):
        largest = score[row]
        for k in range(ONE, np.uint64(len(K))):
            largest = max(largest, score[row + k])
        total += largest if known[i] < 0 else score[row + np.uint64(known[i])]
        for k in range(np.uint64(len(K))):
            score[row + k] -= largest
        row += np.uint64(len(K))
    return total


@kernel
def normalise(
    K: Any, tasks: Any, weight: Floats, known: Known, phi: Floats, tau: Floats
) -> tuple[float, float]:
    """phi_ik = weight / sum. Return the largest change and the sum of the log-normalisers."""
    # weight [tasks * K] are the exponentials of the scores.
    change, log_sum, product = 0.0, 0.0, 1.0
    row = ZERO
    for i in range(tasks):
        if known[i] >= 0:
            tau[np.uint64(known[i])] += 1.0
            row += np.uint64(len(K))
            continue
        total = 0.0
        for k in range(np.uint64(len(K))):
            total += weight[row + k]
        product *= total
        if product > LARGE:
            log_sum += math.log(product)
            product = 1.0
        scale = 1.0 / total
        for k in range(np.uint64(len(K))):
            p = weight[row + k] * scale
            change = max(change, abs(p - phi[i, k]))
            phi[i, k] = p
            tau[k] += p
        row += np.uint64(len(K))
    return change, log_sum + math.log(product)


HALF_LOG_2PI = 0.9189385332046727
# the bits of sqrt(1/2)
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
SHIFT = 8
# from here on eight terms of the series are exact to the last digit
ASYMPTOTIC = 10.0


@kernel
def digamma_and_gammaln(x: float) -> tuple[float, float]:
    """Shift x up by the recurrences, then use the asymptotic series. NaN where x is not positive."""
    # a count from a damaged file: the recurrence would never end
    if not x > 0.0:
        return math.nan, math.nan
    reciprocals, product = 0.0, 1.0
    while x < ASYMPTOTIC:
        reciprocals += 1.0 / x
        product *= x
        x += 1.0
    log_x, y = math.log(x), 1.0 / x
    z = y * y
    # Bernoulli numbers B_2n / 2n, then B_2n / (2n (2n - 1)).
    psi = 1 / 12 - z * (
        1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12))))
    )
    gamma = 1 / 12 - z * (
        1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z / 156))))
    )
    log_gamma = (x - 0.5) * log_x - x + HALF_LOG_2PI + y * gamma
    if product != 1.0:
        log_gamma -= math.log(product)
    return log_x - 0.5 * y - z * psi - reciprocals, log_gamma


@kernel
def log_buffer(x: Floats, n: int, exponent: Floats) -> None:
    """Replace x by log(x), for positive normal numbers. x = 2**e m, with m between sqrt(1/2) and
    sqrt(2).
    """
    bits = x.view(np.int64)
    for i in range(n):
        e = (bits[i] - SQRT_HALF_BITS) >> 52
        exponent[i] = np.float64(np.int32(e))
        bits[i] -= e << 52
    for i in range(n):
        f = x[i] - 1.0
        s = f / (2.0 + f)
        z = s * s
        # polynomial of FreeBSD's log: minimax, error below 2**-58
        p = 1.479819860511658591e-01
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
    x: Floats, n: int, psi: Floats, log_gamma: Floats, scratch: Floats
) -> None:
    """Write both functions of the first n numbers x. scratch is [3, at least n]."""
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
        a = 1 / 12 - z * (
            1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12))))
        )
        b = 1 / 12 - z * (
            1 / 360
            - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z / 156))))
        )
        psi[i] = log_y[i] - 0.5 * t - z * a - ratio[i]
        log_gamma[i] = (y - 0.5) * log_y[i] - y + HALF_LOG_2PI + t * b - log_gamma[i]


@kernel
def expected_logs(counts: Floats, logs: Floats) -> float:
    """Write E log p for p ~ Dirichlet(counts[r]) of every row r to logs. Return the sum of log
    B(counts[r]).
    """
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
