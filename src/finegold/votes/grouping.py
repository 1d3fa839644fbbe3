"""Group votes by task and drop names without votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.kernels import sort_votes
from finegold.votes.encoding import MISSING, Codes, Names
from finegold.votes.repeats import majority_of_repeats

__all__ = ["grouped", "merged", "renumber", "renumber_seen", "take", "votes_only"]


def votes_only(task: Codes, annotator: Codes, label: Codes) -> tuple[Codes, Codes, Codes]:
    """Return the rows that have a label; the same arrays, without a copy, if all rows have one."""
    if label.size and label.min() != MISSING:
        return task, annotator, label
    voted = np.flatnonzero(label != MISSING)
    if not voted.size:
        raise InputError("there are no votes: every label is missing")
    return task[voted], annotator[voted], label[voted]


def merged(task: Codes, annotator: Codes, label: Codes) -> tuple[Codes, Codes, Codes]:
    found = majority_of_repeats(task, annotator, label)
    if not len(found[0]):
        raise InputError("there are no votes left: the repeated votes of every annotator are tied on every task")
    return found


def grouped(
    task: Codes, annotator: Codes, label: Codes, counts: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[np.int64], Codes, sort_votes.Labels]:
    """Return the first vote of each task with votes, and the annotators and labels of the votes grouped by task."""
    start = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=start[1:])
    by_annotator = np.empty(len(task), np.int32)
    by_label: sort_votes.Labels = np.empty(len(task), np.uint8)
    if n_classes > 256:
        by_label = np.empty(len(task), np.uint16)
    sort_votes.group_by_task(task, annotator, label, start, by_annotator, by_label)
    used = np.append(counts > 0, True)
    return start if used.all() else start[used], by_annotator, by_label


def renumber_seen(annotator: Codes, n: int) -> NDArray[np.bool_]:
    """Renumber the annotators in place without those who have no votes, and return who has votes."""
    seen: NDArray[np.bool_] = sort_votes.count(annotator, n) > 0
    if not seen.all():
        sort_votes.renumber(annotator, renumber(seen))
    return seen


def take(names: Names, used: NDArray[np.bool_]) -> Names:
    taken: Names = names if used.all() else names[np.flatnonzero(used)]
    return taken


def renumber(used: NDArray[np.bool_]) -> Codes:
    numbers: Codes = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return numbers
