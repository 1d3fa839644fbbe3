"""Make annotations of rows of votes: codes of names, votes sorted by task, class and annotator, and
their cells.

Tasks are sorted by counting. The remaining work is done within tasks, so threads process ranges of
tasks. Up to `MAX_VOTES` votes, each function is plain NumPy, which is also what tests compare the
compiled loops with: compiling them takes five seconds with an empty cache, NumPy 0.1 s. Both give
the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Votes
from finegold.kernels.jit import ONE, in_threads, kernel, ranges

# for plain NumPy; keys of `sort_tasks` are products of three such numbers, which fit into 64 bits
MAX_VOTES = 2**18
KEEP_ALL, FIRST, LAST = 0, 1, 2
# votes
MAX_INSERTION_SORT = 32
EMPTY = -1
# 2^64 / golden ratio: spreads adjacent values
SPREAD = np.uint64(0x9E3779B97F4A7C15)

Labels = NDArray[np.uint8] | NDArray[np.uint16]
Codes = NDArray[np.int32]
Integers = Codes | NDArray[np.int64]


@kernel
def mark(values: Integers, low: int, present: NDArray[np.bool_]) -> None:
    for v in values:
        present[v - low] = True


@kernel
def codes_in_range(values: Integers, low: int, code_of: Codes, codes: Codes) -> None:
    for row in range(values.size):
        codes[row] = code_of[values[row] - low]


def first_rows(codes: Codes, n: int) -> NDArray[np.int64]:
    """[n] Return the first row with each code."""
    rows = np.empty(n, np.int64)
    # of repeated indices, NumPy keeps the last
    rows[codes[::-1]] = np.arange(codes.size - 1, -1, -1)
    return rows


@kernel
def find_slot(value: Any, table: Codes, names: NDArray[np.int64], shift: int) -> Any:
    """Return the slot of the value's code in the table, or the first free slot for it."""
    slot = np.int64((np.uint64(value) * SPREAD) >> np.uint64(shift))
    while table[slot] != EMPTY and names[table[slot]] != value:
        slot = (slot + 1) & (table.size - 1)
    return slot


@kernel
def refill(table: Codes, names: NDArray[np.int64], n: int, shift: int) -> None:
    """Insert n known names into an empty table of 2^(64 - shift) slots."""
    for code in range(n):
        table[find_slot(names[code], table, names, shift)] = code


@kernel
def add_names(
    values: Integers,
    first: int,
    table: Codes,
    names: NDArray[np.int64],
    n: int,
    shift: int,
    codes: Codes,
) -> tuple[int, int]:
    """Assign codes by first appearance, from row `first` on, until full. Return the numbers of rows
    done and names.
    """
    # n is the number of names so far. names is half as long as the table, so that the table never
    # fills up.
    for row in range(first, values.size):
        value = np.int64(values[row])
        slot = find_slot(value, table, names, shift)
        if table[slot] == EMPTY:
            if n == names.size:
                return row, n
            table[slot], names[n] = n, value
            n += 1
        codes[row] = table[slot]
    return values.size, n


def count(codes: Codes, n: int) -> NDArray[np.int64]:
    """Count how often each of n codes occurs; negative codes are ignored."""
    if codes.size <= MAX_VOTES:
        return np.bincount(codes[codes >= 0], minlength=n)
    return count_many(codes, n)


@kernel
def count_many(codes: Codes, n: int) -> NDArray[np.int64]:
    counts = np.zeros(n, np.int64)
    for code in codes:
        if code >= 0:
            counts[code] += 1
    return counts


def renumber(codes: Codes, new_code: Codes) -> None:
    """Replace codes by new ones in place; negative codes are kept."""
    if codes.size <= MAX_VOTES:
        present = codes >= 0
        codes[present] = new_code[codes[present]]
    else:
        renumber_many(codes, new_code)


@kernel
def renumber_many(codes: Codes, new_code: Codes) -> None:
    for row in range(codes.size):
        if codes[row] >= 0:
            codes[row] = new_code[codes[row]]


