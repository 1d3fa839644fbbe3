"""One sweep of PTBCC over a run of tasks: equations (11) and (12), and the sums that (8)-(10) need.

Everything is written as odds against the first prototype, so S prototypes need S - 1 numbers and two need one.
With d = 1..S-1 standing for the other prototypes, j for an annotator, i for a task, c for a cell (votes of one
task for one class l):

    q_cd     = sum_k phi_ik D_ldk,  D_ldk = E log v_dkl - E log v_0kl          log-odds of the cell
    r        = exp(E log pi_jd - E log pi_j0) exp(q_cd)                         odds of the vote
    theta_d  = r_d / (1 + sum_d r_d)                                            (11)
    score_ik = E log tau_k + sum_c n_c E log v_0kl + Theta_cd D_ldk             (12) before normalising

where Theta_cd sums theta over the votes of a cell. No exponential per vote is needed. Tasks are taken in short
runs, so that each exponential is part of a long buffer and all scratch stays in the cache.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.kernels.exponential import exp_buffer
from karat.kernels.jit import ONE, ZERO, kernel

__all__ = ["start", "sweep"]

Floats = NDArray[np.float64]

WIDE_ODDS = 200.0  # cells whose log-odds are beyond it are worked out in logs, vote by vote
LARGE = 1e90  # a running product is turned into a logarithm when it grows beyond this


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
    for i in range(np.uint64(task_ptr.size) - ONE):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = cell_class[c]
            n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            total = 0.0
            for s in range(n_prototypes):
                for k in range(n_classes):
                    total += phi[i, k] * v[label, s, k]
            for s in range(n_prototypes):
                theta = 0.0
                for k in range(n_classes):
                    theta += phi[i, k] * v[label, s, k]
                share = theta / total if total > 0.0 else 1.0 / n_prototypes
                for k in range(n_classes):
                    raw_v[label, s, k] += n * theta * phi[i, k]
                    confusion[label, s, k] += n * share * phi[i, k]
                for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                    raw_pi[annotator[vote], s] += theta
                    pi[annotator[vote], s] += share


@kernel
def log_odds(
    K: Any, D: Any, first: int, end: int, task_ptr: Any, cell_class: Any, phi: Floats, diff: Floats, q: Floats
) -> bool:
    """q_cd = sum_k phi_ik D_ldk for the cells of tasks first..end. -> whether all are of moderate size."""
    moderate = True
    at = ZERO
    for i in range(first, end):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = np.uint64(cell_class[c])
            for d in range(np.uint64(len(D))):
                total = 0.0
                for k in range(np.uint64(len(K))):
                    total += phi[i, k] * diff[label, d, k]
                q[at] = total
                moderate &= abs(total) < WIDE_ODDS
                at += ONE
    return moderate


@kernel
def weigh_votes(
    D: Any,
    first: int,
    end: int,
    cell_ptr: Any,
    annotator: Any,
    odds_pi: Floats,
    q: Floats,
    odds: Floats,
    theta: Floats,  # OUT [cells, D]
    pi: Floats,  # OUT [W, D]
) -> float:
    """(11) for the votes of cells first..end. -> sum of log(1 + r) - theta q, their part of the entropy."""
    log_sum, product = 0.0, 1.0
    at = ZERO
    for c in range(first, end):
        for d in range(np.uint64(len(D))):
            theta[at + d] = 0.0
        for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
            j = np.uint64(annotator[vote])
            total = 1.0
            for d in range(np.uint64(len(D))):
                total += odds_pi[j, d] * odds[at + d]
            scale = 1.0 / total
            for d in range(np.uint64(len(D))):
                share = odds_pi[j, d] * odds[at + d] * scale
                theta[at + d] += share
                pi[j, d] += share
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
    D: Any,
    first: int,
    end: int,
    cell_ptr: Any,
    annotator: Any,
    log_odds_pi: Floats,
    q: Floats,
    theta: Floats,
    pi: Floats,
) -> float:
    """The same, safe for odds that no float can hold."""
    log_sum = 0.0
    at = ZERO
    for c in range(first, end):
        for d in range(np.uint64(len(D))):
            theta[at + d] = 0.0
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
                pi[j, d] += share
                log_sum -= share * q[at + d]
            log_sum += largest + math.log(total)
        at += np.uint64(len(D))
    return log_sum


@kernel
def score_classes(
    K: Any,
    D: Any,
    first: int,
    end: int,
    task_ptr: Any,
    cell_ptr: Any,
    cell_class: Any,
    log_tau: Floats,
    base: Floats,
    diff: Floats,
    theta: Floats,
    score: Floats,  # OUT [tasks, K]
) -> None:
    """score_ik = E log tau_k + sum over the votes of sum_s theta_s E log v_skl."""
    at, row = ZERO, ZERO
    for i in range(first, end):
        for k in range(np.uint64(len(K))):
            score[row + k] = log_tau[k]
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = np.uint64(cell_class[c])
            n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            for k in range(np.uint64(len(K))):
                score[row + k] += n * base[label, k]
            for d in range(np.uint64(len(D))):
                for k in range(np.uint64(len(K))):
                    score[row + k] += theta[at + d] * diff[label, d, k]
            at += np.uint64(len(D))
        row += np.uint64(len(K))


@kernel
def subtract_largest(K: Any, tasks: int, score: Floats, known: NDArray[np.int32]) -> float:
    """score - max, so that exp cannot overflow. -> sum of the maxima (for a known truth: of its score)."""
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
    tasks: int,
    weight: Floats,
    known: NDArray[np.int32],
    phi: Floats,  # OUT [tasks, K]
    tau: Floats,  # OUT [K]
) -> tuple[float, float]:
    """phi_ik = weight / sum; a known truth stays as it is. -> biggest change, sum of log(sum of weights)."""
    change, log_sum, product = 0.0, 0.0, 1.0
    row = ZERO
    for i in range(tasks):
        if known[i] >= 0:
            tau[known[i]] += 1.0
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


@kernel
def count_confusions(
    K: Any,
    D: Any,
    first: int,
    end: int,
    task_ptr: Any,
    cell_ptr: Any,
    cell_class: Any,
    phi: Floats,
    theta: Floats,
    total: Floats,  # OUT [L, K] sums over all prototypes
    confusion: Floats,  # OUT [L, D, K]
) -> None:
    """The sum in (10): phi_ik theta_s of every vote for l, by cell."""
    at = ZERO
    for i in range(first, end):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = np.uint64(cell_class[c])
            n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            for k in range(np.uint64(len(K))):
                total[label, k] += n * phi[i, k]
            for d in range(np.uint64(len(D))):
                for k in range(np.uint64(len(K))):
                    confusion[label, d, k] += theta[at + d] * phi[i, k]
            at += np.uint64(len(D))


@kernel
def sweep(
    K: Any,  # a tuple or array as long as there are classes (fixed_length)
    D: Any,  # and one as long as there are prototypes but the first
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
    tasks_at_once: int,
) -> tuple[float, float, float]:
    """-> biggest change of phi, sum of log-normalisers of phi, theta's part of the entropy."""
    change, log_norm, entropy = 0.0, 0.0, 0.0
    n_tasks = np.uint64(task_ptr.size) - ONE
    step = np.uint64(tasks_at_once)
    q = np.empty(tasks_at_once * len(K) * len(D))
    odds, theta = np.empty_like(q), np.empty_like(q)
    score = np.empty(tasks_at_once * len(K))
    bits = np.empty(max(q.size, score.size), np.int64)
    power = bits.view(np.float64)
    for first in range(ZERO, n_tasks, step):
        end = min(first + step, n_tasks)
        cells, last = task_ptr[first], task_ptr[end]
        moderate = log_odds(K, D, first, end, task_ptr, cell_class, phi, diff, q)
        if moderate:
            n = np.int64(last - cells) * len(D)
            odds[:n] = q[:n]
            exp_buffer(odds, n, bits, power)
            entropy += weigh_votes(D, cells, last, cell_ptr, annotator, odds_pi, q, odds, theta, pi)
        else:
            entropy += weigh_votes_in_logs(D, cells, last, cell_ptr, annotator, log_odds_pi, q, theta, pi)
        score_classes(K, D, first, end, task_ptr, cell_ptr, cell_class, log_tau, base, diff, theta, score)
        log_norm += subtract_largest(K, end - first, score, known[first:end])
        exp_buffer(score, np.int64(end - first) * len(K), bits, power)
        moved, log_sum = normalise(K, end - first, score, known[first:end], phi[first:end], tau)
        log_norm += log_sum
        change = max(change, moved)
        count_confusions(
            K, D, first, end, task_ptr, cell_ptr, cell_class, phi, theta, total, confusion
        )
    return change, log_norm, entropy
