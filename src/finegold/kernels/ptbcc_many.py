"""One sweep of PTBCC for many classes or few votes: the sums of (10) and (12) cell by cell, not K x K work per task.

Tasks are processed in short runs, so that exponentials are computed in long buffers and all scratch stays in the cache.
The names and equations are those of ptbcc.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import ONE, ZERO, inlined, kernel
from finegold.kernels.numerics import exp_buffer, fill_scores, normalise, subtract_largest
from finegold.kernels.ptbcc_votes import (
    MAX_DIRECT_LOG_ODDS,
    SCRATCH,
    add_records,
    find_rows,
    log_odds,
    most_votes,
    open_records,
    weigh,
)

__all__ = ["sweep"]

Floats = NDArray[np.float64]


@inlined
def add_votes(
    K: Any,
    D: Any,
    cell_ptr: Any,
    label: Any,
    row: Any,
    base: Floats,
    diff: Floats,
    theta: Floats,
    score: Floats,
) -> None:
    """Add the sum in (12), over the votes, of sum_s theta_s E log v_skl to score_ik."""
    for c in range(np.uint64(label.size)):
        at, voted = np.uint64(row[c]) * np.uint64(len(K)), np.uint64(label[c])
        n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
        for k in range(np.uint64(len(K))):
            total = n * base[voted, k]
            for d in range(np.uint64(len(D))):
                total += theta[c * np.uint64(len(D)) + d] * diff[voted, d, k]
            score[at + k] += total


@inlined
def count_confusions(
    K: Any,
    D: Any,
    cell_ptr: Any,
    label: Any,
    row: Any,
    phi: Floats,
    theta: Floats,
    total: Floats,  # OUT [L, K] sums over all prototypes
    confusion: Floats,  # OUT [L, D, K]
) -> None:
    """Compute the sum in (10): phi_ik theta_s over all votes for l."""
    for c in range(np.uint64(label.size)):
        i, voted = np.uint64(row[c]), np.uint64(label[c])
        n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
        for k in range(np.uint64(len(K))):
            total[voted, k] += n * phi[i, k]
            for d in range(np.uint64(len(D))):
                confusion[voted, d, k] += theta[c * np.uint64(len(D)) + d] * phi[i, k]


@kernel
def sweep(
    K: Any,  # as long as there are classes (Block.classes)
    D: Any,  # has the length of the number of prototypes without the first
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: NDArray[np.int32],
    log_tau: Floats,  # IN [K]
    log_odds_pi: Floats,  # IN [W, D]
    base: Floats,  # IN [L, K] E log v_0kl
    diff: Floats,  # IN [L, D, K]
    phi: Floats,  # IN/OUT [T, K]
    tau: Floats,  # OUT [K]
    pi: Floats,  # OUT [W, D]
    total: Floats,  # OUT [L, K]
    confusion: Floats,  # OUT [L, D, K]
) -> tuple[float, float, float]:
    """Return the largest change of phi, the sum of its log-normalisers, and theta's part of the entropy."""
    change, log_norm, entropy = 0.0, 0.0, 0.0
    step = max(SCRATCH // len(K), 1)
    most_cells = step * len(K)
    q, odds, theta = (
        np.empty(most_cells * len(D)),
        np.empty(most_cells * len(D)),
        np.empty(most_cells * len(D)),
    )
    score, row, opens = (
        np.empty(most_cells),
        np.empty(most_cells, np.uint32),
        np.empty(most_votes(task_ptr, cell_ptr, np.uint64(step)), np.uint8),
    )
    record = open_records(log_odds_pi)
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, np.uint64(step)):
        end = min(first + np.uint64(step), n_tasks)
        tasks, first_cell, end_cell = end - first, task_ptr[first], task_ptr[end]
        label, cells = cell_class[first_cell:end_cell], cell_ptr[first_cell : end_cell + ONE]
        find_rows(task_ptr[first : end + ONE], row)
        wide = log_odds(K, D, label, row, phi[first:end], diff, q) > MAX_DIRECT_LOG_ODDS
        entropy += weigh(D, cells, annotator, log_odds_pi, record, wide, q, odds, opens, theta)
        fill_scores(K, tasks, log_tau, score)
        add_votes(K, D, cells, label, row, base, diff, theta, score)
        log_norm += subtract_largest(K, tasks, score, known[first:end])
        exp_buffer(score, np.int64(tasks) * len(K))
        moved, log_sum = normalise(K, tasks, score, known[first:end], phi[first:end], tau)
        log_norm += log_sum
        change = max(change, moved)
        count_confusions(K, D, cells, label, row, phi[first:end], theta, total, confusion)
    add_records(record, pi)
    return change, log_norm, entropy
