"""Find correlated annotators, and the number of independent annotators that all of them are worth.

The posterior and the confusion matrices of two annotators give the expected number of tasks on which they agree
(correlated_pairs). The excess is the share of the remaining tasks on which they agree anyway: 0 for independent
annotators, 1 for copies. A pair is suspicious if chance produces such an excess in at most one of a hundred data sets
like this one. A family of LLM judges, recognised by names, is suspicious if the excess of all its pairs is more than
two standard errors above zero.

If most annotators make the same errors, the errors look like the truth. Only known truths can reveal that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from finegold.fitting.solve import fit
from finegold.insight.correlated_pairs import Pairs, correlated_groups, discounts, vote_pairs
from finegold.insight.votes import Flags, Floats, Integers, truth_codes, votes_of
from finegold.methods.ptbcc import PTBCC
from finegold.results.data import ResultData
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Names, to_list
from finegold.votes.frames import make_frame

MODELS = {
    *("claude", "command", "deepseek", "falcon", "gemini", "gemma", "glm", "gpt", "grok", "jamba", "kimi", "llama"),
    *("mistral", "mixtral", "nova", "o", "phi", "prometheus", "qwen", "vicuna", "yi"),
}
# Other names count as models if they contain a size or a variant: acme-7b, acme-instruct.
SIZES_AND_VARIANTS = re.compile(
    r"(?<![a-z0-9])(\d+(\.\d+)?b|chat|instruct|large|mini|nano|preview|small|turbo)(?![a-z0-9])"
)
STEM = re.compile(r"(?:chat)?([a-z]+)")


def families(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of the members of each family with two or more members.

    >>> families(["gpt-4o", "openai/gpt-4o-mini", "claude-3-haiku", "worker-1", "worker-2"])
    {'gpt': [0, 1]}
    """
    members: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        model = re.split(r"[/:]", name.strip().lower().removesuffix(":latest"))[-1]  # without its provider
        begins = STEM.match(model)
        if begins and (begins[1] in MODELS or SIZES_AND_VARIANTS.search(model)):
            members.setdefault(begins[1], []).append(position)
    return {stem: positions for stem, positions in members.items() if len(positions) > 1}


MIN_SHARED_TASKS = 20  # pairs with fewer shared tasks are left out
MIN_EXCESS = 0.1  # a smaller excess does little harm, even if it is significant
FALSE_ALARM_PROBABILITY = 0.01  # probability of suspecting any pair if all annotators are independent
COPYING_EXCESS = 0.4  # warnings speak of copying above this excess; tasks that are hard for all cause a smaller one
MIN_STANDARD_ERRORS = 2.0  # above zero, for families, whose names are a reason to test them
MAX_VOTE_PAIRS = 2_000_000  # if there are more, a sample of the tasks is used (finegold.votes.pairs)
MAX_NAMED_GROUPS, MAX_NAMED_MEMBERS = 3, 5  # number of groups in a warning, and of members of each
DOMINANT_FAMILY_SHARE = 2 / 3  # if one family has this share of the annotators, its errors may look like the truth


class Evidence(NamedTuple):
    """Pairs of annotators who share enough tasks, as codes."""

    one: Integers
    other: Integers
    shared: Integers  # number of tasks
    agreed: Floats  # share of the shared tasks
    expected: Floats
    excess: Floats
    z: Floats  # excess in standard errors
    suspicious: Flags


@dataclass(frozen=True, eq=False)
class CorrelatedAnnotators:
    """Groups of correlated annotators; all annotators are worth as much as `effective` independent ones."""

    n_annotators: int
    effective: float
    weights: Floats = field(repr=False)  # [W] weight of each annotator's votes
    group: Integers = field(repr=False)  # [W], -1 for no group
    excess: Floats  # [number of groups]
    evidence: Evidence = field(repr=False)
    names: Names = field(repr=False)
    warnings: list[str] = field(default_factory=list)

    @property
    def n_groups(self) -> int:
        return len(self.excess)

    def groups(self) -> Any:
        """Return a data frame with one row per group of annotators who agree more than their skill explains."""
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
            "annotator_1": self.names.take(found.one[order].astype(np.int32)),
            "annotator_2": self.names.take(found.other[order].astype(np.int32)),
            "n_shared": found.shared[order],
            **{name: getattr(found, name)[order] for name in ("agreed", "expected", "excess", "z", "suspicious")},
        }
        return make_frame(columns, like=self.names)


