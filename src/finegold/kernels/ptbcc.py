"""One sweep of PTBCC over a run of tasks: equations (11) and (12), and the sums that (8)-(10) need.

Everything is expressed as odds against the first prototype, so S prototypes need S - 1 numbers and
two need one. With d = 1..S-1 for the other prototypes, j for an annotator, i for a task, c for a
cell (the votes of one task for one class l):

    q_cd     = sum_k phi_ik D_ldk,  D_ldk = E log v_dkl - E log v_0kl          log-odds of the cell
    r_d      = exp(E log pi_jd - E log pi_j0) exp(q_cd)                         odds of the vote
    theta_d  = r_d / (1 + sum_d r_d)                                            (11)
    score_ik = E log tau_k + sum_c n_c E log v_0kl + Theta_cd D_ldk             (12) before
    normalising

where Theta_cd sums theta over the votes of a cell. `weigh` computes theta, in loops over the cells
and votes of a run of tasks, because each short inner loop over those of one task costs a
mispredicted branch. `sweep_cells` does the rest cell by cell, for many classes or few votes.

With few classes, most cells of a task exist, and a loop over the tasks of a run is vectorised, but
a loop over the classes of a task is not. So `sweep_tables` writes posteriors and votes of a run to
tables [class, task] with zeros for absent cells: K x K multiplications per task cost less than
finding out which are needed (bench/speed/ptbcc.py: 10 % less time on adult). One compiled version
serves any number of classes. Tables are as wide as whole vectors, and the largest of many numbers
is found among their bits: what does not fill a vector, and maxima of floats, are not vectorised (a
fifth less time).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Floats, Known, Votes
from finegold.kernels.jit import ONE, ZERO, inlined, kernel
from finegold.kernels.numerics import (
    LARGE,
    exp_buffer,
    fill_scores,
    normalise,
    recast,
    subtract_largest,
)

# numbers per buffer: small enough to stay in the first-level cache
SCRATCH = 1024
# numbers that a vectorised loop takes at a time; the width of tables is a multiple of it
LANES = 32
# of an annotator; beyond, a vote is practically certain
MAX_LOG_ODDS = 150.0
# runs beyond this are computed in logs, vote by vote; the odds of two votes fit a float
MAX_DIRECT_LOG_ODDS = 100.0


class Model(NamedTuple):
    # [K]
    log_tau: Floats
    # [W, D], at most MAX_LOG_ODDS, at least -MAX_LOG_ODDS
    log_odds_pi: Floats
    # [L, K] E log v_0kl
    base: Floats
    # [L, D, K]
    diff: Floats


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
    # v, raw_v and confusion are [L, S, K]: class voted for, prototype, truth. raw_pi [W, S] and
    # raw_v are sums of theta before it is normalised, pi and confusion after.
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
    """Return the largest change of phi, the sum of its log-normalisers, and theta's part of the
    entropy.
    """
    # D is as long as there are prototypes but the first. The sums are tau, pi [W, D], total [L, K],
    # confusion [L, D, K].
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
def locate(
    task_ptr: Any, cell_ptr: Any, label: Any, apart: Any, slot: NDArray[np.uint32], opens: Any
) -> None:
    """Set slot[c] to the task of cell c within the run, plus `apart` times its class; mark first
    votes in `opens`.
    """
    # The task is a cumulative sum of marks, because no task is empty. The first vote of all is not
    # marked.
    n_tasks, n_cells = np.uint64(task_ptr.size) - ONE, np.uint64(label.size)
    first_cell, first_vote, row = task_ptr[ZERO], cell_ptr[ZERO], ZERO
    slot[:n_cells], opens[: cell_ptr[n_cells] - first_vote] = 0, 0
    for i in range(ONE, n_tasks):
        slot[task_ptr[i] - first_cell] = 1
    for c in range(n_cells):
        row += np.uint64(slot[c])
        slot[c] = row + np.uint64(label[c]) * apart
        opens[cell_ptr[c] - first_vote] = 1
    opens[ZERO] = 0


@inlined
def open_records(log_odds_pi: Floats) -> Floats:
    """Return [W, 2 D]: an annotator's odds next to the sums of theta. A vote needs both, so they
    share a cache line.
    """
    W, D = log_odds_pi.shape
    odds = log_odds_pi.copy().reshape(-1)
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
    D: Any, cell_ptr: Any, annotator: Any, log_odds_pi: Floats, record: Floats, slot: Any, apart: Any,
    q: Floats, odds: Floats, opens: Any, ends: Floats, theta: Floats,
) -> float:  # fmt: skip
    """Compute (11) for the votes of a run: theta, summed by cell, and sums in record. Return their
    entropy.
    """
    # Prototype d of cell c is at slot[c] + d apart in q, in theta, which is zero, and in odds,
    # which is scratch, as is ends [votes]. The entropy is the sum of log(1 + r) - theta q.
    n_cells, others, largest = np.uint64(cell_ptr.size) - ONE, np.uint64(len(D)), 0
    for at in range(q.size):
        largest = max(largest, recast(abs(q[at])))
        odds[at] = q[at]
    log_sum, product = 0.0, 1.0
    # odds would overflow a float
    if recast(largest) > MAX_DIRECT_LOG_ODDS:
        for c in range(n_cells):
            first = np.uint64(slot[c])
            for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                j = np.uint64(annotator[vote])
                highest = 0.0
                for d in range(others):
                    highest = max(highest, log_odds_pi[j, d] + q[first + d * apart])
                total = math.exp(-highest)
                for d in range(others):
                    total += math.exp(log_odds_pi[j, d] + q[first + d * apart] - highest)
                for d in range(others):
                    share = math.exp(log_odds_pi[j, d] + q[first + d * apart] - highest) / total
                    theta[first + d * apart] += share
                    record[j, others + d] += share
                log_sum += highest + math.log(total)
        return log_sum - product_sum(theta, q, q.size)
    exp_buffer(odds, q.size)
    # one flat loop; `opens` marks the first vote of each cell but the first
    if len(D) == 1:
        first_vote, running, cell, right = cell_ptr[ZERO], 0.0, ZERO, ONE
        n_votes = cell_ptr[n_cells] - first_vote
        # two votes at a time: sums and products wait for the one before
        while right < n_votes:
            left = right - ONE
            cell += np.uint64(opens[left])
            j = np.uint64(annotator[first_vote + left])
            total = 1.0 + record[j, ZERO] * odds[np.uint64(slot[cell])]
            cell += np.uint64(opens[right])
            right_j = np.uint64(annotator[first_vote + right])
            right_total = 1.0 + record[right_j, ZERO] * odds[np.uint64(slot[cell])]
            share, right_share = 1.0 - 1.0 / total, 1.0 - 1.0 / right_total
            ends[left] = running + share
            running += share + right_share
            ends[right] = running
            record[j, ONE] += share
            record[right_j, ONE] += right_share
            product *= total * right_total
            if product > LARGE:
                log_sum += math.log(product)
                product = 1.0
            right += ONE + ONE
        # an odd number: the last one
        if right == n_votes:
            left = n_votes - ONE
            cell += np.uint64(opens[left])
            j = np.uint64(annotator[first_vote + left])
            total = 1.0 + record[j, ZERO] * odds[np.uint64(slot[cell])]
            share = 1.0 - 1.0 / total
            ends[left] = running + share
            record[j, ONE] += share
            product *= total
        before = 0.0
        for c in range(n_cells):
            end = ends[cell_ptr[c + ONE] - first_vote - ONE]
            theta[np.uint64(slot[c])] = end - before
            before = end
        return log_sum + math.log(product) - product_sum(theta, q, q.size)
    for c in range(n_cells):
        first = np.uint64(slot[c])
        for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
            j = np.uint64(annotator[vote])
            total = 1.0
            for d in range(others):
                total += record[j, d] * odds[first + d * apart]
            scale = 1.0 / total
            for d in range(others):
                share = record[j, d] * odds[first + d * apart] * scale
                theta[first + d * apart] += share
                record[j, others + d] += share
            product *= total
            if product > LARGE:
                log_sum += math.log(product)
                product = 1.0
    return log_sum + math.log(product) - product_sum(theta, q, q.size)


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
    q, odds, theta = (
        np.empty(most_cells * len(D)),
        np.empty(most_cells * len(D)),
        np.empty(most_cells * len(D)),
    )
    score, row, slot = (
        np.empty(most_cells),
        np.empty(most_cells, np.uint32),
        np.arange(most_cells) * len(D),
    )
    opens = np.empty(most_votes(task_ptr, cell_ptr, np.uint64(step)), np.uint8)
    ends = np.empty(opens.size)
    record = open_records(log_odds_pi)
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, np.uint64(step)):
        end = min(first + np.uint64(step), n_tasks)
        tasks, first_cell, end_cell = end - first, task_ptr[first], task_ptr[end]
        label, cells = cell_class[first_cell:end_cell], cell_ptr[first_cell : end_cell + ONE]
        truth, posterior = known[first:end], phi[first:end]
        locate(task_ptr[first : end + ONE], cells, label, ZERO, row, opens)

        # q_cd = sum_k phi_ik D_ldk
        at = ZERO
        for c in range(np.uint64(label.size)):
            i, voted = np.uint64(row[c]), np.uint64(label[c])
            for d in range(others):
                product = 0.0
                for k in range(np.uint64(len(K))):
                    product += posterior[i, k] * diff[voted, d, k]
                q[at], theta[at] = product, 0.0
                at += ONE
        entropy += weigh(
            D,
            cells,
            annotator,
            log_odds_pi,
            record,
            slot,
            ONE,
            q[:at],
            odds[:at],
            opens,
            ends,
            theta[:at],
        )

        # (12): add the sum over the votes of sum_s theta_s E log v_skl
        fill_scores(K, tasks, log_tau, score)
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

        # the sum in (10): phi_ik theta_s over all votes for l
        for c in range(np.uint64(label.size)):
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
    change, log_norm, entropy = 0, 0.0, 0.0
    i: Any
    voted: Any
    K, n_classes, others = np.uint64(log_tau.size), log_tau.size, np.uint64(len(D))
    step = max(SCRATCH // n_classes // LANES, 1) * LANES
    width, all_rows, most_cells = np.uint64(step), (n_classes * len(D), step), n_classes * step
    q, odds, theta = np.empty(all_rows), np.empty(all_rows), np.empty(all_rows)
    before, weight, size = (
        np.zeros((n_classes, step)),
        np.zeros((n_classes, step)),
        np.empty(n_classes * step),
    )
    score, largest, summed, scale = (
        np.empty((n_classes, step)),
        np.empty(step),
        np.empty(step),
        np.empty(step),
    )
    slot = np.empty(most_cells, np.uint32)
    opens = np.empty(most_votes(task_ptr, cell_ptr, width), np.uint8)
    ends = np.empty(opens.size)
    record = open_records(log_odds_pi)
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, width):
        end = min(first + width, n_tasks)
        tasks, first_cell, end_cell = end - first, task_ptr[first], task_ptr[end]
        label, cells = cell_class[first_cell:end_cell], cell_ptr[first_cell : end_cell + ONE]
        truth, posterior = known[first:end], phi[first:end]
        locate(task_ptr[first : end + ONE], cells, label, width, slot, opens)
        size[:], theta[:] = 0.0, 0.0
        for c in range(np.uint64(label.size)):
            size[slot[c]] = np.float64(cells[c + ONE] - cells[c])

        # q = sum_k phi_ik D_ldk for all classes l and tasks i, whether there are votes or not
        for k in range(K):
            for i in range(tasks):
                before[k, i] = posterior[i, k]
        for voted in range(K):
            for d in range(others):
                at, factor = d * K + voted, diff[voted, d, ZERO]
                for i in range(width):
                    q[at, i] = before[ZERO, i] * factor
                for k in range(ONE, K):
                    factor = diff[voted, d, k]
                    for i in range(width):
                        q[at, i] += before[k, i] * factor
        entropy += weigh(
            D, cells, annotator, log_odds_pi, record, slot, K * width,
            q.reshape(-1), odds.reshape(-1), opens, ends, theta.reshape(-1),
        )  # fmt: skip

        # score_ik: (12) before normalisation
        for k in range(K):
            for i in range(width):
                score[k, i] = log_tau[k]
            for voted in range(K):
                of_base, of_second = base[voted, k], diff[voted, ZERO, k]
                for i in range(width):
                    score[k, i] += size[voted * width + i] * of_base + theta[voted, i] * of_second
                for d in range(ONE, others):
                    of_other = diff[voted, d, k]
                    for i in range(width):
                        score[k, i] += theta[d * K + voted, i] * of_other
        # weight = exp(score - largest) / summed, by task
        for i in range(width):
            largest[i], summed[i] = score[ZERO, i], 0.0
        for k in range(ONE, K):
            for i in range(width):
                largest[i] = max(largest[i], score[k, i])
        for k in range(K):
            for i in range(width):
                weight[k, i] = score[k, i] - largest[i]
        exp_buffer(weight.reshape(-1), weight.size)
        for k in range(K):
            for i in range(width):
                summed[i] += weight[k, i]
        for i in range(width):
            scale[i] = 1.0 / summed[i]
        n_known = 0
        for i in range(tasks):
            n_known += truth[i] >= 0
        # known truths stay
        for i in range(tasks if n_known > 0 else ZERO):
            if truth[i] >= 0:
                largest[i], summed[i], scale[i] = score[np.uint64(truth[i]), i], 1.0, 1.0
                for k in range(K):
                    weight[k, i] = before[k, i]
        log_sum, product = 0.0, 1.0
        for k in range(K):
            of_class = 0.0
            for i in range(tasks):
                p = weight[k, i] * scale[i]
                change = max(change, recast(abs(p - before[k, i])))
                of_class += p
                weight[k, i] = p
            tau[k] += of_class
            for i in range(tasks):
                posterior[i, k] = weight[k, i]
        for i in range(tasks):
            # at most K to the power of the tasks of a run: no overflow
            product *= summed[i]
            log_sum += largest[i]
        log_norm += log_sum + math.log(product)

        # the sum in (10): phi_ik theta_s over all votes for l
        for voted in range(K):
            for k in range(K):
                total[voted, k] += product_sum(
                    size[voted * width : (voted + ONE) * width], weight[k], width
                )
                for d in range(others):
                    confusion[voted, d, k] += product_sum(theta[d * K + voted], weight[k], width)
    add_records(record, pi)
    return recast(change), log_norm, entropy


@inlined
def product_sum(a: Floats, b: Floats, n: Any) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total
