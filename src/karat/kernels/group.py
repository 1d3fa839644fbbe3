"""Votes in any order -> votes sorted by task, class and annotator, and the cells that they form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.kernels.jit import kernel

__all__ = ["FIRST", "KEEP_ALL", "LAST", "cells", "group_by_task", "sort_tasks"]

KEEP_ALL, FIRST, LAST = 0, 1, 2


@kernel
def group_by_task(
    task: NDArray[np.int32],
    annotator: NDArray[np.int32],
    label: NDArray[np.int32],
    n_tasks: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Counting sort: where the votes of each task begin, and (annotator, label) in that order, rows in order."""
    start = np.zeros(n_tasks + 1, np.int64)
    for t in task:
        start[t + 1] += 1
    for t in range(n_tasks):
        start[t + 1] += start[t]
    place = start[:-1].copy()
    by_annotator = np.empty(task.size, np.int32)
    by_label = np.empty(task.size, np.int32)
    for row in range(task.size):
        at = place[task[row]]
        place[task[row]] += 1
        by_annotator[at] = annotator[row]
        by_label[at] = label[row]
    return start, by_annotator, by_label


@kernel
def sort_pair(key: NDArray[np.int32], other: NDArray[np.int32]) -> None:
    """Sort both arrays by key, in place and stably. Most tasks have few votes, where insertion wins."""
    if key.size > 32:
        order = np.argsort(key, kind="mergesort")
        key[:] = key[order]
        other[:] = other[order]
        return
    for i in range(1, key.size):
        k, o, at = key[i], other[i], i
        while at > 0 and key[at - 1] > k:
            key[at], other[at] = key[at - 1], other[at - 1]
            at -= 1
        key[at], other[at] = k, o


@kernel
def sort_tasks(
    start: NDArray[np.int64],  # IN/OUT: where each task's votes begin, before and after leaving out repeats
    annotator: NDArray[np.int32],  # IN/OUT
    label: NDArray[np.int32],  # IN/OUT
    policy: int,
) -> int:
    """Sort each task's votes by class, then annotator; keep one vote of each annotator. -> votes kept."""
    kept = 0
    for t in range(start.size - 1):
        first, end = start[t], start[t + 1]
        who, what = annotator[first:end], label[first:end]
        sort_pair(who, what)
        start[t] = kept
        for v in range(end - first):
            repeat = v > 0 and who[v] == who[v - 1]
            if repeat and policy == LAST:
                label[kept - 1] = what[v]
            if not repeat or policy == KEEP_ALL:
                annotator[kept], label[kept] = who[v], what[v]
                kept += 1
        sort_pair(label[start[t] : kept], annotator[start[t] : kept])
    start[-1] = kept
    return kept


@kernel
def cells(
    start: NDArray[np.int64], label: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Runs of equal labels within a task -> task_ptr, cell_ptr, cell_class."""
    n_cells = 0
    for t in range(start.size - 1):
        for v in range(start[t], start[t + 1]):
            n_cells += v == start[t] or label[v] != label[v - 1]
    task_ptr = np.zeros(start.size, np.int64)
    cell_ptr = np.zeros(n_cells + 1, np.int64)
    cell_class = np.empty(n_cells, np.int32)
    c = 0
    for t in range(start.size - 1):
        for v in range(start[t], start[t + 1]):
            if v == start[t] or label[v] != label[v - 1]:
                cell_ptr[c], cell_class[c] = v, label[v]
                c += 1
        task_ptr[t + 1] = c
    cell_ptr[n_cells] = start[-1]
    return task_ptr, cell_ptr, cell_class
