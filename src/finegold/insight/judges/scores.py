"""What each judge is worth: accuracy, kappa, position bias, consistency, failures, agreement and
cost.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import bdtr

from finegold.insight.judges.answers import (
    HALF,
    NOTHING,
    UNDECIDED,
    Answers,
    Share,
    interval,
    mean_of,
)
from finegold.insight.votes import Flags, Floats, Integers
from finegold.io.judge_logs import TIED, JudgeLog
from finegold.votes.encoding import MISSING

# items with a known truth from which an accuracy is shown; bench/trust/judges.py measures the
# coverage
MIN_GOLD = 10


@dataclass(frozen=True)
class JudgeScore:
    """What one judge is worth. Shares have 95 % intervals; NaN means that the log cannot tell.

    Attributes:
        judge: The name.
        n_verdicts, n_items, n_gold: The number of calls, of items with an answer, and of those with
            a known truth.
        accuracy: The share of right answers among the items with a known truth; an undecided answer
            counts half.
        strict_accuracy: The share of items on which every call was right, in both orders; a failed
            call is not.
        pair_accuracy: The share of pairs whose two orders together favour the right answer, as
            JudgeBench counts.
        kappa: Cohen's kappa of the answers and the truths.
        weighted_kappa, error, bias: Of scores: the kappa with quadratic weights, the mean distance
            from the truth, and the mean difference.
        length_bias: The accuracy where the longer answer of a pair is right minus that where the
            shorter one is.
        undecided: The share of answers that are undecided: two orders or repeats that disagree.
        position_bias: The share of verdicts that follow the position: positive for the first one,
            negative for the second.
        position_p: The p-value of a sign test that the position has no effect.
        swap_consistency, repeat_consistency: How often two verdicts on an item agree, in different
            orders and in the same one.
        ties, failed: The share of verdicts that are ties, and of calls that failed.
        agreement: The share of other judges' answers on the same items that are the same.
        drift: The accuracy in the later half of its calls minus that in the earlier one; without
            known truths the agreement.
        failures: The number of failed calls by reason.
        cost: The price of a verdict; failed calls are paid by those that succeeded.
        partners: Judges that agree with this one more than their accuracies explain.
    """

    judge: str
    n_verdicts: int
    n_items: int
    n_gold: int
    accuracy: Share
    strict_accuracy: Share
    pair_accuracy: Share
    kappa: Share
    weighted_kappa: Share
    error: Share
    bias: Share
    length_bias: Share
    undecided: Share
    position_bias: Share
    position_p: float
    swap_consistency: Share
    repeat_consistency: Share
    ties: Share
    failed: Share
    agreement: Share
    drift: Share
    failures: dict[str, int]
    cost: float
    partners: list[str]

    def plain(self) -> dict[str, Any]:
        """Return the figures as plain values, which is all that is shown anywhere.

        Returns:
            None where nothing is known; `intervals` has the ends of the intervals.
        """
        row: dict[str, Any] = {}
        intervals = {}
        for name, value in vars(self).items():
            if isinstance(value, Share):
                is_known = value.value == value.value
                if is_known:
                    intervals[name] = [value.low, value.high]
                value = (
                    (value._asdict() if name == "accuracy" else value.value) if is_known else None
                )
            row[name] = None if isinstance(value, float) and value != value else value
        return row | {"intervals": intervals}


FIGURES = [each.name for each in fields(JudgeScore) if each.type == "Share"]


def best_first(scores: list[JudgeScore]) -> list[JudgeScore]:
    """Return the judges by accuracy or, without gold, by their agreement with the others and with
    themselves.
    """

    def key(score: JudgeScore) -> tuple[float, float, str]:
        alike, same = score.agreement.value, score.swap_consistency.value
        accuracy, support = score.accuracy.value, alike * same if same == same else alike
        return (
            1.0 if accuracy != accuracy else -accuracy,
            1.0 if support != support else -support,
            score.judge,
        )

    return sorted(scores, key=key)


def places(scores: list[JudgeScore]) -> dict[str, tuple[int, int]]:
    """Return the first and the last place that each judge may have."""
    # One judge stands above another if the intervals of their accuracies are apart. Without gold,
    # those of their agreement and of their consistency must both be apart, in the same direction.
    is_measured = any(score.accuracy.value == score.accuracy.value for score in scores)
    names = ["accuracy"] if is_measured else ["agreement", "swap_consistency"]
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


def score_judges(
    log: JudgeLog, answers: Answers, partners: dict[str, list[str]] | None = None
) -> list[JudgeScore]:
    """Return what each judge is worth, in the order of the log's judges."""
    rows = np.searchsorted(answers.judge, np.arange(log.n_judges + 1))
    calls = np.bincount(log.judge, minlength=log.n_judges)
    used = log.answer != MISSING
    n_used = np.bincount(log.judge[used], minlength=log.n_judges)
    n_ties = np.bincount(log.judge[used & (log.answer == TIED)], minlength=log.n_judges)
    costs = np.bincount(log.judge, np.nan_to_num(log.cost), minlength=log.n_judges)
    priced = np.bincount(log.judge[np.isfinite(log.cost)], minlength=log.n_judges)
    shares = answers.points / np.maximum(answers.points.sum(axis=1, keepdims=True), 1e-9)
    total = np.zeros((log.n_items, shares.shape[1]))
    np.add.at(total, answers.item, shares)
    has_share = shares.any(axis=1)
    others = np.bincount(answers.item, has_share, minlength=log.n_items)[answers.item] - has_share
    alike = (shares * (total[answers.item] - shares)).sum(axis=1)
    failures, alike = (
        log.failures(),
        np.where(has_share & (others > 0), alike / np.maximum(others, 1), np.nan),
    )
    when = np.full(len(answers.item), np.nan)
    # the mean time of the calls on each item
    if log.time is not None:
        known = np.flatnonzero(~np.isnat(log.time))
        keys = log.judge[known].astype(np.int64) * log.n_items + log.item[known]
        entry = np.searchsorted(answers.judge * log.n_items + answers.item, keys)
        times = log.time[known].astype("datetime64[us]").astype(np.int64) / 1e6
        n_times = np.bincount(entry, minlength=len(when))
        when[n_times > 0] = (
            np.bincount(entry, times, minlength=len(when)) / np.maximum(n_times, 1)
        )[n_times > 0]
    scores = []
    for j, name in enumerate(log.judge_names):
        mine = slice(rows[j], rows[j + 1])
        answered = answers.answer[mine] != MISSING
        bias, p = position_bias(answers, mine)
        swaps, repeats = consistency(answers, mine)
        has_truths = np.isfinite(answers.credit[mine] + when[mine]).sum() >= 2 * MIN_GOLD
        values = (answers.credit if has_truths else alike)[mine]
        dated = np.flatnonzero(np.isfinite(values + when[mine]))
        is_late = (
            when[mine][dated] > np.median(when[mine][dated]) if dated.size else np.zeros(0, bool)
        )
        scores.append(
            JudgeScore(
                judge=name,
                n_verdicts=int(calls[j]),
                n_items=int(answered.sum()),
                n_gold=int(np.isfinite(answers.credit[mine]).sum()),
                **_against_gold(log, answers, mine),
                undecided=mean_of((answers.answer[mine] == UNDECIDED)[answered].astype(float)),
                position_bias=bias,
                position_p=p,
                swap_consistency=swaps,
                repeat_consistency=repeats,
                ties=share_of(n_ties[j], n_used[j]) if log.kind == "pairwise" else NOTHING,
                failed=share_of(calls[j] - n_used[j], calls[j]),
                agreement=mean_of(alike[mine]),
                drift=_difference(values[dated], is_late),
                failures=failures[name],
                cost=float(costs[j] / n_used[j]) if priced[j] and n_used[j] else np.nan,
                partners=(partners or {}).get(name, []),
            )
        )
    return scores


