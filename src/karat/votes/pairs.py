"""Pairs of votes on the same task: all of them, or a sample whose size is bounded.

A task of n votes has n (n - 1) / 2 pairs, so that a question that everybody answered would need more memory than there
is. Beyond a given number of pairs, random tasks stand for all tasks, and on a task with very many votes the annotators
who voted most stand for all annotators: they have most tasks in common.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.kernels.sort_votes import count
from karat.votes.annotations import Annotations

__all__ = ["VotePairs", "rows_of", "sample_vote_pairs"]

Integers = NDArray[np.int64]

FEWEST_TASKS = 50  # that a sample has room for, even if all tasks have very many votes


class VotePairs(NamedTuple):
    """Every two votes of the sampled tasks."""

    one: Integers  # [n] place of a vote
    other: Integers  # [n]
    task: Integers  # [n]
    cast: Integers  # [W] sampled votes of each annotator
    note: str  # what was left out; empty if nothing was


def sample_vote_pairs(votes: Annotations, rng: np.random.Generator, most: int) -> VotePairs:
    """At most `most` pairs of votes, taken from tasks in random order."""
    order = rng.permutation(votes.n_tasks)
    first, n = rows_of(votes, order)
    widest = int(n.max()) if _n_pairs(n).sum() <= most else isqrt(2 * most // min(votes.n_tasks, FEWEST_TASKS))
    total = np.cumsum(_n_pairs(np.minimum(n, widest)))
    kept = len(order) if total[-1] <= most else max(int(np.searchsorted(total, most, side="right")), 1)
    order, first, n = order[:kept], first[:kept], n[:kept]
    wide = n > widest
    parts = [_couples(first[~wide], n[~wide], order[~wide])]
    rows = [_ranges(first[~wide], n[~wide])]
    if wide.any():
        rank = _rank(votes, rng)
        for task, start, size in zip(order[wide], first[wide], n[wide], strict=True):
            rows.append(_most_active(votes.annotator[start : start + size], rank, widest) + start)
            parts.append(_couples_of(rows[-1], task))
    one, other, of_task = (np.concatenate(side) for side in zip(*parts, strict=True))
    cast = count(votes.annotator[np.concatenate(rows)], votes.n_annotators)
    return VotePairs(one, other, of_task, cast, _note(kept, votes.n_tasks, widest if wide.any() else 0))


def rows_of(votes: Annotations, tasks: Integers) -> tuple[Integers, Integers]:
    """Where the votes of these tasks begin, and how many there are."""
    first = votes.cell_ptr[votes.task_ptr[tasks]]
    return first, votes.cell_ptr[votes.task_ptr[tasks + 1]] - first


def _n_pairs(n: Integers) -> Integers:
    return n * (n - 1) // 2


def _couples(first: Integers, n: Integers, task: Integers) -> tuple[Integers, Integers, Integers]:
    """Every two votes of each of these tasks: their places, and the task."""
    one, other, of_task = ([np.empty(0, np.int64)] for _ in range(3))
    for size in np.unique(n[n > 1]):
        rows = n == size
        i, j = np.triu_indices(int(size), 1)
        one.append((first[rows][:, None] + i).ravel())
        other.append((first[rows][:, None] + j).ravel())
        of_task.append(np.repeat(task[rows], len(i)))
    return np.concatenate(one), np.concatenate(other), np.concatenate(of_task)


def _couples_of(rows: Integers, task: int) -> tuple[Integers, Integers, Integers]:
    i, j = np.triu_indices(len(rows), 1)
    return rows[i], rows[j], np.full(len(i), task)


def _ranges(first: Integers, n: Integers) -> Integers:
    """The numbers first, ..., first + n - 1 of each, in a row."""
    before = np.cumsum(n) - n
    ranges: Integers = np.arange(n.sum()) + np.repeat(first - before, n)
    return ranges


def _rank(votes: Annotations, rng: np.random.Generator) -> Integers:
    """[W] the place of each annotator by number of votes, the highest first; equal numbers in random order."""
    n = count(votes.annotator, votes.n_annotators)
    rank = np.empty(len(n), np.int64)
    rank[np.lexsort((rng.permutation(len(n)), -n))] = np.arange(len(n))
    return rank


def _most_active(annotator: NDArray[np.int32], rank: Integers, most: int) -> Integers:
    """Places of the votes by the annotators of lowest rank."""
    places: Integers = np.sort(np.argsort(rank[annotator], kind="stable")[:most])
    return places


def _note(n_tasks: int, of: int, widest: int) -> str:
    if n_tasks == of and not widest:
        return ""
    on = f"on {n_tasks:,} random tasks of {of:,}" if n_tasks < of else "on all tasks"
    among = f", and on each only the {widest:,} annotators with the most votes" if widest else ""
    return f"there are too many pairs of votes to compare all annotators two by two: this was done {on}{among}"
