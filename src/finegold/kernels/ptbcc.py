"""One sweep of PTBCC over a run of tasks: equations (11) and (12), and the sums that (8)-(10) need.

Everything is expressed as odds against the first prototype, so S prototypes need S - 1 numbers and two need one.
With d = 1..S-1 for the other prototypes, j for an annotator, i for a task, c for a cell (the votes of one
task for one class l):

    q_cd     = sum_k phi_ik D_ldk,  D_ldk = E log v_dkl - E log v_0kl          log-odds of the cell
    r_d      = exp(E log pi_jd - E log pi_j0) exp(q_cd)                         odds of the vote
    theta_d  = r_d / (1 + sum_d r_d)                                            (11)
    score_ik = E log tau_k + sum_c n_c E log v_0kl + Theta_cd D_ldk             (12) before normalising

where Theta_cd sums theta over the votes of a cell. `weigh` computes theta, in loops over the cells and votes of a run
of tasks, because each short inner loop over those of one task costs a mispredicted branch. `sweep_cells` does the rest
cell by cell, for many classes or few votes.

With few classes, most cells of a task exist, and a loop over the tasks of a run is vectorised, but a loop over the
classes of a task is not. So `sweep_tables` writes posteriors and votes of a run to tables [class, task] with zeros for
absent cells: K x K multiplications per task cost less than finding out which are needed (bench/speed/ptbcc.py: 10 %
less time on adult). One compiled version serves any number of classes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Floats, Known, Votes
from finegold.kernels.jit import ONE, ZERO, inlined, kernel
from finegold.kernels.numerics import LARGE, exp_buffer, fill_scores, normalise, subtract_largest

SCRATCH = 1024  # numbers per buffer: small enough to stay in the first-level cache
MAX_LOG_ODDS = 300.0  # of an annotator; beyond, a vote is practically certain
MAX_DIRECT_LOG_ODDS = 200.0  # runs beyond this are computed in logs, vote by vote


class Model(NamedTuple):
    log_tau: Floats  # [K]
    log_odds_pi: Floats  # [W, D]
    base: Floats  # [L, K] E log v_0kl
    diff: Floats  # [L, D, K]


@kernel
def start(votes: Votes, phi: Floats, v: Floats, raw_pi: Floats, raw_v: Floats, pi: Floats, confusion: Floats) -> None:
    """theta_s = sum_k phi_ik v_skl, the same for all votes of a cell (the paper's initialisation)."""
    # v, raw_v and confusion are [L, S, K]: class voted for, prototype, truth. raw_pi [W, S] and raw_v are sums of theta
    # before it is normalised, pi and confusion after.
    task_ptr, cell_ptr, cell_class, annotator = votes
    n_prototypes, n_classes = v.shape[1], v.shape[2]
    theta = np.empty(n_prototypes)
    for i in range(np.uint64(task_ptr.size) - ONE):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = cell_class[c]
            n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            total = 0.0
            for s in range(n_prototypes):
                theta[s] = 0.0
                for k in range(n_classes):
                    theta[s] += phi[i, k] * v[label, s, k]
                total += theta[s]
            for s in range(n_prototypes):
                share = theta[s] / total if total > 0.0 else 1.0 / n_prototypes
                for k in range(n_classes):
                    raw_v[label, s, k] += n * theta[s] * phi[i, k]
                    confusion[label, s, k] += n * share * phi[i, k]
                for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                    raw_pi[annotator[vote], s] += theta[s]
                    pi[annotator[vote], s] += share


def sweep(
    K: Any, D: Any, votes: Votes, known: Known, model: Model, phi: Floats, sums: Any
) -> tuple[float, float, float]:
    """Return the largest change of phi, the sum of its log-normalisers, and theta's part of the entropy."""
    # D is as long as there are prototypes but the first. The sums are tau, pi [W, D], total [L, K], confusion [L, D,
    # K].
    if isinstance(K, tuple) and len(D):
        return sweep_tables(D, votes, known, model, phi, sums)
    return sweep_cells(K, D, votes, known, model, phi, sums)


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
    W, D = pi.shape
    for j in range(W):
        for d in range(D):
            pi[j, d] += record[j, D + d]


@inlined
def weigh(
    D: Any, cell_ptr: Any, annotator: Any, log_odds_pi: Floats, record: Floats, wide: bool,
    q: Floats, odds: Floats, opens: Any, theta: Floats,
) -> float:  # fmt: skip
    """Compute (11) for the votes of a run: theta [cells * D], and sums in record. Return their part of the entropy."""
    # It is the sum of log(1 + r) - theta q. odds and opens are scratch, as long as q and as there are votes.
    n_cells, others, at = np.uint64(cell_ptr.size) - ONE, np.uint64(len(D)), ZERO
    log_sum, product = 0.0, 1.0
    if wide:  # odds would overflow a float
        for c in range(n_cells):
            theta[at : at + others] = 0.0
            for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                j = np.uint64(annotator[vote])
                largest = 0.0
                for d in range(others):
                    largest = max(largest, log_odds_pi[j, d] + q[at + d])
                total = math.exp(-largest)
                for d in range(others):
                    total += math.exp(log_odds_pi[j, d] + q[at + d] - largest)
                for d in range(others):
                    share = math.exp(log_odds_pi[j, d] + q[at + d] - largest) / total
                    theta[at + d] += share
                    record[j, others + d] += share
                    log_sum -= share * q[at + d]
                log_sum += largest + math.log(total)
            at += others
        return log_sum
    n = (cell_ptr.size - 1) * len(D)
    for each in range(n):
        odds[each] = q[each]
    exp_buffer(odds, n)
    if len(D) == 1:  # one flat loop; `opens` marks the first vote of each cell but the first
        first, n_votes = cell_ptr[ZERO], cell_ptr[n_cells] - cell_ptr[ZERO]
        opens[:n_votes] = 0
        for cell in range(ONE, n_cells):
            opens[cell_ptr[cell] - first] = 1
        running = 0.0
        for vote in range(n_votes):
            at += np.uint64(opens[vote])
            j = np.uint64(annotator[first + vote])
            total = 1.0 + record[j, ZERO] * odds[at]
            share = 1.0 - 1.0 / total
            running += share
            theta[at] = running  # the sum up to the end of this cell; the differences are the sums of the cells
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
    for c in range(n_cells):
        theta[at : at + others] = 0.0
        for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
            j = np.uint64(annotator[vote])
            total = 1.0
            for d in range(others):
                total += record[j, d] * odds[at + d]
            scale = 1.0 / total
            for d in range(others):
                share = record[j, d] * odds[at + d] * scale
                theta[at + d] += share
                record[j, others + d] += share
            product *= total
            if product > LARGE:
                log_sum += math.log(product)
                product = 1.0
        for d in range(others):
            log_sum -= theta[at + d] * q[at + d]
        at += others
    return log_sum + math.log(product)


@kernel
def sweep_cells(
    K: Any, D: Any, votes: Votes, known: Known, model: Model, phi: Floats, sums: Any
) -> tuple[float, float, float]:
    task_ptr, cell_ptr, cell_class, annotator = votes
    log_tau, log_odds_pi, base, diff = model
    tau, pi, total, confusion = sums
    change, log_norm, entropy = 0.0, 0.0, 0.0
    step = max(SCRATCH // len(K), 1)
    most_cells, others = step * len(K), np.uint64(len(D))
    q, odds, theta = np.empty(most_cells * len(D)), np.empty(most_cells * len(D)), np.empty(most_cells * len(D))
    score, row = np.empty(most_cells), np.empty(most_cells, np.uint32)
    opens = np.empty(most_votes(task_ptr, cell_ptr, np.uint64(step)), np.uint8)
    record = open_records(log_odds_pi)
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, np.uint64(step)):
        end = min(first + np.uint64(step), n_tasks)
        tasks, first_cell, end_cell = end - first, task_ptr[first], task_ptr[end]
        label, cells = cell_class[first_cell:end_cell], cell_ptr[first_cell : end_cell + ONE]
        truth, posterior = known[first:end], phi[first:end]
        find_rows(task_ptr[first : end + ONE], row)

        largest, at = 0.0, ZERO  # q_cd = sum_k phi_ik D_ldk, and the largest absolute value
        for c in range(np.uint64(label.size)):
            i, voted = np.uint64(row[c]), np.uint64(label[c])
            for d in range(others):
                product = 0.0
                for k in range(np.uint64(len(K))):
                    product += posterior[i, k] * diff[voted, d, k]
                q[at] = product
                largest = max(largest, abs(product))
                at += ONE
        wide = largest > MAX_DIRECT_LOG_ODDS
        entropy += weigh(D, cells, annotator, log_odds_pi, record, wide, q, odds, opens, theta)

        fill_scores(K, tasks, log_tau, score)  # (12): add the sum over the votes of sum_s theta_s E log v_skl
        for c in range(np.uint64(label.size)):
            start, voted = np.uint64(row[c]) * np.uint64(len(K)), np.uint64(label[c])
            n = np.float64(cells[c + ONE] - cells[c])
            for k in range(np.uint64(len(K))):
                added = n * base[voted, k]
                for d in range(others):
                    added += theta[c * others + d] * diff[voted, d, k]
                score[start + k] += added
        log_norm += subtract_largest(K, tasks, score, truth)
        exp_buffer(score, np.int64(tasks) * len(K))
        moved, log_sum = normalise(K, tasks, score, truth, posterior, tau)
        log_norm += log_sum
        change = max(change, moved)

        for c in range(np.uint64(label.size)):  # the sum in (10): phi_ik theta_s over all votes for l
            i, voted = np.uint64(row[c]), np.uint64(label[c])
            n = np.float64(cells[c + ONE] - cells[c])
            for k in range(np.uint64(len(K))):
                total[voted, k] += n * posterior[i, k]
                for d in range(others):
                    confusion[voted, d, k] += theta[c * others + d] * posterior[i, k]
    add_records(record, pi)
    return change, log_norm, entropy


@kernel
def sweep_tables(
    D: Any, votes: Votes, known: Known, model: Model, phi: Floats, sums: Any
) -> tuple[float, float, float]:
    """Sweep with tables [class, task] of the votes, theta, scores and posteriors of a run."""
    task_ptr, cell_ptr, cell_class, annotator = votes
    log_tau, log_odds_pi, base, diff = model
    tau, pi, total, confusion = sums
    change, log_norm, entropy = 0.0, 0.0, 0.0
    i: Any
    voted: Any
    K, n_classes, others = np.uint64(log_tau.size), log_tau.size, np.uint64(len(D))
    step = max(SCRATCH // n_classes, 1)
    most_cells = step * n_classes
    q, odds, theta = np.empty(most_cells * len(D)), np.empty(most_cells * len(D)), np.empty(most_cells * len(D))
    size, share = np.zeros((n_classes, step)), np.zeros((n_classes * len(D), step))
    score, weight = np.zeros((n_classes, step)), np.zeros((n_classes, step))
    largest, summed, scale = np.empty(step), np.empty(step), np.empty(step)
    row, opens = np.empty(most_cells, np.uint32), np.empty(most_votes(task_ptr, cell_ptr, np.uint64(step)), np.uint8)
    record = open_records(log_odds_pi)
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, np.uint64(step)):
        end = min(first + np.uint64(step), n_tasks)
        tasks, first_cell, end_cell = end - first, task_ptr[first], task_ptr[end]
        label, cells = cell_class[first_cell:end_cell], cell_ptr[first_cell : end_cell + ONE]
        truth, posterior = known[first:end], phi[first:end]
        find_rows(task_ptr[first : end + ONE], row)

        for k in range(K):  # q = sum_k phi_ik D_ldk for all classes l and tasks i, whether there are votes or not
            for i in range(tasks):
                weight[k, i] = posterior[i, k]
        for voted in range(K):
            for d in range(others):
                at = voted * others + d
                for i in range(tasks):
                    share[at, i] = 0.0
                for k in range(K):
                    factor = diff[voted, d, k]
                    for i in range(tasks):
                        share[at, i] += weight[k, i] * factor
        largest_q, at = 0.0, ZERO
        for c in range(np.uint64(label.size)):  # copy q of the cells that have votes
            i, voted = np.uint64(row[c]), np.uint64(label[c])
            for d in range(others):
                q[at] = share[voted * others + d, i]
                largest_q = max(largest_q, abs(q[at]))
                at += ONE
        wide = largest_q > MAX_DIRECT_LOG_ODDS
        entropy += weigh(D, cells, annotator, log_odds_pi, record, wide, q, odds, opens, theta)
        size[:], share[:], at = 0.0, 0.0, ZERO
        for c in range(np.uint64(label.size)):  # write the number of votes of each cell, and their theta, to tables
            i, voted = np.uint64(row[c]), np.uint64(label[c])
            size[voted, i] = np.float64(cells[c + ONE] - cells[c])
            for d in range(others):
                share[voted * others + d, i] = theta[at]
                at += ONE

        for k in range(K):  # score_ik: (12) before normalisation
            for i in range(tasks):
                score[k, i] = log_tau[k]
            for voted in range(K):
                of_base, of_second = base[voted, k], diff[voted, ZERO, k]
                for i in range(tasks):
                    score[k, i] += size[voted, i] * of_base + share[voted * others, i] * of_second
                for d in range(ONE, others):
                    of_other = diff[voted, d, k]
                    for i in range(tasks):
                        score[k, i] += share[voted * others + d, i] * of_other
        for i in range(tasks):  # weight = exp(score - largest) / summed, by task
            largest[i], summed[i] = score[ZERO, i], 0.0
        for k in range(ONE, K):
            for i in range(tasks):
                largest[i] = max(largest[i], score[k, i])
        for k in range(K):
            for i in range(tasks):
                weight[k, i] = score[k, i] - largest[i]
        exp_buffer(weight.reshape(-1), weight.size)
        for k in range(K):
            for i in range(tasks):
                summed[i] += weight[k, i]
        for i in range(tasks):
            scale[i] = 1.0 / summed[i]
        for k in range(K):
            for i in range(tasks):
                weight[k, i] *= scale[i]
        for i in range(tasks):  # known truths stay
            if truth[i] >= 0:
                largest[i], summed[i] = score[np.uint64(truth[i]), i], 1.0
                for k in range(K):
                    weight[k, i] = posterior[i, k]
        moved, log_sum, product = 0.0, 0.0, 1.0
        for k in range(K):
            for i in range(tasks):
                moved = max(moved, abs(weight[k, i] - posterior[i, k]))
                posterior[i, k] = weight[k, i]
        for i in range(tasks):
            product *= summed[i]  # at most K to the power of the tasks of a run: no overflow
            log_sum += largest[i]
        for k in range(K):
            of_class = 0.0
            for i in range(tasks):
                of_class += weight[k, i]
            tau[k] += of_class
        log_norm += log_sum + math.log(product)
        change = max(change, moved)

        for voted in range(K):  # the sum in (10): phi_ik theta_s over all votes for l
            for k in range(K):
                total[voted, k] += product_sum(size[voted], weight[k], tasks)
                for d in range(others):
                    confusion[voted, d, k] += product_sum(share[voted * others + d], weight[k], tasks)
    add_records(record, pi)
    return change, log_norm, entropy


@inlined
def product_sum(a: Floats, b: Floats, n: Any) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total
