"""Repeated votes of an annotator on a task: their majority, and how often they agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.votes.encoding import MISSING, Codes

__all__ = ["Repeats", "count_disagreeing", "count_repeats", "majority_of_repeats"]

Integers = NDArray[np.int64]


class Repeats(NamedTuple):
    """Pairs of votes that one annotator cast on one task."""

    pairs: int
    agreeing: int


def majority_of_repeats(task: Codes, annotator: Codes, label: Codes) -> tuple[Codes, Codes, Codes]:
    """Return one vote per annotator and task, the most frequent one. If several are tied, there is no vote.

    The result does not depend on the order of the rows. An LLM judge whose verdict changes when the answers are swapped
    therefore has no vote.
    """
    of_group, first, (row, count) = _groups(task, annotator, label)
    group = of_group[row]
    most = np.zeros(len(first), np.int64)
    np.maximum.at(most, group, count)
    leads = count == most[group]
    leaders = np.bincount(group[leads], minlength=len(first))
    chosen = row[leads & (leaders[group] == 1)]
    return task[chosen], annotator[chosen], label[chosen]


def count_repeats(task: Codes, annotator: Codes, label: Codes) -> Repeats:
    pair = np.sort(_pairs(task, annotator))
    if (pair[1:] != pair[:-1]).all():  # the usual case, and this check is cheap
        return Repeats(0, 0)
    of_group, _, (_, count) = _groups(task, annotator, label)
    votes = np.bincount(of_group)
    return Repeats(int((votes * (votes - 1)).sum()) // 2, int((count * (count - 1)).sum()) // 2)


def count_disagreeing(task: Codes, annotator: Codes, label: Codes, kept: Integers) -> int:
    """Count the pairs of task and annotator that have different labels; rows without a label are no votes.

    kept: [T] how many votes of each task with votes are left. Only tasks with fewer than before need a look.
    """
    before = np.bincount(task if label.min() != MISSING else task[label != MISSING])
    fewer = before > 0
    if np.count_nonzero(fewer) == len(kept):  # a majority may leave no vote of a task
        fewer[fewer] = before[fewer] > kept
    rows = np.flatnonzero(np.append(fewer, np.zeros(task.max() + 1 - len(fewer), bool))[task] & (label != MISSING))
    of_group, _, (row, _) = _groups(task[rows], annotator[rows], label[rows])
    return int(np.count_nonzero(np.bincount(of_group[row]) > 1))


def _groups(task: Codes, annotator: Codes, label: Codes) -> tuple[Integers, Integers, tuple[Integers, Integers]]:
    """Return the group (task and annotator) of each vote, a row of each group, and a row and count per label."""
    _, first, of_group = np.unique(_pairs(task, annotator), return_index=True, return_inverse=True)
    _, row, count = np.unique(of_group * (np.int64(label.max()) + 1) + label, return_index=True, return_counts=True)
    return of_group, first, (row, count)


def _pairs(task: Codes, annotator: Codes) -> Integers:
    """Return one number for each pair of task and annotator."""
    numbers: Integers = task * (np.int64(annotator.max()) + 1) + annotator
    return numbers
