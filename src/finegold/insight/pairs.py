"""Pairs of votes on the same task. If there are too many for memory, random tasks are sampled.

On a task with very many votes, only the annotators with the most votes are kept: they have the most
tasks in common.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.cells import count
from finegold.results.data import rows_of
from finegold.votes.annotations import Annotations

Integers = NDArray[np.int64]
# a sample has at least this number of tasks, if there are as many
MIN_SAMPLED_TASKS = 50


class VotePairs(NamedTuple):
    """All pairs of votes on the sampled tasks."""

    # [n] position of the first vote
    one: Integers
    # [n] position of the second vote
    other: Integers
    # [n]
    task: Integers
    # [W] number of sampled votes of each annotator
    cast: Integers
    # what was left out; empty if nothing was
    note: str


def sample_vote_pairs(votes: Annotations, rng: np.random.Generator, most: int) -> VotePairs:
    """Return at most `most` pairs of votes, from tasks in random order."""
    order = rng.permutation(votes.n_tasks)
    first, n = rows_of(votes, order)
    is_cut = (n * (n - 1) // 2).sum() > most
    most_votes = (
        isqrt(2 * most // min(votes.n_tasks, MIN_SAMPLED_TASKS)) if is_cut else int(n.max())
    )
    capped = np.minimum(n, most_votes)
    total = np.cumsum(capped * (capped - 1) // 2)
    kept = (
        len(order) if total[-1] <= most else max(int(np.searchsorted(total, most, side="right")), 1)
    )
    order, first, n = order[:kept], first[:kept], n[:kept]
    wide = n > most_votes
    rows, parts = [], [(np.empty(0, np.int64),) * 3]
    # all pairs of the tasks with this number of votes
    for size in np.unique(n[~wide]):
        tasks = n == size
        votes_of_task = first[tasks][:, None] + np.arange(size)
        rows.append(votes_of_task.ravel())
        i, j = np.triu_indices(int(size), 1)
        parts.append(
            (
                votes_of_task[:, i].ravel(),
                votes_of_task[:, j].ravel(),
                np.repeat(order[tasks], len(i)),
            )
        )
    if wide.any():
        n_votes = count(votes.annotator, votes.n_annotators)
        # of annotators by number of votes; ties are in random order
        rank = np.empty(len(n_votes), np.int64)
        rank[np.lexsort((rng.permutation(len(n_votes)), -n_votes))] = np.arange(len(n_votes))
        for task, start, size in zip(order[wide], first[wide], n[wide], strict=True):
            ranks = rank[votes.annotator[start : start + size]]
            rows.append(np.sort(np.argsort(ranks, kind="stable")[:most_votes]) + start)
            i, j = np.triu_indices(most_votes, 1)
            parts.append((rows[-1][i], rows[-1][j], np.full(len(i), task)))
    one, other, of_task = (np.concatenate(side) for side in zip(*parts, strict=True))
    cast = count(votes.annotator[np.concatenate(rows)], votes.n_annotators)
    note = ""
    if kept < votes.n_tasks or wide.any():
        on = (
            f"on {kept:,} random tasks of {votes.n_tasks:,}"
            if kept < votes.n_tasks
            else "on all tasks"
        )
        among = (
            f", and on each only the {most_votes:,} annotators with the most votes"
            if wide.any()
            else ""
        )
        note = (
            "there are too many pairs of votes to compare all annotators two by two: this was done"
            f" {on}{among}"
        )
    return VotePairs(one, other, of_task, cast, note)
