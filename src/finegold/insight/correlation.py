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
- Two LLM judges of one family, recognised by their names, are suspicious if their excess is more
  than two standard errors above zero.

Annotators that suspicious pairs connect form a group. A vote of a member is worth w_j = 1 / (1 +
rho g_j), where g_j is the mean number of other members who voted on the same task: Kish's design
effect for clustered samples.

If most annotators make the same errors, the errors look like the truth. Only known truths can
reveal that.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri

from finegold.fitting.solve import fit
from finegold.insight.pairs import VotePairs, group_pairs, vote_pairs
from finegold.insight.votes import Floats, Integers, add_up, truth_codes
from finegold.methods.ptbcc import PTBCC
from finegold.results.data import ResultData
from finegold.results.matrices import pooled_votes, votes_by_truth
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Names, listed, to_list
from finegold.votes.frames import make_frame

MODELS = re.compile(
    "claude|command|deepseek|falcon|gemini|gemma|glm|gpt|grok|jamba|kimi|llama|mistral|mixtral|nova"
    "|o|phi|prometheus|qwen|vicuna|yi"
)
# Other names count as models if they contain a size or a variant: acme-7b, acme-instruct.
SIZES_AND_VARIANTS = re.compile(
    r"(?<![a-z0-9])(\d+(\.\d+)?b|chat|instruct|large|mini|nano|preview|small|turbo)(?![a-z0-9])"
)
STEM = re.compile(r"(?:chat)?([a-z]+)")

# pairs with fewer shared tasks are left out
MIN_SHARED_TASKS = 20
# a smaller excess does little harm, even if it is significant
MIN_EXCESS = 0.1
# probability of suspecting any pair if all annotators are independent
FALSE_ALARM_PROBABILITY = 0.01
# standard errors above zero, for families, whose names are a reason to test them
MIN_FAMILY_ERRORS = 2.0
# number of groups in warnings, and of members of each
MAX_NAMED_GROUPS, MAX_NAMED_MEMBERS = 3, 5
# if one family has this share of the annotators, its errors may look like the truth
DOMINANT_FAMILY_SHARE = 2 / 3
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


def family_of(name: str) -> str:
    """Return the family of an LLM by its name; empty for other names.

    >>> [family_of(name) for name in ("gpt-4o", "openai/gpt-4o-mini", "claude-3-haiku", "worker-1")]
    ['gpt', 'gpt', 'claude', '']
    """
    # without its provider
    model = re.split(r"[/:]", name.strip().lower().removesuffix(":latest"))[-1]
    begins = STEM.match(model)
    is_model = begins and (MODELS.fullmatch(begins[1]) or SIZES_AND_VARIANTS.search(model))
    return begins[1] if begins and is_model else ""


@dataclass(frozen=True, eq=False)
class CorrelatedAnnotators:
    """Groups of correlated annotators; all are worth `effective` independent ones."""

    effective: float
    # [W] weight of each annotator's votes
    weights: Floats = field(repr=False)
    # [W], -1 for no group
    group: Integers = field(repr=False)
    # [number of groups]
    excess: Floats
    # columns of `pairs`
    found: dict[str, Any] = field(repr=False)
    names: Names = field(repr=False)
    warnings: list[str] = field(default_factory=list)

    def groups(self) -> Any:
        """Return a data frame with one row per group of correlated annotators."""
        members = [np.flatnonzero(self.group == g) for g in range(len(self.excess))]
        who = [", ".join(map(str, to_list(self.names[m]))) for m in members]
        columns = {
            "group": np.arange(1, len(members) + 1),
            "members": np.array(who, dtype=np.str_),
            "n_members": np.array([len(m) for m in members], np.int64),
            "excess": self.excess,
            "worth": np.array([self.weights[m].sum() for m in members], np.float64),
        }
        return make_frame(columns, like=self.names)

    def pairs(self) -> Any:
        """Return a data frame of pairs that share at least 20 tasks, the most suspicious first."""
        order = np.argsort(-self.found["z"], kind="stable")
        return make_frame({name: column[order] for name, column in self.found.items()}, self.names)


