"""One sweep of the anchored vote over a block of tasks. See finegold/methods/anchored.py for the
equations.

Only classes with votes can be the label of a task, so the run time of `sweep_many` depends on the
cells of a task and not on the number of classes. Tables by annotator are [W, L, K], the vote before
the truth, as in kernels/confusion.py.

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
from finegold.kernels.cells import numbered, vote_rows
from finegold.kernels.compiling import (
    ONE,
    fixed_length,
    kernel,
    kernel_as_written,
)

# votes that a vote on a task with a known truth counts for: bench/trust/gold.py
GOLD_WEIGHT = 20.0


class Model(NamedTuple):
    # [K] log tau_k, times kappa
    log_prior: Floats
    # [W, L, K]
    w: Floats
    # [W] u_j
    weight: Floats
    # share of the votes in a label
    vote_share: float
    # c'
    doubt: float


class Sums(NamedTuple):
    # [K] of q
    tau: Floats
    # [W, L, K]
    n: Floats


def start(few: bool, votes: Votes, known: Known, phi: Floats, n: Floats, pairs: Floats) -> None:
    """Count the vote shares phi. Add to pairs the agreement of two votes of each task, and the
    tasks with two votes.
    """
    if not few:
        start_many(votes, known, phi, n, pairs)
        return
    starts, row = vote_rows(phi.shape[1], votes)
    sizes = np.diff(starts).astype(np.float64)
    agreeing = (_counts(sizes, row, phi) * (_counts(sizes, row, phi) - 1)).sum(axis=1)
    several = sizes >= 2
    pairs += [(agreeing[several] / (sizes * (sizes - 1))[several]).sum(), several.sum()]
    add_counts(sizes, row, known, phi, n)


def sweep(few: bool, votes: Votes, known: Known, model: Model, phi: Floats, sums: Sums) -> float:
    """Return the largest difference between q and the previous phi."""
    n_classes = phi.shape[1]
    if not few:
        return sweep_many(fixed_length(n_classes), votes, known, model, phi, sums)
    starts, row = vote_rows(n_classes, votes)
    sizes, begins = np.diff(starts), starts[:-1].astype(np.int64)
    score = np.add.reduceat(model.w.reshape(-1, n_classes)[row], begins) + model.log_prior
    score[_counts(sizes, row, phi) == 0] = -np.inf
    p = np.exp(score - score.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    share = _counts(sizes, row, phi, model.weight[row // n_classes])
    share /= share.sum(axis=1, keepdims=True)
    q = model.vote_share * share + (1.0 - model.vote_share) * p
    tau, n = sums
    add_counts(sizes, row, known, q, n)
    fixed, free = known[known >= 0], np.flatnonzero(known < 0)
    tau += q[free].sum(axis=0) + np.bincount(fixed, minlength=n_classes)
    change = np.abs(q - phi)[free].max(initial=0.0)
    votes_worth = np.sqrt(sizes)[:, None]
    calibrated = (votes_worth * q + model.doubt / n_classes) / (votes_worth + model.doubt)
    phi[free] = calibrated[free]
    return float(change)


def add_counts(sizes: Any, row: NDArray[Any], known: Known, q: Floats, n: Floats) -> None:
    """Add q_k to n_jlk for every vote of j for l; a known truth has q_k = GOLD_WEIGHT."""
    n_classes = q.shape[1]
    is_truth = known[:, None] == np.arange(n_classes)
    of_task = np.where(known[:, None] < 0, q, GOLD_WEIGHT * is_truth)
    at = row.astype(np.int64)[:, None] * n_classes + np.arange(n_classes)
    values = of_task[numbered(sizes)]
    n += np.bincount(at.ravel(), values.ravel(), n.size).reshape(n.shape)


def _counts(sizes: Any, row: NDArray[Any], phi: Floats, weight: Floats | None = None) -> Floats:
    """[n, K] Return the sum of the weights of each task's votes for each class."""
    cell = numbered(sizes) * phi.shape[1] + row % phi.shape[1]
    return np.bincount(cell, weight, phi.size).reshape(phi.shape).astype(np.float64, copy=False)


@kernel
def start_many(votes: Votes, known: Known, phi: Floats, n: Floats, pairs: Floats) -> None:
    task_ptr, cell_ptr, _, _ = votes
    for i in range(np.uint64(task_ptr.size) - ONE):
        first, end = task_ptr[i], task_ptr[i + ONE]
        count_votes(first, end, votes, known[i], phi[i], n)
        cast, agreeing = np.float64(cell_ptr[end] - cell_ptr[first]), 0.0
        for c in range(first, end):
            size = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            agreeing += size * (size - 1.0)
        if cast >= 2.0:
            pairs[0] += agreeing / (cast * (cast - 1.0))
            pairs[1] += 1.0


@kernel_as_written
def sweep_many(K: Any, votes: Votes, known: Known, model: Model, phi: Floats, sums: Sums) -> float:
    """Do the same as `sweep` in loops over the cells of a task: classes without votes have q = 0."""
    task_ptr, cell_ptr, cell_class, annotator = votes
    log_prior, w, weight, vote_share, doubt = model
    tau, n = sums
    k: Any
    n_classes = np.uint64(len(K))
    score, q = np.zeros(len(K)), np.zeros(len(K))
    change, least = 0.0, doubt / np.float64(n_classes)
    for i in range(np.uint64(task_ptr.size) - ONE):
        first, end = task_ptr[i], task_ptr[i + ONE]
        all_weights = 0.0
        for c in range(first, end):
            label = np.uint64(cell_class[c])
            for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                j = np.uint64(annotator[vote])
                q[label] += weight[j]
                for other in range(first, end):
                    k = np.uint64(cell_class[other])
                    score[k] += w[j, label, k]
            all_weights += q[label]

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
        of_votes, of_model = vote_share / all_weights, (1.0 - vote_share) / total
        for c in range(first, end):
            k = np.uint64(cell_class[c])
            q[k] = of_votes * q[k] + of_model * score[k]

        count_votes(first, end, votes, known[i], q, n)
        if known[i] >= 0:
            tau[known[i]] += 1.0
        else:
            votes_worth = math.sqrt(np.float64(cell_ptr[end] - cell_ptr[first]))
            scale = 1.0 / (votes_worth + doubt)
            for k in range(n_classes):
                tau[k] += q[k]
                change = max(change, abs(q[k] - phi[i, k]))
                phi[i, k] = (votes_worth * q[k] + least) * scale
        for c in range(first, end):
            k = np.uint64(cell_class[c])
            score[k], q[k] = 0.0, 0.0
    return change


@kernel
def count_votes(first: int, end: int, votes: Votes, known: int, q: Floats, n: Floats) -> None:
    """Add q_k to n_jlk for every vote of j for l; a known truth has q_k = GOLD_WEIGHT."""
    _, cell_ptr, cell_class, annotator = votes
    k: Any
    for c in range(first, end):
        label = np.uint64(cell_class[c])
        for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
            j = np.uint64(annotator[vote])
            if known >= 0:
                n[j, label, known] += GOLD_WEIGHT
            else:
                for other in range(first, end):
                    k = np.uint64(cell_class[other])
                    n[j, label, k] += q[k]
