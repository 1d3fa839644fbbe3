"""One sweep of PTBCC over a block of tasks: equations (11) and (12), and the sums of (8) to (10).

i is a task, j an annotator, k a truth, s a prototype, and c a cell: the n_c votes of one task for
one class l. Everything is expressed as odds against the first prototype, s = 0, so that S prototypes
need D = S - 1 numbers, and two need one. With d = 1..D for the others:

    D_ldk    = E log v_dkl - E log v_0kl
    q_cd     = sum_k phi_ik D_ldk
    (11)     theta_jid / theta_ji0 = exp(E log pi_jd - E log pi_j0) exp(q_cd) = r_d, so
             theta_jid = r_d / (1 + sum_d r_d)
    (12)     phi_ik proportional to exp(E log tau_k + sum_c n_c E log v_0kl + sum_cd Theta_cd D_ldk),
             where Theta_cd is the sum of theta_jid over the votes of the cell

The entropy of theta is the sum over votes of log(1 + sum_d r_d) - sum_d theta_jid log r_d.

Tasks are processed in runs whose numbers stay in the cache. Each step is one flat loop over the
cells or votes of a run: the loops over those of a single task are short, and each would cost a
mispredicted branch.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Floats, Known, Votes
from finegold.kernels.compiling import ONE, ZERO, inlined, kernel
from finegold.kernels.numerics import LARGE, exp_buffer, fill_scores, normalise, subtract_largest

# scores per run
SCRATCH = 1024
# of an annotator; beyond, a vote is practically certain
MAX_LOG_ODDS = 150.0
# of a cell; beyond, odds are computed in logs, since those of two votes must fit into a float
MAX_CELL_LOG_ODDS = 300.0


class Model(NamedTuple):
    # [K] E log tau
    log_tau: Floats
    # [W, D] E log pi_jd - E log pi_j0, at most MAX_LOG_ODDS, at least -MAX_LOG_ODDS
    log_odds_pi: Floats
    # [L, K] E log v_0kl
    log_v: Floats
    # [L, D, K] D_ldk
    log_odds_v: Floats


class Sums(NamedTuple):
    # [K] sum_i phi_ik
    tau: Floats
    # [W, D] sum_i theta_jid
    pi: Floats
    # [L, K] sum over the votes for l of phi_ik
    total: Floats
    # [L, D, K] sum over the votes for l of phi_ik theta_jid
    v: Floats


@kernel
def start(
    votes: Votes,
    phi: Floats,
    v: Floats,
    raw_pi: Floats,
    raw_v: Floats,
    pi: Floats,
    confusion: Floats,
) -> None:
    """theta_s = sum_k phi_ik v_skl, the same for all votes of a cell (the paper's initialisation)."""
    # v, raw_v and confusion are [L, S, K]. raw_pi [W, S] and raw_v are sums of theta before it is
    # normalised, pi and confusion after.
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


@kernel
def sweep(
    K: Any, D: Any, votes: Votes, known: Known, model: Model, phi: Floats, sums: Sums
) -> tuple[float, float, float]:
    """Return the largest change of phi, the sum of its log-normalisers, and theta's entropy without
    the part that follows from pi.
    """
    # D is an object as long as there are prototypes but the first.
    task_ptr, cell_ptr, cell_class, annotator = votes
    log_tau, log_odds_pi, log_v, log_odds_v = model
    change, log_norm, entropy, product = 0.0, 0.0, 0.0, 1.0
    n_classes, others, n_tasks = np.uint64(len(K)), np.uint64(len(D)), np.uint64(phi.shape[0])
    step = max(SCRATCH // len(K), 1)
    most_cells, most_votes = step * len(K), votes_of_a_run(task_ptr, cell_ptr, np.uint64(step))
    q, odds = np.empty((most_cells, len(D))), np.empty((most_cells, len(D)))
    theta, score = np.empty((most_cells, len(D))), np.empty(most_cells)
    task, opens = np.empty(most_cells, np.uint32), np.empty(most_votes, np.uint8)
    odds_pi = log_odds_pi.copy()
    exp_buffer(odds_pi.reshape(-1), odds_pi.size)
    for first in range(ZERO, n_tasks, np.uint64(step)):
        end = min(first + np.uint64(step), n_tasks)
        cells, label = cell_ptr[task_ptr[first] :], cell_class[task_ptr[first] : task_ptr[end]]
        n_cells, truth, p = np.uint64(label.size), known[first:end], phi[first:end]
        who = annotator[cells[ZERO] : cells[n_cells]]
        locate(task_ptr[first : end + ONE], cells, task[:n_cells], opens[: who.size])

        # q_cd and its exponential
        largest = 0.0
        for c in range(n_cells):
            i, voted = np.uint64(task[c]), np.uint64(label[c])
            for d in range(others):
                x = 0.0
                for k in range(n_classes):
                    x += p[i, k] * log_odds_v[voted, d, k]
                q[c, d], odds[c, d], theta[c, d] = x, x, 0.0
                largest = max(largest, x)

        # (11), summed by cell and by annotator
        if largest > MAX_CELL_LOG_ODDS:
            entropy += assign_in_logs(
                D, cells[: n_cells + ONE], who, log_odds_pi, q, theta, sums.pi
            )
        else:
            exp_buffer(odds.reshape(-1), np.int64(n_cells) * len(D))
            cell: Any = ZERO
            for vote in range(np.uint64(who.size)):
                cell += np.uint64(opens[vote])
                j = np.uint64(who[vote])
                total = 1.0
                for d in range(others):
                    total += odds_pi[j, d] * odds[cell, d]
                scale = 1.0 / total
                for d in range(others):
                    theta_jid = odds_pi[j, d] * odds[cell, d] * scale
                    theta[cell, d] += theta_jid
                    sums.pi[j, d] += theta_jid
                product *= total
                if product > LARGE:
                    entropy += math.log(product)
                    product = 1.0

        # (12)
        fill_scores(K, end - first, log_tau, score)
        for c in range(n_cells):
            at, voted = np.uint64(task[c]) * n_classes, np.uint64(label[c])
            n = np.float64(cells[c + ONE] - cells[c])
            for k in range(n_classes):
                added = n * log_v[voted, k]
                for d in range(others):
                    added += theta[c, d] * log_odds_v[voted, d, k]
                score[at + k] += added
        log_norm += subtract_largest(K, end - first, score, truth)
        exp_buffer(score, np.int64(end - first) * len(K))
        moved, log_sum = normalise(K, end - first, score, truth, p, sums.tau)
        change, log_norm = max(change, moved), log_norm + log_sum

        # the sums in (10)
        for c in range(n_cells):
            i, voted = np.uint64(task[c]), np.uint64(label[c])
            n = np.float64(cells[c + ONE] - cells[c])
            for d in range(others):
                entropy -= theta[c, d] * q[c, d]
            for k in range(n_classes):
                sums.total[voted, k] += n * p[i, k]
                for d in range(others):
                    sums.v[voted, d, k] += theta[c, d] * p[i, k]
    return change, log_norm, entropy + math.log(product)


@inlined
def votes_of_a_run(task_ptr: Any, cell_ptr: Any, step: Any) -> Any:
    """Return the number of votes of the largest run of this many tasks."""
    most: Any = 0
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, step):
        end = min(first + step, n_tasks)
        most = max(most, np.int64(cell_ptr[task_ptr[end]] - cell_ptr[task_ptr[first]]))
    return most


@inlined
def locate(task_ptr: Any, cell_ptr: Any, task: NDArray[np.uint32], opens: Any) -> None:
    """Set task[c] to the task of cell c of a run; mark the first vote of each cell but the first in
    `opens`.
    """
    # The task is a sum of marks, because no task is empty.
    task[:], opens[:] = 0, 0
    for i in range(ONE, np.uint64(task_ptr.size) - ONE):
        task[task_ptr[i] - task_ptr[ZERO]] = 1
    for c in range(ONE, np.uint64(task.size)):
        task[c] += task[c - ONE]
        opens[cell_ptr[c] - cell_ptr[ZERO]] = 1


@kernel
def assign_in_logs(
    D: Any, cell_ptr: Any, who: Any, log_odds_pi: Floats, q: Floats, theta: Floats, pi: Floats
) -> float:
    """Add (11) to theta and pi for the votes of a run whose odds would overflow; return the sum of
    log(1 + sum_d r_d).
    """
    log_sum, others = 0.0, np.uint64(len(D))
    for c in range(np.uint64(cell_ptr.size) - ONE):
        for vote in range(cell_ptr[c] - cell_ptr[ZERO], cell_ptr[c + ONE] - cell_ptr[ZERO]):
            j = np.uint64(who[vote])
            largest = 0.0
            for d in range(others):
                largest = max(largest, log_odds_pi[j, d] + q[c, d])
            total = math.exp(-largest)
            for d in range(others):
                total += math.exp(log_odds_pi[j, d] + q[c, d] - largest)
            for d in range(others):
                theta_jid = math.exp(log_odds_pi[j, d] + q[c, d] - largest) / total
                theta[c, d] += theta_jid
                pi[j, d] += theta_jid
            log_sum += largest + math.log(total)
    return log_sum
