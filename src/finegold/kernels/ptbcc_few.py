"""One sweep of PTBCC for few classes: the sums of (10) and (12) over tables of all classes and tasks of a run.

With few classes, most cells of a task exist, and a loop over the tasks of a run is vectorised, but a loop over the
classes of a task is not. So posteriors and votes of a run are written to tables [class, task] with zeros for absent
cells, and K x K multiplications per task cost less than finding out which of them are needed. All inner loops go over
tasks, so that one compiled version serves any number of classes. The names and equations are those of ptbcc.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import ONE, ZERO, inlined, kernel
from finegold.kernels.numerics import exp_buffer
from finegold.kernels.ptbcc_votes import (
    MAX_DIRECT_LOG_ODDS,
    SCRATCH,
    add_records,
    find_rows,
    most_votes,
    open_records,
    weigh,
)

__all__ = ["sweep"]

Floats = NDArray[np.float64]


@inlined
def log_odds_of_all(K: Any, D: Any, tasks: Any, phi: Any, diff: Floats, weight: Floats, table: Floats) -> None:
    """Compute q = sum_k phi_ik D_ldk for all classes l and tasks i, whether there are votes or not."""
    for k in range(K):
        for i in range(tasks):
            weight[k, i] = phi[i, k]
    for voted in range(K):
        for d in range(np.uint64(len(D))):
            at = voted * np.uint64(len(D)) + d
            for i in range(tasks):
                table[at, i] = 0.0
            for k in range(K):
                factor = diff[voted, d, k]
                for i in range(tasks):
                    table[at, i] += weight[k, i] * factor


@inlined
def log_odds_of_cells(D: Any, label: Any, row: Any, table: Floats, q: Floats) -> float:
    """Copy q of the cells that have votes. Return the largest absolute value."""
    largest = 0.0
    at = ZERO
    for c in range(np.uint64(label.size)):
        i, voted = np.uint64(row[c]), np.uint64(label[c])
        for d in range(np.uint64(len(D))):
            q[at] = table[voted * np.uint64(len(D)) + d, i]
            largest = max(largest, abs(q[at]))
            at += ONE
    return largest


@inlined
def spread(D: Any, cell_ptr: Any, label: Any, row: Any, theta: Floats, votes: Floats, share: Floats) -> None:
    """Write the number of votes of each cell, and their theta, to tables."""
    votes[:] = 0.0
    share[:] = 0.0
    at = ZERO
    for c in range(np.uint64(label.size)):
        i, voted = np.uint64(row[c]), np.uint64(label[c])
        votes[voted, i] = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
        for d in range(np.uint64(len(D))):
            share[voted * np.uint64(len(D)) + d, i] = theta[at]
            at += ONE


@inlined
def add_votes(
    K: Any, D: Any, tasks: Any, log_tau: Floats, base: Floats, diff: Floats, votes: Floats, share: Floats, score: Floats
) -> None:
    """Compute score_ik: (12) before normalisation."""
    for k in range(K):
        for i in range(tasks):
            score[k, i] = log_tau[k]
        for voted in range(K):
            first, second = base[voted, k], diff[voted, ZERO, k]
            for i in range(tasks):
                score[k, i] += votes[voted, i] * first + share[voted * np.uint64(len(D)), i] * second
            for d in range(ONE, np.uint64(len(D))):
                further = diff[voted, d, k]
                for i in range(tasks):
                    score[k, i] += share[voted * np.uint64(len(D)) + d, i] * further


@inlined
def softmax(K: Any, tasks: Any, score: Floats, weight: Floats, largest: Floats, total: Floats, scale: Floats) -> None:
    """weight = exp(score - largest) / total, with the largest score and the total of each task."""
    for i in range(tasks):
        largest[i], total[i] = score[ZERO, i], 0.0
    for k in range(ONE, K):
        for i in range(tasks):
            largest[i] = max(largest[i], score[k, i])
    for k in range(K):
        for i in range(tasks):
            weight[k, i] = score[k, i] - largest[i]
    exp_buffer(weight.reshape(-1), weight.size)
    for k in range(K):
        for i in range(tasks):
            total[i] += weight[k, i]
    for i in range(tasks):
        scale[i] = 1.0 / total[i]
    for k in range(K):
        for i in range(tasks):
            weight[k, i] *= scale[i]


@inlined
def take_over(
    K: Any, tasks: Any, score: Floats, weight: Floats, largest: Floats, total: Floats, known: Any, phi: Any, tau: Floats
) -> tuple[float, float]:
    """Copy weight to phi where the truth is unknown. Return the largest change and the sum of the log-normalisers."""
    change, log_sum, product = 0.0, 0.0, 1.0
    for i in range(tasks):
        if known[i] >= 0:
            largest[i], total[i] = score[np.uint64(known[i]), i], 1.0
            for k in range(K):
                weight[k, i] = phi[i, k]
    for k in range(K):
        for i in range(tasks):
            change = max(change, abs(weight[k, i] - phi[i, k]))
            phi[i, k] = weight[k, i]
    for i in range(tasks):
        product *= total[i]  # at most K to the power of the tasks of a run: no overflow
        log_sum += largest[i]
    for k in range(K):
        summed = 0.0
        for i in range(tasks):
            summed += weight[k, i]
        tau[k] += summed
    return change, log_sum + math.log(product)


@inlined
def count_confusions(
    K: Any, D: Any, tasks: Any, weight: Floats, votes: Floats, share: Floats, total: Floats, confusion: Floats
) -> None:
    """Compute the sum in (10): phi_ik theta_s over all votes for l."""
    for voted in range(K):
        for k in range(K):
            total[voted, k] += product_sum(votes[voted], weight[k], tasks)
            for d in range(np.uint64(len(D))):
                confusion[voted, d, k] += product_sum(share[voted * np.uint64(len(D)) + d], weight[k], tasks)


@inlined
def product_sum(a: Floats, b: Floats, n: Any) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@kernel
def sweep(
    D: Any,  # has the length of the number of prototypes without the first
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: NDArray[np.int32],
    log_tau: Floats,
    log_odds_pi: Floats,
    base: Floats,
    diff: Floats,
    phi: Floats,
    tau: Floats,
    pi: Floats,
    total: Floats,
    confusion: Floats,
) -> tuple[float, float, float]:
    """Run one sweep, as `ptbcc.sweep` does."""
    change, log_norm, entropy = 0.0, 0.0, 0.0
    K, n_classes = np.uint64(log_tau.size), log_tau.size
    step = max(SCRATCH // n_classes, 1)
    most_cells = step * n_classes
    q, odds, theta = np.empty(most_cells * len(D)), np.empty(most_cells * len(D)), np.empty(most_cells * len(D))
    votes, share = np.zeros((n_classes, step)), np.zeros((n_classes * len(D), step))
    score, weight = np.zeros((n_classes, step)), np.zeros((n_classes, step))
    largest, summed, scale = np.empty(step), np.empty(step), np.empty(step)
    row, opens = np.empty(most_cells, np.uint32), np.empty(most_votes(task_ptr, cell_ptr, np.uint64(step)), np.uint8)
    record = open_records(log_odds_pi)
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, np.uint64(step)):
        end = min(first + np.uint64(step), n_tasks)
        tasks, first_cell, end_cell = end - first, task_ptr[first], task_ptr[end]
        label, cells = cell_class[first_cell:end_cell], cell_ptr[first_cell : end_cell + ONE]
        find_rows(task_ptr[first : end + ONE], row)
        log_odds_of_all(K, D, tasks, phi[first:end], diff, weight, share)
        wide = log_odds_of_cells(D, label, row, share, q) > MAX_DIRECT_LOG_ODDS
        entropy += weigh(D, cells, annotator, log_odds_pi, record, wide, q, odds, opens, theta)
        spread(D, cells, label, row, theta, votes, share)
        add_votes(K, D, tasks, log_tau, base, diff, votes, share, score)
        softmax(K, tasks, score, weight, largest, summed, scale)
        moved, log_sum = take_over(K, tasks, score, weight, largest, summed, known[first:end], phi[first:end], tau)
        count_confusions(K, D, tasks, weight, votes, share, total, confusion)
        log_norm += log_sum
        change = max(change, moved)
    add_records(record, pi)
    return change, log_norm, entropy