def share_of(part: float, n: float) -> Share:
    """Return the share of n trials, with its interval."""
    return mean_of(np.repeat([1.0, 0.0], [int(part), int(n - part)]))


def position_bias(answers: Answers, mine: slice) -> tuple[Share, float]:
    """Return the position bias of a judge and the p-value of a sign test."""
    # A verdict for the answer shown first counts 1, one for the second -1, and a tie 0. Over both
    # orders of an item the preference for an answer cancels, and what remains follows the position.
    # Where a judge saw no item in both orders, all its verdicts count; orders must then be random.
    counts = answers.counts[:2, mine]
    n = counts.sum(axis=2)
    if not n.any():
        return NOTHING, np.nan
    follows = (counts[:, :, 0] - counts[:, :, 1]) * [[1.0], [-1.0]]
    both = n.min(axis=0) > 0
    balanced = (follows / np.maximum(n, 1)).sum(axis=0) / 2
    values = (
        balanced[both]
        if both.any()
        else (follows.sum(axis=0) / np.maximum(n.sum(axis=0), 1))[n.any(axis=0)]
    )
    toward, against = int((values > 0).sum()), int((values < 0).sum())
    p = min(2 * float(bdtr(min(toward, against), toward + against, 0.5)), 1.0)
    # two more items, one each way: the error is never zero
    more = np.concatenate([values, [-1.0, 1.0]])
    error = float(more.std() / np.sqrt(len(more)))
    return interval(float(values.mean()), float(values.mean()), error, len(values), -1.0, 1.0), p


