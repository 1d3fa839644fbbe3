"""What each judge is worth: accuracy, agreement beyond chance, position bias, consistency, failures
and cost; of scores their correlation with those of people, and their error.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.stats import rankdata

from finegold.insight.judges.answers import (
    MIN_GOLD,
    NOTHING,
    Share,
    interval,
    jackknife,
    mean_of,
    plain,
    share_of,
)
from finegold.insight.votes import Floats
from finegold.io.judge_calls import MOST_CLASSES
from finegold.io.judge_logs import HALF, UNDECIDED, Answers, JudgeLog
from finegold.votes.encoding import MISSING


@dataclass(frozen=True)
class JudgeScore:
    """What one judge is worth. Figures have 95 % intervals; NaN means that the log cannot tell.

    Attributes:
        judge: The name.
        n_verdicts, n_gold: The number of calls, and of items with a known truth that it was asked.
        accuracy: The share of right answers among the items with a known truth; an undecided answer
            counts half, and an item on which every call failed is not right.
        strict_accuracy: The share of items on which every call was right, in both orders.
        pair_accuracy: The share of pairs whose two orders together favour the right answer, as
            JudgeBench counts.
        kappa: Cohen's kappa of the answers and the truths.
        correlation, weighted_kappa, error, bias: Of scores: Spearman's correlation with the truths,
            the kappa with quadratic weights, the mean distance from the truth, and the mean
            difference.
        undecided: The share of answers that are undecided: two orders or repeats that disagree.
        position_bias: The share of items, seen in both orders, on which verdicts follow the
            position: positive for the first one, negative for the second.
        swap_consistency, repeat_consistency: How often two verdicts on an item agree, in different
            orders and in the same one.
        failed: The share of calls that failed.
        agreement: The share of other judges' answers on the same items that are the same; of scores
            the correlation with the mean of the others.
        failures: The number of failed calls by reason.
        cost: The price of a verdict; failed calls are paid by those that succeeded.
    """

    judge: str
    n_verdicts: int
    n_gold: int
    accuracy: Share
    strict_accuracy: Share
    pair_accuracy: Share
    kappa: Share
    correlation: Share
    weighted_kappa: Share
    error: Share
    bias: Share
    undecided: Share
    position_bias: Share
    swap_consistency: Share
    repeat_consistency: Share
    failed: Share
    agreement: Share
    failures: dict[str, int]
    cost: float

    def plain(self) -> dict[str, Any]:
        """Return the figures as plain values; None where nothing is known. `intervals` has the ends
        of the intervals.
        """
        row = {name: plain(value) for name, value in vars(self).items()}
        known = {name: row[name] for name in FIGURES if row[name] is not None}
        row |= {name: share["value"] for name, share in known.items() if name != "accuracy"}
        ends = {name: [share["low"], share["high"]] for name, share in known.items()}
        return row | {"intervals": ends}


FIGURES = [each.name for each in fields(JudgeScore) if each.type == "Share"]
AGAINST_GOLD = FIGURES[: FIGURES.index("undecided")]


def best_first(scores: list[JudgeScore]) -> list[JudgeScore]:
    """Return the judges by what measures them best: the correlation of scores, the accuracy or,
    without gold, the agreement with the others and with themselves.
    """

    def key(score: JudgeScore) -> tuple[float, float, str]:
        alike, same = score.agreement.value, score.swap_consistency.value
        support = alike if same != same else alike * same
        best, other = score.correlation.value, score.accuracy.value
        best = other if best != best else best
        return 2.0 if best != best else -best, 2.0 if support != support else -support, score.judge

    return sorted(scores, key=key)


def places(scores: list[JudgeScore]) -> dict[str, tuple[int, int]]:
    """Return the first and the last place that each judge may have."""
    # One judge stands above another if the intervals of what measures them are apart. Without gold,
    # those of their agreement and of their consistency must both be apart, in the same direction.
    names = ["agreement", "swap_consistency"]
    for name in ("accuracy", "correlation"):
        if any(getattr(score, name).value == getattr(score, name).value for score in scores):
            names = [name]
    # [figures, J, 2]
    ends = np.array([[getattr(score, name)[1:] for score in scores] for name in names])
    low, high = ends[:, :, None, 0], ends[:, None, :, 1]
    can_compare = np.isfinite(low + high)
    is_above = ((low > high) | ~can_compare).all(axis=0) & can_compare.any(axis=0)
    firsts, lasts = 1 + is_above.sum(axis=0), len(scores) - is_above.sum(axis=1)
    return {
        score.judge: (int(first), int(last))
        for score, first, last in zip(scores, firsts, lasts, strict=True)
    }


def score_judges(log: JudgeLog, answers: Answers) -> list[JudgeScore]:
    """Return what each judge is worth, in the order of the log's judges."""
    J = log.n_judges
    rows = np.searchsorted(answers.judge, np.arange(J + 1))
    used = log.answer != MISSING
    calls, n_used, priced = (
        np.bincount(log.judge[kept], minlength=J)
        for kept in (slice(None), used, np.isfinite(log.cost))
    )
    costs = np.bincount(log.judge, np.nan_to_num(log.cost), minlength=J)
    alike, others = _agreement(log, answers)
    failures, scores = log.failures(), []
    for j, name in enumerate(log.judge_names):
        mine = slice(rows[j], rows[j + 1])
        answer = answers.answer[mine]
        agreement = mean_of(alike[mine])
        if log.is_ordered:
            agreement = _correlation(answers.score[mine], others[mine])
        score = JudgeScore(
            judge=name,
            n_verdicts=int(calls[j]),
            n_gold=int(np.isfinite(answers.credit[mine]).sum()),
            **against_gold(log, answers, mine),
            undecided=mean_of((answer == UNDECIDED)[answer != MISSING] * 1.0),
            **_by_order(answers.counts[:, mine]),
            failed=share_of(calls[j] - n_used[j], calls[j]),
            agreement=agreement,
            failures=failures[name],
            cost=float(costs[j] / n_used[j]) if priced[j] and n_used[j] else np.nan,
        )
        scores.append(score)
    return scores


