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
    n, N = int(np.isfinite(truth).sum()), len(truth)
    raw = float(np.nanmean(verdicts)) if np.isfinite(verdicts).any() else np.nan
    rate = alone = gladen = NOTHING
    if n >= MIN_GOLD:
        rate = corrected(guesses(verdicts, truth), truth, low, high, level)
        alone = corrected(np.zeros(N), truth, low, high, level)
        if (low, high) == (0.0, 1.0):
            gladen = _rogan_gladen(verdicts, truth)
    halve = int(np.ceil(1 / ((1 / n - 1 / N) / 4 + 1 / N))) if 0 < n < N else 0
    return Rate(group, raw, rate, alone, gladen, N, n, halve)


def guesses(verdicts: Floats, truth: Floats) -> Floats:
    """[N] Return what the verdicts [J, N] let expect of each item: those of judges that are worth
    more count more. The guess of a checked item is learned from other items.
    """
    known, is_said = np.flatnonzero(np.isfinite(truth)), np.isfinite(verdicts)
    sums, n = np.nansum(verdicts, axis=1), is_said.sum(axis=1)
    centre = (sums / np.maximum(n, 1))[:, None]
    said = np.where(is_said, verdicts - centre, 0.0).T
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


def corrected(guess: Floats, truth: Floats, low: float, high: float, level: float = 0.95) -> Share:
    """Return the mean of the truths, known for some items and guessed for all."""
    known = np.isfinite(truth)
    y, f, n, N = truth[known], guess[known], int(known.sum()), len(truth)
    spread, common = float(np.var(f)), float(((f - f.mean()) * (y - y.mean())).mean())
    slope = max(common / spread, 0.0) if spread > 1e-12 else 0.0
    rest = y - slope * f
    value = min(max(slope * float(guess.mean()) + float(rest.mean()), low), high)
    # two more checks, one at each end: the error is never zero
    apart = np.concatenate([rest - rest.mean(), [low - value, high - value]])
    variance = float((apart**2).mean()) / n * (1 - n / N)
    if variance <= 0:
        return Share(value, value, value)
    side = (1 - level) / 2
    if (low, high) == (0.0, 1.0):
        half = float(stdtrit(n - 1, 1 - side) / stdtrit(1e9, 1 - side))
        smooth = (n * value + 1) / (n + 2)
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
    said = (np.nansum(verdicts, axis=0) > 0.5 * np.isfinite(verdicts).sum(axis=0)) * 1.0
    passes, fails = truth == 1, truth == 0
    if passes.sum() < 2 or fails.sum() < 2:
        return NOTHING
    parts = [said[passes], 1 - said[fails], said]
    # with one more item of each kind, so that no share is 0 or 1
    n = np.array([len(part) + 2 for part in parts])
    shares = (np.array([part.sum() for part in parts]) + 1) / n
    sensitivity, specificity, observed = shares
    if (slope := sensitivity + specificity - 1) <= 0.05:
        return NOTHING
    value = (observed + specificity - 1) / slope
    by = np.array([-value, 1 - value, 1]) / slope
    half = 1.96 * float(np.sqrt((by**2 * shares * (1 - shares) / n).sum()))
    value = min(max(float(value), 0.0), 1.0)
    return Share(value, max(value - half, 0.0), min(value + half, 1.0))


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
    sides = [np.flatnonzero(first), np.flatnonzero(second)]
    _, at, at_other = np.intersect1d(pair[sides[0]], pair[sides[1]], return_indices=True)
    one, other = sides[0][at], sides[1][at_other]
    if not len(one):
        raise InputError("the two have no item in common that could be paired")
    apart = truth[one] - truth[other]
    if np.isfinite(apart).sum() < MIN_GOLD:
        return NOTHING
    guess = guesses(verdicts, truth)
    return corrected(guess[one] - guess[other], apart, low - high, high - low)
