"""Find groups of annotators who agree more than the model explains, and how many independent ones
they are worth.

Every method here assumes that annotators are independent given the truth. If some are not, such as
copies or judges of one family, the model mistakes their agreement for skill and becomes sure of
wrong labels. According to the posterior phi and their confusion matrices c, two annotators j and j'
agree on task i with the probability e = sum_k phi_ik sum_l c_jkl c_j'kl. Over the tasks of both,

    S = sum (agree - e),  V = sum e (1 - e),  E = sum (1 - e),  rho = S / E

rho, the excess, is the observed share of the possible agreement beyond e: 0 for independent
annotators, 1 for copies.

- A pair is suspicious if chance produces such an excess in at most one of a hundred data sets like
  this one.
- A family of LLM judges, recognised by names, is suspicious if the excess of all its pairs is more
  than two standard errors above zero.
- Annotators who share few tasks each are searched for groups on one half of the tasks: these
  maximise the sum of S - (baseline + threshold) E over the pairs within groups. The other half
  confirms the groups. Tasks that are hard for everybody raise rho for all pairs, and if the
  posterior follows a group, rho falls outside of it, so the baseline is the rho of pairs from
  different groups.

Annotators that any of these connects form a group. A vote of a member is worth w_j = 1 / (1 + rho
g_j), where g_j is the mean number of other members who voted on the same task: Kish's design effect
for clustered samples.

If most annotators make the same errors, the errors look like the truth. Only known truths can
reveal that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from finegold.fitting.solve import fit
from finegold.insight.coefficients import add_up
from finegold.insight.votes import Flags, Floats, Integers, truth_codes, votes_of
from finegold.kernels.compiling import fixed_length
from finegold.kernels.confusion import counts
from finegold.kernels.insight import move
from finegold.methods.ptbcc import PTBCC
from finegold.results.data import ResultData
from finegold.votes.annotations import Annotations, kernel_votes
from finegold.votes.encoding import MISSING, Names, to_list
from finegold.votes.frames import make_frame
from finegold.votes.pairs import VotePairs, sample_vote_pairs

MODELS = {
    *(
        "claude",
        "command",
        "deepseek",
        "falcon",
        "gemini",
        "gemma",
        "glm",
        "gpt",
        "grok",
        "jamba",
        "kimi",
        "llama",
    ),
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
        # without its provider
        model = re.split(r"[/:]", name.strip().lower().removesuffix(":latest"))[-1]
        begins = STEM.match(model)
        if begins and (begins[1] in MODELS or SIZES_AND_VARIANTS.search(model)):
            members.setdefault(begins[1], []).append(position)
    return {stem: positions for stem, positions in members.items() if len(positions) > 1}


# pairs with fewer shared tasks are left out
MIN_SHARED_TASKS = 20
# a smaller excess does little harm, even if it is significant
MIN_EXCESS = 0.1
# probability of suspecting any pair if all annotators are independent
FALSE_ALARM_PROBABILITY = 0.01
# warnings speak of copying above this excess; tasks that are hard for all cause a smaller one
COPYING_EXCESS = 0.4
# standard errors above zero, for families, whose names are a reason to test them
MIN_FAMILY_ERRORS = 2.0
# number of groups in a warning, and of members of each
MAX_NAMED_GROUPS, MAX_NAMED_MEMBERS = 3, 5
# if one family has this share of the annotators, its errors may look like the truth
DOMINANT_FAMILY_SHARE = 2 / 3
# if there are more, a sample of the tasks is used (finegold.votes.pairs)
MAX_VOTE_PAIRS = 2_000_000
# of rho above the baseline; pairs above attract each other
LINK_THRESHOLD = 0.2
# above the baseline, that a group must exceed on the half of the tasks that confirms it
MIN_RHO = 0.1
# a lower baseline is raised to this
MIN_BASELINE_RHO = -0.2
# of finding groups and the baseline in turn
MAX_ROUNDS = 3
# standard errors by which rho must exceed MIN_RHO on the half that confirms
MIN_GROUP_ERRORS = 3.0
# of a group, in the half that confirms
MIN_VOTE_PAIRS = 20
MAX_LEVELS, MAX_SWEEPS = 6, 20
# from the pooled matrix, added to the votes of an annotator for each truth
PRIOR_VOTES = 2.0
# for classes without votes
MIN_COUNT = 1e-9
# less probable truths are skipped
NEGLIGIBLE_PROBABILITY = 1e-6
# in the matrices of all annotators: half a gibibyte
MAX_MATRIX_NUMBERS = 2**26
# processed at a time
CHUNK_NUMBERS = 2**22


class Evidence(NamedTuple):
    """Pairs of annotators who share enough tasks, as codes."""

    one: Integers
    other: Integers
    # number of tasks
    shared: Integers
    # share of the shared tasks
    agreed: Floats
    expected: Floats
    excess: Floats
    # excess in standard errors
    z: Floats
    suspicious: Flags


@dataclass(frozen=True, eq=False)
class CorrelatedAnnotators:
    """Groups of correlated annotators; all annotators are worth as much as `effective` independent
    ones.
    """

    n_annotators: int
    effective: float
    # [W] weight of each annotator's votes
    weights: Floats = field(repr=False)
    # [W], -1 for no group
    group: Integers = field(repr=False)
    # [number of groups]
    excess: Floats
    evidence: Evidence = field(repr=False)
    names: Names = field(repr=False)
    warnings: list[str] = field(default_factory=list)

    @property
    def n_groups(self) -> int:
        return len(self.excess)

    def groups(self) -> Any:
        """Return a data frame with one row per group of annotators who agree more than their skill
        explains.
        """
        members = [np.flatnonzero(self.group == g) for g in range(self.n_groups)]
        columns = {
            "group": np.arange(1, self.n_groups + 1),
            "members": np.array(
                [", ".join(map(str, to_list(self.names[m]))) for m in members], dtype=np.str_
            ),
            "n_members": np.array([len(m) for m in members], np.int64),
            "excess": self.excess,
            "worth": np.array([self.weights[m].sum() for m in members], np.float64),
        }
        return make_frame(columns, like=self.names)

    def pairs(self) -> Any:
        """Return a data frame of the pairs of annotators that share at least 20 tasks, the most
        suspicious first.
        """
        found = self.evidence
        order = np.argsort(-found.z, kind="stable")
        columns = {
            "annotator_1": self.names.take(found.one[order].astype(np.int32)),
            "annotator_2": self.names.take(found.other[order].astype(np.int32)),
            "n_shared": found.shared[order],
            **{
                name: getattr(found, name)[order]
                for name in ("agreed", "expected", "excess", "z", "suspicious")
            },
        }
        return make_frame(columns, like=self.names)


def correlated_annotators(
    result: ResultData, truth: Any = None, seed: int = 0
) -> CorrelatedAnnotators:
    """Find annotators who agree more than the truth and their skill explain.

    With known truths (a path, a data frame or a mapping), only their tasks are used; this also
    finds errors that most annotators share. `seed` is that of the sample of pairs of votes, which
    is drawn if there are over two million.
    """
    votes = votes_of(result)
    # PTBCC's annotators share prototypes, so a group cannot dominate the labels
    if truth is None:
        posterior = result.posterior if result.method == "ptbcc" else fit(PTBCC(), votes).posterior
    else:
        # votes on tasks whose truth is known and is one of the classes, and these truths as a
        # posterior
        codes = truth_codes(result, truth, with_gold=True)
        known = (codes != MISSING) & (codes < votes.n_classes)
        task, annotator, label = (column[known[votes.votes()[0]]] for column in votes.votes())
        names = (votes.task_names, votes.annotator_names, votes.class_names)
        votes = Annotations.from_codes(task, annotator, label, *names, repeated="all")
        posterior = np.eye(votes.n_classes)[codes[known]]
    n, who = votes.n_annotators, votes.annotator_names
    pairs, sample = vote_pairs(votes, posterior, np.random.default_rng(seed))
    evidence, llm_families = _evidence(pairs, n), _families(who, pairs)
    group = _groups(correlated_groups(pairs, n), evidence, llm_families)
    excess = _sums(pairs, _common_group(pairs, group), int(group.max()) + 1).excess
    weights = _weights(pairs, group, np.clip(excess, 0, 1), np.maximum(sample.cast, 1.0))
    warnings = _warnings(who, group, excess, weights, llm_families) + (
        [sample.note] if sample.note else []
    )
    return CorrelatedAnnotators(
        n, float(weights.sum()), weights, group, excess, evidence, who, warnings
    )


class Pairs(NamedTuple):
    """Pairs of votes of two annotators on the same task."""

    # annotators
    one: Integers
    other: Integers
    # 1 where the votes are equal
    agree: Floats
    # the probability that they agree
    expected: Floats
    # whether the task is in the half that forms the groups
    half: Flags


def vote_pairs(
    annotations: Annotations, posterior: Floats, rng: np.random.Generator
) -> tuple[Pairs, VotePairs]:
    """Return pairs of votes with their expected agreement, and the sample of votes that they are
    from.
    """
    sample = sample_vote_pairs(annotations, rng, MAX_VOTE_PAIRS)
    one, other, task = sample.one, sample.other, sample.task
    a, b = (
        annotations.annotator[one].astype(np.int64),
        annotations.annotator[other].astype(np.int64),
    )
    matrices, K, expected = (
        _matrices(annotations, posterior),
        annotations.n_classes,
        np.zeros(len(task)),
    )
    # 0 if there is a single matrix
    first, second = a % len(matrices), b % len(matrices)
    # very improbable truths are skipped, since there can be many classes
    for k in range(K):
        phi = posterior[task, k]
        likely = np.flatnonzero(phi > NEGLIGIBLE_PROBABILITY)
        for rows in np.array_split(likely, max(len(likely) * K // CHUNK_NUMBERS, 1)):
            expected[rows] += phi[rows] * (
                matrices[first[rows], k] * matrices[second[rows], k]
            ).sum(axis=1)
    half = (rng.random(annotations.n_tasks) < 0.5)[task]
    agree = (annotations.label_of(one) == annotations.label_of(other)).astype(np.float64)
    pairs = Pairs(a, b, agree, expected, half)
    # without repeated votes of one annotator
    return Pairs(*(values[a != b] for values in pairs)), sample


def _matrices(annotations: Annotations, posterior: Floats) -> Floats:
    """[W, K, K] Return the confusion matrix of each annotator, with a few votes of the pooled
    matrix added.
    """
    # If there are too many annotators and classes, return the pooled matrix alone, [1, K, K].
    K, votes = annotations.n_classes, kernel_votes(annotations)
    apart = annotations.n_annotators * K * K <= MAX_MATRIX_NUMBERS
    # [W or 1, vote, truth]
    by_vote = np.zeros((annotations.n_annotators if apart else 1, K, K))
    votes = votes if apart else votes._replace(annotator=np.zeros_like(votes.annotator))
    counts(fixed_length(K), votes, posterior, by_vote)
    n = by_vote.transpose(0, 2, 1)
    pooled = n.sum(axis=0) + MIN_COUNT
    # in place, to allocate only one such array
    n += PRIOR_VOTES * pooled / pooled.sum(axis=1, keepdims=True)
    n /= n.sum(axis=2, keepdims=True)
    return n


class Sums(NamedTuple):
    """Sums over the pairs of votes with the same key."""

    n: Integers
    agreed: Floats
    expected: Floats
    variance: Floats

    @property
    def beyond(self) -> Floats:
        """Agreement beyond the expected one: S."""
        return self.agreed - self.expected

    @property
    def possible(self) -> Floats:
        """What it can be at most: E."""
        return np.maximum(self.n - self.expected, 1e-9)

    @property
    def excess(self) -> Floats:
        return self.beyond / self.possible

    @property
    def z(self) -> Floats:
        """The excess in standard errors."""
        return self.beyond / np.sqrt(np.maximum(self.variance, 1e-9))


def _sums(pairs: Pairs, key: Integers, n_keys: int) -> Sums:
    """Sum over the pairs of votes of each key; negative keys are left out."""
    counted = key >= 0
    key, e = key[counted], pairs.expected[counted]
    agreed, expected, variance = (
        add_up(key, each, n_keys) for each in (pairs.agree[counted], e, e * (1 - e))
    )
    return Sums(np.bincount(key, minlength=n_keys), agreed, expected, variance)


def _key_of_annotators(pairs: Pairs, n: int) -> Integers:
    """Return a number for each pair of two annotators of n."""
    return np.minimum(pairs.one, pairs.other) * n + np.maximum(pairs.one, pairs.other)


def _common_group(pairs: Pairs, group: Integers) -> Integers:
    """Return the group that both annotators of a pair belong to, or -1."""
    return np.where(group[pairs.one] == group[pairs.other], group[pairs.one], -1)


def _evidence(pairs: Pairs, n_annotators: int) -> Evidence:
    who, key, shared = np.unique(
        _key_of_annotators(pairs, n_annotators), return_inverse=True, return_counts=True
    )
    enough = shared >= MIN_SHARED_TASKS
    who, sums = (
        who[enough],
        _sums(pairs, np.where(enough, np.cumsum(enough) - 1, -1)[key], int(enough.sum())),
    )
    # Bonferroni correction for the number of pairs
    threshold = -ndtri(FALSE_ALARM_PROBABILITY / max(len(who), 1))
    suspicious = (sums.z > threshold) & (sums.excess > MIN_EXCESS)
    shares = sums.agreed / sums.n, sums.expected / sums.n
    return Evidence(*np.divmod(who, n_annotators), sums.n, *shares, sums.excess, sums.z, suspicious)


def correlated_groups(pairs: Pairs, n: int) -> Integers:
    """[W] Return the groups that one half of the tasks forms and the other confirms, from 0; -1 for
    no group.
    """
    group, baseline = _find_groups(pairs, n)
    sums = _sums(pairs, np.where(pairs.half, -1, _common_group(pairs, group)), n)
    certain = sums.n >= MIN_VOTE_PAIRS
    certain &= (
        sums.excess - MIN_GROUP_ERRORS * np.sqrt(sums.variance) / sums.possible > baseline + MIN_RHO
    )
    return np.where(certain, np.cumsum(certain) - 1, -1)[group]


def _find_groups(pairs: Pairs, n: int) -> tuple[Integers, float]:
    """Return the group of each annotator and the baseline, which is the rho of all pairs at first."""
    who, key = np.unique(_key_of_annotators(pairs, n), return_inverse=True)
    one, other = np.divmod(who, n)
    first, second = (
        _sums(pairs, np.where(half, key, -1), len(who)) for half in (pairs.half, ~pairs.half)
    )
    beyond, possible = first.beyond + second.beyond, first.possible + second.possible
    group, baseline = np.arange(n), 0.0
    for _ in range(MAX_ROUNDS):
        outside = group[one] != group[other]
        if outside.any():
            baseline = max(float(beyond[outside].sum() / possible[outside].sum()), MIN_BASELINE_RHO)
        before, group = group, _cluster(one, other, first, n, baseline + LINK_THRESHOLD)
        if np.array_equal(before, group):
            break
    return group, baseline


def _cluster(one: Integers, other: Integers, sums: Sums, n: int, threshold: float) -> Integers:
    """Form groups, then groups of groups, until nothing changes: each moves to the group with the
    largest gain.
    """
    group = np.arange(n)
    for _ in range(MAX_LEVELS):
        a, b, gain = group[one], group[other], sums.beyond - threshold * sums.possible
        apart = a != b
        a, b, gain = a[apart], b[apart], gain[apart]
        key, place = np.unique(np.concatenate([a * n + b, b * n + a]), return_inverse=True)
        total: Floats = np.bincount(place, np.concatenate([gain, gain]), minlength=len(key)).astype(
            np.float64
        )
        moved = np.arange(n)
        move(np.searchsorted(key, np.arange(n + 1) * n), key % n, total, moved, MAX_SWEEPS)
        if np.array_equal(moved[group], group):
            break
        group = moved[group]
    return group


def _weights(pairs: Pairs, group: Integers, rho: Floats, votes: Floats) -> Floats:
    """[W] Return the weight of each annotator's votes; `votes` counts theirs on the tasks of the
    pairs.
    """
    inside = _common_group(pairs, group) >= 0
    others = (
        np.bincount(np.concatenate([pairs.one[inside], pairs.other[inside]]), minlength=len(group))
        / votes
    )
    return np.asarray(1 / (1 + np.append(rho, 0.0)[group] * others))


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
        sums = _sums(pairs, _common_group(pairs, group), 1)
        errs_alike = bool(sums.z[0] > MIN_FAMILY_ERRORS and sums.excess[0] > MIN_EXCESS)
        found.append(
            Family(stem, members, [texts[m] for m in members], float(sums.excess[0]), errs_alike)
        )
    return found


def _groups(copying: Integers, evidence: Evidence, llm_families: list[Family]) -> Integers:
    """Connect annotators by suspicious pairs, groups of copies and families that make the same
    errors.
    """
    links = [(evidence.one[evidence.suspicious], evidence.other[evidence.suspicious])]
    chains = [np.flatnonzero(copying == g) for g in range(int(copying.max()) + 1)]
    chains += [np.array(family.members) for family in llm_families if family.errs_alike]
    links += [(chain[:-1], chain[1:]) for chain in chains]
    one, other = (np.concatenate(side) for side in zip(*links, strict=True))
    n = len(copying)
    # the first annotator that each is connected with
    component = np.arange(n)
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


def _warnings(
    names: Names, group: Integers, excess: Floats, weights: Floats, families: list[Family]
) -> list[str]:
    """Return warnings about families, and about groups that are not families, the largest groups
    first.
    """
    warnings = []
    for stem, members, texts, family_excess, errs_alike in families:
        listed = ", ".join(texts)
        if errs_alike:
            warnings.append(
                f"{listed} are of one family and err alike (excess agreement {family_excess:.2f}):"
                f" together they are worth about {max(weights[members].sum(), 1.0):.1f} independent"
                f" judges, so do not count them as {len(members)}"
            )
        elif len(members) >= DOMINANT_FAMILY_SHARE * len(weights):
            warnings.append(
                f"{len(members)} of {len(weights)} annotators are of the family {stem} ({listed}):"
                " errors that they share pass for the truth and do not show in votes; add judges"
                " of other families, or gold truths"
            )
    reported = [family.members for family in families if family.errs_alike]
    groups = [np.flatnonzero(group == g) for g in range(len(excess))]
    largest_first = np.argsort([-len(members) for members in groups], kind="stable")
    new = [g for g in largest_first if groups[g].tolist() not in reported]
    for g in new[:MAX_NAMED_GROUPS]:
        members = groups[g]
        listed = ", ".join(str(name) for name in to_list(names[members[:MAX_NAMED_MEMBERS]]))
        more = (
            f" and {len(members) - MAX_NAMED_MEMBERS:,} more"
            if len(members) > MAX_NAMED_MEMBERS
            else ""
        )
        is_copying = excess[g] > COPYING_EXCESS
        how = (
            "as if they copied"
            if is_copying
            else "by erring alike or on tasks that are hard for all of them"
        )
        warnings.append(
            f"annotators {listed}{more} agree more than their skill explains, {how} (excess"
            f" agreement {excess[g]:.2f}): they are worth about"
            f" {max(weights[members].sum(), 1.0):.1f} independent ones"
        )
    if len(new) > MAX_NAMED_GROUPS:
        warnings.append(f"{len(new) - MAX_NAMED_GROUPS:,} more groups agree in this way")
    return warnings
