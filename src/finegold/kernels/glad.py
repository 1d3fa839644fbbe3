"""GLAD: posteriors of a block of tasks, and the objective of the M step with its gradient.

With x_ij = alpha_j exp(beta_i), a vote is right with probability sigma(x_ij), so the log-odds of
"right" against any one wrong class are x_ij + log(K - 1): the E step needs no logistic function.
With e = exp(-|x|),

    log sigma(x) = min(x, 0) - log(1 + e),    log(1 - sigma(x)) = log sigma(x) - x,

The logarithms of a run of votes are computed as one logarithm of a product. Tasks are processed in
short runs, so that the exponentials of a run are one vectorised loop over a buffer that stays in
the cache.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from finegold.kernels import Floats, Known, Votes
from finegold.kernels.jit import ONE, ZERO, kernel
from finegold.kernels.numerics import LARGE, exp_buffer, normalise, subtract_largest

# numbers in a buffer: votes of the objective, scores of the posteriors
RUN = 1024


@kernel
def posteriors(
    K: Any,
    votes: Votes,
    known: Known,
    alpha: Floats,
    scale: Floats,
    log_others: float,
    phi: Floats,
    tau: Floats,
) -> float:
    """phi_ik = softmax of the sum over votes for k of (x_ij + log(K - 1)). Return the largest
    change.
    """
    # scale [T] is exp(beta), log_others is log(K - 1).
    task_ptr, cell_ptr, cell_class, annotator = votes
    change = 0.0
    step = max(np.uint64(RUN // len(K)), ONE)
    score = np.empty(np.int64(step) * len(K))
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, step):
        end = min(first + step, n_tasks)
        n = np.int64(end - first) * len(K)
        score[:n] = 0.0
        for i in range(first, end):
            row = (i - first) * np.uint64(len(K))
            for c in range(task_ptr[i], task_ptr[i + ONE]):
                ability = 0.0
                for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                    ability += alpha[annotator[vote]]
                size = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
                score[row + np.uint64(cell_class[c])] = ability * scale[i] + size * log_others
        subtract_largest(K, end - first, score, known[first:end])
        exp_buffer(score, n)
        moved, _ = normalise(K, end - first, score, known[first:end], phi[first:end], tau)
        change = max(change, moved)
    return change


@kernel
def add_run(
    task_ptr: Any, votes: Votes, phi: Floats, alpha: Floats, scale: Any, log_others: float, x: Floats, e: Floats,
    alpha_gradient: Floats, beta_gradient: Floats,
) -> float:  # fmt: skip
    """Return the run's part of Q, with e = exp(-|x|)."""
    # Add (P_ij - sigma_ij) times exp(beta_i) or alpha_j exp(beta_i) to the gradients.
    _, cell_ptr, cell_class, annotator = votes
    q, log_sum, product = 0.0, 0.0, 1.0
    at = ZERO
    for i in range(np.uint64(task_ptr.size) - ONE):
        slope = 0.0
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            right = phi[i, cell_class[c]]
            for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                j = np.uint64(annotator[vote])
                total = 1.0 + e[at]
                product *= total
                if product > LARGE:
                    log_sum += math.log(product)
                    product = 1.0
                q += min(x[at], 0.0) - (1.0 - right) * (x[at] + log_others)
                residual = right - (1.0 if x[at] >= 0.0 else e[at]) / total
                alpha_gradient[j] += residual * scale[i]
                slope += residual * alpha[j]
                at += ONE
        beta_gradient[i] = slope * scale[i]
    return q - log_sum - math.log(product)


@kernel
def objective(
    votes: Votes, phi: Floats, alpha: Floats, scale: Floats, log_others: float,
    alpha_gradient: Floats, beta_gradient: Floats,
) -> float:  # fmt: skip
    """Return sum_ij P_ij log sigma(x_ij) + (1 - P_ij)(log(1 - sigma(x_ij)) - log(K - 1)), with P_ij
    = phi_{i, y_ij}.
    """
    task_ptr, cell_ptr, _, annotator = votes
    last, room = np.uint64(task_ptr.size) - ONE, np.uint64(RUN)
    for i in range(last):
        room = max(room, cell_ptr[task_ptr[i + ONE]] - cell_ptr[task_ptr[i]])
    x, e = np.empty(np.int64(room)), np.empty(np.int64(room))
    q, first = 0.0, ZERO
    while first < last:
        # the votes of a run, or of one task
        end, limit = first + ONE, cell_ptr[task_ptr[first]] + np.uint64(RUN)
        while end < last and cell_ptr[task_ptr[end + ONE]] <= limit:
            end += ONE
        tasks, rows, scales = task_ptr[first : end + ONE], phi[first:end], scale[first:end]
        at = ZERO
        # x = alpha_j exp(beta_i) of the votes of the run, and -|x|
        for i in range(first, end):
            for vote in range(cell_ptr[task_ptr[i]], cell_ptr[task_ptr[i + ONE]]):
                x[at] = alpha[annotator[vote]] * scale[i]
                e[at] = -abs(x[at])
                at += ONE
        exp_buffer(e, np.int64(at))
        slopes = beta_gradient[first:end]
        q += add_run(tasks, votes, rows, alpha, scales, log_others, x, e, alpha_gradient, slopes)
        first = end
    return q
