"""Do judges follow the position of an answer, and do they agree with themselves?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from finegold.insight.judges.shares import Share, Z, wilson
from finegold.io.readers.judge_logs import JudgeLog
from finegold.votes.encoding import MISSING

__all__ = ["position_bias", "repeat_consistency", "swap_consistency"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NOTHING = Share(np.nan, np.nan, np.nan)


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
    both: NDArray[np.bool_] = n.min(axis=1) > 0
    balanced = (sums / np.maximum(n, 1)).sum(axis=1) / 2
    per_pair = np.where(both, balanced, sums.sum(axis=1) / n.sum(axis=1))
    judge = pairs // log.n_items
    return [_bias(per_pair[judge == j], both[judge == j]) for j in range(log.n_judges)]


def _bias(values: Floats, both: NDArray[np.bool_]) -> tuple[Share, float]:
    values = values[both] if both.any() else values
    n = len(values)
    if n == 0:
        return NOTHING, np.nan
    toward, against = int((values > 0).sum()), int((values < 0).sum())
    p = min(2 * float(bdtr(min(toward, against), toward + against, 0.5)), 1.0)
    mean = float(values.mean())
    spread = (float((values**2).sum()) + 2) / (n + 2) - mean**2  # two more items, one each way: never zero
    error = float(np.sqrt(spread / (n + 2)))
    return Share(mean, max(mean - Z * error, -1.0), min(mean + Z * error, 1.0)), p


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
    n = np.bincount(judge, minlength=n_judges)
    sums = np.bincount(judge, values, minlength=n_judges)
    return [wilson(min(sums[j] / max(n[j], 1), 1.0), n[j]) for j in range(n_judges)]