def _agreement(log: JudgeLog, answers: Answers) -> tuple[Floats, Floats]:
    """Return how much of the other judges' answers on an item are the same, and their mean score."""
    n, item, nothing = log.n_items, answers.item, np.full(len(answers.item), np.nan)
    said = np.isfinite(answers.score) if log.is_ordered else answers.points.any(axis=1)
    n_others = np.bincount(item, said, minlength=n)[item] - said
    of_others = np.where(n_others > 0, n_others, np.nan)
    if log.is_ordered:
        score = np.nan_to_num(answers.score)
        rest = np.bincount(item, score, minlength=n)[item] - score
        return nothing, rest / of_others
    shares = answers.points / np.maximum(answers.points.sum(axis=1, keepdims=True), 1e-9)
    total = np.zeros((n, shares.shape[1]))
    np.add.at(total, item, shares)
    alike = (shares * (total[item] - shares)).sum(axis=1)
    return np.where(said, alike / of_others, np.nan), nothing


def _by_order(counts: Floats) -> dict[str, Share]:
    """Return the position bias of a judge, and how often two verdicts on an item agree: in
    different orders, and in the same one.
    """
    n = counts.sum(axis=2)
    repeated = (counts * (counts - 1)).sum(axis=2) / np.maximum(n * (n - 1), 1)
    figures = {"position_bias": NOTHING, "swap_consistency": NOTHING}
    figures["repeat_consistency"] = mean_of(repeated[n > 1])
    both = n[:2].min(axis=0) > 0
    if len(counts) < 2 or not both.any():
        return figures
    first, second = counts[:2, both] / n[:2, both, None]
    figures["swap_consistency"] = mean_of((first * second).sum(axis=1))
    # A verdict for the answer shown first counts 1, one for the second -1, and a tie 0. Over both
    # orders of an item the preference for an answer cancels, and what remains follows the position.
    values = (first[:, 0] - first[:, 1] - second[:, 0] + second[:, 1]) / 2
    # two more items, one each way: the error is never zero
    more, value = np.concatenate([values, [-1.0, 1.0]]), float(values.mean())
    error = float(more.std() / np.sqrt(len(more)))
    return figures | {"position_bias": interval(value, value, error, len(values), -1.0, 1.0)}


