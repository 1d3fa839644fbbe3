"""One sweep of the anchored vote over a block of tasks. See finegold/methods/anchored.py for the equations.

Only classes with votes can be the label of a task, so the run time depends on the cells of a task and not on the
number of classes. Tables by annotator are [W, L, K], the vote before the truth, as in kernels/confusion.py. Few votes
need no compiled code (anchored_few.py).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import anchored_few
from finegold.kernels.jit import ONE, inlined, kernel

__all__ = ["start", "start_many", "sweep", "sweep_many"]

Floats = NDArray[np.float64]

VOTE, RIGHT, SPREAD = np.uint64(0), np.uint64(1), np.uint64(2)  # columns of the table `people`


def start(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: NDArray[np.int32],
    phi: Floats,  # IN [T, K] vote shares
    n: Floats,  # IN/OUT [W, L, K] the counts are added to it
    pairs: Floats,  # IN/OUT [2]: agreement of pairs of votes, summed over tasks; tasks with two votes or more
) -> None:
    count = anchored_few.start if anchored_few.is_small(task_ptr, cell_ptr) else start_many
    count(task_ptr, cell_ptr, cell_class, annotator, known, phi, n, pairs)


def sweep(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: NDArray[np.int32],  # [T] the truth, -1 where it is unknown
    log_prior: Floats,  # IN [K]
    log_v: Floats,  # IN [W, L, K]
    people: Floats,  # IN [W, 3] weight of a vote, probability of being right, its standard deviation
    settings: Floats,  # IN [4] weight of the votes, rho, pseudo-votes of the calibration, its power; see `_write`
    phi: Floats,  # IN/OUT [T, K]
    tau: Floats,  # IN/OUT [K] sum_i q_ik is added to it
    n: Floats,  # IN/OUT [W, L, K] the counts are added to it
    excess: Floats,  # IN/OUT [2]: sum of products of two residuals of a task; the same sum if all were correlated
) -> float:
    """Return the largest difference between q and the previous phi."""
    run = anchored_few.sweep if anchored_few.is_small(task_ptr, cell_ptr) else sweep_many
    votes = (task_ptr, cell_ptr, cell_class, annotator, known)
    return run(*votes, log_prior, log_v, people, settings, phi, tau, n, excess)


@kernel
def start_many(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: NDArray[np.int32],
    phi: Floats,
    n: Floats,
    pairs: Floats,
) -> None:
    for i in range(np.uint64(task_ptr.size) - ONE):
        first, end = task_ptr[i], task_ptr[i + ONE]
        _count(first, end, cell_ptr, cell_class, annotator, known[i], phi[i], n)
        votes, agreeing = np.float64(cell_ptr[end] - cell_ptr[first]), 0.0
        if votes < 2.0:
            continue
        for c in range(first, end):
            size = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            agreeing += size * (size - 1.0)
        pairs[0] += agreeing / (votes * (votes - 1.0))
        pairs[1] += 1.0


@kernel
def sweep_many(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: NDArray[np.int32],
    log_prior: Floats,
    log_v: Floats,
    people: Floats,
    settings: Floats,
    phi: Floats,
    tau: Floats,
    n: Floats,
    excess: Floats,
) -> float:
    scratch = np.zeros((4, phi.shape[1]))
    share, score, right, q = scratch[0], scratch[1], scratch[2], scratch[3]
    change = 0.0
    for i in range(np.uint64(task_ptr.size) - ONE):
        first, end = task_ptr[i], task_ptr[i + ONE]
        sums = _add_votes(first, end, cell_ptr, cell_class, annotator, log_v, people, share, score, right)
        _softmax(first, end, cell_class, log_prior, score)
        for c in range(first, end):
            k = cell_class[c]
            q[k] = settings[0] * share[k] / sums[0] + (1.0 - settings[0]) * score[k]
        _add_excess(first, end, cell_ptr, cell_class, known[i], sums, right, score, excess)
        _count(first, end, cell_ptr, cell_class, annotator, known[i], q, n)
        votes = np.float64(cell_ptr[end] - cell_ptr[first])
        change = max(change, _write(known[i], votes, settings, q, phi[i], tau))
        for c in range(first, end):
            k = cell_class[c]
            share[k], score[k], right[k], q[k] = 0.0, 0.0, 0.0, 0.0
    return change


@inlined
def _add_votes(
    first: int,
    end: int,
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    log_v: Floats,
    people: Floats,
    share: Floats,
    score: Floats,
    right: Floats,
) -> tuple[float, float, float, float, float]:
    """Sum over the votes by class. Return sums over all votes: weights, probabilities and deviations, with squares."""
    weights, chances, squares, deviations, variances = 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(first, end):
        label = np.uint64(cell_class[c])
        for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
            j = np.uint64(annotator[vote])
            chance, deviation = people[j, RIGHT], people[j, SPREAD]
            share[label] += people[j, VOTE]
            right[label] += chance
            weights += people[j, VOTE]
            chances += chance
            squares += chance * chance
            deviations += deviation
            variances += deviation * deviation
            for other in range(first, end):
                k = np.uint64(cell_class[other])
                score[k] += log_v[j, label, k]
    return weights, chances, squares, deviations, variances


@inlined
def _softmax(first: int, end: int, cell_class: NDArray[np.uint8], log_prior: Floats, score: Floats) -> None:
    """Apply the softmax over the classes of the task's cells."""
    largest, total = -math.inf, 0.0
    for c in range(first, end):
        k = cell_class[c]
        score[k] += log_prior[k]
        largest = max(largest, score[k])
    for c in range(first, end):
        k = cell_class[c]
        score[k] = math.exp(score[k] - largest)
        total += score[k]
    for c in range(first, end):
        score[cell_class[c]] /= total


