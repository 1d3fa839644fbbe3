"""Cohen's kappa of each pair of annotators, on the tasks of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.votes.annotations import Annotations
from finegold.votes.pairs import sample_vote_pairs

__all__ = ["AnnotatorPairs", "annotator_pairs"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MIN_SHARED_TASKS = 10  # kappa of fewer tasks is mostly noise, and of one task it is 0 or NaN
MAX_VOTE_PAIRS = 2_000_000  # if there are more, a sample of the tasks is used (finegold.votes.pairs)


class AnnotatorPairs(NamedTuple):
    """Pairs of annotators who share enough tasks, as codes."""

    one: Integers
    other: Integers
    shared: Integers  # number of tasks
    observed: Floats
    kappa: Floats  # NaN if both always voted for the same class
    note: str  # says which pairs of votes were left out; empty if none were

    @property
    def mean_kappa(self) -> float:
        """Return Light's kappa, the mean over pairs of annotators, weighted by the number of shared tasks."""
        known = ~np.isnan(self.kappa)
        return float(np.average(self.kappa[known], weights=self.shared[known])) if known.any() else np.nan


def annotator_pairs(votes: Annotations, seed: int = 0) -> AnnotatorPairs:
    one, other, _, _, note = sample_vote_pairs(votes, np.random.default_rng(seed), MAX_VOTE_PAIRS)
    who, label = votes.annotator.astype(np.int64), votes.votes()[2].astype(np.int64)
    swap = who[one] > who[other]
    one, other = np.where(swap, other, one), np.where(swap, one, other)
    key, pair, shared = np.unique(who[one] * votes.n_annotators + who[other], return_inverse=True, return_counts=True)
    enough = shared >= MIN_SHARED_TASKS
    rows = enough[pair]
    pair = (np.cumsum(enough) - 1)[pair[rows]]
    observed, kappa = _kappas(pair, label[one[rows]], label[other[rows]], int(enough.sum()), votes.n_classes)
    key = key[enough]
    return AnnotatorPairs(
        key // votes.n_annotators, key % votes.n_annotators, shared[enough].astype(np.int64), observed, kappa, note
    )


def _kappas(pair: Integers, one: Integers, other: Integers, n: int, K: int) -> tuple[Floats, Floats]:
    """[n] Return the observed agreement and Cohen's kappa of each pair."""
    shared = np.maximum(np.bincount(pair, minlength=n), 1)
    observed = np.bincount(pair, one == other, minlength=n) / shared
    chance = _products(pair * K + one, pair * K + other, n, K) / shared**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return observed, np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)


def _products(one: Integers, other: Integers, n: int, K: int) -> Floats:
    """[n] Sum over classes the product of both annotators' vote counts, without an array [n, K]."""
    (key, counts), (other_key, other_counts) = (np.unique(side, return_counts=True) for side in (one, other))
    both, i, j = np.intersect1d(key, other_key, assume_unique=True, return_indices=True)
    return np.bincount(both // K, counts[i] * other_counts[j], minlength=n).astype(np.float64)
