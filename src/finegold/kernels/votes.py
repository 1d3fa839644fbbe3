"""Vote shares of each task, labels and ties from posteriors, and agreement of the annotators with
the labels.

Up to `sort_votes.MAX_VOTES` votes, each function is plain NumPy, as in sort_votes.py; both versions
give the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Floats, Known, Votes, sort_votes
from finegold.kernels.jit import ONE, kernel
from finegold.kernels.sort_votes import numbered

# Classes are tied if their probabilities differ by less than this share of the highest: sums of the
# same votes in another order differ by about 1e-16 in each sweep, and many sweeps may amplify that.
NEAR = 1e-9
# for float32
NEAR_SINGLE = 1e-6


def vote_rows(n_classes: int, votes: Votes) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Where the votes of each task begin, and the row j L + l of every vote of annotator j for
    class l.
    """
    cells = votes.cell_ptr[int(votes.task_ptr[0]) : int(votes.task_ptr[-1]) + 1]
    sizes, classes = cells_of(votes)
    row = votes.annotator[int(cells[0]) : int(cells[-1])] * np.uint32(n_classes)
    row += np.repeat(classes.astype(np.uint32), sizes)
    return votes.cell_ptr[votes.task_ptr] - cells[0], row


def cells_of(votes: Votes) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the number of votes and the class of each cell of these tasks."""
    first, end = int(votes.task_ptr[0]), int(votes.task_ptr[-1])
    return np.diff(votes.cell_ptr[first : end + 1]).astype(np.int64), votes.cell_class[first:end]


def _is_few(votes: Votes) -> bool:
    return (
        int(votes.cell_ptr[votes.task_ptr[-1]] - votes.cell_ptr[votes.task_ptr[0]])
        <= sort_votes.MAX_VOTES
    )


def vote_shares(votes: Votes, gold: Known, phi: Floats) -> None:
    """phi_ik = share of task i's votes for class k; 1 for a known truth."""
    if not _is_few(votes):
        vote_shares_of_many(votes, gold, phi)
        return
    sizes, classes = cells_of(votes)
    task, known = numbered(np.diff(votes.task_ptr)), np.flatnonzero(gold >= 0)
    phi[:] = 0.0
    phi[task, classes] = sizes * (1.0 / np.diff(votes.cell_ptr[votes.task_ptr]))[task]
    phi[known] = 0.0
    phi[known, gold[known]] = 1.0


@kernel
def vote_shares_of_many(votes: Votes, gold: Known, phi: Floats) -> None:
    task_ptr, cell_ptr, cell_class, _ = votes
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
    votes: Votes, phi: Floats, label: Any, cast: Any, agreed: Any, expected: Floats
) -> None:
    """Add to arrays [W] the votes cast, those for the label of the task, and the posterior of the
    classes voted for.
    """
    if not _is_few(votes):
        agreement_of_many(votes, phi, label, cast, agreed, expected)
        return
    task, (sizes, classes) = numbered(np.diff(votes.task_ptr)), cells_of(votes)
    who = votes.annotator[
        int(votes.cell_ptr[votes.task_ptr[0]]) : int(votes.cell_ptr[votes.task_ptr[-1]])
    ]
    # adds in the order of the votes, as the loop does
    np.add.at(cast, who, 1)
    np.add.at(agreed, who, np.repeat((label[task] == classes).astype(np.int64), sizes))
    np.add.at(expected, who, np.repeat(phi[task, classes].astype(np.float64), sizes))


@kernel
def agreement_of_many(
    votes: Votes, phi: Any, label: Any, cast: Any, agreed: Any, expected: Any
) -> None:
    task_ptr, cell_ptr, cell_class, annotator = votes
    for i in range(np.uint64(task_ptr.size) - ONE):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            right = np.int64(label[i] == np.int32(cell_class[c]))
            probability = phi[i, cell_class[c]]
            for v in range(cell_ptr[c], cell_ptr[c + ONE]):
                j = annotator[v]
                cast[j] += 1
                agreed[j] += right
                expected[j] += probability


def outvoted(votes: Votes, gold: Known, label: Any, is_outvoted: Any) -> None:
    """Mark the tasks whose label has fewer votes than another class; tasks with a gold truth are
    never marked.
    """
    if not _is_few(votes):
        outvoted_of_many(votes, gold, label, is_outvoted)
        return
    sizes, classes = cells_of(votes)
    first = (votes.task_ptr[:-1] - votes.task_ptr[0]).astype(np.int64)
    own = np.where(classes == label[numbered(np.diff(votes.task_ptr))], sizes, 0)
    is_outvoted[:] = (np.maximum.reduceat(own, first) < np.maximum.reduceat(sizes, first)) & (
        gold < 0
    )


@kernel
def outvoted_of_many(votes: Votes, gold: Any, label: Any, is_outvoted: Any) -> None:
    task_ptr, cell_ptr, cell_class, _ = votes
    for i in range(np.uint64(task_ptr.size) - ONE):
        most, own = np.uint64(0), np.uint64(0)
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            size = cell_ptr[c + ONE] - cell_ptr[c]
            most = max(most, size)
            if np.int32(cell_class[c]) == label[i]:
                own = size
        is_outvoted[i] = own < most and gold[i] < 0


def decide(
    phi: Floats, preference: NDArray[np.int64], label: NDArray[np.int32], tied: NDArray[np.bool_]
) -> None:
    """Choose the most probable class; if several are tied, the one that comes first in preference
    [K].
    """
    near = NEAR_SINGLE if phi.itemsize == 4 else NEAR
    if phi.size > sort_votes.MAX_VOTES:
        decide_many(phi, near, preference, label, tied)
        return
    least = phi.max(axis=1).astype(np.float64) * (1.0 - near)
    best = phi[:, preference] >= least[:, None]
    label[:], tied[:] = preference[best.argmax(axis=1)], np.count_nonzero(best, axis=1) > 1


@kernel
def decide_many(phi: Any, near: float, preference: Any, label: Any, tied: Any) -> None:
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


def preference_of(totals: Floats) -> NDArray[np.int64]:
    """Return the classes by summed posterior, the most frequent first. Ties up to rounding keep
    their order.
    """
    return np.argsort(-np.round(totals / totals.sum(), 9), kind="stable")