@inlined
def _add_excess(
    first: int,
    end: int,
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    known: int,
    sums: tuple[float, float, float, float, float],
    right: Floats,
    p: Floats,
    excess: Floats,
) -> None:
    """The residual of a vote, given the truth k, is 1 if it is for k, else 0, minus its annotator's accuracy."""
    found = 0.0
    for c in range(first, end):
        k = cell_class[c]
        size = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
        total = size - sums[1]
        weight = p[k] if known < 0 else np.float64(known == np.int32(k))
        found += weight * (total * total - (size - 2.0 * right[k] + sums[2]))
    excess[0] += found
    excess[1] += sums[3] * sums[3] - sums[4]


@inlined
def _count(
    first: int,
    end: int,
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: int,
    q: Floats,
    n: Floats,
) -> None:
    """Add q_k to n_jlk for every vote of j for l; a known truth has q_k = 1."""
    for c in range(first, end):
        label = np.uint64(cell_class[c])
        for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
            j = np.uint64(annotator[vote])
            if known >= 0:
                n[j, label, known] += 1.0
                continue
            for other in range(first, end):
                k = np.uint64(cell_class[other])
                n[j, label, k] += q[k]


@kernel
def _write(known: int, votes: float, settings: Floats, q: Floats, phi: Floats, tau: Floats) -> float:
    """Add q to tau and write the calibrated q to phi. Return the largest difference between q and the previous phi."""
    if known >= 0:
        tau[known] += 1.0
        return 0.0
    design = 1.0 + (votes - 1.0) * settings[1]
    power, pseudo = design ** -settings[3], settings[2] * design
    total, change = 0.0, 0.0
    for k in range(q.size):
        tau[k] += q[k]
        total += q[k] ** power if q[k] > 0.0 else 0.0
    for k in range(q.size):
        sharp = q[k] ** power / total if q[k] > 0.0 else 0.0
        change = max(change, abs(q[k] - phi[k]))
        phi[k] = (votes * sharp + pseudo / q.size) / (votes + pseudo)
    return change
