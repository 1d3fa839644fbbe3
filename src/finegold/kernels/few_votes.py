"""NumPy versions of kernels that are cheap per vote but expensive to compile. They return the same bits.

With an empty cache, compiling these kernels takes five seconds. NumPy needs 0.1 s for `MAX_VOTES` votes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MAX_VOTES",
    "agreement",
    "cells",
    "cells_of",
    "count",
    "decide",
    "group_by_task",
    "numbered",
    "outvoted",
    "renumber",
    "sort_tasks",
    "vote_shares",
]

MAX_VOTES = 2**18  # keys of `sort_tasks` below are products of three such numbers, which fit into 64 bits

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Pointers = NDArray[np.uint64]
Floats = NDArray[np.float64]


def count(codes: Codes, n: int) -> Integers:
    return np.bincount(codes[codes >= 0], minlength=n)


def renumber(codes: Codes, new_code: Codes) -> None:
    present = codes >= 0
    codes[present] = new_code[codes[present]]


def group_by_task(task: Codes, annotator: Codes, label: Codes, by_annotator: Codes, by_label: NDArray[Any]) -> None:
    rows = np.arange(task.size)
    order = np.sort(task.astype(np.int64) * task.size + rows) % max(task.size, 1)  # faster than a stable argsort
    by_annotator[:], by_label[:] = annotator[order], label[order]


def sort_tasks(start: Integers, annotator: Codes, label: NDArray[Any], *, keep_all: bool, keep_last: bool) -> int:
    """Sort rows by a key that holds task, class and annotator."""
    task, n_annotators, n_classes = numbered(np.diff(start)), int(annotator.max()) + 1, int(label.max()) + 1
    kept = np.arange(task.size) if keep_all else _one_of_each(task * n_annotators + annotator, keep_last)
    key = np.sort((task[kept] * n_classes + label[kept]) * n_annotators + annotator[kept])
    key, annotator[: kept.size] = np.divmod(key, n_annotators)
    key, label[: kept.size] = np.divmod(key, n_classes)
    start[1:] = np.cumsum(np.bincount(key))
    return kept.size


def _one_of_each(pair: Integers, keep_last: bool) -> Integers:
    """Return the first or last row of each distinct pair."""
    pairs, rows = np.divmod(np.sort(pair * pair.size + np.arange(pair.size)), pair.size)
    differs = pairs[1:] != pairs[:-1]
    kept: Integers = rows[np.append(differs, True) if keep_last else np.append(True, differs)]
    return kept


def cells(start: Integers, label: NDArray[Any]) -> tuple[Integers, Integers, NDArray[Any]]:
    begins = np.append(True, label[1:] != label[:-1])
    begins[start[:-1]] = True
    cell_ptr = np.append(np.flatnonzero(begins), start[-1])
    return np.searchsorted(cell_ptr, start), cell_ptr, label[begins]


def vote_shares(
    task_ptr: Pointers, cell_ptr: Pointers, cell_class: NDArray[Any], gold: Codes, phi: NDArray[Any]
) -> None:
    votes, classes = cells_of(task_ptr, cell_ptr, cell_class)
    task, known = numbered(np.diff(task_ptr)), np.flatnonzero(gold >= 0)
    phi[:] = 0.0
    phi[task, classes] = votes * (1.0 / np.diff(cell_ptr[task_ptr]))[task]
    phi[known] = 0.0
    phi[known, gold[known]] = 1.0


def agreement(
    task_ptr: Pointers,
    cell_ptr: Pointers,
    cell_class: NDArray[Any],
    annotator: NDArray[np.uint32],
    phi: NDArray[Any],
    label: Codes,
    votes: Integers,
    agreed: Integers,
    expected: Floats,
) -> None:
    """Add to the sums in the order of the votes, as the kernel does."""
    task, (sizes, classes) = numbered(np.diff(task_ptr)), cells_of(task_ptr, cell_ptr, cell_class)
    who = annotator[int(cell_ptr[task_ptr[0]]) : int(cell_ptr[task_ptr[-1]])]
    np.add.at(votes, who, 1)
    np.add.at(agreed, who, np.repeat((label[task] == classes).astype(np.int64), sizes))
    np.add.at(expected, who, np.repeat(phi[task, classes].astype(np.float64), sizes))


def outvoted(
    task_ptr: Pointers,
    cell_ptr: Pointers,
    cell_class: NDArray[Any],
    gold: Codes,
    label: Codes,
    found: NDArray[np.bool_],
) -> None:
    (votes, classes), first = cells_of(task_ptr, cell_ptr, cell_class), (task_ptr[:-1] - task_ptr[0]).astype(np.int64)
    own = np.where(classes == label[numbered(np.diff(task_ptr))], votes, 0)
    found[:] = (np.maximum.reduceat(own, first) < np.maximum.reduceat(votes, first)) & (gold < 0)


def decide(phi: NDArray[Any], near: float, preference: Integers, label: Codes, tied: NDArray[np.bool_]) -> None:
    least = phi.max(axis=1).astype(np.float64) * (1.0 - near)
    best = phi[:, preference] >= least[:, None]
    label[:], tied[:] = preference[best.argmax(axis=1)], np.count_nonzero(best, axis=1) > 1


def numbered(sizes: NDArray[Any]) -> Integers:
    """Return 0 as often as the first size says, then 1 and so on: the number of the group of each member."""
    return np.repeat(np.arange(sizes.size), sizes.astype(np.int64))


def cells_of(task_ptr: Pointers, cell_ptr: Pointers, cell_class: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
    """Return the number of votes and the class of each cell of these tasks."""
    first, end = int(task_ptr[0]), int(task_ptr[-1])
    return np.diff(cell_ptr[first : end + 1]).astype(np.int64), cell_class[first:end]