def correlated_annotators(result: ResultData, truth: Any = None) -> CorrelatedAnnotators:
    """Find annotators who agree more than the truth and their skill explain.

    With known truths (a path, a data frame or a mapping), only their tasks are used; this also
    finds errors that most annotators share.
    """
    votes = result.annotations
    # PTBCC's annotators share prototypes, so a group cannot dominate the labels
    if truth is None:
        posterior = result.posterior if result.method == "ptbcc" else fit(PTBCC(), votes).posterior
    else:
        # votes on tasks whose truth is known and is one of the classes, and these truths as a
        # posterior
        codes = truth_codes(result, truth, with_gold=True)
        known = (codes != MISSING) & (codes < votes.n_classes)
        task, annotator, label = (column[known[votes.votes()[0]]] for column in votes.votes())
        axes = (votes.task_names, votes.annotator_names, votes.class_names)
        votes = Annotations.from_codes(task, annotator, label, *axes, repeated="all")
        posterior = np.eye(votes.n_classes)[codes[known]]
    n, who = votes.n_annotators, votes.annotator_names
    compared = vote_pairs(votes)
    pairs = _compare(votes, posterior, compared)
    one, other, shared, pair = group_pairs(pairs.one, pairs.other, n, MIN_SHARED_TASKS)
    agreed, expected, excess, z = _sums(pairs, pair, len(shared))
    names = [str(name) for name in to_list(who)]
    stems, stem = np.unique([family_of(name) for name in names], return_inverse=True)
    is_family = (stem[one] == stem[other]) & (stems != "")[stem[one]]
    # Bonferroni correction for the number of pairs
    threshold = -ndtri(FALSE_ALARM_PROBABILITY / max(len(shared), 1))
    is_suspicious = (z > np.where(is_family, MIN_FAMILY_ERRORS, threshold)) & (excess > MIN_EXCESS)
    pair_names = (who.take(each.astype(np.int32)) for each in (one, other))
    found: dict[str, Any] = dict(zip(("annotator_1", "annotator_2"), pair_names, strict=True))
    found |= {"n_shared": shared, "agreed": agreed / shared}
    found |= {"expected": expected / shared, "excess": excess, "z": z, "suspicious": is_suspicious}
    rows, columns = one[is_suspicious], other[is_suspicious]
    links = csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    part = connected_components(links, directed=False)[1]
    several = np.bincount(part, minlength=n) > 1
    group: Integers = np.where(several, np.cumsum(several) - 1, -1)[part]
    inside = _common_group(pairs, group)
    rho = _sums(pairs, inside, int(several.sum())).excess
    # other members who voted on the same task, on average
    members = np.concatenate([pairs.one[inside >= 0], pairs.other[inside >= 0]])
    others = np.bincount(members, minlength=n) / np.bincount(votes.annotator, minlength=n)
    weights = np.asarray(1 / (1 + np.append(np.clip(rho, 0, 1), 0.0)[group] * others))
    families = stems[stem].tolist()
    warnings = _warnings(names, families, group, rho, weights)
    warnings += [compared.note] if compared.note else []
    worth = float(weights.sum())
    return CorrelatedAnnotators(worth, weights, group, rho, found, who, warnings)


class Pairs(NamedTuple):
    """Pairs of votes of two annotators on the same task."""

    # annotators
    one: Integers
    other: Integers
    # 1 where the votes are equal
    agree: Floats
    # the probability that they agree
    expected: Floats


