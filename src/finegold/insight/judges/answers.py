"""One answer per judge and item: verdicts in both orders and repeats are merged, and torn ones are kept as doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri

from finegold.errors import InputError, use
from finegold.io.judge_logs import JudgeLog
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes

__all__ = [
    "MODEL_ERROR",
    "Answers",
    "Share",
    "Torn",
    "Z",
    "difference",
    "expected_share",
    "merge",
    "position_bias",
    "prediction_powered",
    "repeat_consistency",
    "swap_consistency",
    "wilson",
]


Torn = Literal["tie", "half"]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of judges, one per judge and item (P in all).

    An answer is torn if no class has most of the judge's verdicts on the item: A in one order and B in the other. It is
    a tie, or half an answer for each (`share`). Votes that a method sees are whole, so half answers do not count
    there: they would cancel.
    """

    judge: Integers  # [P]
    item: Integers  # [P]
    share: Floats  # [P, K] how the answer is divided among the classes
    n: Integers  # [P] number of verdicts
    is_torn: NDArray[np.bool_]  # [P]
    names: list[Any]  # [K] classes that occur
    votes: Annotations
    voted: Integers  # [number of tasks] the item of each task of the votes
    gold: Codes  # [T] with the codes of `names`


def merge(log: JudgeLog, torn: Torn = "tie") -> Answers:
    """Merge the verdicts of each judge on each item."""
    if torn not in get_args(Torn):
        raise InputError(f'torn must be "tie" or "half", not {torn!r}')
    used = log.answer != MISSING
    if not used.any():
        raise InputError("every call of the log failed, so there is no verdict to judge by")
    key = log.judge[used].astype(np.int64) * log.n_items + log.item[used]
    pairs, place = np.unique(key, return_inverse=True)
    K = len(log.class_names)
    counts = np.bincount(place * K + log.answer[used], minlength=len(pairs) * K).reshape(len(pairs), K)
    share, is_torn = _shares(counts, tie=K - 1 if torn == "tie" and log.kind == "pairwise" else None)
    kept = np.flatnonzero(share.any(axis=0) | np.isin(np.arange(K), log.gold))
    share, gold = share[:, kept], _renumbered(log.gold, kept, K)
    judge, item = pairs // log.n_items, pairs % log.n_items
    names = [log.class_names[code] for code in kept]
    votes, voted = _votes(log, judge, item, share, gold, names)
    return Answers(judge, item, share, counts.sum(axis=1), is_torn, names, votes, voted, gold)


def _shares(counts: Integers, tie: int | None) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the answer of each pair, and whether it is torn."""
    is_top = counts == counts.max(axis=1, keepdims=True)
    is_torn = is_top.sum(axis=1) > 1
    share = is_top / is_top.sum(axis=1, keepdims=True)
    if tie is not None:
        share[is_torn] = np.arange(counts.shape[1]) == tie
    return share, is_torn


def _renumbered(gold: Codes, kept: Integers, K: int) -> Codes:
    new = np.full(K + 1, MISSING, np.int32)  # the last entry is for MISSING
    new[kept] = np.arange(len(kept))
    return new[gold]


def _votes(
    log: JudgeLog, judge: Integers, item: Integers, share: Floats, gold: Codes, names: list[Any]
) -> tuple[Annotations, Integers]:
    """Return whole answers as votes, and the item of each task."""
    whole = share.max(axis=1) == 1
    if not whole.any():
        remedies = [use(torn="tie", text="to count torn answers as ties")]
        raise InputError("every answer of every judge is torn, so there is nothing to label by", remedies=remedies)
    label = np.where(whole, share.argmax(axis=1), MISSING).astype(np.int32)
    voted = np.flatnonzero(np.bincount(item[whole], minlength=log.n_items))
    known = np.flatnonzero(gold[voted] != MISSING)
    votes = Annotations.from_codes(
        item.astype(np.int32),
        judge.astype(np.int32),
        label,
        _objects(log.item_names),
        _objects(log.judge_names),
        _objects(names),
        gold=(voted[known].astype(np.int32), gold[voted[known]]),
    )
    return votes, voted


def _objects(values: list[Any]) -> NDArray[Any]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


Z = float(ndtri(0.975))
# How far the accuracy that the posterior expects is off: root mean square over the judges of real panels with known
# truths, mean over families of data sets (bench/judges.py --real). No number of items makes it smaller; gold does.
MODEL_ERROR = 0.10
MOST_WEIGHT = 3.0  # of what the posterior expects; more than 1 where it is too cautious


class Share(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


NOTHING = Share(np.nan, np.nan, np.nan)


def wilson(share: float, n: float) -> Share:
    """Return the Wilson interval of a share of n independent trials; n need not be whole."""
    if not n > 0:
        return NOTHING
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * np.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return Share(float(share), max(float(centre - half), 0.0), min(float(centre + half), 1.0))


def expected_share(values: Floats) -> Share:
    """Return the mean of what a posterior expects, one value per item; the interval includes the posterior's error."""
    if len(values) == 0:
        return NOTHING
    value = min(max(float(values.mean()), 0.0), 1.0)
    spread = max(value * (1 - value), 1e-6)
    return wilson(value, spread / (spread / len(values) + MODEL_ERROR**2))


def prediction_powered(expected: Floats, known: Floats) -> Share:
    """Return the mean of a quantity that is known for some items, and expected by the posterior for all.

    The expected mean is corrected by its error on the items with known values (NaN elsewhere), which are assumed to be
    a random sample of the items. The weight of the expected values minimises the variance, so that the interval is
    never wider than that of the known values alone. (Prediction-powered inference.)
    """
    value, variance = _estimate(expected, known)
    spread = max(value * (1 - value), 1e-6)
    return wilson(min(max(value, 0.0), 1.0), spread / max(variance, spread / 1e9))


def difference(expected: Floats, known: Floats, *, by_gold: bool) -> tuple[Share, float]:
    """Return the mean of differences between -1 and 1 with its interval, and its standard error."""
    if by_gold:
        value, variance = _estimate(expected, known)
    else:
        value, variance = float(expected.mean()), float(expected.var()) / len(expected) + 2 * MODEL_ERROR**2
    error = float(np.sqrt(variance))
    return Share(value, max(value - Z * error, -1.0), min(value + Z * error, 1.0)), error


def _estimate(expected: Floats, known: Floats) -> tuple[float, float]:
    """Return the corrected mean and its variance."""
    is_known = np.isfinite(known)
    truth, guess = known[is_known], expected[is_known]
    n, n_all = len(truth), len(expected)
    spread = float(guess.var(ddof=1))
    weight = float(np.cov(truth, guess)[0, 1]) / (spread * (1 + n / n_all)) if spread > 0 else 0.0
    weight = min(max(weight, 0.0), MOST_WEIGHT)
    value = float(truth.mean()) + weight * (float(expected.mean()) - float(guess.mean()))
    variance = float((truth - weight * guess).var(ddof=1)) / n + weight**2 * float(expected.var(ddof=1)) / n_all
    return value, variance


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
