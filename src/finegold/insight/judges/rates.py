"""What would pass if people judged everything: the share, or the mean score, from the verdicts on
all N items and the truths of n checked ones.

With a guess f of every item from its verdicts, and the truths y of the checked items,

    rate = w mean(f) + mean(y - w f over the checked items)

whatever f is, as long as the checked items were drawn at random (prediction-powered inference). The
weight w is the slope of y on f, so that a useless guess does no harm. The interval of a share is the one that exact
binomial limits give to the effective number of checks (Korn and Graubard), since a normal interval
fails where nearly everything passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, stdtrit

from finegold.errors import InputError
from finegold.insight.judges.answers import MIN_GOLD, NOTHING, Share
from finegold.insight.votes import Flags, Floats, Integers

# parts of the checked items: the guesses of each are learned from the others
FOLDS = 5
# of the regression of truths on verdicts, in items
RIDGE = 4.0


@dataclass(frozen=True)
class Rate:
    """The share that would pass, or the mean score, if people judged every item.

    Attributes:
        group: The group of items; empty for all.
        raw: What the verdicts alone say.
        rate: The corrected share, with its 95 % interval.
        checks_alone: What the checked items alone say.
        rogan_gladen: The share that the sensitivity and the specificity of the verdicts imply.
        n_items, n_checked: The number of items, and of those with a known truth.
        checks_to_halve: How many checks would halve the interval.
    """

    group: str
    raw: float
    rate: Share
    checks_alone: Share
    rogan_gladen: Share
    n_items: int
    n_checked: int
    checks_to_halve: int


def rate_of(
    group: str, verdicts: Floats, truth: Floats, low: float, high: float, level: float = 0.95
) -> Rate:
    """Return the rate of some items, given verdicts [J, N] and truths [N], NaN where there is none."""
    known = np.isfinite(truth)
    n, N = int(known.sum()), len(truth)
    with np.errstate(invalid="ignore"):
        raw = float(np.nanmean(verdicts)) if np.isfinite(verdicts).any() else np.nan
    rate = alone = gladen = NOTHING
    if n >= MIN_GOLD:
        guess = guesses(verdicts, truth)
        rate = corrected(guess, truth, low, high, level)
        alone = corrected(np.zeros(N), truth, low, high, level)
        if (low, high) == (0.0, 1.0):
            gladen = _rogan_gladen(verdicts, truth)
    halve = 0
    if 0 < n < N:
        halve = int(np.ceil(1 / ((1 / n - 1 / N) / 4 + 1 / N)))
    return Rate(group, raw, rate, alone, gladen, N, n, halve)


def guesses(verdicts: Floats, truth: Floats) -> Floats:
    """[N] Return what the verdicts [J, N] let expect of each item: those of judges that are worth
    more count more. The guess of a checked item is learned from other items.
    """
    known = np.flatnonzero(np.isfinite(truth))
    with np.errstate(invalid="ignore"):
        centre = np.nan_to_num(np.nanmean(verdicts, axis=1, keepdims=True))
    said = np.where(np.isfinite(verdicts), verdicts - centre, 0.0).T
    said = said - said.mean(axis=0)
    folds = np.random.default_rng(0).permutation(len(known)) % FOLDS
    guess = np.zeros((FOLDS, len(truth)))
    for fold in range(FOLDS):
        rest = known[folds != fold]
        x, y = said[rest] - said[rest].mean(axis=0), truth[rest] - truth[rest].mean()
        ridge = RIDGE * (float(np.var(said)) or 1.0) * np.eye(x.shape[1])
        guess[fold] = said @ np.linalg.solve(x.T @ x + ridge, x.T @ y)
    mean: Floats = guess.mean(axis=0)
    mean[known] = guess[folds, known]
    return mean


def corrected(
    guess: Floats,
    truth: Floats,
    low: float,
    high: float,
    level: float = 0.95,
) -> Share:
    """Return the mean of the truths, known for some items and guessed for all."""
    known = np.isfinite(truth)
    y, f, n, N = truth[known], guess[known], int(known.sum()), len(truth)
    spread = float(((f - f.mean()) ** 2).mean())
    common = float(((f - f.mean()) * (y - y.mean())).mean())
    slope = max(common / spread, 0.0) if spread > 1e-12 else 0.0
    rest = y - slope * f
    value = min(max(slope * float(guess.mean()) + float(rest.mean()), low), high)
    # two more checks, one at each end: the error is never zero
    span = high - low
    apart = np.concatenate([rest - rest.mean(), [low - value, high - value]])
    variance = float((apart**2).mean()) / n * (1 - n / N)
    if variance <= 0:
        return Share(value, value, value)
    side = (1 - level) / 2
    smooth = (n * value + low + high) / (n + 2)
    if span == 1.0 and low == 0.0:
        half = float(stdtrit(n - 1, 1 - side) / stdtrit(1e9, 1 - side))
        m = max(smooth * (1 - smooth) / (variance * half**2), 1.0)
        a = value * m
        bottom = float(betaincinv(a, m - a + 1, side)) if a > 0 else 0.0
        top = float(betaincinv(a + 1, m - a, 1 - side)) if a < m else 1.0
        return Share(value, min(bottom, value), max(top, value))
    half = float(stdtrit(n - 1, 1 - side)) * variance**0.5
    return Share(value, max(value - half, low), min(value + half, high))


def _rogan_gladen(verdicts: Floats, truth: Floats) -> Share:
    """Return the share that most verdicts imply, given their sensitivity and specificity."""
    # where every call failed, nothing passed
    known = ~np.isnan(verdicts)
    said = (np.where(known, verdicts, 0.0).sum(axis=0) > 0.5 * known.sum(axis=0)) * 1.0
    passes, fails = truth == 1, truth == 0
    if passes.sum() < 2 or fails.sum() < 2:
        return NOTHING
    parts = [said[passes], 1 - said[fails], said]
    # with one more item of each kind, so that no share is 0 or 1
    shares = [(part.sum() + 1) / (len(part) + 2) for part in parts]
    sensitivity, specificity, observed = shares
    slope = sensitivity + specificity - 1
    if slope <= 0.05:
        return NOTHING
    value = (observed + specificity - 1) / slope
    errors = [
        share * (1 - share) / (len(part) + 2) for share, part in zip(shares, parts, strict=True)
    ]
    by = (-value / slope, (1 - value) / slope, 1 / slope)
    error = float(np.sqrt(sum(each**2 * e for each, e in zip(by, errors, strict=True))))
    value = min(max(float(value), 0.0), 1.0)
    return Share(value, max(value - 1.96 * error, 0.0), min(value + 1.96 * error, 1.0))


def rates_of(
    groups: Sequence[str],
    group: Integers,
    verdicts: Floats,
    truth: Floats,
    low: float,
    high: float,
) -> list[Rate]:
    """Return the rate of each group; the intervals hold for all groups together (Bonferroni)."""
    level = 1 - 0.05 / max(len(groups), 1)
    return [
        rate_of(name, verdicts[:, group == code], truth[group == code], low, high, level)
        for code, name in enumerate(groups)
    ]


def difference_of(
    verdicts: Floats,
    truth: Floats,
    first: Flags,
    second: Flags,
    pair: Integers,
    low: float,
    high: float,
) -> Share:
    """Return the rate of one group of items minus that of another, paired by what `pair` says, such
    as the same question answered by two systems.
    """
    guess = guesses(verdicts, truth)
    rows = []
    for side in (first, second):
        place = np.full(int(pair.max()) + 1, -1)
        place[pair[side]] = np.flatnonzero(side)
        rows.append(place)
    both = (rows[0] >= 0) & (rows[1] >= 0)
    if not both.any():
        raise InputError("the two have no item in common that could be paired")
    one, other = rows[0][both], rows[1][both]
    apart = truth[one] - truth[other]
    if np.isfinite(apart).sum() < MIN_GOLD:
        return NOTHING
    return corrected(guess[one] - guess[other], apart, low - high, high - low)
