"""One sweep of PTBCC over a run of tasks: equations (11) and (12), and the sums that (8)-(10) need.

Everything is written as odds against the first prototype, so S prototypes need S - 1 numbers and two need one.
With d = 1..S-1 standing for the other prototypes, j for an annotator, i for a task, c for a cell (votes of one
task for one class l):

    q_cd     = sum_k phi_ik D_ldk,  D_ldk = E log v_dkl - E log v_0kl          log-odds of the cell
    r_d      = exp(E log pi_jd - E log pi_j0) exp(q_cd)                         odds of the vote
    theta_d  = r_d / (1 + sum_d r_d)                                            (11)
    score_ik = E log tau_k + sum_c n_c E log v_0kl + Theta_cd D_ldk             (12) before normalising

where Theta_cd sums theta over the votes of a cell. No exponential per vote is needed. Tasks are taken in short
runs, so that each exponential is part of a long buffer and all scratch stays in the cache. Loops go over the
cells (votes) of a run, not over the cells of a task: short inner loops cost a mispredicted branch each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.kernels.exponential import exp_buffer
from karat.kernels.jit import ONE, ZERO, kernel
from karat.kernels.softmax import LARGE, fill_scores, normalise, subtract_largest

__all__ = ["start", "sweep"]

Floats = NDArray[np.float64]

WIDE_ODDS = 200.0  # runs with log-odds beyond it are worked out in logs, vote by vote


@kernel
def start(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    phi: Floats,
    v: Floats,  # IN  [L, S, K] first prototypes: class voted for, prototype, truth
    raw_pi: Floats,  # OUT [W, S] sums of theta before it is normalised
    raw_v: Floats,  # OUT [L, S, K]
    pi: Floats,  # OUT [W, S] sums of theta after
    confusion: Floats,  # OUT [L, S, K]
) -> None:
    """theta_s = sum_k phi_ik v_skl, the same for all votes of a cell (the paper's initialisation)."""
    n_prototypes, n_classes = v.shape[1], v.shape[2]
    theta = np.empty(n_prototypes)
    for i in range(np.uint64(task_ptr.size) - ONE):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = cell_class[c]
            n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            for s in range(n_prototypes):
                theta[s] = 0.0
                for k in range(n_classes):
                    theta[s] += phi[i, k] * v[label, s, k]
            total = theta.sum()
            for s in range(n_prototypes):
                share = theta[s] / total if total > 0.0 else 1.0 / n_prototypes
                for k in range(n_classes):
                    raw_v[label, s, k] += n * theta[s] * phi[i, k]
                    confusion[label, s, k] += n * share * phi[i, k]
                for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                    raw_pi[annotator[vote], s] += theta[s]
                    pi[annotator[vote], s] += share


@kernel
def find_rows(task_ptr: Any, row: NDArray[np.uint32]) -> None:
    """row[c] = the task, counted within the run, of the c-th cell of the run: a sum of marks, as no task is empty."""
    n_tasks = np.uint64(task_ptr.size) - ONE
    first, n_cells = task_ptr[ZERO], task_ptr[n_tasks] - task_ptr[ZERO]
    row[:n_cells] = 0
    for i in range(ONE, n_tasks):
        row[task_ptr[i] - first] = 1
    at = np.uint32(0)
    for c in range(n_cells):
        at += row[c]
        row[c] = at


@kernel
def log_odds(K: Any, D: Any, label: Any, row: Any, phi: Floats, diff: Floats, q: Floats) -> float:
    """q_cd = sum_k phi_ik D_ldk. -> the largest of them in size."""
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


@kernel
def weigh_votes_of_two(
    cell_ptr: Any,
    annotator: Any,
    record: Floats,
    q: Floats,
    odds: Floats,
    opens: Any,
    theta: Floats,
) -> float:
    """(11) for two prototypes, votes in one flat loop: `opens` marks the first vote of each cell but the first.

    theta[c] first holds the running sum at the end of cell c; differences of these are the sums of the cells.
    -> sum of log(1 + r) - theta q, the votes' part of the entropy.
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


@kernel
def weigh_votes(
    D: Any,
    cell_ptr: Any,
    annotator: Any,
    record: Floats,
    q: Floats,
    odds: Floats,
    theta: Floats,  # OUT [cells * D]
) -> float:
    """(11) for any number of prototypes. -> the votes' part of the entropy."""
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


@kernel
def weigh_votes_in_logs(
    D: Any, cell_ptr: Any, annotator: Any, log_odds_pi: Floats, record: Floats, q: Floats, theta: Floats
) -> float:
    """The same, safe for odds that no float can hold."""
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


@kernel
def open_records(odds_pi: Floats) -> Floats:
    """[W, 2 D]: an annotator's odds beside the sums of theta: a vote needs both, so they share a line of the cache."""
    W, D = odds_pi.shape
    record = np.zeros((W, 2 * D))
    record[:, :D] = odds_pi
    return record


@kernel
def weigh(
    D: Any,
    cell_ptr: Any,
    annotator: Any,
    log_odds_pi: Floats,
    record: Floats,  # IN/OUT
    wide: bool,
    q: Floats,
    odds: Floats,  # scratch, as long as q
    opens: Any,  # scratch, as long as there are votes
    theta: Floats,  # OUT [cells * D]
) -> float:
    """(11) for the votes of a run. -> their part of the entropy."""
    if wide:
        return weigh_votes_in_logs(D, cell_ptr, annotator, log_odds_pi, record, q, theta)
    n = (cell_ptr.size - 1) * len(D)
    odds[:n] = q[:n]
    exp_buffer(odds, n)
    if len(D) == 1:
        return weigh_votes_of_two(cell_ptr, annotator, record, q, odds, opens, theta)
    return weigh_votes(D, cell_ptr, annotator, record, q, odds, theta)


@kernel
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
    """score_ik += sum over the votes of sum_s theta_s E log v_skl: the sum in (12)."""
    for c in range(np.uint64(label.size)):
        at, voted = np.uint64(row[c]) * np.uint64(len(K)), np.uint64(label[c])
        n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
        for k in range(np.uint64(len(K))):
            total = n * base[voted, k]
            for d in range(np.uint64(len(D))):
                total += theta[c * np.uint64(len(D)) + d] * diff[voted, d, k]
            score[at + k] += total


@kernel
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
    """The sum in (10): phi_ik theta_s of every vote for l."""
    for c in range(np.uint64(label.size)):
        i, voted = np.uint64(row[c]), np.uint64(label[c])
        n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
        for k in range(np.uint64(len(K))):
            total[voted, k] += n * phi[i, k]
            for d in range(np.uint64(len(D))):
                confusion[voted, d, k] += theta[c * np.uint64(len(D)) + d] * phi[i, k]


@kernel
def sweep(
    K: Any,  # as long as there are classes (fixed_length)
    D: Any,  # as long as there are prototypes but the first
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: NDArray[np.int32],
    log_tau: Floats,  # IN [K]
    log_odds_pi: Floats,  # IN [W, D]
    odds_pi: Floats,  # IN [W, D] its exponential, cut off at exp(+-300)
    base: Floats,  # IN [L, K] E log v_0kl
    diff: Floats,  # IN [L, D, K]
    phi: Floats,  # IN/OUT [T, K]
    tau: Floats,  # OUT [K]
    pi: Floats,  # OUT [W, D]
    total: Floats,  # OUT [L, K]
    confusion: Floats,  # OUT [L, D, K]
    step: int,  # tasks in a run
    most_votes: int,  # in a run
) -> tuple[float, float, float]:
    """-> biggest change of phi, sum of log-normalisers of phi, theta's part of the entropy."""
    change, log_norm, entropy = 0.0, 0.0, 0.0
    most_cells = step * len(K)
    q, odds, theta = (
        np.empty(most_cells * len(D)),
        np.empty(most_cells * len(D)),
        np.empty(most_cells * len(D)),
    )
    score, row, opens = np.empty(most_cells), np.empty(most_cells, np.uint32), np.empty(most_votes, np.uint8)
    record = open_records(odds_pi)
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, np.uint64(step)):
        end = min(first + np.uint64(step), n_tasks)
        tasks, first_cell, end_cell = end - first, task_ptr[first], task_ptr[end]
        label, cells = cell_class[first_cell:end_cell], cell_ptr[first_cell : end_cell + ONE]
        find_rows(task_ptr[first : end + ONE], row)
        wide = log_odds(K, D, label, row, phi[first:end], diff, q) > WIDE_ODDS
        entropy += weigh(D, cells, annotator, log_odds_pi, record, wide, q, odds, opens, theta)
        fill_scores(K, tasks, log_tau, score)
        add_votes(K, D, cells, label, row, base, diff, theta, score)
        log_norm += subtract_largest(K, tasks, score, known[first:end])
        exp_buffer(score, np.int64(tasks) * len(K))
        moved, log_sum = normalise(K, tasks, score, known[first:end], phi[first:end], tau)
        log_norm += log_sum
        change = max(change, moved)
        count_confusions(K, D, cells, label, row, phi[first:end], theta, total, confusion)
    pi += record[:, len(D) :]
    return change, log_norm, entropy
