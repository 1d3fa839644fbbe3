"""Annotators two by two: Cohen's kappa of each pair, by the tasks that both saw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.annotations import Annotations
from karat.dependence import couples

__all__ = ["AnnotatorPairs", "annotator_pairs"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEWEST_SHARED = 10  # tasks; kappa of fewer is mostly noise, and of one is 0 or nothing
MOST_PAIRS = 2_000_000  # of votes; beyond, random tasks stand for all


class AnnotatorPairs(NamedTuple):
    """Pairs that share enough tasks, by their codes."""

    one: Integers
    other: Integers
    shared: Integers  # tasks
    observed: Floats
    kappa: Floats  # NaN where both always voted for one and the same class

    @property
    def mean_kappa(self) -> float:
        """Light's kappa; pairs count by the tasks that they share, which is alike where everybody saw everything."""
        known = ~np.isnan(self.kappa)
        return float(np.average(self.kappa[known], weights=self.shared[known])) if known.any() else np.nan


def annotator_pairs(votes: Annotations, seed: int = 0) -> AnnotatorPairs:
    one, other = _pairs_of_votes(votes, np.random.default_rng(seed))
    _, who, label = (codes.astype(np.int64) for codes in votes.votes())
    swap = who[one] > who[other]
    one, other = np.where(swap, other, one), np.where(swap, one, other)
    key, pair, shared = np.unique(who[one] * votes.n_annotators + who[other], return_inverse=True, return_counts=True)
    enough = shared >= FEWEST_SHARED
    rows = enough[pair]
    pair = (np.cumsum(enough) - 1)[pair[rows]]
    observed, kappa = _kappas(pair, label[one[rows]], label[other[rows]], int(enough.sum()), votes.n_classes)
    key = key[enough]
    return AnnotatorPairs(
        key // votes.n_annotators, key % votes.n_annotators, shared[enough].astype(np.int64), observed, kappa
    )


def _pairs_of_votes(votes: Annotations, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Places of every two votes on the same task, of all tasks or of some."""
    per_task = votes.votes_per_task
    pairs = per_task * (per_task - 1) // 2
    chosen = np.arange(votes.n_tasks)
    if pairs.sum() > MOST_PAIRS:
        chosen = rng.permutation(votes.n_tasks)
        chosen = chosen[: max(int(np.searchsorted(np.cumsum(pairs[chosen]), MOST_PAIRS)), 1)]
    first = votes.cell_ptr[votes.task_ptr]
    one, other, _ = couples(first[chosen], per_task[chosen], chosen)
    return one, other


def _kappas(pair: Integers, one: Integers, other: Integers, n: int, K: int) -> tuple[Floats, Floats]:
    """[n] observed agreement, and Cohen's kappa."""
    shared = np.maximum(np.bincount(pair, minlength=n), 1)
    observed = np.bincount(pair, one == other, minlength=n) / shared
    first, second = (np.bincount(pair * K + labels, minlength=n * K).reshape(n, K) for labels in (one, other))
    chance = (first * second).sum(axis=1) / shared**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return observed, np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)
