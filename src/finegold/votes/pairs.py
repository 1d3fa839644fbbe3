"""Pairs of votes on the same task: all of them, or a sample of bounded size.

A task with n votes has n (n - 1) / 2 pairs, which may be too many for memory. If there are more pairs than allowed,
random tasks are sampled. On a task with very many votes, only the annotators with the most votes are kept, because they
have the most tasks in common.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.sort_votes import count
from finegold.votes.annotations import Annotations

Integers = NDArray[np.int64]

MIN_SAMPLED_TASKS = 50  # a sample has at least this number of tasks, if there are as many


class VotePairs(NamedTuple):
    """All pairs of votes on the sampled tasks."""

    one: Integers  # [n] position of the first vote
    other: Integers  # [n] position of the second vote
    task: Integers  # [n]
    cast: Integers  # [W] number of sampled votes of each annotator
    note: str  # what was left out; empty if nothing was


def sample_vote_pairs(votes: Annotations, rng: np.random.Generator, most: int) -> VotePairs:
    """Return at most `most` pairs of votes, from tasks in random order."""
    order = rng.permutation(votes.n_tasks)
    first, n = rows_of(votes, order)
    most_votes = int(n.max()) if _n_pairs(n).sum() <= most else isqrt(2 * most // min(votes.n_tasks, MIN_SAMPLED_TASKS))
    total = np.cumsum(_n_pairs(np.minimum(n, most_votes)))
    kept = len(order) if total[-1] <= most else max(int(np.searchsorted(total, most, side="right")), 1)
    order, first, n = order[:kept], first[:kept], n[:kept]
    wide = n > most_votes
    parts = [_pairs_of_tasks(first[~wide], n[~wide], order[~wide])]
    rows = [_ranges(first[~wide], n[~wide])]
    if wide.any():
        rank = _rank(votes, rng)
        for task, start, size in zip(order[wide], first[wide], n[wide], strict=True):
            rows.append(_most_active(votes.annotator[start : start + size], rank, most_votes) + start)
            parts.append(_pairs_of_rows(rows[-1], task))
    one, other, of_task = (np.concatenate(side) for side in zip(*parts, strict=True))
    cast = count(votes.annotator[np.concatenate(rows)], votes.n_annotators)
    return VotePairs(one, other, of_task, cast, _note(kept, votes.n_tasks, most_votes if wide.any() else 0))


def rows_of(votes: Annotations, tasks: Integers) -> tuple[Integers, Integers]:
    """Return the first vote and the number of votes of each of these tasks."""
    first = votes.cell_ptr[votes.task_ptr[tasks]]
    return first, votes.cell_ptr[votes.task_ptr[tasks + 1]] - first


def _n_pairs(n: Integers) -> Integers:
    return n * (n - 1) // 2


def _pairs_of_tasks(first: Integers, n: Integers, task: Integers) -> tuple[Integers, Integers, Integers]:
    """Return all pairs of votes of these tasks: two positions and the task."""
    one, other, of_task = ([np.empty(0, np.int64)] for _ in range(3))
    for size in np.unique(n[n > 1]):
        rows = n == size
        i, j = np.triu_indices(int(size), 1)
        one.append((first[rows][:, None] + i).ravel())
        other.append((first[rows][:, None] + j).ravel())
        of_task.append(np.repeat(task[rows], len(i)))
    return np.concatenate(one), np.concatenate(other), np.concatenate(of_task)


def _pairs_of_rows(rows: Integers, task: int) -> tuple[Integers, Integers, Integers]:
    i, j = np.triu_indices(len(rows), 1)
    return rows[i], rows[j], np.full(len(i), task)


def _ranges(first: Integers, n: Integers) -> Integers:
    """Concatenate the ranges first, ..., first + n - 1."""
    before = np.cumsum(n) - n
    ranges: Integers = np.arange(n.sum()) + np.repeat(first - before, n)
    return ranges


def _rank(votes: Annotations, rng: np.random.Generator) -> Integers:
    """Return the rank, [W], of each annotator by number of votes, the highest first; ties are in random order."""
    n = count(votes.annotator, votes.n_annotators)
    rank = np.empty(len(n), np.int64)
    rank[np.lexsort((rng.permutation(len(n)), -n))] = np.arange(len(n))
    return rank


def _most_active(annotator: NDArray[np.int32], rank: Integers, most: int) -> Integers:
    """Return the positions of the votes by the annotators with the lowest ranks."""
    places: Integers = np.sort(np.argsort(rank[annotator], kind="stable")[:most])
    return places


def _note(n_tasks: int, of: int, most_votes: int) -> str:
    if n_tasks == of and not most_votes:
        return ""
    on = f"on {n_tasks:,} random tasks of {of:,}" if n_tasks < of else "on all tasks"
    among = f", and on each only the {most_votes:,} annotators with the most votes" if most_votes else ""
    return f"there are too many pairs of votes to compare all annotators two by two: this was done {on}{among}"
