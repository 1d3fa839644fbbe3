"""Pairs of votes on the same task, and of annotators who share tasks.

If there are too many pairs of votes for memory, random tasks are sampled. On a task with very many
votes, only the annotators with the most votes are kept: they have the most tasks in common.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from finegold.insight.votes import Floats, Integers
from finegold.kernels.cells import count
from finegold.results.data import rows_of
from finegold.votes.annotations import Annotations

# if there are more pairs of votes, a sample of the tasks is used
MAX_VOTE_PAIRS = 2_000_000
# a sample has at least this number of tasks, if there are as many
MIN_SAMPLED_TASKS = 50


class VotePairs(NamedTuple):
    """All pairs of votes on the sampled tasks."""

    # [n] positions of both votes
    one: Integers
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
    widest = isqrt(2 * most // min(len(n), MIN_SAMPLED_TASKS)) if is_cut else int(n.max())
    size = np.minimum(n, widest)
    enough = np.searchsorted(np.cumsum(size * (size - 1) // 2), most, side="right")
    kept = slice(max(int(enough), 1))
    order, first, n, size = order[kept], first[kept], n[kept], size[kept]
    is_wide = n > widest
    # of annotators by number of votes; ties are in random order
    rank: Integers = np.empty(votes.n_annotators, np.int64)
    if is_wide.any():
        n_votes = count(votes.annotator, votes.n_annotators)
        by_votes = np.lexsort((rng.permutation(len(n_votes)), -n_votes))
        rank[by_votes] = np.arange(len(n_votes))
    parts, cast = [], np.zeros(votes.n_annotators, np.int64)
    for k in np.unique(size).tolist():
        tasks = np.flatnonzero(size == k)
        rows = first[tasks][:, None] + np.arange(k)
        for place in np.flatnonzero(is_wide[tasks]):
            all_rows = first[tasks[place]] + np.arange(n[tasks[place]])
            rows[place] = np.sort(all_rows[np.argsort(rank[votes.annotator[all_rows]])[:k]])
        i, j = np.triu_indices(k, 1)
        parts.append((rows[:, i].ravel(), rows[:, j].ravel(), np.repeat(order[tasks], len(i))))
        cast += count(votes.annotator[rows.ravel()], votes.n_annotators)
    one, other, of_task = (np.concatenate(side) for side in zip(*parts, strict=True))
    note = ""
    if len(order) < votes.n_tasks or is_wide.any():
        some = f"{len(order):,} random tasks of {votes.n_tasks:,}"
        note = (
            "there are too many pairs of votes to compare all annotators two by two: this was done"
            f" on {some if len(order) < votes.n_tasks else 'all tasks'}"
        )
        if is_wide.any():
            note += f", and on each only the {widest:,} annotators with the most votes"
    return VotePairs(one, other, of_task, cast, note)


class AnnotatorPairs(NamedTuple):
    """Pairs of annotators who share enough tasks, as codes."""

    one: Integers
    other: Integers
    # number of tasks
    shared: Integers
    # share of the shared tasks, and what is expected of independent annotators
    agreed: Floats
    expected: Floats

    @property
    def excess(self) -> Floats:
        """Agreement beyond the expected one, as a share of what is possible: 1 for copies."""
        with np.errstate(invalid="ignore", divide="ignore"):
            excess = (self.agreed - self.expected) / (1 - self.expected)
            return np.where(self.expected < 1, excess, np.nan)


def group_pairs(
    one: Integers, other: Integers, n: int, least: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """Return the annotators of each distinct pair that occurs often enough, how often it does, and
    the pair of each row, or -1.
    """
    key, pair, times = np.unique(
        np.minimum(one, other) * n + np.maximum(one, other), return_inverse=True, return_counts=True
    )
    enough = times >= least
    first, second = np.divmod(key[enough], n)
    number = np.where(enough, np.cumsum(enough) - 1, -1)[pair]
    return first, second, times[enough].astype(np.int64), number


def annotator_pairs(
    votes: Annotations, least: int, weights: Floats | None = None, seed: int = 0
) -> tuple[AnnotatorPairs, str]:
    """Return the pairs of annotators with at least so many tasks, and a note on pairs of votes that
    were left out. With weights [K, K], votes agree in part.
    """
    one, other, _, _, note = sample_vote_pairs(votes, np.random.default_rng(seed), MAX_VOTE_PAIRS)
    who, label, K = votes.annotator.astype(np.int64), votes.votes()[2], votes.n_classes
    swap = who[one] > who[other]
    one, other = np.where(swap, other, one), np.where(swap, one, other)
    first, second, shared, pair = group_pairs(who[one], who[other], votes.n_annotators, least)
    rows, n = pair >= 0, len(shared)
    pair, of_first, of_second = pair[rows], label[one[rows]], label[other[rows]]
    agree = of_first == of_second if weights is None else weights[of_first, of_second]
    # chance: the product of both annotators' vote counts
    ones = np.ones(len(pair))
    counts, others = (csr_array((ones, (pair, v)), shape=(n, K)) for v in (of_first, of_second))
    near = counts if weights is None else csr_array(counts @ weights)
    chance = (near * others).sum(axis=1) / shared**2
    agreed = np.bincount(pair, agree, minlength=n) / shared
    return AnnotatorPairs(first, second, shared, agreed, chance), note
