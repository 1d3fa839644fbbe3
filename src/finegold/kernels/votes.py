"""Vote shares of each task, labels and ties from posteriors, and agreement of the annotators with the labels.

Up to `sort_votes.MAX_VOTES` votes, each function is plain NumPy, as in sort_votes.py; both versions give the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import sort_votes
from finegold.kernels.jit import ONE, kernel
from finegold.kernels.sort_votes import numbered

# Classes are tied if their probabilities differ by less than this share of the highest: sums of the same votes in
# another order differ by about 1e-16 in each sweep, and many sweeps may amplify that.
NEAR = 1e-9
NEAR_SINGLE = 1e-6  # for float32


def vote_rows(
    n_classes: int,
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Where the votes of each task begin, and the row j L + l of every vote of annotator j for class l."""
    cells = cell_ptr[int(task_ptr[0]) : int(task_ptr[-1]) + 1]
    classes = cell_class[int(task_ptr[0]) : int(task_ptr[-1])].astype(np.uint32)
    row = annotator[int(cells[0]) : int(cells[-1])] * np.uint32(n_classes)
    row += np.repeat(classes, np.diff(cells).astype(np.int64))
    return cell_ptr[task_ptr] - cells[0], row


def cells_of(
    task_ptr: NDArray[np.uint64], cell_ptr: NDArray[np.uint64], cell_class: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the number of votes and the class of each cell of these tasks."""
    first, end = int(task_ptr[0]), int(task_ptr[-1])
    return np.diff(cell_ptr[first : end + 1]).astype(np.int64), cell_class[first:end]


def _is_few(task_ptr: NDArray[np.uint64], cell_ptr: NDArray[np.uint64]) -> bool:
    return int(cell_ptr[task_ptr[-1]] - cell_ptr[task_ptr[0]]) <= sort_votes.MAX_VOTES


def vote_shares(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    gold: NDArray[np.int32],
    phi: NDArray[np.float64],  # OUT [T, K]
) -> None:
    """phi_ik = share of task i's votes for class k; 1 for a known truth."""
    if _is_few(task_ptr, cell_ptr):
        votes, classes = cells_of(task_ptr, cell_ptr, cell_class)
        task, known = numbered(np.diff(task_ptr)), np.flatnonzero(gold >= 0)
        phi[:] = 0.0
        phi[task, classes] = votes * (1.0 / np.diff(cell_ptr[task_ptr]))[task]
        phi[known] = 0.0
        phi[known, gold[known]] = 1.0
    else:
        vote_shares_of_many(task_ptr, cell_ptr, cell_class, gold, phi)


@kernel
def vote_shares_of_many(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    gold: NDArray[np.int32],
    phi: NDArray[np.float64],
) -> None:
    phi[:] = 0.0
    for i in range(np.uint64(task_ptr.size) - ONE):
        if gold[i] >= 0:
            phi[i, gold[i]] = 1.0
            continue
        first, end = task_ptr[i], task_ptr[i + ONE]
        share = 1.0 / np.float64(cell_ptr[end] - cell_ptr[first])
        for c in range(first, end):
            phi[i, cell_class[c]] = np.float64(cell_ptr[c + ONE] - cell_ptr[c]) * share


def agreement(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    phi: NDArray[np.float64],
    label: NDArray[np.int32],
    votes: NDArray[np.int64],  # OUT [W] votes cast
    agreed: NDArray[np.int64],  # OUT [W] votes for the label that the task received
    expected: NDArray[np.float64],  # OUT [W] sum of the posterior of the classes voted for
) -> None:
    if _is_few(task_ptr, cell_ptr):  # adds in the order of the votes, as the loop does
        task, (sizes, classes) = numbered(np.diff(task_ptr)), cells_of(task_ptr, cell_ptr, cell_class)
        who = annotator[int(cell_ptr[task_ptr[0]]) : int(cell_ptr[task_ptr[-1]])]
        np.add.at(votes, who, 1)
        np.add.at(agreed, who, np.repeat((label[task] == classes).astype(np.int64), sizes))
        np.add.at(expected, who, np.repeat(phi[task, classes].astype(np.float64), sizes))
    else:
        agreement_of_many(task_ptr, cell_ptr, cell_class, annotator, phi, label, votes, agreed, expected)


@kernel
def agreement_of_many(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    phi: NDArray[np.float64],
    label: NDArray[np.int32],
    votes: NDArray[np.int64],
    agreed: NDArray[np.int64],
    expected: NDArray[np.float64],
) -> None:
    for i in range(np.uint64(task_ptr.size) - ONE):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            right = np.int64(label[i] == np.int32(cell_class[c]))
            probability = phi[i, cell_class[c]]
            for v in range(cell_ptr[c], cell_ptr[c + ONE]):
                j = annotator[v]
                votes[j] += 1
                agreed[j] += right
                expected[j] += probability


def outvoted(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    gold: NDArray[np.int32],
    label: NDArray[np.int32],
    found: NDArray[np.bool_],  # OUT [T]
) -> None:
    """Mark the tasks whose label has fewer votes than another class; tasks with a gold truth are never marked."""
    if _is_few(task_ptr, cell_ptr):
        (votes, classes), first = (
            cells_of(task_ptr, cell_ptr, cell_class),
            (task_ptr[:-1] - task_ptr[0]).astype(np.int64),
        )
        own = np.where(classes == label[numbered(np.diff(task_ptr))], votes, 0)
        found[:] = (np.maximum.reduceat(own, first) < np.maximum.reduceat(votes, first)) & (gold < 0)
    else:
        outvoted_of_many(task_ptr, cell_ptr, cell_class, gold, label, found)


@kernel
def outvoted_of_many(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    gold: NDArray[np.int32],
    label: NDArray[np.int32],
    found: NDArray[np.bool_],
) -> None:
    for i in range(np.uint64(task_ptr.size) - ONE):
        most, own = np.uint64(0), np.uint64(0)
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            votes = cell_ptr[c + ONE] - cell_ptr[c]
            most = max(most, votes)
            if np.int32(cell_class[c]) == label[i]:
                own = votes
        found[i] = own < most and gold[i] < 0


def decide(
    phi: NDArray[np.float64],
    preference: NDArray[np.int64],  # [K] the classes, the preferred one first
    label: NDArray[np.int32],  # OUT [T]
    tied: NDArray[np.bool_],  # OUT [T]
) -> None:
    """Choose the most probable class; if several are tied, the preferred one of them."""
    near = NEAR_SINGLE if phi.itemsize == 4 else NEAR
    if phi.size <= sort_votes.MAX_VOTES:
        least = phi.max(axis=1).astype(np.float64) * (1.0 - near)
        best = phi[:, preference] >= least[:, None]
        label[:], tied[:] = preference[best.argmax(axis=1)], np.count_nonzero(best, axis=1) > 1
    else:
        decide_many(phi, near, preference, label, tied)


@kernel
def decide_many(
    phi: NDArray[np.float64],
    near: float,
    preference: NDArray[np.int64],
    label: NDArray[np.int32],
    tied: NDArray[np.bool_],
) -> None:
    for i in range(phi.shape[0]):
        highest = phi[i, 0]
        for k in range(1, phi.shape[1]):
            highest = max(highest, phi[i, k])
        least = highest * (1.0 - near)
        best, many = -1, False
        for k in preference:
            if phi[i, k] >= least:
                best, many = (k, many) if best < 0 else (best, True)
        label[i], tied[i] = best, many


def preference_of(totals: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the classes by summed posterior, the most frequent first. Ties up to rounding keep their order."""
    return np.argsort(-np.round(totals / totals.sum(), 9), kind="stable")
