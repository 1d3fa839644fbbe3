"""Annotators two by two: Cohen's kappa of each pair, by the tasks that both saw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.votes.annotations import Annotations
from karat.votes.pairs import sample_vote_pairs

__all__ = ["AnnotatorPairs", "annotator_pairs"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEWEST_SHARED = 10  # tasks; kappa of fewer is mostly noise, and of one is 0 or nothing
MOST_PAIRS = 2_000_000  # of votes; beyond, a sample stands for all (karat.votes.pairs)


class AnnotatorPairs(NamedTuple):
    """Pairs that share enough tasks, by their codes."""

    one: Integers
    other: Integers
    shared: Integers  # tasks
    observed: Floats
    kappa: Floats  # NaN where both always voted for one and the same class
    note: str  # which pairs of votes were left out; empty if none were

    @property
    def mean_kappa(self) -> float:
        """Light's kappa; pairs count by the tasks that they share, which is alike where everybody saw everything."""
        known = ~np.isnan(self.kappa)
        return float(np.average(self.kappa[known], weights=self.shared[known])) if known.any() else np.nan


def annotator_pairs(votes: Annotations, seed: int = 0) -> AnnotatorPairs:
    one, other, _, _, note = sample_vote_pairs(votes, np.random.default_rng(seed), MOST_PAIRS)
    who, label = votes.annotator.astype(np.int64), votes.votes()[2].astype(np.int64)
    swap = who[one] > who[other]
    one, other = np.where(swap, other, one), np.where(swap, one, other)
    key, pair, shared = np.unique(who[one] * votes.n_annotators + who[other], return_inverse=True, return_counts=True)
    enough = shared >= FEWEST_SHARED
    rows = enough[pair]
    pair = (np.cumsum(enough) - 1)[pair[rows]]
    observed, kappa = _kappas(pair, label[one[rows]], label[other[rows]], int(enough.sum()), votes.n_classes)
    key = key[enough]
    return AnnotatorPairs(
        key // votes.n_annotators, key % votes.n_annotators, shared[enough].astype(np.int64), observed, kappa, note
    )


def _kappas(pair: Integers, one: Integers, other: Integers, n: int, K: int) -> tuple[Floats, Floats]:
    """[n] observed agreement, and Cohen's kappa."""
    shared = np.maximum(np.bincount(pair, minlength=n), 1)
    observed = np.bincount(pair, one == other, minlength=n) / shared
    chance = _products(pair * K + one, pair * K + other, n, K) / shared**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return observed, np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)


def _products(one: Integers, other: Integers, n: int, K: int) -> Floats:
    """[n] the sum over classes of how often one side voted for it times the other, without an array [n, K]."""
    (key, counts), (other_key, other_counts) = (np.unique(side, return_counts=True) for side in (one, other))
    both, i, j = np.intersect1d(key, other_key, assume_unique=True, return_indices=True)
    return np.bincount(both // K, counts[i] * other_counts[j], minlength=n).astype(np.float64)
