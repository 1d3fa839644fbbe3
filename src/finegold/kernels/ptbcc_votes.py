"""Compute theta of the votes of a run of tasks: equation (11).

Loops go over the cells (votes) of a run, not over the cells of a task, because each short inner loop costs a
mispredicted branch. No exponential per vote is needed. The names and equations are those of ptbcc.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import ONE, ZERO, inlined
from finegold.kernels.numerics import LARGE, exp_buffer

__all__ = [
    "MAX_DIRECT_LOG_ODDS",
    "SCRATCH",
    "add_records",
    "find_rows",
    "log_odds",
    "most_votes",
    "open_records",
    "weigh",
]

Floats = NDArray[np.float64]

SCRATCH = 1024  # numbers per buffer: small enough to stay in the first-level cache
MAX_LOG_ODDS = 300.0  # of an annotator; beyond, a vote is practically certain
MAX_DIRECT_LOG_ODDS = 200.0  # runs beyond this are computed in logs, vote by vote


@inlined
def most_votes(task_ptr: Any, cell_ptr: Any, step: Any) -> Any:
    """Return the number of votes of the largest run of this many tasks."""
    most: Any = 0
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, step):
        end = min(first + step, n_tasks)
        most = max(most, np.int64(cell_ptr[task_ptr[end]] - cell_ptr[task_ptr[first]]))
    return most


@inlined
def find_rows(task_ptr: Any, row: NDArray[np.uint32]) -> None:
    """Set row[c] to the task of cell c, counted within the run: a cumulative sum of marks, because no task is empty."""
    n_tasks = np.uint64(task_ptr.size) - ONE
    first, n_cells = task_ptr[ZERO], task_ptr[n_tasks] - task_ptr[ZERO]
    row[:n_cells] = 0
    for i in range(ONE, n_tasks):
        row[task_ptr[i] - first] = 1
    at = np.uint32(0)
    for c in range(n_cells):
        at += row[c]
        row[c] = at


@inlined
def log_odds(K: Any, D: Any, label: Any, row: Any, phi: Floats, diff: Floats, q: Floats) -> float:
    """Compute q_cd = sum_k phi_ik D_ldk. Return the largest absolute value."""
    largest = 0.0
    at = ZERO
    for c in range(np.uint64(label.size)):
        i, voted = np.uint64(row[c]), np.uint64(label[c])
        for d in range(np.uint64(len(D))):
            total = 0.0
            for k in range(np.uint64(len(K))):
                total += phi[i, k] * diff[voted, d, k]
            q[at] = total
            largest = max(largest, abs(total))
            at += ONE
    return largest


@inlined
def weigh_votes_of_two(
    cell_ptr: Any,
    annotator: Any,
    record: Floats,
    q: Floats,
    odds: Floats,
    opens: Any,
    theta: Floats,
) -> float:
    """Compute (11) for two prototypes in one flat loop. `opens` marks the first vote of each cell but the first.

    theta[c] first holds the cumulative sum at the end of cell c; the differences are the sums of the cells.
    Return the sum of log(1 + r) - theta q, the votes' part of the entropy.
    """
    n_cells = np.uint64(cell_ptr.size) - ONE
    first, n_votes = cell_ptr[ZERO], cell_ptr[n_cells] - cell_ptr[ZERO]
    opens[:n_votes] = 0
    for cell in range(ONE, n_cells):
        opens[cell_ptr[cell] - first] = 1
    log_sum, product, running = 0.0, 1.0, 0.0
    c = ZERO
    for vote in range(n_votes):
        c += np.uint64(opens[vote])
        j = np.uint64(annotator[first + vote])
        total = 1.0 + record[j, ZERO] * odds[c]
        share = 1.0 - 1.0 / total
        running += share
        theta[c] = running
        record[j, ONE] += share
        product *= total
        if product > LARGE:
            log_sum += math.log(product)
            product = 1.0
    before = 0.0
    for cell in range(n_cells):
        running = theta[cell]
        theta[cell] = running - before
        before = running
        log_sum -= theta[cell] * q[cell]
    return log_sum + math.log(product)


@inlined
def weigh_votes(
    D: Any,
    cell_ptr: Any,
    annotator: Any,
    record: Floats,
    q: Floats,
    odds: Floats,
    theta: Floats,  # OUT [cells * D]
) -> float:
    """Compute (11) for any number of prototypes. Return the votes' part of the entropy."""
    log_sum, product = 0.0, 1.0
    at = ZERO
    for c in range(np.uint64(cell_ptr.size) - ONE):
        theta[at : at + np.uint64(len(D))] = 0.0
        for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
            j = np.uint64(annotator[vote])
            total = 1.0
            for d in range(np.uint64(len(D))):
                total += record[j, d] * odds[at + d]
            scale = 1.0 / total
            for d in range(np.uint64(len(D))):
                share = record[j, d] * odds[at + d] * scale
                theta[at + d] += share
                record[j, np.uint64(len(D)) + d] += share
            product *= total
            if product > LARGE:
                log_sum += math.log(product)
                product = 1.0
        for d in range(np.uint64(len(D))):
            log_sum -= theta[at + d] * q[at + d]
        at += np.uint64(len(D))
    return log_sum + math.log(product)


