"""Shares with 95 % intervals, also where only some items have a known truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["MODEL_ERROR", "Share", "Z", "difference", "expected_share", "prediction_powered", "wilson"]

Floats = NDArray[np.float64]
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
