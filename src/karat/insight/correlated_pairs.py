"""Annotators who agree more than the model explains: copied answers, judges of one family.

Every method here takes annotators as independent given the truth. Where some are not, the model takes their agreement
for skill, and all become sure and wrong together. By the posterior phi and their own confusion matrices c, two
annotators j and j' agree on task i with probability e = sum_k phi_ik sum_l c_jkl c_j'kl. Over the tasks that both saw,

    S = sum (agree - e),  V = sum e (1 - e),  E = sum (1 - e),  rho = S / E

rho is the share of possible excess agreement that is there: 0 for independent annotators, 1 for copies. Tasks that are
hard for everybody raise it for all pairs, and where the posterior follows a group it falls for pairs outside. So what
pairs of different groups show is taken as usual, and only the excess beyond that counts. Groups are found on one half
of the tasks, as those with the largest sum of S - (usual + form) E over their pairs (for two values of form; the other
half says which groups are better), and count only if the other half confirms them. A vote of a group's member is then
worth w_j = 1 / (1 + rho g_j), with g_j the mean number of fellows who voted on the same task: Kish's design effect for
clustered samples.

Only pairs that share a task are ever formed, and of large data only those of some tasks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.kernels.communities import move
from karat.kernels.confusion import counts
from karat.kernels.jit import fixed_length
from karat.votes.annotations import Annotations
from karat.votes.pairs import VotePairs, sample_vote_pairs

__all__ = ["Dependence", "Pairs", "dependence", "discounts", "vote_pairs"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_PAIRS = 100_000  # of votes; beyond, some tasks stand for all
FORM = (0.2, 0.4)  # a pair pulls together if its rho is above, and apart if below: of weak ties, and of copies
LEAST_RHO = 0.1  # a group must show more on the half of the tasks that it was not formed on
LEAST_USUAL = -0.2  # what is usual is not below
ROUNDS = 3  # of groups, and what is usual outside of them
SURE = 3.0  # standard errors by which the other half must exceed it
FEWEST_PAIRS = 20  # of votes, in the half that confirms
LEVELS, SWEEPS = 6, 20
ADDED = 2.0  # votes of the pooled matrix that are added to those of an annotator, for each truth
LEAST_COUNT = 1e-9  # where a class has no votes
NEGLIGIBLE = 1e-6  # probability of a truth
MOST_NUMBERS = 2**26  # in matrices of all annotators: half a gibibyte
ROOM = 2**22  # numbers that are worked on at once


class Dependence(NamedTuple):
    """What was found of groups: -1 stands for no group."""

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
    half: NDArray[np.bool_]  # of which half of the tasks


def dependence(annotations: Annotations, posterior: Floats, seed: int = 0) -> Dependence:
    """Judged by the posterior of PTBCC: its prototypes are shared, so that no group can make the truth its own."""
    pairs, _ = vote_pairs(annotations, posterior, np.random.default_rng(seed))
    found, usual = _find(pairs, annotations.n_annotators)
    return Dependence(*_confirm(pairs, found, usual))


def vote_pairs(
    annotations: Annotations, posterior: Floats, rng: np.random.Generator, most: int = MOST_PAIRS
) -> tuple[Pairs, VotePairs]:
    """Pairs of votes with their expected agreement, and the sample that they are: all pairs, or about `most`."""
    sample = sample_vote_pairs(annotations, rng, most)
    one, other, task = sample.one, sample.other, sample.task
    a, b = annotations.annotator[one].astype(np.int64), annotations.annotator[other].astype(np.int64)
    expected = _expected_agreement(_matrices(annotations, posterior), posterior, task, a, b)
    half = (rng.random(annotations.n_tasks) < 0.5)[task]
    agree = annotations.label_of(one) == annotations.label_of(other)
    return Pairs(a, b, agree - expected, expected, half), sample


def _matrices(annotations: Annotations, posterior: Floats) -> Floats:
    """[W, K, K]: how each annotator votes by these posteriors, with a few votes of the pooled matrix added.

    [1, K, K], the pooled matrix alone, where so many numbers would not fit.
    """
    K, who = annotations.n_classes, annotations.annotator.view(np.uint32)
    apart = annotations.n_annotators * K * K <= MOST_NUMBERS
    by_vote = np.zeros((annotations.n_annotators if apart else 1, K, K))  # the vote before the truth
    votes = (annotations.task_ptr.view(np.uint64), annotations.cell_ptr.view(np.uint64), annotations.cell_class)
    counts(fixed_length(K), *votes, who if apart else np.zeros_like(who), posterior, by_vote)  # type: ignore[arg-type]
    n = by_vote.transpose(0, 2, 1)
    pooled = n.sum(axis=0) + LEAST_COUNT
    n += ADDED * pooled / pooled.sum(axis=1, keepdims=True)  # in place: there is room for one such array
    n /= n.sum(axis=2, keepdims=True)
    return n


def _expected_agreement(matrices: Floats, posterior: Floats, task: Integers, one: Integers, other: Integers) -> Floats:
    """e for every pair of votes; truths that are all but impossible are left out, since there may be many classes."""
    one, other = one % len(matrices), other % len(matrices)  # 0, where there is a single matrix
    K, expected = posterior.shape[1], np.zeros(len(task))
    for k in range(K):
        phi = posterior[task, k]
        likely = np.flatnonzero(phi > NEGLIGIBLE)
        for rows in np.array_split(likely, max(len(likely) * K // ROOM, 1)):
            same = (matrices[one[rows], k] * matrices[other[rows], k]).sum(axis=1)
            expected[rows] += phi[rows] * same
    return expected


class Ties(NamedTuple):
    """Sums over the pairs of votes of two annotators, on half of the tasks."""

    one: Integers
    other: Integers
    excess: Floats  # S
    room: Floats  # E

    def outside(self, group: Integers) -> NDArray[np.bool_]:
        return np.not_equal(group[self.one], group[self.other])

    def gain(self, form: float) -> Floats:
        return self.excess - form * self.room


def _ties(pairs: Pairs, chosen: NDArray[np.bool_], n: int) -> Ties:
    low, high = np.minimum(pairs.one, pairs.other)[chosen], np.maximum(pairs.one, pairs.other)[chosen]
    key, place = np.unique(low * n + high, return_inverse=True)
    excess = np.bincount(place, pairs.excess[chosen], minlength=len(key)).astype(np.float64)
    room = np.bincount(place, 1 - pairs.expected[chosen], minlength=len(key)).astype(np.float64)
    return Ties(key // n, key % n, excess, room)


def _find(pairs: Pairs, n: int) -> tuple[Integers, float]:
    """Groups, and the rho that is usual between them: at first that of all pairs."""
    halves = _ties(pairs, pairs.half, n), _ties(pairs, ~pairs.half, n)
    group, usual = np.arange(n), 0.0
    for _ in range(ROUNDS):
        usual = _between(halves, group, usual)
        before, group = group, _best_groups(*halves, n, usual)
        if np.array_equal(before, group):
            break
    return group, usual


def _between(halves: tuple[Ties, Ties], group: Integers, otherwise: float) -> float:
    """rho over the pairs that are in no group together."""
    excess = sum(float(ties.excess[ties.outside(group)].sum()) for ties in halves)
    room = sum(float(ties.room[ties.outside(group)].sum()) for ties in halves)
    return max(excess / room, LEAST_USUAL) if room > 0 else otherwise


def _best_groups(first: Ties, second: Ties, n: int, usual: float) -> Integers:
    """Low demands find weak ties, but take in outsiders by chance where votes are sparse: the other half decides."""
    gain = second.gain(usual + min(FORM))
    found = [_cluster(first, n, usual + form) for form in FORM]
    return max(found, key=lambda group: float(gain[~second.outside(group)].sum()))


def _cluster(ties: Ties, n: int, form: float) -> Integers:
    """Groups, and groups of groups until nothing moves."""
    gain = ties.gain(form)
    group = np.arange(n)
    for _ in range(LEVELS):
        moved = _move(group[ties.one], group[ties.other], gain, n)
        if np.array_equal(moved[group], group):
            break
        group = moved[group]
    return group


def _move(a: Integers, b: Integers, gain: Floats, n: int) -> Integers:
    """One level: the pairs' gains are summed, then each node goes where it gains most."""
    different = a != b
    a, b, gain = a[different], b[different], gain[different]
    key, place = np.unique(np.concatenate([a * n + b, b * n + a]), return_inverse=True)
    total: Floats = np.bincount(place, np.concatenate([gain, gain]), minlength=len(key)).astype(np.float64)
    ptr = np.searchsorted(key, np.arange(n + 1) * n)
    group = np.arange(n)
    move(ptr, key % n, total, group, SWEEPS)
    return group


