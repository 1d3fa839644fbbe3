"""One sweep of the anchored vote over a block of tasks. See finegold/methods/anchored.py for the
equations.

Only classes with votes can be the label of a task, so the run time depends on the cells of a task
and not on the number of classes. Tables by annotator are [W, L, K], the vote before the truth, as
in kernels/confusion.py.

Few votes are processed in plain NumPy, so that there is nothing to compile in a first run; tests
compare the compiled loops with it. Roundings differ by about 1e-16, because the compiler fuses
additions with multiplications.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Floats, Known, Votes
from finegold.kernels.cells import cells_of, numbered
from finegold.kernels.compiling import (
    MAX_UNROLLED,
    ONE,
    ZERO,
    fixed_length,
    inlined,
    kernel,
    kernel_as_written,
)

Integers = NDArray[np.int64]

# of a vote and a class that has votes on the same task; NumPy takes 0.1 s for four sweeps
MAX_PAIRS = 2**18
UNROLLED, FOUR = np.uint64(MAX_UNROLLED), np.uint64(4)
# votes that a vote on a task with a known truth counts for: bench/trust/gold.py
GOLD_WEIGHT = 20.0
# columns of the table `people`
VOTE, RIGHT, SPREAD = np.uint64(0), np.uint64(1), np.uint64(2)


class Model(NamedTuple):
    # [K]
    log_prior: Floats
    # [W, L, K]
    log_v: Floats
    # [W, 3] weight of a vote, probability of being right, its standard deviation
    people: Floats
    # [4] weight of the votes, rho, pseudo-votes of the calibration, its power
    settings: Floats


class Sums(NamedTuple):
    # [K] of q
    tau: Floats
    # [W, L, K]
    n: Floats
    # [2] products of two residuals of a task, and what they were if all were correlated
    excess: Floats


def start(few: bool, votes: Votes, known: Known, phi: Floats, n: Floats, pairs: Floats) -> None:
    """Count the vote shares phi. Add to pairs the agreement of two votes of each task, and the
    tasks with two votes.
    """
    # few: whether there are few votes in all blocks together.
    if not (few and is_small(votes)):
        start_many(votes, known, phi, n, pairs)
        return
    v = index_votes(votes)
    v.add_counts(known, phi[v.task, v.label], n)
    sizes = np.bincount(v.task, v.size)
    agreeing = np.bincount(v.task, v.size * (v.size - 1))
    several = sizes >= 2
    pairs += [(agreeing[several] / (sizes * (sizes - 1))[several]).sum(), several.sum()]


def sweep(few: bool, votes: Votes, known: Known, model: Model, phi: Floats, sums: Sums) -> float:
    """Return the largest difference between q and the previous phi."""
    if not (few and is_small(votes)):
        return sweep_many(fixed_length(phi.shape[1]), votes, known, model, phi, sums)
    log_prior, log_v, people, settings = model
    tau, n, excess = sums
    v = index_votes(votes)
    of_pair = log_v[v.who[v.pair_vote], v.label[v.cell[v.pair_vote]], v.label[v.pair_cell]]
    score = _sums(v.pair_cell, of_pair, len(v.task)) + log_prior[v.label]
    p = np.exp(score - np.maximum.reduceat(score, v.first)[v.task])
    # [cells] softmax over the classes of the task's cells
    p /= _sums(v.task, p, len(v.first))[v.task]
    weight, chance, deviation = people[v.who].T
    q = settings[0] * v.by_cell(weight) / v.by_task(weight)[v.task] + (1.0 - settings[0]) * p

    # The residual of a vote, given the truth k, is 1 if it is for k, else 0, minus its annotator's
    # accuracy.
    of_truth = np.where(known[v.task] < 0, p, known[v.task] == v.label)
    squares = v.size - 2.0 * v.by_cell(chance) + v.by_task(chance**2)[v.task]
    excess[0] += (of_truth * ((v.size - v.by_task(chance)[v.task]) ** 2 - squares)).sum()
    excess[1] += (v.by_task(deviation) ** 2 - v.by_task(deviation**2)).sum()
    v.add_counts(known, q, n)

    n_classes, unknown = phi.shape[1], known < 0
    dense = np.zeros(phi.shape)
    dense[v.task, v.label] = q
    dense = dense[unknown]
    tau += dense.sum(axis=0) + np.bincount(known[~unknown], minlength=n_classes)
    sizes = np.bincount(v.task, v.size)[unknown, None]
    design = 1.0 + (sizes - 1.0) * settings[1]
    pseudo = settings[2] * design
    sharp = np.where(dense > 0.0, dense ** (design ** -settings[3]), 0.0)
    sharp /= sharp.sum(axis=1, keepdims=True)
    change = np.abs(dense - phi[unknown]).max(initial=0.0)
    phi[unknown] = (sizes * sharp + pseudo / n_classes) / (sizes + pseudo)
    return float(change)


def is_small(votes: Votes) -> bool:
    """Return whether the pairs of a vote and a cell of its task are few. There are at least as many
    pairs as votes.
    """
    ends = votes.cell_ptr[votes.task_ptr]
    return (
        int(ends[-1] - ends[0]) <= MAX_PAIRS
        and int(np.dot(np.diff(ends), np.diff(votes.task_ptr))) <= MAX_PAIRS
    )


class VoteIndex(NamedTuple):
    """Indices of cells (the votes of a task for one class), of votes, and of pairs of a vote and a
    cell of its task.
    """

    # [T] cell of each task
    first: Integers
    # [cells]
    task: Integers
    # [cells]
    label: Integers
    # [cells] number of votes
    size: Integers
    # [votes]
    cell: Integers
    # [votes]
    who: Integers
    # [pairs]
    pair_vote: Integers
    # [pairs]
    pair_cell: Integers

    def by_task(self, values: Floats) -> Floats:
        return _sums(self.task[self.cell], values, len(self.first))

    def by_cell(self, values: Floats) -> Floats:
        return _sums(self.cell, values, len(self.task))

    def add_counts(self, known: Any, q: Floats, n: Floats) -> None:
        """Add q_k to n_jlk for every vote of j for l; a known truth has q_k = GOLD_WEIGHT."""
        row = self.who * n.shape[1] + self.label[self.cell]
        truth = known[self.task[self.cell]]
        unknown = truth[self.pair_vote] < 0
        vote, cell = self.pair_vote[unknown], self.pair_cell[unknown]
        at = np.concatenate(
            [row[vote] * n.shape[2] + self.label[cell], (row * n.shape[2] + truth)[truth >= 0]]
        )
        values = np.concatenate([q[cell], np.full(len(at) - len(cell), GOLD_WEIGHT)])
        n += _sums(at, values, n.size).reshape(n.shape)


def index_votes(votes: Votes) -> VoteIndex:
    task_ptr, cell_ptr, _, annotator = votes
    first, cells = (
        (task_ptr[:-1] - task_ptr[0]).astype(np.int64),
        np.diff(task_ptr).astype(np.int64),
    )
    size, label = cells_of(votes)
    task, cell = numbered(cells), numbered(size)
    # of each vote: the cells of its task
    others = cells[task[cell]]
    pair_vote = numbered(others)
    offset = np.arange(len(pair_vote)) - np.repeat(np.cumsum(others) - others, others)
    who = annotator[int(cell_ptr[task_ptr[0]]) : int(cell_ptr[task_ptr[-1]])].astype(np.int64)
    pair_cell = first[task[cell[pair_vote]]] + offset
    return VoteIndex(first, task, label.astype(np.int64), size, cell, who, pair_vote, pair_cell)


def _sums(at: Integers, values: Floats, n: int) -> Floats:
    return np.bincount(at, values, n).astype(np.float64, copy=False)


@kernel
def start_many(votes: Votes, known: Known, phi: Floats, n: Floats, pairs: Floats) -> None:
    task_ptr, cell_ptr, _, _ = votes
    for i in range(np.uint64(task_ptr.size) - ONE):
        first, end = task_ptr[i], task_ptr[i + ONE]
        count_votes(first, end, False, votes, known[i], phi[i], n)
        cast, agreeing = np.float64(cell_ptr[end] - cell_ptr[first]), 0.0
        if cast < 2.0:
            continue
        for c in range(first, end):
            size = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            agreeing += size * (size - 1.0)
        pairs[0] += agreeing / (cast * (cast - 1.0))
        pairs[1] += 1.0


@kernel_as_written
def sweep_many(K: Any, votes: Votes, known: Known, model: Model, phi: Floats, sums: Sums) -> float:
    """Write the same bits as loops over the cells of a task: classes without votes have q = 0,
    which changes no sum.
    """
    task_ptr, cell_ptr, cell_class, annotator = votes
    log_prior, log_v, people, settings = model
    tau, n, excess = sums
    k: Any
    n_classes, fours = np.uint64(len(K)), np.uint64(len(K)) // FOUR * FOUR
    scratch = np.zeros((4, len(K)))
    score, right, q, sharp = scratch[0], scratch[1], scratch[2], scratch[3]
    change, found, expected = 0.0, 0.0, 0.0
    for_votes, for_model = settings[0], 1.0 - settings[0]
    before, design, power = -1.0, 1.0, 1.0
    for i in range(np.uint64(task_ptr.size) - ONE):
        first, end = task_ptr[i], task_ptr[i + ONE]
        cast = np.float64(cell_ptr[end] - cell_ptr[first])
        dense = end - first > ONE and (n_classes <= UNROLLED or FOUR * (end - first) >= n_classes)
        weights, chances, squares, deviations, variances = 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(first, end):
            label = np.uint64(cell_class[c])
            share, hits = 0.0, 0.0
            for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                j = np.uint64(annotator[vote])
                weight, chance, deviation = people[j, VOTE], people[j, RIGHT], people[j, SPREAD]
                share += weight
                hits += chance
                weights += weight
                chances += chance
                squares += chance * chance
                deviations += deviation
                variances += deviation * deviation
                if dense:
                    for k in range(n_classes):
                        score[k] += log_v[j, label, k]
                elif end - first > ONE:
                    for other in range(first, end):
                        k = np.uint64(cell_class[other])
                        score[k] += log_v[j, label, k]
            q[label], right[label] = share, hits
        together = deviations * deviations

        # softmax over the classes of the task's cells
        largest, total = -math.inf, 0.0
        for c in range(first, end):
            k = np.uint64(cell_class[c])
            score[k] += log_prior[k]
            largest = max(largest, score[k])
        for c in range(first, end):
            k = np.uint64(cell_class[c])
            score[k] = math.exp(score[k] - largest) if score[k] < largest else 1.0
            total += score[k]
        over_total, over_weights = 1.0 / total, 1.0 / weights
        here = 0.0
        for c in range(first, end):
            k = np.uint64(cell_class[c])
            p = score[k] * over_total
            size = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            away = size - chances
            weight = p if known[i] < 0 else np.float64(known[i] == np.int32(k))
            here += weight * (away * away - (size + squares) + 2.0 * right[k])
            score[k] = for_model * p
        found += here
        for c in range(first, end):
            k = np.uint64(cell_class[c])
            q[k] = for_votes * q[k] * over_weights + score[k]
        expected += together - variances

        count_votes(first, end, dense, votes, known[i], q, n)
        if known[i] >= 0:
            tau[known[i]] += 1.0
        else:
            if cast != before:
                before, design = cast, 1.0 + (cast - 1.0) * settings[1]
                power = design ** -settings[3]
            for c in range(first, end):
                k = np.uint64(cell_class[c])
                tau[k] += q[k]
                sharp[k] = q[k] if power == 1.0 else q[k] ** power
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            # add every fourth number, then these four sums, then what is left
            for k in range(ZERO, fours, FOUR):
                s0 += sharp[k]
                s1 += sharp[k + ONE]
                s2 += sharp[k + ONE + ONE]
                s3 += sharp[k + ONE + ONE + ONE]
            total = (s0 + s2) + (s1 + s3)
            for k in range(fours, n_classes):
                total += sharp[k]
            pseudo = settings[2] * design
            over_total, over_votes, least = (
                1.0 / total,
                1.0 / (cast + pseudo),
                pseudo / np.float64(n_classes),
            )
            for k in range(n_classes):
                change = max(change, abs(q[k] - phi[i, k]))
                phi[i, k] = (cast * (sharp[k] * over_total) + least) * over_votes
        if n_classes <= UNROLLED:
            for k in range(n_classes):
                score[k], q[k], sharp[k] = 0.0, 0.0, 0.0
        else:
            if dense:
                for k in range(n_classes):
                    score[k] = 0.0
            for c in range(first, end):
                k = np.uint64(cell_class[c])
                score[k], q[k], sharp[k] = 0.0, 0.0, 0.0
    excess[0] += found
    excess[1] += expected
    return change


@inlined
def count_votes(
    first: int, end: int, dense: Any, votes: Votes, known: int, q: Floats, n: Floats
) -> None:
    """Add q_k to n_jlk for every vote of j for l, for all classes k if `dense`; a known truth has
    q_k = GOLD_WEIGHT.
    """
    _, cell_ptr, cell_class, annotator = votes
    k: Any
    for c in range(first, end):
        label = np.uint64(cell_class[c])
        for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
            j = np.uint64(annotator[vote])
            if known >= 0:
                n[j, label, known] += GOLD_WEIGHT
            elif dense:
                for k in range(np.uint64(q.size)):
                    n[j, label, k] += q[k]
            else:
                for other in range(first, end):
                    k = np.uint64(cell_class[other])
                    n[j, label, k] += q[k]