def _compare(votes: Annotations, posterior: Floats, compared: VotePairs) -> Pairs:
    """Return pairs of votes with their expected agreement."""
    one, other, task, _ = compared
    a, b = votes.annotator[one].astype(np.int64), votes.annotator[other].astype(np.int64)
    # confusion matrices, with a few votes of the pooled one added; only that one if there are too
    # many annotators and classes
    pooled = pooled_votes(votes, posterior) + MIN_COUNT
    prior = PRIOR_VOTES * pooled / pooled.sum(axis=1, keepdims=True)
    is_apart = votes.n_annotators * votes.n_classes**2 <= MAX_MATRIX_NUMBERS
    counts = (votes_by_truth(votes, posterior) if is_apart else pooled[None]) + prior
    matrices = counts / counts.sum(axis=2, keepdims=True)
    # 0 if there is a single matrix
    first, second = a % len(matrices), b % len(matrices)
    expected = np.zeros(len(task))
    # very improbable truths are skipped, since there can be many classes
    for k in range(votes.n_classes):
        phi = posterior[task, k]
        likely = np.flatnonzero(phi > NEGLIGIBLE_PROBABILITY)
        for rows in np.array_split(likely, len(likely) * votes.n_classes // CHUNK_NUMBERS + 1):
            both = matrices[first[rows], k] * matrices[second[rows], k]
            expected[rows] += phi[rows] * both.sum(axis=1)
    label = votes.votes()[2]
    agree = (label[one] == label[other]).astype(np.float64)
    # without repeated votes of one annotator
    return Pairs(*(values[a != b] for values in (a, b, agree, expected)))


class Sums(NamedTuple):
    """Sums over the pairs of votes with the same key, their excess, and that in standard errors."""

    agreed: Floats
    expected: Floats
    excess: Floats
    z: Floats


def _sums(pairs: Pairs, key: Integers, n_keys: int) -> Sums:
    """Sum over the pairs of votes of each key; negative keys are left out."""
    counted = key >= 0
    key, e = key[counted], pairs.expected[counted]
    n, agreed, expected, variance = (
        add_up(key, each, n_keys)
        for each in (np.ones(len(e)), pairs.agree[counted], e, e * (1 - e))
    )
    beyond = agreed - expected
    excess = beyond / np.maximum(n - expected, 1e-9)
    return Sums(agreed, expected, excess, beyond / np.sqrt(np.maximum(variance, 1e-9)))


def _common_group(pairs: Pairs, group: Integers) -> Integers:
    """Return the group that both annotators of a pair belong to, or -1."""
    return np.where(group[pairs.one] == group[pairs.other], group[pairs.one], -1)


def _warnings(
    names: list[str], families: list[str], group: Integers, excess: Floats, weights: Floats
) -> list[str]:
    """Return warnings about groups, the largest first, and about a family of most annotators."""
    warnings = []
    groups = [(np.flatnonzero(group == g), rho) for g, rho in enumerate(excess.tolist())]
    groups.sort(key=lambda each: -len(each[0]))
    for members, rho in groups[:MAX_NAMED_GROUPS]:
        who = listed([names[j] for j in members.tolist()], MAX_NAMED_MEMBERS)
        of_families = {families[j] for j in members.tolist()}
        if len(of_families) == 1 and "" not in of_families:
            what = f"{who} are of one family and err alike"
        else:
            what = (
                f"annotators {who} agree more than their skill explains: they copy, err alike or"
                " find the same tasks hard"
            )
        worth = max(weights[members].sum(), 1.0)
        warnings.append(
            f"{what} (excess agreement {rho:.2f}); they are worth about {worth:.1f} independent"
            " ones"
        )
    if len(groups) > MAX_NAMED_GROUPS:
        warnings.append(f"{len(groups) - MAX_NAMED_GROUPS:,} more groups agree in this way")
    family, n = Counter(filter(None, families)).most_common(1)[0] if any(families) else ("", 0)
    if n >= max(DOMINANT_FAMILY_SHARE * len(names), 2) and not warnings:
        warnings.append(
            f"{n} of {len(names)} annotators are of the family {family}: errors that they share"
            " pass for the truth and do not show in votes; add judges of other families, or gold"
            " truths"
        )
    return warnings