def correlated_annotators(result: ResultData, truth: Any = None, seed: int = 0) -> CorrelatedAnnotators:
    """Find annotators who agree more than the truth and their skill explain.

    With known truths (a path, a data frame or a mapping), only their tasks are used; this also finds errors that most
    annotators share. `seed` is that of the sample of pairs of votes, which is drawn if there are over two million.
    """
    votes = votes_of(result)
    if truth is None:  # PTBCC's annotators share prototypes, so a group cannot dominate the labels
        posterior = result.posterior if result.method == "ptbcc" else fit(PTBCC(), votes).posterior
    else:  # votes on tasks whose truth is known and is one of the classes, and these truths as a posterior
        codes = truth_codes(result, truth, with_gold=True)
        known = (codes != MISSING) & (codes < votes.n_classes)
        task, annotator, label = (column[known[votes.votes()[0]]] for column in votes.votes())
        names = (votes.task_names, votes.annotator_names, votes.class_names)
        votes = Annotations.from_codes(task, annotator, label, *names, repeated="all")
        posterior = np.eye(votes.n_classes)[codes[known]]
    pairs, sample = vote_pairs(votes, posterior, np.random.default_rng(seed), MAX_VOTE_PAIRS)
    evidence = _evidence(pairs, votes.n_annotators)
    llm_families = _families(votes.annotator_names, pairs)
    group = _groups(correlated_groups(votes, posterior, seed).group, evidence, llm_families)
    excess = _by_group(pairs, group).excess
    weights = discounts(pairs, group, np.clip(excess, 0, 1), np.maximum(sample.cast, 1.0))
    warnings = _warnings(votes.annotator_names, group, excess, weights, llm_families)
    warnings += [sample.note] if sample.note else []
    n, who = votes.n_annotators, votes.annotator_names
    return CorrelatedAnnotators(n, float(weights.sum()), weights, group, excess, evidence, who, warnings)


class Sums(NamedTuple):
    """Sums over the pairs of votes with the same key."""

    n: Integers
    agreed: Floats
    expected: Floats
    excess: Floats  # the observed share of the possible agreement beyond the expected agreement
    z: Floats


def _sums(pairs: Pairs, key: Integers, n_keys: int) -> Sums:
    """Sum over the pairs of votes of each key; negative keys are left out."""
    counted = key >= 0
    key, e, excess = key[counted], pairs.expected[counted], pairs.excess[counted]
    sums = (np.bincount(key, values, minlength=n_keys).astype(np.float64) for values in (excess + e, e, e * (1 - e)))
    agreed, expected, variance = sums
    n, beyond = np.bincount(key, minlength=n_keys), agreed - expected
    share, z = beyond / np.maximum(n - expected, 1e-9), beyond / np.sqrt(np.maximum(variance, 1e-9))
    return Sums(n, agreed, expected, share, z)


def _evidence(pairs: Pairs, n_annotators: int) -> Evidence:
    low, high = np.minimum(pairs.one, pairs.other), np.maximum(pairs.one, pairs.other)
    who, key = np.unique(low * n_annotators + high, return_inverse=True)
    key = np.where(low == high, -1, key)  # repeated votes of one annotator
    enough = np.bincount(key[key >= 0], minlength=len(who)) >= MIN_SHARED_TASKS
    place = np.append(np.where(enough, np.cumsum(enough) - 1, -1), -1)  # the key -1 selects the last entry
    who, sums = who[enough], _sums(pairs, place[key], int(enough.sum()))
    threshold = -ndtri(FALSE_ALARM_PROBABILITY / max(len(who), 1))  # Bonferroni correction for the number of pairs
    suspicious = (sums.z > threshold) & (sums.excess > MIN_EXCESS)
    shares = sums.agreed / sums.n, sums.expected / sums.n
    return Evidence(*np.divmod(who, n_annotators), sums.n, *shares, sums.excess, sums.z, suspicious)


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
        group = np.full(len(texts), -1)
        group[members] = 0
        sums = _by_group(pairs, group)
        errs_alike = bool(sums.z[0] > MIN_STANDARD_ERRORS and sums.excess[0] > MIN_EXCESS)
        found.append(Family(stem, members, [texts[m] for m in members], float(sums.excess[0]), errs_alike))
    return found