def against_gold(log: JudgeLog, answers: Answers, mine: slice) -> dict[str, Share]:
    """Return the figures that need known truths."""
    figures = dict.fromkeys(AGAINST_GOLD, NOTHING)
    known = np.isfinite(answers.credit[mine])
    if known.sum() < MIN_GOLD:
        return figures
    truth, answer = log.gold[answers.item[mine]][known], answers.answer[mine][known]
    figures["accuracy"] = mean_of(answers.credit[mine])
    figures["strict_accuracy"] = mean_of(answers.strict[mine])
    figures["pair_accuracy"] = mean_of(answers.pair[mine])
    said, K = answer != MISSING, len(log.class_names)
    if K <= MOST_CLASSES and said.any():
        # the last column is for undecided answers
        table = np.zeros((K, K + 1))
        np.add.at(table, (truth[said], np.where(answer == UNDECIDED, K, answer)[said]), 1)
        figures["kappa"] = _kappa(table)
    if log.is_ordered and said.sum() >= MIN_GOLD:
        score, value = answers.score[mine][known][said], log.scores[truth[said]]
        distance, span = score - value, float(np.ptp(log.scores))
        figures["correlation"] = _correlation(score, value)
        figures["weighted_kappa"] = _concordance(score, value)
        figures["error"] = mean_of(np.abs(distance), 0.0, span, at_ends=0)
        figures["bias"] = mean_of(distance, -span, span, at_ends=0)
    return figures


def _kappa(table: Floats) -> Share:
    """Return Cohen's kappa of truths and answers; undecided ones, in the last column, are half
    right.
    """
    # the whole table, and one without an item of each cell
    cells = np.argwhere(table > 0)
    tables = np.repeat(table[None], len(cells) + 1, axis=0)
    tables[np.arange(len(cells)), cells[:, 0], cells[:, 1]] -= 1
    share = tables / np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1)
    undecided = HALF * share[:, :, -1].sum(axis=1)
    chance = (share.sum(axis=2) * share[:, :, :-1].sum(axis=1)).sum(axis=1) + undecided
    right = np.trace(share, axis1=1, axis2=2) + undecided
    if (chance >= 1).any():
        return NOTHING
    *without, value = (right - chance) / (1 - chance)
    return jackknife(float(value), np.repeat(without, table[table > 0].astype(int)))


def _correlation(score: Floats, truth: Floats) -> Share:
    """Return Spearman's correlation, with the interval of Bonett and Wright."""
    known = np.isfinite(score + truth)
    n = int(known.sum())
    if n < MIN_GOLD:
        return NOTHING
    ranks = [rankdata(values[known]) for values in (score, truth)]
    if min(np.ptp(values) for values in ranks) == 0:
        return NOTHING
    r = float(np.corrcoef(*ranks)[0, 1])
    z, half = np.arctanh(np.clip(r, -0.9999, 0.9999)), 1.96 * np.sqrt((1 + r**2 / 2) / (n - 3))
    return Share(r, min(float(np.tanh(z - half)), r), max(float(np.tanh(z + half)), r))


def _concordance(score: Floats, truth: Floats) -> Share:
    """Return the kappa with quadratic weights (Lin's concordance)."""
    n = len(score)
    parts = np.stack([(score - truth) ** 2, score, truth, score**2, truth**2])
    sums = np.column_stack([parts.sum(axis=1), parts.sum(axis=1)[:, None] - parts])
    apart, x, y, xx, yy = sums / np.concatenate([[n], np.full(n, n - 1.0)])
    chance = xx - x**2 + yy - y**2 + (x - y) ** 2
    if (chance <= 0).any():
        return NOTHING
    value, *without = (1 - apart / chance).tolist()
    return jackknife(value, np.array(without))
