"""Sort votes by task, class and annotator, and find the cells that they form.

Tasks are sorted by counting. The remaining work is done within tasks, so threads process ranges of tasks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import few_votes
from finegold.kernels.jit import kernel
from finegold.kernels.parallel import in_threads, ranges

__all__ = ["FIRST", "KEEP_ALL", "LAST", "Labels", "cells", "count", "group_by_task", "renumber", "sort_tasks"]

KEEP_ALL, FIRST, LAST = 0, 1, 2
MAX_INSERTION_SORT = 32  # votes

Labels = NDArray[np.uint8] | NDArray[np.uint16]


def count(codes: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """Count how often each of n codes occurs; negative codes are ignored."""
    return few_votes.count(codes, n) if codes.size <= few_votes.MAX_VOTES else count_many(codes, n)


@kernel
def count_many(codes: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    counts = np.zeros(n, np.int64)
    for code in codes:
        if code >= 0:
            counts[code] += 1
    return counts


def renumber(codes: NDArray[np.int32], new_code: NDArray[np.int32]) -> None:
    """Replace codes by new ones in place; negative codes are kept."""
    (few_votes.renumber if codes.size <= few_votes.MAX_VOTES else renumber_many)(codes, new_code)


@kernel
def renumber_many(codes: NDArray[np.int32], new_code: NDArray[np.int32]) -> None:
    for row in range(codes.size):
        if codes[row] >= 0:
            codes[row] = new_code[codes[row]]


def group_by_task(
    task: NDArray[np.int32],
    annotator: NDArray[np.int32],
    label: NDArray[np.int32],
    start: NDArray[np.int64],  # IN [T+1] index of the first vote of each task
    by_annotator: NDArray[np.int32],  # OUT
    by_label: Labels,  # OUT
) -> None:
    """Sort votes by task; votes of a task keep the order of the rows."""
    if task.size <= few_votes.MAX_VOTES:
        few_votes.group_by_task(task, annotator, label, by_annotator, by_label)
    else:
        group_many(task, annotator, label, start[:-1].copy(), by_annotator, by_label)


@kernel
def group_many(
    task: NDArray[np.int32],
    annotator: NDArray[np.int32],
    label: NDArray[np.int32],
    place: NDArray[np.int64],  # IN/OUT [T] index for the next vote of each task
    by_annotator: NDArray[np.int32],  # OUT
    by_label: Labels,  # OUT
) -> None:
    """The second half of a counting sort."""
    for row in range(task.size):
        at = place[task[row]]
        place[task[row]] = at + 1
        by_annotator[at] = annotator[row]
        by_label[at] = label[row]


@kernel
def insert_pair(key: Any, other: Any, first: int, end: int) -> None:
    """Sort a short range by insertion."""
    for i in range(first + 1, end):
        k, o, at = key[i], other[i], i
        while at > first and key[at - 1] > k:
            key[at], other[at] = key[at - 1], other[at - 1]
            at -= 1
        key[at], other[at] = k, o


@kernel
def merge_pair(key: Any, other: Any, key_to: Any, other_to: Any, width: int) -> None:
    """Merge sorted ranges of this width to ranges of twice the width in other arrays."""
    for first in range(0, key.size, 2 * width):
        middle, end = min(first + width, key.size), min(first + 2 * width, key.size)
        i, j = first, middle
        for at in range(first, end):
            if i < middle and (j == end or key[i] <= key[j]):
                key_to[at], other_to[at] = key[i], other[i]
                i += 1
            else:
                key_to[at], other_to[at] = key[j], other[j]
                j += 1


@kernel
def sort_pair(key: Any, other: Any) -> None:
    """Sort both arrays by key, in place and stably. Most tasks have few votes, for which insertion sort is faster."""
    if key.size <= MAX_INSERTION_SORT:
        insert_pair(key, other, 0, key.size)
        return
    for first in range(0, key.size, MAX_INSERTION_SORT):
        insert_pair(key, other, first, min(first + MAX_INSERTION_SORT, key.size))
    key_too, other_too = np.empty_like(key), np.empty_like(other)
    width = MAX_INSERTION_SORT
    while width < key.size:
        merge_pair(key, other, key_too, other_too, width)
        for at in range(key.size):  # a slice would take seconds to compile
            key[at], other[at] = key_too[at], other_too[at]
        width *= 2


@kernel
def sort_run(
    start: NDArray[np.int64],  # IN/OUT [n] first vote of each task, before and after repeated votes are removed
    end_vote: int,  # end of the last task
    annotator: NDArray[np.int32],  # IN/OUT
    label: Labels,  # IN/OUT
    policy: int,
) -> int:
    """Sort each task's votes by class, then annotator; keep one vote of each annotator. Return their end."""
    kept = int(start[0])
    for t in range(start.size):
        first, end = start[t], start[t + 1] if t + 1 < start.size else end_vote
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
    return kept


