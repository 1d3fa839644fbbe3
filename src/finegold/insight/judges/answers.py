"""One answer per judge and item, from its calls in both orders: a class, or undecided.

An answer is the class that most of the calls name, when both orders count alike. If the orders contradict each other,
it is undecided. Ties are a class only if there are truths that are ties, or no truths at all and verdicts that are
ties; otherwise a tie decides nothing, and is undecided too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, stdtrit

from finegold.errors import InputError
from finegold.io.judge_logs import TIED, JudgeLog
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNDECIDED = -2
HALF = 0.5  # what an undecided answer counts: chance, where there are two classes


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of judges, one per judge and item that was asked (P in all), and how right they are."""

    judge: Integers  # [P]
    item: Integers  # [P]
    points: Floats  # [P, K] how often each class was named; every order counts 1, in all of its calls together
    answer: Integers  # [P] a class, UNDECIDED, or MISSING if every call failed
    names: list[Any]  # [K]
    gold: Codes  # [T] with the codes of `names`
    credit: Floats  # [P] 1 if the answer is right, a half if it is undecided; NaN without a truth or an answer
    strict: Floats  # [P] 1 if every call was right; NaN without a truth
    pair: Floats  # [P] 1 if the orders together favour the right answer; NaN without a truth, and if there are no pairs
    calls: Annotations = field(repr=False)  # every call that did not fail is a vote
    labelled: Integers = field(repr=False)  # [number of tasks of `calls`] the item of each task

    @property
    def is_decided(self) -> Flags:
        return np.asarray(self.answer >= 0)


def merge(log: JudgeLog) -> Answers:
    """Merge the calls of each judge on each item."""
    used = log.answer != MISSING
    if not used.any():
        raise InputError("every call of the log failed, so there is no verdict to judge by")
    is_pairwise, K = log.kind == "pairwise", len(log.class_names)
    pairs, place = np.unique(log.judge.astype(np.int64) * log.n_items + log.item, return_inverse=True)
    judge, item = pairs // log.n_items, pairs % log.n_items
    by_order = np.zeros((3, len(pairs), K))
    np.add.at(by_order, (log.first[used], place[used], log.answer[used]), 1.0)
    points = (by_order / np.maximum(by_order.sum(axis=2, keepdims=True), 1)).sum(axis=0)
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
        pair = (
            right > np.where(gold == TIED, points[:, :TIED].sum(axis=1), points[:, :TIED].sum(axis=1) - right)
        ) * 1.0
    n_right = np.bincount(place, used & (log.answer == gold[place]), minlength=len(pairs))
    strict = (n_right == np.bincount(place, minlength=len(pairs))) * 1.0
    if not has_ties:
        answer[answer == TIED] = UNDECIDED
    part = HALF if is_pairwise else (right > 0) / np.maximum(n_top, 1)
    credit = np.where(answer == UNDECIDED, part, answer == gold)
    known = gold >= 0
    kept = K if has_ties else TIED
    calls, labelled = _calls(log, kept)
    return Answers(
        judge,
        item,
        points[:, :kept],
        answer,
        list(log.class_names[:kept]),
        log.gold,
        np.where(known & (answer != MISSING), credit, np.nan),
        np.where(known, strict, np.nan),
        np.where(known, pair, np.nan),
        calls,
        labelled,
    )


def _calls(log: JudgeLog, n_classes: int) -> tuple[Annotations, Integers]:
    """Return every call as a vote, and the item of each task."""
    label = np.where(log.answer < n_classes, log.answer, MISSING).astype(np.int32)
    voted = np.flatnonzero(np.bincount(log.item[label >= 0], minlength=log.n_items))
    if not voted.size:
        raise InputError("every verdict is a tie, but no truth is: there is nothing to label by")
    known = voted[log.gold[voted] != MISSING]
    names = (_objects(log.item_names), _objects(log.judge_names), _objects(log.class_names[:n_classes]))
    truths = (known.astype(np.int32), log.gold[known])
    codes = (log.item.astype(np.int32), log.judge.astype(np.int32), label)
    return Annotations.from_codes(*codes, *names, gold=truths, repeated="all"), voted


def whole(log: JudgeLog, answers: Answers) -> Annotations | None:
    """Return the decided answers as votes, one per judge and item; None if there are none."""
    if not answers.is_decided.any():
        return None
    label = np.where(answers.is_decided, answers.answer, MISSING).astype(np.int32)
    voted = np.bincount(answers.item[answers.is_decided], minlength=log.n_items) > 0
    known = np.flatnonzero(voted & (answers.gold != MISSING)).astype(np.int32)
    return Annotations.from_codes(
        answers.item.astype(np.int32),
        answers.judge.astype(np.int32),
        label,
        _objects(log.item_names),
        _objects(log.judge_names),
        _objects(answers.names),
        gold=(known, answers.gold[known]),
    )


def _objects(values: list[Any]) -> NDArray[Any]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


