"""Find groups of annotators who agree more than the model explains: copied answers, judges of one family.

Every method here assumes that annotators are independent given the truth. If some are not, the model mistakes their
agreement for skill and becomes sure of wrong labels. According to the posterior phi and their confusion matrices c, two
annotators j and j' agree on task i with probability e = sum_k phi_ik sum_l c_jkl c_j'kl. Over the tasks of both,

    S = sum (agree - e),  V = sum e (1 - e),  E = sum (1 - e),  rho = S / E

rho is the observed share of the possible excess agreement: 0 for independent annotators, 1 for copies. Tasks that are
hard for everybody raise rho for all pairs, and if the posterior follows a group, rho falls for pairs outside of it.
Therefore the rho of pairs from different groups is the baseline, and only the excess above the baseline counts.

Groups are searched on one half of the tasks: they maximise the sum of S - (baseline + threshold) E over the pairs
within groups, for two thresholds. The other half of the tasks selects the better of the two groupings, and only groups
that it confirms are kept. A vote of a group member is then worth w_j = 1 / (1 + rho g_j), where g_j is the mean number
of other members who voted on the same task: Kish's design effect for clustered samples.

Only pairs of annotators who share a task are formed. If there are very many, a sample of the tasks is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from finegold.insight.votes import Flags, Floats, Integers
from finegold.kernels.confusion import counts
from finegold.kernels.insight import move
from finegold.kernels.jit import fixed_length
from finegold.votes.annotations import Annotations, kernel_votes
from finegold.votes.pairs import VotePairs, sample_vote_pairs

MAX_VOTE_PAIRS = 100_000  # if there are more, a sample of the tasks is used
LINK_THRESHOLDS = (0.2, 0.4)  # of rho above the baseline, for weak correlation and for copies; pairs above attract
MIN_RHO = 0.1  # above the baseline, that a group must exceed on the half of the tasks that confirms it
MIN_BASELINE_RHO = -0.2  # a lower baseline is raised to this
MAX_ROUNDS = 3  # of finding groups and the baseline in turn
MIN_STANDARD_ERRORS = 3.0  # by which rho must exceed MIN_RHO on the half that confirms
MIN_VOTE_PAIRS = 20  # of a group, in the half that confirms
MAX_LEVELS, MAX_SWEEPS = 6, 20
PRIOR_VOTES = 2.0  # from the pooled matrix, added to the votes of an annotator for each truth
MIN_COUNT = 1e-9  # for classes without votes
NEGLIGIBLE_PROBABILITY = 1e-6  # less probable truths are skipped
MAX_MATRIX_NUMBERS = 2**26  # in the matrices of all annotators: half a gibibyte
CHUNK_NUMBERS = 2**22  # processed at a time


class CorrelatedGroups(NamedTuple):
    """Groups of correlated annotators; -1 stands for no group."""

    group: Integers  # [W]
    rho: Floats  # [number of groups]

    @property
    def n_groups(self) -> int:
        return len(self.rho)


class Pairs(NamedTuple):
    """Pairs of votes on the same task."""

    one: Integers  # annotators
    other: Integers
    excess: Floats  # agree - e
    expected: Floats  # e
    half: Flags  # whether the task is in the half that forms the groups


def correlated_groups(annotations: Annotations, posterior: Floats, seed: int = 0) -> CorrelatedGroups:
    """Find groups of correlated annotators."""
    # The posterior should be that of PTBCC: all annotators share its prototypes, so a group cannot dominate the labels.
    pairs, _ = vote_pairs(annotations, posterior, np.random.default_rng(seed))
    return CorrelatedGroups(*_confirm(pairs, *_find_groups(pairs, annotations.n_annotators)))


def vote_pairs(
    annotations: Annotations, posterior: Floats, rng: np.random.Generator, most: int = MAX_VOTE_PAIRS
) -> tuple[Pairs, VotePairs]:
    """Return pairs of votes with their expected agreement, and their sample: all pairs, or about `most`."""
    sample = sample_vote_pairs(annotations, rng, most)
    one, other, task = sample.one, sample.other, sample.task
    a, b = annotations.annotator[one].astype(np.int64), annotations.annotator[other].astype(np.int64)
    matrices, K, expected = _matrices(annotations, posterior), annotations.n_classes, np.zeros(len(task))
    first, second = a % len(matrices), b % len(matrices)  # 0 if there is a single matrix
    for k in range(K):  # very improbable truths are skipped, since there can be many classes
        phi = posterior[task, k]
        likely = np.flatnonzero(phi > NEGLIGIBLE_PROBABILITY)
        for rows in np.array_split(likely, max(len(likely) * K // CHUNK_NUMBERS, 1)):
            expected[rows] += phi[rows] * (matrices[first[rows], k] * matrices[second[rows], k]).sum(axis=1)
    half = (rng.random(annotations.n_tasks) < 0.5)[task]
    agree = annotations.label_of(one) == annotations.label_of(other)
    return Pairs(a, b, agree - expected, expected, half), sample


def _matrices(annotations: Annotations, posterior: Floats) -> Floats:
    """[W, K, K] Return the confusion matrix of each annotator, with a few votes of the pooled matrix added."""
    # If there are too many annotators and classes, return the pooled matrix alone, [1, K, K].
    K, votes = annotations.n_classes, kernel_votes(annotations)
    apart = annotations.n_annotators * K * K <= MAX_MATRIX_NUMBERS
    by_vote = np.zeros((annotations.n_annotators if apart else 1, K, K))  # [W or 1, vote, truth]
    votes = votes if apart else votes._replace(annotator=np.zeros_like(votes.annotator))
    counts(fixed_length(K), votes, posterior, by_vote)
    n = by_vote.transpose(0, 2, 1)
    pooled = n.sum(axis=0) + MIN_COUNT
    n += PRIOR_VOTES * pooled / pooled.sum(axis=1, keepdims=True)  # in place, to allocate only one such array
    n /= n.sum(axis=2, keepdims=True)
    return n


class PairSums(NamedTuple):
    """Sums over the pairs of votes of two annotators, on half of the tasks."""

    one: Integers
    other: Integers
    excess: Floats  # S
    possible: Floats  # E

    def outside(self, group: Integers) -> Flags:
        return np.not_equal(group[self.one], group[self.other])


def _pair_sums(pairs: Pairs, chosen: Flags, n: int) -> PairSums:
    low, high = np.minimum(pairs.one, pairs.other)[chosen], np.maximum(pairs.one, pairs.other)[chosen]
    key, place = np.unique(low * n + high, return_inverse=True)
    excess = np.bincount(place, pairs.excess[chosen], minlength=len(key)).astype(np.float64)
    possible = np.bincount(place, 1 - pairs.expected[chosen], minlength=len(key)).astype(np.float64)
    return PairSums(key // n, key % n, excess, possible)


def _find_groups(pairs: Pairs, n: int) -> tuple[Integers, float]:
    """Return the group of each annotator and the baseline, which is the rho of all pairs at first."""
    # Of the groups of two thresholds, the second half of the tasks selects the better ones: a low threshold finds weak
    # correlation, but adds unrelated annotators by chance if votes are sparse.
    halves = first, second = _pair_sums(pairs, pairs.half, n), _pair_sums(pairs, ~pairs.half, n)
    group, baseline = np.arange(n), 0.0
    for _ in range(MAX_ROUNDS):
        excess = sum(float(sums.excess[sums.outside(group)].sum()) for sums in halves)
        possible = sum(float(sums.possible[sums.outside(group)].sum()) for sums in halves)
        baseline = max(excess / possible, MIN_BASELINE_RHO) if possible > 0 else baseline
        gain = second.excess - (baseline + min(LINK_THRESHOLDS)) * second.possible
        groupings = [_cluster(first, n, baseline + threshold) for threshold in LINK_THRESHOLDS]
        before, group = group, max(groupings, key=lambda each: float(gain[~second.outside(each)].sum()))
        if np.array_equal(before, group):
            break
    return group, baseline


def _cluster(sums: PairSums, n: int, threshold: float) -> Integers:
    """Form groups, then groups of groups, until nothing changes: each moves to the group with the largest gain."""
    group = np.arange(n)
    for _ in range(MAX_LEVELS):
        a, b, gain = group[sums.one], group[sums.other], sums.excess - threshold * sums.possible
        apart = a != b
        a, b, gain = a[apart], b[apart], gain[apart]
        key, place = np.unique(np.concatenate([a * n + b, b * n + a]), return_inverse=True)
        total: Floats = np.bincount(place, np.concatenate([gain, gain]), minlength=len(key)).astype(np.float64)
        moved = np.arange(n)
        move(np.searchsorted(key, np.arange(n + 1) * n), key % n, total, moved, MAX_SWEEPS)
        if np.array_equal(moved[group], group):
            break
        group = moved[group]
    return group


def _confirm(pairs: Pairs, found: Integers, baseline: float) -> tuple[Integers, Floats]:
    """Return the groups that the other half of the tasks confirms, numbered from 0, and their rho."""
    n = len(found)
    inside = ~pairs.half & (found[pairs.one] == found[pairs.other])
    group = found[pairs.one[inside]]
    e = pairs.expected[inside]
    possible = np.bincount(group, 1 - e, minlength=n)
    rho = np.bincount(group, pairs.excess[inside], minlength=n) / np.maximum(possible, 1e-9)
    error = np.sqrt(np.bincount(group, e * (1 - e), minlength=n)) / np.maximum(possible, 1e-9)
    certain = np.bincount(group, minlength=n) >= MIN_VOTE_PAIRS
    certain &= rho - MIN_STANDARD_ERRORS * error > baseline + MIN_RHO
    number = np.where(certain, np.cumsum(certain) - 1, -1)
    return number[found], np.minimum((rho[certain] - baseline) / (1 - baseline), 1.0)


def discounts(pairs: Pairs, group: Integers, rho: Floats, votes: Floats) -> Floats:
    """[W] Return the weight of each annotator's votes; `votes` counts theirs on the tasks of the pairs."""
    inside = (group[pairs.one] == group[pairs.other]) & (group[pairs.one] >= 0)
    both = np.concatenate([pairs.one[inside], pairs.other[inside]])
    others = np.bincount(both, minlength=len(group)) / votes
    weights: Floats = 1 / (1 + np.append(rho, 0.0)[group] * others)
    return weights