def sort_tasks(start: NDArray[np.int64], annotator: NDArray[np.int32], label: Labels, policy: int) -> int:
    """Run `sort_run` on all tasks, start [T+1]. Return the number of votes kept; they come first in all arrays."""
    if label.size <= few_votes.MAX_VOTES:
        return few_votes.sort_tasks(start, annotator, label, keep_all=policy == KEEP_ALL, keep_last=policy == LAST)
    runs = [(first, end, int(start[first]), int(start[end])) for first, end in ranges(len(start) - 1)]
    ends = in_threads(lambda run: sort_run(start[run[0] : run[1]], run[3], annotator, label, policy), runs)
    kept = 0
    for (first, end, begin, _), stop in zip(runs, ends, strict=True):
        if begin != kept:  # repeated votes were removed before: close the gap
            annotator[kept : kept + stop - begin] = annotator[begin:stop]
            label[kept : kept + stop - begin] = label[begin:stop]
            start[first:end] -= begin - kept
        kept += stop - begin
    start[-1] = kept
    return kept


@kernel
def count_cells(start: NDArray[np.int64], label: Labels) -> int:
    n_cells = 0
    for t in range(start.size - 1):
        for v in range(start[t], start[t + 1]):
            n_cells += v == start[t] or label[v] != label[v - 1]
    return n_cells


@kernel
def fill_cells(
    start: NDArray[np.int64],
    label: Labels,
    c: int,  # the index of the first cell
    task_ptr: NDArray[np.int64],  # OUT [n] first cell of each task
    cell_ptr: NDArray[np.int64],  # OUT
    cell_class: Labels,  # OUT
) -> None:
    for t in range(start.size - 1):
        task_ptr[t] = c
        for v in range(start[t], start[t + 1]):
            if v == start[t] or label[v] != label[v - 1]:
                cell_ptr[c], cell_class[c] = v, label[v]
                c += 1


def cells(start: NDArray[np.int64], label: Labels) -> tuple[NDArray[np.int64], NDArray[np.int64], Labels]:
    """Convert runs of equal labels within a task to task_ptr, cell_ptr, cell_class."""
    if label.size <= few_votes.MAX_VOTES:
        return few_votes.cells(start, label)
    runs = ranges(len(start) - 1)
    numbers = in_threads(lambda run: count_cells(start[run[0] : run[1] + 1], label), runs)
    n_cells = sum(numbers)
    task_ptr, cell_ptr = np.empty(start.size, np.int64), np.empty(n_cells + 1, np.int64)
    cell_class = np.empty(n_cells, label.dtype)

    def fill(job: tuple[tuple[int, int], int]) -> None:
        (first, end), cell = job
        fill_cells(start[first : end + 1], label, cell, task_ptr[first:end], cell_ptr, cell_class)

    in_threads(fill, zip(runs, np.cumsum([0, *numbers[:-1]]).tolist(), strict=True))
    task_ptr[-1], cell_ptr[-1] = n_cells, start[-1]
    return task_ptr, cell_ptr, cell_class
