"""One answer per judge and item, from its calls in both orders: a class, or undecided.

An answer is the class that most of the calls name, when both orders count alike. If the orders
contradict each other, it is undecided. Ties are a class only if there are truths that are ties, or
no truths at all and verdicts that are ties; otherwise a tie decides nothing, and is undecided too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from finegold.errors import InputError
from finegold.insight.votes import Floats, Integers
from finegold.io.judge_logs import TIED, JudgeLog
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING

UNDECIDED = -2
# what an undecided answer counts: chance, where there are two classes
HALF = 0.5


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of judges, one per judge and item that was asked (P in all), and how accurate
    they are.
    """

    # [P] in ascending order
    judge: Integers
    # [P]
    item: Integers
    # [3, P, K] how often each class was named with the first side first, the second, or not known
    counts: Floats
    # [P, K] the same, where every order counts 1 in all of its calls together
    points: Floats
    # [P] a class, UNDECIDED, or MISSING if every call failed
    answer: Integers
    # [K] without ties if they are not a class
    names: list[Any]
    # [P] 1 if the answer is right, a half if it is undecided; NaN without a truth or an answer
    credit: Floats
    # [P] 1 if every call was right; NaN without a truth
    strict: Floats
    # [P] 1 if the orders together favour the right answer; NaN without a truth, and if there are no
    # pairs
    pair: Floats
    # every call that did not fail is a vote
    calls: Annotations = field(repr=False)
    # [number of tasks of `calls`] the item of each task
    labelled: Integers = field(repr=False)


def merge(log: JudgeLog) -> Answers:
    """Merge the calls of each judge on each item."""
    used = log.answer != MISSING
    if not used.any():
        raise InputError("every call of the log failed, so there is no verdict to judge by")
    is_pairwise, K = log.kind == "pairwise", len(log.class_names)
    pairs, row = np.unique(log.judge.astype(np.int64) * log.n_items + log.item, return_inverse=True)
    judge, item = pairs // log.n_items, pairs % log.n_items
    counts = np.zeros((3, len(pairs), K))
    np.add.at(counts, (log.first[used], row[used], log.answer[used]), 1.0)
    points = (counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)).sum(axis=0)
    is_top = (points >= points.max(axis=1, keepdims=True) - 1e-9) & (points > 0)
    n_top = is_top.sum(axis=1)
    answer = np.where(n_top == 1, points.argmax(axis=1), np.where(n_top > 1, UNDECIDED, MISSING))
    has_ties = not is_pairwise or bool((log.gold == TIED).any())
    if not has_ties and (log.gold == MISSING).all():
        has_ties = bool((log.answer == TIED).any())
    gold = log.gold[item]
    right = np.where(gold >= 0, points[np.arange(len(pairs)), gold], 0.0)
    pair = np.full(len(pairs), np.nan)
    if is_pairwise:
        for_sides = points[:, :TIED].sum(axis=1)
        pair = (right > np.where(gold == TIED, for_sides, for_sides - right)) * 1.0
    n_right = np.bincount(row, used & (log.answer == gold[row]), minlength=len(pairs))
    strict = (n_right == np.bincount(row, minlength=len(pairs))) * 1.0
    if not has_ties:
        answer[answer == TIED] = UNDECIDED
    part = HALF if is_pairwise else (right > 0) / np.maximum(n_top, 1)
    credit = np.where(answer == UNDECIDED, part, answer == gold)
    known = gold >= 0
    names = list(log.class_names if has_ties else log.class_names[:TIED])
    label = np.where(log.answer < len(names), log.answer, MISSING)
    if (label == MISSING).all():
        raise InputError("every verdict is a tie, but no truth is: there is nothing to label by")
    credit = np.where(known & (answer != MISSING), credit, np.nan)
    strict, pair = np.where(known, strict, np.nan), np.where(known, pair, np.nan)
    calls = _votes(log, log.item, log.judge, label, names, repeated="all")
    labelled = np.flatnonzero(np.bincount(log.item[label >= 0], minlength=log.n_items))
    shown = points[:, : len(names)]
    return Answers(judge, item, counts, shown, answer, names, credit, strict, pair, calls, labelled)


def whole(log: JudgeLog, answers: Answers) -> Annotations | None:
    """Return the decided answers as votes, one per judge and item; None if there are none."""
    label = np.maximum(answers.answer, MISSING)
    return (
        None
        if (label == MISSING).all()
        else _votes(log, answers.item, answers.judge, label, answers.names)
    )


def _votes(
    log: JudgeLog, item: Any, judge: Any, label: Any, classes: list[Any], **how: Any
) -> Annotations:
    """Return labels as votes, with the truths of the items that have any."""
    known = np.flatnonzero(
        (np.bincount(item[label >= 0], minlength=log.n_items) > 0) & (log.gold != MISSING)
    )
    names = [
        np.empty(len(values), dtype=object) for values in (log.item_names, log.judge_names, classes)
    ]
    for column, values in zip(names, (log.item_names, log.judge_names, classes), strict=True):
        column[:] = values
    codes = (part.astype(np.int32) for part in (item, judge, label))
    return Annotations.from_codes(
        *codes, *names, gold=(known.astype(np.int32), log.gold[known]), **how
    )


class Share(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


NOTHING = Share(np.nan, np.nan, np.nan)


def interval(value: float, centre: float, error: float, n: float, low: float, high: float) -> Share:
    """Return the interval around a centre by Student's distribution, inside the values that are
    possible.
    """
    half = float(stdtrit(max(n - 1, 1), 0.975)) * error
    return Share(
        float(value), min(max(centre - half, low), value), max(min(centre + half, high), value)
    )


def mean_of(values: Floats, low: float = 0.0, high: float = 1.0, *, at_ends: int = 2) -> Share:
    """Return the mean of values between two ends; NaN are left out."""
    # Two further values at each end, as Agresti and Coull add them, make the interval hold where
    # all values are alike.
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return NOTHING
    more = np.concatenate([values, np.repeat([low, high], at_ends)])
    error = float(more.std() / np.sqrt(len(more)))
    return interval(float(values.mean()), float(more.mean()), error, len(values), low, high)


def prediction_powered(
    expected: Floats, known: Floats, low: float = 0.0, high: float = 1.0
) -> Share:
    """Return the mean of a quantity that is known for some items, and guessed for all.

    The mean of the guesses is corrected by their error on the items with known values (NaN
    elsewhere), assumed to be
     a random sample of the items. The weight of the guesses minimises the variance, so that the
     interval is never
    wider than that of the known values alone. (Prediction-powered inference.)
    """
    is_known = np.isfinite(known)
    truth, guess = known[is_known], expected[is_known]
    n, n_all = len(truth), len(expected)
    if n < 2:
        return NOTHING
    spread = float(guess.var(ddof=1))
    weight = float(np.cov(truth, guess)[0, 1]) / (spread * (1 + n / n_all)) if spread > 0 else 0.0
    weight = max(weight, 0.0)
    value = float(truth.mean()) + weight * (float(expected.mean()) - float(guess.mean()))
    rest = np.concatenate([truth - weight * guess, [low, high] if weight == 0 else []])
    variance = float(rest.var(ddof=1)) / n + weight**2 * float(expected.var(ddof=1)) / n_all
    return interval(min(max(value, low), high), value, float(np.sqrt(variance)), n, low, high)
