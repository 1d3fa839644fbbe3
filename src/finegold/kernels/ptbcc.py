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

from finegold.kernels import Floats, Known, Votes
from finegold.kernels.compiling import ONE, ZERO, kernel
from finegold.kernels.numerics import LARGE, exp_buffer, fill_scores, softmax

# scores per run
SCRATCH = 1024
# of an annotator; beyond, a vote is practically certain
MAX_LOG_ODDS = 150.0
# of a cell: odds of more are divided, since those of two votes must fit into a float
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
def sweep(
    K: Any,
    D: Any,
    votes: Votes,
    places: Any,
    known: Known,
    model: Model,
    phi: Floats,
    sums: Sums,
) -> tuple[float, float, float]:
    """Return the largest change of phi, the sum of its log-normalisers, and theta's entropy without
    the part that follows from pi.
    """
    # D is an object as long as there are prototypes but the first. places: the task of each cell,
    # and the cell of each vote, both numbered from the first of the block.
    task_ptr, cell_ptr, cell_class, annotator = votes
    log_tau, log_odds_pi, log_v, log_odds_v = model
    change, log_norm, entropy, product = 0.0, 0.0, 0.0, 1.0
    n_classes, others, n_tasks = np.uint64(len(K)), np.uint64(len(D)), np.uint64(phi.shape[0])
    step = max(SCRATCH // len(K), 1)
    # exp(q_cd) / exp(shift_c) and 1 / exp(shift_c), where the shift is 0 for usual odds
    q, odds = np.empty((step * len(K), len(D))), np.empty((step * len(K), len(D)))
    one, theta = np.empty(step * len(K)), np.empty((step * len(K), len(D)))
    score, odds_pi = np.empty(step * len(K)), log_odds_pi.copy()
    exp_buffer(odds_pi.reshape(-1), odds_pi.size)
    for first in range(ZERO, n_tasks, np.uint64(step)):
        end = min(first + np.uint64(step), n_tasks)
        cells, label = cell_ptr[task_ptr[first] :], cell_class[task_ptr[first] : task_ptr[end]]
        n_cells, p = np.uint64(label.size), phi[first:end]
        who, before = annotator[cells[ZERO] : cells[n_cells]], task_ptr[first] - task_ptr[ZERO]
        task = places[0][before : before + n_cells]
        cell = places[1][cells[ZERO] - cell_ptr[task_ptr[ZERO]] :]

        # q_cd and its exponential
        for c in range(n_cells):
            i, voted, shift = np.uint64(task[c]) - first, np.uint64(label[c]), 0.0
            for d in range(others):
                x = 0.0
                for k in range(n_classes):
                    x += p[i, k] * log_odds_v[voted, d, k]
                q[c, d], odds[c, d], theta[c, d] = x, x, 0.0
                shift = max(shift, x - MAX_CELL_LOG_ODDS)
            one[c] = 1.0
            if shift > 0.0:
                one[c] = math.exp(-shift)
                entropy += shift * np.float64(cells[c + ONE] - cells[c])
                for d in range(others):
                    odds[c, d] -= shift
        exp_buffer(odds.reshape(-1), np.int64(n_cells) * len(D))

        # (11), summed by cell and by annotator
        for vote in range(np.uint64(who.size)):
            c, j = np.uint64(cell[vote]) - before, np.uint64(who[vote])
            total = one[c]
            for d in range(others):
                total += odds_pi[j, d] * odds[c, d]
            scale = 1.0 / total
            for d in range(others):
                theta_jid = odds_pi[j, d] * odds[c, d] * scale
                theta[c, d] += theta_jid
                sums.pi[j, d] += theta_jid
            product *= total
            if product > LARGE:
                entropy += math.log(product)
                product = 1.0

        # (12)
        fill_scores(K, end - first, log_tau, score)
        for c in range(n_cells):
            at, voted = (np.uint64(task[c]) - first) * n_classes, np.uint64(label[c])
            n = np.float64(cells[c + ONE] - cells[c])
            for k in range(n_classes):
                added = n * log_v[voted, k]
                for d in range(others):
                    added += theta[c, d] * log_odds_v[voted, d, k]
                score[at + k] += added
        moved, log_sum = softmax(K, end - first, score, known[first:end], p, sums.tau)
        change, log_norm = max(change, moved), log_norm + log_sum

        # the sums in (10)
        for c in range(n_cells):
            i, voted = np.uint64(task[c]) - first, np.uint64(label[c])
            n = np.float64(cells[c + ONE] - cells[c])
            for d in range(others):
                entropy -= theta[c, d] * q[c, d]
            for k in range(n_classes):
                sums.total[voted, k] += n * p[i, k]
                for d in range(others):
                    sums.v[voted, d, k] += theta[c, d] * p[i, k]
    return change, log_norm, entropy + math.log(product)
