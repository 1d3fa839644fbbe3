"""Correlated annotators: who agrees more than truth and skill explain, and how many independent ones all are worth.

The posterior and the confusion matrices of two annotators say on how many tasks they should agree (correlated_pairs).
The excess is the share of the remaining tasks on which they agree anyway: 0 for independent annotators, 1 for copies.
A pair is suspicious if chance produces such an excess in one of a hundred data sets like this one. A family of LLM
judges, recognised by names, is suspicious if the excess of all its pairs is two standard errors above zero.

If most annotators make the same errors, the errors look like the truth. Votes cannot show that, only known truths can.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri

from karat.fitting.solve import fit
from karat.insight.correlated_pairs import Pairs, dependence, discounts, vote_pairs
from karat.insight.families import families
from karat.insight.votes import truth_codes, votes_of
from karat.methods.ptbcc import PTBCC
from karat.results.data import ResultData
from karat.votes.annotations import Annotations
from karat.votes.encoding import MISSING, Names
from karat.votes.frames import make_frame, take, to_list

__all__ = ["CorrelatedAnnotators", "correlated_annotators"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEWEST_SHARED = 20  # tasks of a pair
LEAST_EXCESS = 0.1  # a smaller one, however sure, does little harm
CHANCE = 0.01  # of suspecting anybody where all are independent
COPIED = 0.4  # above, one speaks of copying: tasks that are hard for all make a smaller excess, too
SURE = 2.0  # standard errors, where the names are reason enough to look
MOST_PAIRS = 2_000_000  # of votes; beyond, a sample stands for all (karat.votes.pairs)
NAMED, MEMBERS = 3, 5  # groups that a warning names, and members of each
MOST_OF = 2 / 3  # of the annotators: if as many are of one family, its errors may pass for the truth


class Evidence(NamedTuple):
    """Pairs of annotators who share enough tasks, by their codes."""

    one: Integers
    other: Integers
    shared: Integers  # tasks
    agreed: Floats  # share of them
    expected: Floats
    excess: Floats
    z: Floats  # standard errors from no excess
    suspicious: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class CorrelatedAnnotators:
    """Groups of correlated annotators; all annotators are worth as much as `effective` independent ones."""

    n_annotators: int
    effective: float
    weights: Floats = field(repr=False)  # [W] what a vote of each is worth
    group: Integers = field(repr=False)  # [W], -1 for no group
    excess: Floats  # of each group
    evidence: Evidence = field(repr=False)
    names: Names = field(repr=False)
    warnings: list[str] = field(default_factory=list)

    @property
    def n_groups(self) -> int:
        return len(self.excess)

    def groups(self) -> Any:
        """Return a data frame with a row per group of annotators who agree more than their skill explains."""
        members = [np.flatnonzero(self.group == g) for g in range(self.n_groups)]
        columns = {
            "group": np.arange(1, self.n_groups + 1),
            "members": np.array([", ".join(map(str, to_list(self.names[m]))) for m in members], dtype=np.str_),
            "n_members": np.array([len(m) for m in members], np.int64),
            "excess": self.excess,
            "worth": np.array([self.weights[m].sum() for m in members], np.float64),
        }
        return make_frame(columns, like=self.names)

    def pairs(self) -> Any:
        """Return a data frame of the pairs of annotators that share at least 20 tasks, the most suspicious first."""
        found = self.evidence
        order = np.argsort(-found.z, kind="stable")
        columns = {
            "annotator_1": take(self.names, found.one[order].astype(np.int32)),
            "annotator_2": take(self.names, found.other[order].astype(np.int32)),
            "n_shared": found.shared[order],
            "agreed": found.agreed[order],
            "expected": found.expected[order],
            "excess": found.excess[order],
            "z": found.z[order],
            "suspicious": found.suspicious[order],
        }
        return make_frame(columns, like=self.names)


def correlated_annotators(result: ResultData, truth: Any = None, seed: int = 0) -> CorrelatedAnnotators:
    """Find annotators who agree more than the truth and their skill explain.

    Parameters
    ----------
    result : ResultData
        The result, with its votes.
    truth : path, data frame or mapping, optional
        Known truths. Only tasks that have one are used then, which also finds errors that most annotators share.
    seed : int, default 0
        For the sample of pairs of votes, where there are more than two million.

    Returns
    -------
    CorrelatedAnnotators
        Groups, pairs, and the number of independent annotators that all are worth.
    """
    votes = votes_of(result)
    votes, posterior = (votes, _posterior(result, votes)) if truth is None else _known(result, votes, truth)
    pairs, sample = vote_pairs(votes, posterior, np.random.default_rng(seed), MOST_PAIRS)
    evidence = _evidence(pairs, votes.n_annotators)
    kin = _families(votes.annotator_names, pairs)
    group = _groups(dependence(votes, posterior, seed).group, evidence, kin)
    excess = _by_group(pairs, group).excess
    weights = discounts(pairs, group, np.clip(excess, 0, 1), np.maximum(sample.cast, 1.0))
    return CorrelatedAnnotators(
        n_annotators=votes.n_annotators,
        effective=float(weights.sum()),
        weights=weights,
        group=group,
        excess=excess,
        evidence=evidence,
        names=votes.annotator_names,
        warnings=[
            *_warn_of_families(kin, weights),
            *_warn_of_groups(votes.annotator_names, group, excess, weights, kin),
            *([sample.note] if sample.note else []),
        ],
    )


def _posterior(result: ResultData, votes: Annotations) -> Floats:
    """The posterior of PTBCC: annotators share its prototypes, so no group can pull the truth to its side."""
    return result.posterior if result.method == "ptbcc" else fit(PTBCC(), votes).posterior


def _known(result: ResultData, votes: Annotations, truth: Any) -> tuple[Annotations, Floats]:
    """The votes on tasks whose truth is known and is one of the classes, and these truths as certainties."""
    codes = truth_codes(result, truth, with_gold=True)
    known = (codes != MISSING) & (codes < votes.n_classes)
    task, annotator, label = (column[known[votes.votes()[0]]] for column in votes.votes())
    names = (votes.task_names, votes.annotator_names, votes.class_names)
    some = Annotations.from_codes(task, annotator, label, *names, repeated="all")
    return some, np.eye(votes.n_classes)[codes[known]]


class Sums(NamedTuple):
    """Sums over pairs of votes, by some key."""

    n: Integers
    agreed: Floats
    expected: Floats
    variance: Floats

    @property
    def excess(self) -> Floats:
        """The share of the possible agreement beyond the expected one that was observed."""
        return (self.agreed - self.expected) / np.maximum(self.n - self.expected, 1e-9)

    @property
    def z(self) -> Floats:
        return (self.agreed - self.expected) / np.sqrt(np.maximum(self.variance, 1e-9))


def _sums(pairs: Pairs, key: Integers, n: int) -> Sums:
    """Pairs whose key is negative do not count."""
    counted = key >= 0
    key, e, excess = key[counted], pairs.expected[counted], pairs.excess[counted]

    def add(values: Floats) -> Floats:
        return np.bincount(key, values, minlength=n).astype(np.float64)

    return Sums(np.bincount(key, minlength=n), add(excess + e), add(e), add(e * (1 - e)))


def _evidence(pairs: Pairs, n_annotators: int) -> Evidence:
    low, high = np.minimum(pairs.one, pairs.other), np.maximum(pairs.one, pairs.other)
    who, key = np.unique(low * n_annotators + high, return_inverse=True)
    key = np.where(low == high, -1, key)  # repeated votes of one annotator
    enough = np.bincount(key[key >= 0], minlength=len(who)) >= FEWEST_SHARED
    place = np.append(np.where(enough, np.cumsum(enough) - 1, -1), -1)  # a key of -1 finds the last
    who, sums = who[enough], _sums(pairs, place[key], int(enough.sum()))
    sure = -ndtri(CHANCE / max(len(who), 1))  # of many pairs, one always agrees most
    return Evidence(
        who // n_annotators,
        who % n_annotators,
        sums.n,
        sums.agreed / sums.n,
        sums.expected / sums.n,
        sums.excess,
        sums.z,
        (sums.z > sure) & (sums.excess > LEAST_EXCESS),
    )


class Family(NamedTuple):
    """LLM judges with similar names."""

    stem: str
    members: list[int]
    names: list[str]
    excess: float
    errs_alike: bool


def _families(names: Names, pairs: Pairs) -> list[Family]:
    texts = [str(name) for name in to_list(names)]
    found = []
    for stem, members in families(texts).items():
        of = np.full(len(texts), -1)
        of[members] = 0
        sums = _by_group(pairs, of)
        sure = bool(sums.z[0] > SURE and sums.excess[0] > LEAST_EXCESS)
        found.append(Family(stem, members, [texts[m] for m in members], float(sums.excess[0]), sure))
    return found


def _by_group(pairs: Pairs, group: Integers) -> Sums:
    """Over the pairs within each group."""
    inside = (group[pairs.one] == group[pairs.other]) & (pairs.one != pairs.other)
    return _sums(pairs, np.where(inside, group[pairs.one], -1), int(group.max()) + 1)


def _groups(copying: Integers, evidence: Evidence, kin: list[Family]) -> Integers:
    """Connect annotators by suspicious pairs, groups of copies and families that make the same errors."""
    links = [(evidence.one[evidence.suspicious], evidence.other[evidence.suspicious])]
    chains = [np.flatnonzero(copying == g) for g in range(int(copying.max()) + 1)]
    chains += [np.array(family.members) for family in kin if family.errs_alike]
    links += [(chain[:-1], chain[1:]) for chain in chains]
    one, other = (np.concatenate(side) for side in zip(*links, strict=True))
    n = len(copying)
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(n, n))
    _, component = connected_components(graph, directed=False)
    several = np.bincount(component, minlength=n) > 1
    group: Integers = np.where(several, np.cumsum(several) - 1, -1)[component]
    return group


def _warn_of_families(kin: list[Family], weights: Floats) -> list[str]:
    said = []
    for stem, members, names, excess, errs_alike in kin:
        listed = ", ".join(names)
        if errs_alike:
            said.append(
                f"{listed} are of one family and err alike (excess agreement {excess:.2f}): together they are worth "
                f"about {weights[members].sum():.1f} independent judges, so do not count them as {len(members)}"
            )
        elif len(members) >= MOST_OF * len(weights):
            said.append(
                f"{len(members)} of {len(weights)} annotators are of the family {stem} ({listed}): errors that they "
                "share pass for the truth and do not show in votes; add judges of other families, or gold truths"
            )
    return said


def _warn_of_groups(names: Names, group: Integers, excess: Floats, weights: Floats, kin: list[Family]) -> list[str]:
    """Groups that are no family; the largest are named."""
    told = {tuple(family.members) for family in kin if family.errs_alike}
    members = [np.flatnonzero(group == g) for g in range(len(excess))]
    new = [g for g in np.argsort([-len(m) for m in members], kind="stable") if tuple(members[g].tolist()) not in told]
    said = [
        f"annotators {_listed(names, members[g])} agree more than their skill explains, {_as_if(excess[g])} (excess "
        f"agreement {excess[g]:.2f}): they are worth about {weights[members[g]].sum():.1f} independent ones"
        for g in new[:NAMED]
    ]
    return said + ([f"{len(new) - NAMED:,} more groups agree so"] if len(new) > NAMED else [])


def _as_if(excess: float) -> str:
    return "as if they copied" if excess > COPIED else "by erring alike or on tasks that are hard for all of them"


def _listed(names: Names, members: Integers) -> str:
    shown = ", ".join(str(name) for name in to_list(names[members[:MEMBERS]]))
    return shown + (f" and {len(members) - MEMBERS:,} more" if len(members) > MEMBERS else "")