MIN_SHARED_TASKS = 10  # kappa of fewer tasks is mostly noise, and of one task it is 0 or NaN
MAX_VOTE_PAIRS_PAIRS = 2_000_000  # if there are more, a sample of the tasks is used (finegold.votes.pairs)


class AnnotatorPairs(NamedTuple):
    """Pairs of annotators who share enough tasks, as codes."""

    one: Integers
    other: Integers
    shared: Integers  # number of tasks
    observed: Floats
    kappa: Floats  # NaN if both always voted for the same class
    note: str  # says which pairs of votes were left out; empty if none were


def annotator_pairs(votes: Annotations, seed: int = 0) -> AnnotatorPairs:
    one, other, _, _, note = sample_vote_pairs(votes, np.random.default_rng(seed), MAX_VOTE_PAIRS_PAIRS)
    who, label = votes.annotator.astype(np.int64), votes.votes()[2].astype(np.int64)
    swap = who[one] > who[other]
    one, other = np.where(swap, other, one), np.where(swap, one, other)
    key, pair, shared = np.unique(who[one] * votes.n_annotators + who[other], return_inverse=True, return_counts=True)
    enough = shared >= MIN_SHARED_TASKS
    rows = enough[pair]
    pair = (np.cumsum(enough) - 1)[pair[rows]]
    n, K, one, other = int(enough.sum()), votes.n_classes, label[one[rows]], label[other[rows]]
    n_shared = np.maximum(np.bincount(pair, minlength=n), 1)
    observed = np.bincount(pair, one == other, minlength=n) / n_shared
    # chance: the product of both annotators' vote counts, summed over classes without an array [n, K]
    (code, counts), (other_code, other_counts) = (np.unique(pair * K + x, return_counts=True) for x in (one, other))
    both, i, j = np.intersect1d(code, other_code, assume_unique=True, return_indices=True)
    chance = np.bincount(both // K, counts[i] * other_counts[j], minlength=n) / n_shared**2
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)
    first, second = np.divmod(key[enough], votes.n_annotators)
    return AnnotatorPairs(first, second, shared[enough].astype(np.int64), observed, kappa, note)