def consistency(answers: Answers, mine: slice) -> tuple[Share, Share]:
    """Return how often two verdicts of a judge on an item agree: in different orders, and in the
    same one.
    """
    counts = answers.counts[:, mine]
    n = counts.sum(axis=2)
    first, second = counts[:2] / np.maximum(n[:2], 1)[:, :, None]
    swapped = (first * second).sum(axis=1)[n[:2].min(axis=0) > 0]
    repeated = (counts * (counts - 1)).sum(axis=2) / np.maximum(n * (n - 1), 1)
    return mean_of(swapped), mean_of(repeated[n > 1])


AGAINST_GOLD = (
    *(
        "accuracy",
        "strict_accuracy",
        "pair_accuracy",
        "kappa",
        "weighted_kappa",
        "error",
        "bias",
        "length_bias",
    ),
)


def _against_gold(log: JudgeLog, answers: Answers, mine: slice) -> dict[str, Share]:
    """Return the figures that need known truths."""
    figures = dict.fromkeys(AGAINST_GOLD, NOTHING)
    known = np.isfinite(answers.credit[mine])
    if known.sum() < MIN_GOLD:
        return figures
    truth, answer = log.gold[answers.item[mine]][known], answers.answer[mine][known]
    K = len(answers.names)
    # the last column is for undecided answers
    table = np.zeros((K, K + 1), np.int64)
    np.add.at(table, (truth, np.where(answer == UNDECIDED, K, answer)), 1)
    figures |= {
        "accuracy": mean_of(answers.credit[mine]),
        "strict_accuracy": mean_of(answers.strict[mine]),
        "pair_accuracy": mean_of(answers.pair[mine]),
        "kappa": _kappa(table),
    }
    if log.length_a is not None and log.length_b is not None:
        # 1 for B, -1 for A
        longer = np.sign(log.length_b - log.length_a)[answers.item[mine][known]]
        compared = (np.abs(longer) > 0) & (truth < TIED)
        is_longer = (longer > 0) == (truth == 1)
        figures["length_bias"] = _difference(
            answers.credit[mine][known][compared], is_longer[compared]
        )
    if log.is_ordered:
        values = np.array([float(name) for name in log.class_names])
        said = answers.points[mine][known]
        score = said @ values / said.sum(axis=1)
        distance, span = score - values[truth], float(np.ptp(values))
        figures |= {
            "error": mean_of(np.abs(distance), 0.0, span, at_ends=0),
            "bias": mean_of(distance, -span, span, at_ends=0),
            "weighted_kappa": _concordance(score, values[truth]),
        }
    return figures


def _difference(values: Floats, is_first: Flags) -> Share:
    """Return the mean of some values minus that of the others."""
    parts = [values[is_first], values[~is_first]]
    if min(map(len, parts)) < MIN_GOLD:
        return NOTHING
    # so that the error is never zero
    more = [np.concatenate([part, [0.0, 1.0]]) for part in parts]
    error = float(np.sqrt(sum(part.var(ddof=1) / len(part) for part in more)))
    value = float(parts[0].mean() - parts[1].mean())
    return interval(value, value, error, min(map(len, parts)), -1.0, 1.0)


def _kappa(table: Integers) -> Share:
    """Return Cohen's kappa of truths and answers; undecided ones, in the last column, are half
    right.
    """

    def kappa(table: Integers) -> float:
        share = table / table.sum()
        undecided = HALF * float(share[:, -1].sum())
        expected = float(share.sum(axis=1) @ share[:, :-1].sum(axis=0)) + undecided
        return (
            (float(np.trace(share)) + undecided - expected) / (1 - expected)
            if expected < 1
            else np.nan
        )

    cells = np.argwhere(table > 0)
    # one item less
    counts, without = table[tuple(cells.T)], []
    for cell in cells:
        table[tuple(cell)] -= 1
        without.append(kappa(table))
        table[tuple(cell)] += 1
    return _jackknife(kappa(table), np.repeat(without, counts))


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
    return _jackknife(value, np.array(without))


def _jackknife(value: float, without: Floats) -> Share:
    """Return a figure with an interval, from its values without one item at a time."""
    if not np.isfinite([value, *without]).all():
        return NOTHING
    n = len(without)
    error = float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
    return interval(value, value, error, n, -1.0, 1.0)