def group_by_task(
    task: Codes,
    annotator: Codes,
    label: Codes,
    start: NDArray[np.int64],
    by_annotator: Codes,
    by_label: Labels,
) -> None:
    """Sort votes by task, whose votes keep the order of the rows. start [T+1] are the first votes
    of the tasks.
    """
    if task.size <= MAX_VOTES:
        rows = np.arange(task.size)
        # faster than a stable argsort
        order = np.sort(task.astype(np.int64) * task.size + rows) % max(task.size, 1)
        by_annotator[:], by_label[:] = annotator[order], label[order]
    else:
        group_many(task, annotator, label, start[:-1].copy(), by_annotator, by_label)


@kernel
def group_many(
    task: Any, annotator: Any, label: Any, place: Any, by_annotator: Any, by_label: Any
) -> None:
    """The second half of a counting sort. place [T] is the index for the next vote of each task."""
    for row in range(task.size):
        at = place[task[row]]
        place[task[row]] = at + 1
        by_annotator[at] = annotator[row]
        by_label[at] = label[row]


@kernel
def insert_pair(key: Any, other: Any, first: int, end: int) -> None:
    for i in range(first + 1, end):
        k, o, at = key[i], other[i], i
        while at > first and key[at - 1] > k:
            key[at], other[at] = key[at - 1], other[at - 1]
            at -= 1
        key[at], other[at] = k, o


@kernel
def sort_pair(key: Any, other: Any) -> None:
    """Sort both arrays by key, in place and stably. Most tasks have few votes, for which insertion
    sort is faster.
    """
    if key.size <= MAX_INSERTION_SORT:
        insert_pair(key, other, 0, key.size)
        return
    for first in range(0, key.size, MAX_INSERTION_SORT):
        insert_pair(key, other, first, min(first + MAX_INSERTION_SORT, key.size))
    key_too, other_too = np.empty_like(key), np.empty_like(other)
    width = MAX_INSERTION_SORT
    while width < key.size:
        # merge two sorted ranges
        for first in range(0, key.size, 2 * width):
            middle, end = min(first + width, key.size), min(first + 2 * width, key.size)
            i, j = first, middle
            for at in range(first, end):
                if i < middle and (j == end or key[i] <= key[j]):
                    key_too[at], other_too[at] = key[i], other[i]
                    i += 1
                else:
                    key_too[at], other_too[at] = key[j], other[j]
                    j += 1
        # a slice would take seconds to compile
        for at in range(key.size):
            key[at], other[at] = key_too[at], other_too[at]
        width *= 2


@kernel
def sort_run(
    start: NDArray[np.int64], end_vote: int, annotator: Codes, label: Labels, policy: int
) -> tuple[int, int]:
    """Sort each task's votes by class, then annotator; keep one vote of each annotator."""
    # Returns the end of the votes that are kept, and how many annotators disagree with themselves
    # on a task. start [n] are the first votes of the tasks, before and after repeated votes are
    # removed.
    kept, disagreeing = int(start[0]), 0
    for t in range(start.size):
        first, end = start[t], start[t + 1] if t + 1 < start.size else end_vote
        who, what = annotator[first:end], label[first:end]
        sort_pair(who, what)
        start[t] = kept
        # whether votes of this annotator differ
        differ = False
        for v in range(end - first):
            repeat = v > 0 and who[v] == who[v - 1]
            differ = differ and repeat
            if repeat and policy != KEEP_ALL and not differ and what[v] != what[v - 1]:
                disagreeing += 1
                differ = True
            if repeat and policy == LAST:
                label[kept - 1] = what[v]
            if not repeat or policy == KEEP_ALL:
                annotator[kept], label[kept] = who[v], what[v]
                kept += 1
        sort_pair(label[start[t] : kept], annotator[start[t] : kept])
    return kept, disagreeing


