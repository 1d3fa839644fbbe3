"""Compute posteriors from the scores of a short run of tasks, and the terms that the evidence bound needs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import ONE, ZERO, kernel

__all__ = ["LARGE", "fill_scores", "normalise", "subtract_largest"]

Floats = NDArray[np.float64]

LARGE = 1e90  # a running product is converted to a logarithm when it exceeds this


@kernel
def fill_scores(K: Any, tasks: Any, log_tau: Floats, score: Floats) -> None:
    """Set score_ik = log tau_k, to which the votes are added later."""
    row = ZERO
    for _ in range(tasks):
        for k in range(np.uint64(len(K))):
            score[row + k] = log_tau[k]
        row += np.uint64(len(K))


@kernel
def subtract_largest(K: Any, tasks: Any, score: Floats, known: NDArray[np.int32]) -> float:
    """Subtract the maximum, so that exp cannot overflow. Return the sum of the maxima (of a known truth: its score)."""
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
    K: Any,
    tasks: Any,
    weight: Floats,  # IN [tasks * K] exponentials of the scores
    known: NDArray[np.int32],
    phi: Floats,  # IN/OUT [tasks, K]
    tau: Floats,  # OUT [K] sum of the posteriors
) -> tuple[float, float]:
    """phi_ik = weight / sum; known truths are not changed. Return the largest change and the sum of log-normalisers."""
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
