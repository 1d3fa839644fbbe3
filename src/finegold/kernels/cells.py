"""From rows of votes to sorted votes and their cells, and what follows from cells alone: shares of
votes, labels and ties, agreement with the labels.

A cell is the votes of a task for one class. All of this is plain NumPy, in runs that keep temporary
arrays small.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.kernels import Floats, Known, Votes

ROWS_PER_RUN, TASKS_PER_RUN = 2**20, 2**16
KEEP_ALL, FIRST, LAST = 0, 1, 2
# Classes are tied if their probabilities differ by less than this share of the highest: sums of the
# same votes in another order differ by about 1e-16 in each sweep, and many sweeps may amplify that.
NEAR = 1e-9

Labels = NDArray[np.uint8] | NDArray[np.uint16]
Codes = NDArray[np.int32]
Integers = NDArray[np.int64]


class Rows(NamedTuple):
    """Votes as one integer each: task, class and annotator, from the highest bits to the lowest."""

    key: Integers
    # bits of the annotator and of the class
    of_annotator: int
    of_label: int
    # pairs of a task and an annotator whose repeated votes differ
    n_disagreeing: int


class Cells(NamedTuple):
    """Votes sorted by task, class and annotator; tasks without votes have no place."""

    # [T+1] first cell of each task
    task_ptr: Integers
    # [C+1] first vote of each cell
    cell_ptr: Integers
    # [C]
    cell_class: Labels
    # of each vote
    annotator: Codes


def pack(task: Codes, annotator: Codes, label: Codes, policy: int) -> Rows:
    """Keep one vote, the first or the last, of each annotator on a task, as one integer each."""
    sizes = [int(codes.max()) + 1 for codes in (task, annotator, label)]
    of_task, of_annotator, of_label = (max(n - 1, 1).bit_length() for n in sizes)
    if of_task + of_annotator + of_label > 63:
        tasks, annotators, classes = (f"{n:,}" for n in sizes)
        raise InputError(
            f"{tasks} tasks, {annotators} annotators and {classes} classes are more than this"
            " version can sort; split the tasks"
        )
    n_disagreeing = 0
    if policy != KEEP_ALL:
        pair = _join(task, annotator, of_annotator)
        pair.sort()
        repeated = np.unique(pair[1:][pair[1:] == pair[:-1]])
        del pair
        if repeated.size:
            pair = _join(task, annotator, of_annotator)
            rows, n_disagreeing = _repeats(pair, repeated, label, policy)
            task, annotator, label = (np.delete(codes, rows) for codes in (task, annotator, label))
    key = _join(task, label, of_label)
    key <<= of_annotator
    key |= annotator
    return Rows(key, of_annotator, of_label, n_disagreeing)


def sort(rows: Rows, n_classes: int) -> Cells:
    """Sort the votes, in place, and find their cells."""
    key, of_annotator, of_label, _ = rows
    key.sort()
    opens, annotator = np.ones(key.size, np.bool_), np.empty(key.size, np.int32)
    for run in _runs(key.size):
        cell = key[run] >> of_annotator
        opens[run][1:] = cell[1:] != cell[:-1]
        if run.start:
            opens[run.start] = cell[0] != key[run.start - 1] >> of_annotator
        annotator[run] = key[run] & ((1 << of_annotator) - 1)
    cell_ptr = np.append(np.flatnonzero(opens), key.size)
    cell = key[cell_ptr[:-1]] >> of_annotator
    task = cell >> of_label
    task_ptr = np.concatenate([[0], np.flatnonzero(task[1:] != task[:-1]) + 1, [cell.size]])
    kind = np.uint8 if n_classes <= 256 else np.uint16
    cell_class: Labels = (cell & ((1 << of_label) - 1)).astype(kind)
    return Cells(task_ptr, cell_ptr, cell_class, annotator)


def count(codes: Codes, n: int) -> Integers:
    """[n] Count how often each code occurs; negative codes are ignored."""
    counts, step = np.zeros(n, np.int64), max(ROWS_PER_RUN, n)
    for first in range(0, codes.size, step):
        some = codes[first : first + step]
        counts += np.bincount(some[some >= 0], minlength=n)
    return counts


def _join(high: Codes, low: Codes, bits: int) -> Integers:
    joined = high.astype(np.int64)
    joined <<= bits
    joined |= low
    return joined


def _repeats(pair: Integers, repeated: Integers, label: Codes, policy: int) -> tuple[Integers, int]:
    """Return the rows that are left out, and how many pairs of task and annotator disagree."""
    place = np.minimum(np.searchsorted(repeated, pair), repeated.size - 1)
    rows = np.flatnonzero(repeated[place] == pair)
    # by pair, those of a pair in the order of the rows
    rows = rows[np.argsort(pair[rows], kind="stable")]
    is_same = pair[rows[1:]] == pair[rows[:-1]]
    differs = is_same & (label[rows[1:]] != label[rows[:-1]])
    n_disagreeing = len(np.unique(pair[rows[1:]][differs]))
    left_out = np.append(is_same, False) if policy == LAST else np.append(False, is_same)
    return rows[left_out], n_disagreeing


def _runs(n: int) -> Iterator[slice]:
    for first in range(0, n, ROWS_PER_RUN):
        yield slice(first, min(first + ROWS_PER_RUN, n))


def numbered(sizes: NDArray[Any]) -> Integers:
    """Return 0 as often as the first size says, then 1 and so on: the number of the group of each
    member.
    """
    return np.repeat(np.arange(sizes.size), sizes.astype(np.int64))


def cells_of(votes: Votes) -> tuple[Integers, NDArray[Any]]:
    """Return the number of votes and the class of each cell of these tasks."""
    first, end = int(votes.task_ptr[0]), int(votes.task_ptr[-1])
    return np.diff(votes.cell_ptr[first : end + 1]).astype(np.int64), votes.cell_class[first:end]


def vote_rows(n_classes: int, votes: Votes) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Where the votes of each task begin, and the row j L + l of every vote of annotator j for
    class l.
    """
    sizes, classes = cells_of(votes)
    row = voters_of(votes) * np.uint32(n_classes)
    row += np.repeat(classes.astype(np.uint32), sizes)
    first = votes.cell_ptr[votes.task_ptr]
    return first - first[0], row