def _by_group(pairs: Pairs, group: Integers) -> Sums:
    """Sum over the pairs of votes within each group."""
    inside = (group[pairs.one] == group[pairs.other]) & (pairs.one != pairs.other)
    return _sums(pairs, np.where(inside, group[pairs.one], -1), int(group.max()) + 1)


def _groups(copying: Integers, evidence: Evidence, llm_families: list[Family]) -> Integers:
    """Connect annotators by suspicious pairs, groups of copies and families that make the same errors."""
    links = [(evidence.one[evidence.suspicious], evidence.other[evidence.suspicious])]
    chains = [np.flatnonzero(copying == g) for g in range(int(copying.max()) + 1)]
    chains += [np.array(family.members) for family in llm_families if family.errs_alike]
    links += [(chain[:-1], chain[1:]) for chain in chains]
    one, other = (np.concatenate(side) for side in zip(*links, strict=True))
    n = len(copying)
    component = np.arange(n)  # the first annotator that each is connected with
    while True:
        least, lower = np.minimum(component[one], component[other]), component.copy()
        np.minimum.at(lower, one, least)
        np.minimum.at(lower, other, least)
        if np.array_equal(lower, component):
            break
        component = lower[lower]
    component = np.unique(component, return_inverse=True)[1]
    several = np.bincount(component, minlength=n) > 1
    group: Integers = np.where(several, np.cumsum(several) - 1, -1)[component]
    return group


def _warnings(names: Names, group: Integers, excess: Floats, weights: Floats, families: list[Family]) -> list[str]:
    """Return warnings about families, and about groups that are not families, the largest groups first."""
    warnings = []
    for stem, members, texts, family_excess, errs_alike in families:
        listed = ", ".join(texts)
        if errs_alike:
            warnings.append(
                f"{listed} are of one family and err alike (excess agreement {family_excess:.2f}): together they are "
                f"worth about {max(weights[members].sum(), 1.0):.1f} independent judges, so do not count them as "
                f"{len(members)}"
            )
        elif len(members) >= DOMINANT_FAMILY_SHARE * len(weights):
            warnings.append(
                f"{len(members)} of {len(weights)} annotators are of the family {stem} ({listed}): errors that they "
                "share pass for the truth and do not show in votes; add judges of other families, or gold truths"
            )
    reported = [family.members for family in families if family.errs_alike]
    groups = [np.flatnonzero(group == g) for g in range(len(excess))]
    largest_first = np.argsort([-len(members) for members in groups], kind="stable")
    new = [g for g in largest_first if groups[g].tolist() not in reported]
    for g in new[:MAX_NAMED_GROUPS]:
        members = groups[g]
        listed = ", ".join(str(name) for name in to_list(names[members[:MAX_NAMED_MEMBERS]]))
        more = f" and {len(members) - MAX_NAMED_MEMBERS:,} more" if len(members) > MAX_NAMED_MEMBERS else ""
        is_copying = excess[g] > COPYING_EXCESS
        how = "as if they copied" if is_copying else "by erring alike or on tasks that are hard for all of them"
        warnings.append(
            f"annotators {listed}{more} agree more than their skill explains, {how} (excess agreement "
            f"{excess[g]:.2f}): they are worth about {max(weights[members].sum(), 1.0):.1f} independent ones"
        )
    if len(new) > MAX_NAMED_GROUPS:
        warnings.append(f"{len(new) - MAX_NAMED_GROUPS:,} more groups agree in this way")
    return warnings
