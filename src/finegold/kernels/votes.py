"""Vote shares of each task, and agreement of the annotators with the labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import few_votes
from finegold.kernels.jit import ONE, kernel

__all__ = ["agreement", "outvoted", "vote_rows", "vote_shares"]


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


def vote_shares(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    gold: NDArray[np.int32],
    phi: NDArray[np.float64],  # OUT [T, K]
) -> None:
    """phi_ik = share of task i's votes for class k; 1 for a known truth."""
    version = few_votes.vote_shares if _few_votes(task_ptr, cell_ptr) else vote_shares_of_many
    version(task_ptr, cell_ptr, cell_class, gold, phi)


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
    version = few_votes.agreement if _few_votes(task_ptr, cell_ptr) else agreement_of_many
    version(task_ptr, cell_ptr, cell_class, annotator, phi, label, votes, agreed, expected)


def outvoted(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    gold: NDArray[np.int32],
    label: NDArray[np.int32],
    found: NDArray[np.bool_],  # OUT [T]
) -> None:
    """Mark the tasks whose label has fewer votes than another class; tasks with a gold truth are never marked."""
    version = few_votes.outvoted if _few_votes(task_ptr, cell_ptr) else outvoted_of_many
    version(task_ptr, cell_ptr, cell_class, gold, label, found)


def _few_votes(task_ptr: NDArray[np.uint64], cell_ptr: NDArray[np.uint64]) -> bool:
    return int(cell_ptr[task_ptr[-1]] - cell_ptr[task_ptr[0]]) <= few_votes.MAX_VOTES


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