class Share(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


NOTHING = Share(np.nan, np.nan, np.nan)


def interval(value: float, centre: float, error: float, n: float, low: float, high: float) -> Share:
    """Return the interval around a centre by Student's distribution, inside the values that are possible."""
    half = float(stdtrit(max(n - 1, 1), 0.975)) * error
    return Share(float(value), min(max(centre - half, low), value), max(min(centre + half, high), value))


def mean_of(values: Floats, low: float = 0.0, high: float = 1.0, *, at_ends: int = 2) -> Share:
    """Return the mean of values between two ends; NaN are left out.

    Two further values at each end, as Agresti and Coull add them, make the interval hold where all values are alike.
    """
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return NOTHING
    more = np.concatenate([values, np.repeat([low, high], at_ends)])
    error = float(more.std() / np.sqrt(len(more)))
    return interval(float(values.mean()), float(more.mean()), error, len(values), low, high)


def share_of(part: float, n: float) -> Share:
    """Return the share of n trials, with its interval."""
    return mean_of(np.repeat([1.0, 0.0], [int(part), int(n - part)]))


def prediction_powered(expected: Floats, known: Floats, low: float = 0.0, high: float = 1.0) -> Share:
    """Return the mean of a quantity that is known for some items, and guessed for all.

    The mean of the guesses is corrected by their error on the items with known values (NaN elsewhere), assumed to be
     a random sample of the items. The weight of the guesses minimises the variance, so that the interval is never
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


def position_bias(log: JudgeLog) -> list[tuple[Share, float]]:
    """Return the position bias of each judge and the p-value of a sign test.

    A verdict for the answer shown first counts 1, one for the second -1, and a tie 0. Over both orders of an item the
    preference for an answer cancels, and what remains follows the position. Where a judge saw no item in both orders,
    all its verdicts count; orders must then be random.
    """
    used = (log.answer != MISSING) & (log.first >= 0)
    follows = np.where(log.answer == log.first, 1.0, np.where(log.answer == 1 - log.first, -1.0, 0.0))
    pairs, place = np.unique(_pair_keys(log, used), return_inverse=True)
    cell = place * 2 + log.first[used]
    n = np.bincount(cell, minlength=2 * len(pairs)).reshape(-1, 2)
    sums = np.bincount(cell, follows[used], minlength=2 * len(pairs)).reshape(-1, 2)
    both: Flags = n.min(axis=1) > 0
    balanced = (sums / np.maximum(n, 1)).sum(axis=1) / 2
    per_pair = np.where(both, balanced, sums.sum(axis=1) / n.sum(axis=1))
    judge = pairs // log.n_items
    return [_bias(per_pair[judge == j], both[judge == j]) for j in range(log.n_judges)]


def _bias(values: Floats, both: Flags) -> tuple[Share, float]:
    values = values[both] if both.any() else values
    if len(values) == 0:
        return NOTHING, np.nan
    toward, against = int((values > 0).sum()), int((values < 0).sum())
    p = min(2 * float(bdtr(min(toward, against), toward + against, 0.5)), 1.0)
    more = np.concatenate([values, [-1.0, 1.0]])  # two more items, one each way: the error is never zero
    error = float(more.std() / np.sqrt(len(more)))
    return interval(float(values.mean()), float(values.mean()), error, len(values), -1.0, 1.0), p


def swap_consistency(log: JudgeLog) -> list[Share]:
    """Return how often a verdict of each judge agrees with its verdict in the other order."""
    used = (log.answer != MISSING) & (log.first >= 0)
    counts, judge = _counts(log, used, [log.first[used] == order for order in (0, 1)])
    both = (counts.sum(axis=2) > 0).all(axis=0)
    first, second = (part / np.maximum(part.sum(axis=1, keepdims=True), 1) for part in counts)
    return _means((first * second).sum(axis=1)[both], judge[both], log.n_judges)


def repeat_consistency(log: JudgeLog) -> list[Share]:
    """Return how often two verdicts of each judge on an item in the same order agree."""
    used = log.answer != MISSING
    counts, judge = _counts(log, used, [log.first[used] == order for order in (-1, 0, 1)])
    n = counts.sum(axis=2)
    alike = (counts * (counts - 1)).sum(axis=2) / np.maximum(n * (n - 1), 1)
    several = n > 1
    judges = np.broadcast_to(judge, several.shape)
    return _means(alike[several], judges[several], log.n_judges)


def _pair_keys(log: JudgeLog, used: NDArray[np.bool_]) -> Integers:
    return log.judge[used].astype(np.int64) * log.n_items + log.item[used]


def _counts(log: JudgeLog, used: NDArray[np.bool_], parts: list[NDArray[np.bool_]]) -> tuple[Integers, Integers]:
    """[parts, P, K] Count the verdicts of each pair of judge and item; return the judge of each pair as well."""
    pairs, place = np.unique(_pair_keys(log, used), return_inverse=True)
    K = len(log.class_names)
    cell, size = place * K + log.answer[used], len(pairs) * K
    counts = np.stack([np.bincount(cell[part], minlength=size).reshape(-1, K) for part in parts])
    return counts, pairs // log.n_items


def _means(values: Floats, judge: Integers, n_judges: int) -> list[Share]:
    return [mean_of(values[judge == j]) for j in range(n_judges)]