def sort_tasks(
    start: NDArray[np.int64], annotator: Codes, label: Labels, policy: int
) -> tuple[int, int]:
    """Run `sort_run` on all tasks, start [T+1]. The votes that are kept come first in all arrays."""
    # Returns their number, and that of the pairs of task and annotator whose repeated votes
    # disagree.
    if label.size <= MAX_VOTES:
        # Sort rows by a key that holds task, class and annotator.
        task, n_annotators, n_classes = (
            numbered(np.diff(start)),
            int(annotator.max()) + 1,
            int(label.max()) + 1,
        )
        rows, disagreeing = np.arange(task.size), 0
        # the first or last row of each annotator on each task
        if policy != KEEP_ALL:
            pairs, ordered = np.divmod(
                np.sort((task * n_annotators + annotator) * task.size + rows), task.size
            )
            is_new = pairs[1:] != pairs[:-1]
            differs = label[ordered][1:] != label[ordered][:-1]
            disagreeing = len(np.unique(pairs[1:][differs & ~is_new]))
            rows = ordered[np.append(is_new, True) if policy == LAST else np.append(True, is_new)]
        key = np.sort((task[rows] * n_classes + label[rows]) * n_annotators + annotator[rows])
        key, annotator[: rows.size] = np.divmod(key, n_annotators)
        key, label[: rows.size] = np.divmod(key, n_classes)
        start[1:] = np.cumsum(np.bincount(key))
        return rows.size, disagreeing
    runs = [
        (first, end, int(start[first]), int(start[end])) for first, end in ranges(len(start) - 1)
    ]
    sorted_runs = in_threads(
        lambda run: sort_run(start[run[0] : run[1]], run[3], annotator, label, policy), runs
    )
    kept = 0
    for (first, end, begin, _), (stop, _) in zip(runs, sorted_runs, strict=True):
        # repeated votes were removed before: close the gap
        if begin != kept:
            annotator[kept : kept + stop - begin] = annotator[begin:stop]
            label[kept : kept + stop - begin] = label[begin:stop]
            start[first:end] -= begin - kept
        kept += stop - begin
    start[-1] = kept
    return kept, sum(n for _, n in sorted_runs)


def numbered(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return 0 as often as the first size says, then 1 and so on: the number of the group of each
    member.
    """
    return np.repeat(np.arange(sizes.size), sizes.astype(np.int64))


@kernel
def count_cells(start: NDArray[np.int64], label: Labels) -> int:
    n_cells = 0
    for t in range(start.size - 1):
        for v in range(start[t], start[t + 1]):
            n_cells += v == start[t] or label[v] != label[v - 1]
    return n_cells


@kernel
def fill_cells(
    start: NDArray[np.int64], label: Labels, c: int, task_ptr: Any, cell_ptr: Any, cell_class: Any
) -> None:
    """Write the cells of these tasks, from index c on."""
    for t in range(start.size - 1):
        task_ptr[t] = c
        for v in range(start[t], start[t + 1]):
            if v == start[t] or label[v] != label[v - 1]:
                cell_ptr[c], cell_class[c] = v, label[v]
                c += 1


def cells(
    start: NDArray[np.int64], label: Labels
) -> tuple[NDArray[np.int64], NDArray[np.int64], Labels]:
    """Convert runs of equal labels within a task to task_ptr, cell_ptr, cell_class."""
    if label.size <= MAX_VOTES:
        begins = np.append(True, label[1:] != label[:-1])
        begins[start[:-1]] = True
        cell_ptr = np.append(np.flatnonzero(begins), start[-1])
        return np.searchsorted(cell_ptr, start), cell_ptr, label[begins]
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


@kernel
def copy_tasks(
    votes: Votes, tasks: Any, places: Any, new_code: Codes, first_vote: Any, target: Votes
) -> None:
    """Copy tasks [n] with all of their votes to places [n] in another set of votes, whose task_ptr
    is filled in.
    """
    # new_code [W] are the codes of annotators there, first_vote the first vote of each task there.
    task_ptr, cell_ptr, cell_class, annotator = votes
    to_task_ptr, to_cell_ptr, to_cell_class, to_annotator = target
    for n in range(np.uint64(tasks.size)):
        cell, vote = to_task_ptr[places[n]], first_vote[places[n]]
        for c in range(task_ptr[tasks[n]], task_ptr[tasks[n] + ONE]):
            to_cell_ptr[cell] = vote
            to_cell_class[cell] = cell_class[c]
            cell += ONE
            for v in range(cell_ptr[c], cell_ptr[c + ONE]):
                to_annotator[vote] = new_code[annotator[v]]
                vote += ONE
