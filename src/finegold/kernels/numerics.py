"""Exponentials and softmax of whole buffers.

`math.exp` in a loop is one call per element. Plain arithmetic is vectorised by the compiler, which
takes an eighth of the time and is accurate to the last digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from finegold.kernels import Floats, Known
from finegold.kernels.compiling import ONE, ZERO, kernel, kernel_as_written

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# below, exp(x) is not a normal number; a posterior of 1e-308 serves as zero
MIN_ARGUMENT = -708.0
# adding it rounds a number to an integer, which the last bits then hold
ROUNDING = 1.5 * 2.0**52


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
        exponent = np.float64(shifted).view(np.int64) << 52
        x[i] = np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


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