def _confirm(pairs: Pairs, found: Integers, usual: float) -> tuple[Integers, Floats]:
    """Groups whose excess agreement the other half of the tasks shows too, numbered from 0."""
    n = len(found)
    inside = ~pairs.half & (found[pairs.one] == found[pairs.other])
    of = found[pairs.one[inside]]
    e = pairs.expected[inside]
    room = np.bincount(of, 1 - e, minlength=n)
    rho = np.bincount(of, pairs.excess[inside], minlength=n) / np.maximum(room, 1e-9)
    error = np.sqrt(np.bincount(of, e * (1 - e), minlength=n)) / np.maximum(room, 1e-9)
    certain = (np.bincount(of, minlength=n) >= FEWEST_PAIRS) & (rho - SURE * error > usual + LEAST_RHO)
    number = np.where(certain, np.cumsum(certain) - 1, -1)
    return number[found], np.minimum((rho[certain] - usual) / (1 - usual), 1.0)


def discounts(pairs: Pairs, group: Integers, rho: Floats, votes: Floats) -> Floats:
    """[W] what a vote of each annotator is worth; `votes` are those that each cast on the tasks of the pairs."""
    inside = (group[pairs.one] == group[pairs.other]) & (group[pairs.one] >= 0)
    both = np.concatenate([pairs.one[inside], pairs.other[inside]])
    fellows = np.bincount(both, minlength=len(group)) / votes
    weights: Floats = 1 / (1 + np.append(rho, 0.0)[group] * fellows)
    return weights
