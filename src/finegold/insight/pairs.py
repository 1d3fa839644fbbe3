"""Pairs of votes on the same task, and of annotators who share tasks.

If there are too many pairs of votes for memory, only the annotators with the most votes are
compared: they have the most tasks in common.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from finegold.insight.votes import Floats, Integers
from finegold.votes.annotations import Annotations

MAX_VOTE_PAIRS = 2_000_000


class VotePairs(NamedTuple):
    """All pairs of votes of the annotators who are compared."""

    # [n] positions of both votes
    one: Integers
    other: Integers
    # [n]
    task: Integers
    # who was left out; empty if nobody was
    note: str


def vote_pairs(votes: Annotations, most: int = MAX_VOTE_PAIRS) -> VotePairs:
    """Return the pairs of votes on the same task, at most `most`."""
    task, who, _ = votes.votes()
    rank = np.empty(votes.n_annotators, np.int64)
    n_votes = np.bincount(who, minlength=len(rank))
    rank[np.argsort(-n_votes, kind="stable")] = np.arange(len(rank))
    of_vote = rank[who]

    def per_task(n_annotators: int) -> Integers:
        return np.bincount(task[of_vote < n_annotators], minlength=votes.n_tasks)

    def n_pairs(n_annotators: int) -> int:
        n = per_task(n_annotators)
        return int((n * (n - 1) // 2).sum())

    compared, note = len(rank), ""
    if n_pairs(compared) > most:
        compared = bisect_right(range(compared), most, key=n_pairs) - 1
        note = (
            "there are too many pairs of votes to compare all annotators two by two: this was done"
            f" for the {compared:,} annotators with the most votes"
        )
    kept, n = np.flatnonzero(of_vote < compared), per_task(compared)
    first, parts = np.cumsum(n) - n, []
    for size in np.unique(n).tolist():
        tasks = np.flatnonzero(n == size)
        rows = kept[first[tasks][:, None] + np.arange(size)]
        i, j = np.triu_indices(size, 1)
        parts.append((rows[:, i].ravel(), rows[:, j].ravel(), np.repeat(tasks, len(i))))
    one, other, of_task = (np.concatenate(side) for side in zip(*parts, strict=True))
    return VotePairs(one, other, of_task, note)


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
            return (self.agreed - self.expected) / (1 - self.expected)


def group_pairs(
    one: Integers, other: Integers, n: int, least: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """Return the pairs that occur often enough, how often, and the pair of each row or -1."""
    key, pair, times = np.unique(
        np.minimum(one, other) * n + np.maximum(one, other), return_inverse=True, return_counts=True
    )
    enough = times >= least
    first, second = np.divmod(key[enough], n)
    number = np.where(enough, np.cumsum(enough) - 1, -1)[pair]
    return first, second, times[enough].astype(np.int64), number


def annotator_pairs(
    votes: Annotations, least: int, weights: Floats | None = None
) -> tuple[AnnotatorPairs, Floats, str]:
    """Return the pairs of annotators with at least so many tasks; how much each task moves the mean
    of their kappas, weighted by the tasks; and a note on pairs of votes that were left out. With
    weights [K, K], votes agree in part.
    """
    one, other, task, note = vote_pairs(votes)
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
    found = AnnotatorPairs(first, second, shared, agreed, chance)
    # of each pair of votes: what chance agreement gains, and then kappa; NaN where it is undefined
    toward = others if weights is None else csr_array(others @ weights)
    slope = (near[pair, of_second] + toward[pair, of_first]) / shared[pair] - 2 * chance[pair]
    kappa = found.excess[pair]
    with np.errstate(invalid="ignore", divide="ignore"):
        gained = (agree - agreed[pair] - (1 - kappa) * slope) / (1 - chance[pair])
    n_known = max(int((~np.isnan(kappa)).sum()), 1)
    moved = np.nan_to_num(gained + kappa - np.nansum(kappa) / n_known) / n_known
    influence = np.zeros(votes.n_tasks)
    np.add.at(influence, task[rows], moved)
    return found, influence, note
