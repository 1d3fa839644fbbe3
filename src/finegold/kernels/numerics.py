"""Exponentials and softmax of whole buffers.

`math.exp` in a loop is one call per element. Plain arithmetic is vectorised by the compiler, which
takes an eighth of the time and is accurate to the last digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from finegold.kernels import Floats, Known
from finegold.kernels.compiling import ZERO, kernel, kernel_as_written

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


# replaces -inf in a score, so that the difference of two of them is 0
IMPOSSIBLE = -1e300
# what exp_buffer returns for anything below -708
MIN_EXP = 3.4e-308
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
def softmax(
    K: Any, tasks: Any, score: Floats, known: Known, phi: Floats, tau: Floats
) -> tuple[float, float]:
    """Set phi to the softmax of the scores, and add it to tau. Return the largest change and the
    sum of the log-normalisers (of a known truth: its score).

    Impossible classes get exactly 0; if all of a task are impossible, phi is uniform.
    """
    change, log_norm, product = 0.0, 0.0, 1.0
    n_classes, row = np.uint64(len(K)), ZERO
    for i in range(tasks):
        largest = IMPOSSIBLE
        for k in range(n_classes):
            score[row + k] = max(score[row + k], IMPOSSIBLE)
            largest = max(largest, score[row + k])
        log_norm += largest if known[i] < 0 else score[row + np.uint64(known[i])]
        for k in range(n_classes):
            score[row + k] -= largest
        row += n_classes
    exp_buffer(score, np.int64(tasks) * len(K))
    row = ZERO
    for i in range(tasks):
        if known[i] >= 0:
            tau[np.uint64(known[i])] += 1.0
            row += n_classes
            continue
        total = 0.0
        for k in range(n_classes):
            score[row + k] = score[row + k] if score[row + k] > MIN_EXP else 0.0
            total += score[row + k]
        product *= total
        if product > LARGE:
            log_norm += math.log(product)
            product = 1.0
        scale = 1.0 / total
        for k in range(n_classes):
            p = score[row + k] * scale
            change = max(change, abs(p - phi[i, k]))
            phi[i, k] = p
            tau[k] += p
        row += n_classes
    return change, log_norm + math.log(product)