@inlined
def weigh_votes_in_logs(
    D: Any, cell_ptr: Any, annotator: Any, log_odds_pi: Floats, record: Floats, q: Floats, theta: Floats
) -> float:
    """The same for odds that would overflow a float."""
    log_sum = 0.0
    at = ZERO
    for c in range(np.uint64(cell_ptr.size) - ONE):
        theta[at : at + np.uint64(len(D))] = 0.0
        for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
            j = np.uint64(annotator[vote])
            largest = 0.0
            for d in range(np.uint64(len(D))):
                largest = max(largest, log_odds_pi[j, d] + q[at + d])
            total = math.exp(-largest)
            for d in range(np.uint64(len(D))):
                total += math.exp(log_odds_pi[j, d] + q[at + d] - largest)
            for d in range(np.uint64(len(D))):
                share = math.exp(log_odds_pi[j, d] + q[at + d] - largest) / total
                theta[at + d] += share
                record[j, np.uint64(len(D)) + d] += share
                log_sum -= share * q[at + d]
            log_sum += largest + math.log(total)
        at += np.uint64(len(D))
    return log_sum


@inlined
def open_records(log_odds_pi: Floats) -> Floats:
    """Return [W, 2 D]: an annotator's odds next to the sums of theta. A vote needs both, so they share a cache line."""
    W, D = log_odds_pi.shape
    odds = np.empty(W * D)
    for j in range(W):
        for d in range(D):
            odds[j * D + d] = min(max(log_odds_pi[j, d], -MAX_LOG_ODDS), MAX_LOG_ODDS)
    exp_buffer(odds, W * D)
    record = np.zeros((W, 2 * D))
    for j in range(W):
        for d in range(D):
            record[j, d] = odds[j * D + d]
    return record


@inlined
def add_records(record: Floats, pi: Floats) -> None:
    """Add the sums of theta to pi."""
    W, D = pi.shape
    for j in range(W):
        for d in range(D):
            pi[j, d] += record[j, D + d]


@inlined
def weigh(
    D: Any,
    cell_ptr: Any,
    annotator: Any,
    log_odds_pi: Floats,
    record: Floats,  # IN/OUT
    wide: bool,
    q: Floats,
    odds: Floats,  # scratch, with the length of q
    opens: Any,  # scratch, with the length of the votes
    theta: Floats,  # OUT [cells * D]
) -> float:
    """Compute (11) for the votes of a run. Return their part of the entropy."""
    if wide:
        return weigh_votes_in_logs(D, cell_ptr, annotator, log_odds_pi, record, q, theta)
    n = (cell_ptr.size - 1) * len(D)
    for at in range(n):
        odds[at] = q[at]
    exp_buffer(odds, n)
    if len(D) == 1:
        return weigh_votes_of_two(cell_ptr, annotator, record, q, odds, opens, theta)
    return weigh_votes(D, cell_ptr, annotator, record, q, odds, theta)
