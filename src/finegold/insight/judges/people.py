"""Judges against people: class by class, item by item, and the alternative annotator test.

The test (Calderon, Reichart and Dror, ACL 2025, arXiv 2501.10970) asks whether a judge may replace
the people. Of each person h in turn, it compares on every item i that h and others voted on

    S(x, i) = the share of the others who say what x says            (of scores: minus the root of
              the mean squared distance to theirs)
    W_judge = 1 if S(judge, i) >= S(h, i),   W_h = 1 if S(h, i) >= S(judge, i)

and rejects "the judge is worse than h by epsilon" if the mean of W_h - W_judge is below epsilon (a
t test, one-sided), with the false discovery rate controlled as Benjamini and Yekutieli do. The
winning rate is the share of people for whom it is rejected; from a half on the judge may replace
them. The advantage probability is the mean over people of the mean of W_judge. Epsilon is what a
person costs more than a judge: .2 for experts, .15 for trained people, .1 for a crowd.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import false_discovery_control, ttest_1samp

from finegold.errors import InputError, Placeholder, use
from finegold.insight.judges.answers import NOTHING, Share, mean_of, share_of
from finegold.insight.votes import Floats
from finegold.io.judge_calls import MOST_CLASSES
from finegold.io.judge_logs import UNDECIDED, Answers, JudgeLog
from finegold.votes.encoding import MISSING

EPSILON = {"expert": 0.2, "trained": 0.15, "crowd": 0.1}
# of a person, for whom the test is made
MIN_ITEMS = 30
FALSE_DISCOVERIES = 0.05
UNDECIDED_WORD, FAILED_WORD = "(undecided)", "(failed)"


@dataclass(frozen=True)
class ClassScore:
    """A judge on one class, against the known truths.

    Attributes:
        label: The class.
        n: The number of known items of this class.
        sensitivity: The share of them that the judge puts into it.
        specificity: The share of the other items that the judge does not put into it.
        precision: The share of those that the judge puts into it which belong there.
    """

    label: str
    n: int
    sensitivity: Share
    specificity: Share
    precision: Share


def by_class(log: JudgeLog, answers: Answers) -> dict[str, list[ClassScore]]:
    """Return how good each judge is at each class; empty for scores with many values."""
    if (K := len(answers.names)) > MOST_CLASSES:
        return {}
    gold = log.gold[answers.item]
    known = (gold >= 0) & (gold < K)
    # truths by answers; the last column is of those that are undecided or failed
    tables = np.zeros((log.n_judges, K, K + 1), np.int64)
    answer = np.where(answers.answer >= 0, answers.answer, K)
    np.add.at(tables, (answers.judge[known], gold[known], answer[known]), 1)
    found: dict[str, list[ClassScore]] = {}
    for name, table in zip(log.judge_names, tables, strict=True):
        truths, said = table.sum(axis=1), table.sum(axis=0)
        right, total = table.diagonal(), table.sum()
        classes = [
            ClassScore(
                label=str(label),
                n=int(truths[k]),
                sensitivity=share_of(right[k], truths[k]),
                specificity=share_of(total - truths[k] - said[k] + right[k], total - truths[k]),
                precision=share_of(right[k], said[k]),
            )
            for k, label in enumerate(answers.names)
            if truths[k] or said[k]
        ]
        found |= {name: classes} if classes else {}
    return found


def disagreements(log: JudgeLog, answers: Answers) -> pl.DataFrame:
    """Return the answers that differ from the truth: what the judge said, what is right, and what
    the log says of the item. Items that most judges have wrong are first.
    """
    gold = log.gold[answers.item]
    wrong = np.flatnonzero((gold >= 0) & (answers.answer != gold))
    n_wrong = np.bincount(answers.item[wrong], minlength=log.n_items)[answers.item]
    wrong = wrong[np.lexsort((answers.judge[wrong], answers.item[wrong], -n_wrong[wrong]))]
    words = {UNDECIDED: UNDECIDED_WORD, MISSING: FAILED_WORD}
    items = answers.item[wrong]

    def name(code: int, item: int) -> str:
        if log.system_names and code in (0, 1):
            return str(log.system_names[(log.system_a, log.system_b)[code][item]])
        return words.get(code) or str(log.class_names[code])

    columns = {
        "item": [str(log.item_names[i]) for i in items],
        "judge": [log.judge_names[j] for j in answers.judge[wrong]],
        "verdict": [name(code, i) for code, i in zip(answers.answer[wrong], items, strict=True)],
        "truth": [name(code, i) for code, i in zip(gold[wrong], items, strict=True)],
        "judges_wrong": n_wrong[wrong],
    }
    frame = pl.DataFrame(columns, schema_overrides=dict.fromkeys(list(columns)[:4], pl.String))
    about = log.about[items] if log.about.height else log.about
    return frame.hstack([each for each in about.get_columns() if each.name not in columns])


def ceiling(log: JudgeLog) -> Share:
    """Return how often a person says what most of the other people say; items where these are tied
    are left out.
    """
    if log.people is None:
        return NOTHING
    votes = _people_table(log)
    counts = np.stack([(votes == k).sum(axis=0) for k in range(len(log.class_names))])
    values = np.full(votes.shape, np.nan)
    for p, own in enumerate(votes):
        rest = counts.copy()
        rest[own[own >= 0], np.flatnonzero(own >= 0)] -= 1
        top = np.sort(rest, axis=0)
        is_clear = (own >= 0) & (top[-1] > 0) & (top[-1] > (top[-2] if len(top) > 1 else 0))
        values[p, is_clear] = (rest.argmax(axis=0) == own)[is_clear]
    is_known = np.isfinite(values).any(axis=0)
    return mean_of(np.nanmean(values[:, is_known], axis=0)) if is_known.any() else NOTHING


def _people_table(log: JudgeLog) -> Any:
    assert log.people is not None
    table = np.full((len(log.people.names), log.n_items), MISSING, np.int64)
    table[log.people.person, log.people.item] = log.people.answer
    return table


@dataclass(frozen=True)
class Replacement:
    """Whether a judge may replace the people who voted.

    Attributes:
        judge: The judge.
        winning_rate: The share of people than whom it is not worse by epsilon; it may replace them
            from a half on.
        advantage: The probability that it is as good as a person who is drawn at random.
        passed: Whether the winning rate is a half or more.
        n_people, n_items: The people and the items of the test.
        p: The p-value of each person.
    """

    judge: str
    winning_rate: float
    advantage: float
    passed: bool
    n_people: int
    n_items: int
    p: dict[str, float]


def may_replace(
    log: JudgeLog, answers: Answers, epsilon: float | str = "expert"
) -> list[Replacement]:
    """Make the alternative annotator test for each judge, the most probable advantage first."""
    if isinstance(epsilon, str) and epsilon not in EPSILON:
        raise InputError(f"epsilon is a number or one of {', '.join(EPSILON)}, not {epsilon!r}")
    least = EPSILON[epsilon] if isinstance(epsilon, str) else float(epsilon)
    if log.people is None or len(log.people.names) < 2:
        who = use(people=Placeholder("NAMES"), text="to say which judges are people")
        raise InputError(
            "whether a judge may replace people is tested on items that three people or more voted"
            " on, and the log has no such votes",
            remedies=[who, use(gold=Placeholder("FILE"), text="with a row per person and item")],
        )
    codes, classes = _people_table(log), np.arange(len(log.class_names), dtype=float)
    values = np.where(codes >= 0, (log.scores if log.is_ordered else classes)[codes], np.nan)
    answer = np.where(answers.answer == MISSING, np.nan, answers.answer)
    said = np.full((log.n_judges, log.n_items), np.nan)
    said[answers.judge, answers.item] = answers.score if log.is_ordered else answer
    tests = (
        _test(name, own, values, log.people.names, least, log.is_ordered)
        for name, own in zip(log.judge_names, said, strict=True)
    )
    if not (found := [each for each in tests if each is not None]):
        raise InputError(
            f"no person voted on {MIN_ITEMS} items that a judge and another person voted on, too"
        )
    return sorted(found, key=lambda each: -each.advantage)


def _test(
    judge: str,
    said: Floats,
    values: Floats,
    people: list[str],
    epsilon: float,
    is_ordered: bool,
) -> Replacement | None:
    """Test one judge, given what it and people [people, items] say; NaN where they say nothing."""
    usable = np.isfinite(said) & (np.isfinite(values).sum(axis=0) >= 2)
    p_values, advantages, n_items = {}, [], 0
    for h, person in enumerate(people):
        items = np.flatnonzero(usable & np.isfinite(values[h]))
        if len(items) < MIN_ITEMS:
            continue
        others = np.delete(values[:, items], h, axis=0)
        sides = np.stack([said[items], values[h, items]])[:, None]
        if is_ordered:
            agreement = -np.sqrt(np.nanmean((others - sides) ** 2, axis=1))
        else:
            agreement = np.nanmean(np.where(np.isnan(others), np.nan, others == sides), axis=1)
        wins, losses = agreement[0] >= agreement[1], agreement[1] >= agreement[0]
        apart = losses * 1.0 - wins
        p = float(apart[0] >= epsilon)
        if np.ptp(apart):
            p = float(ttest_1samp(apart, epsilon, alternative="less").pvalue)
        p_values[person] = p
        advantages.append(float(wins.mean()))
        n_items = max(n_items, len(items))
    if not p_values:
        return None
    adjusted = false_discovery_control(list(p_values.values()), method="by")
    rate, advantage = float((adjusted <= FALSE_DISCOVERIES).mean()), float(np.mean(advantages))
    return Replacement(judge, rate, advantage, rate >= 0.5, len(p_values), n_items, p_values)