def voters_of(votes: Votes) -> NDArray[np.uint32]:
    """Return the annotator of each vote on these tasks."""
    first, end = votes.cell_ptr[votes.task_ptr[[0, -1]]]
    return votes.annotator[int(first) : int(end)]


def _tasks(votes: Votes) -> Iterator[tuple[slice, Votes]]:
    """Yield runs of tasks and their votes."""
    n_tasks = len(votes.task_ptr) - 1
    for first in range(0, n_tasks, TASKS_PER_RUN):
        run = slice(first, min(first + TASKS_PER_RUN, n_tasks))
        yield run, votes._replace(task_ptr=votes.task_ptr[first : run.stop + 1])


def vote_shares(votes: Votes, gold: Known, phi: Floats) -> None:
    """phi_ik = share of task i's votes for class k; 1 for a known truth."""
    phi[:] = 0.0
    for run, some in _tasks(votes):
        (sizes, classes), task = cells_of(some), numbered(np.diff(some.task_ptr))
        phi[run][task, classes] = sizes * (1.0 / np.diff(some.cell_ptr[some.task_ptr]))[task]
    known = np.flatnonzero(gold >= 0)
    phi[known] = 0.0
    phi[known, gold[known]] = 1.0


def agreement(
    votes: Votes, phi: Floats, label: Any, cast: Any, agreed: Any, expected: Floats
) -> None:
    """Add to arrays [W] the votes cast, those for the label of the task, and the posterior of the
    classes voted for.
    """
    for run, some in _tasks(votes):
        (sizes, classes), task = cells_of(some), numbered(np.diff(some.task_ptr))
        who = voters_of(some)
        # these add in the order of the votes, so that runs change no bit
        np.add.at(cast, who, 1)
        np.add.at(agreed, who, np.repeat((label[run][task] == classes).astype(np.int64), sizes))
        np.add.at(expected, who, np.repeat(phi[run][task, classes], sizes))


def outvoted(votes: Votes, gold: Known, label: Any, is_outvoted: Any) -> None:
    """Mark the tasks whose label has fewer votes than another class; tasks with a gold truth are
    never marked.
    """
    for run, some in _tasks(votes):
        (sizes, classes), task = cells_of(some), numbered(np.diff(some.task_ptr))
        first = (some.task_ptr[:-1] - some.task_ptr[0]).astype(np.int64)
        own = np.where(classes == label[run][task], sizes, 0)
        most, of_label = np.maximum.reduceat(sizes, first), np.maximum.reduceat(own, first)
        is_outvoted[run] = (of_label < most) & (gold[run] < 0)


def decide(
    phi: Floats, preference: NDArray[np.int64], label: NDArray[np.int32], tied: NDArray[np.bool_]
) -> None:
    """Choose the most probable class; if several are tied, the one that comes first in preference
    [K].
    """
    for first in range(0, len(phi), TASKS_PER_RUN):
        run = slice(first, first + TASKS_PER_RUN)
        least = phi[run].max(axis=1) * (1.0 - NEAR)
        best = phi[run][:, preference] >= least[:, None]
        label[run] = preference[best.argmax(axis=1)]
        tied[run] = np.count_nonzero(best, axis=1) > 1


def preference_of(totals: Floats) -> NDArray[np.int64]:
    """Return the classes by summed posterior, the most frequent first. Ties up to rounding keep
    their order.
    """
    return np.argsort(-np.round(totals / totals.sum(), 9), kind="stable")
