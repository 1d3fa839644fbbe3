"""How often labels with a given confidence are right on real data; measured for the default method only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finegold.methods.anchored import small_data_caution
from finegold.methods.measured import BINS, METHOD, N_SETS, SETTINGS
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING

__all__ = ["Expected", "caution", "expected_accuracy", "expected_of", "in_words", "widened"]

WITHOUT_EFFECT = {"seed", "tolerance"}  # settings that do not change the results of the default method
STANDARD_ERRORS = 1.2816  # on either side of the mean, 80 % of a normal distribution: its 10th to 90th percentile


class Expected(NamedTuple):
    """Shares of right labels: the range of four in five families of data sets, and means over families."""

    low: float
    mean: float
    high: float
    people: float  # where people voted
    machines: float  # where LLMs, systems or labelling functions voted


def expected_accuracy(confidence: ArrayLike) -> Expected:
    """Return the share of labels with this confidence that is right on real data sets.

    `bench/real_confidence.py` measured the shares for the default method. Between its bins they are interpolated.

    Parameters
    ----------
    confidence : float or array of floats
        The confidence of a label, or of each label of a result.

    Returns
    -------
    Expected
        `low`, `mean` and `high`, and the means where `people` and where `machines` voted. For several labels, these
        are means over the labels, and the range includes the sampling error for this number of labels.

    Examples
    --------
    >>> from finegold.insight import expected_accuracy
    >>> low, mean, high, *_ = expected_accuracy(0.85)
    >>> low < mean < high
    True
    """
    values: NDArray[np.float64] = np.atleast_1d(np.asarray(confidence, dtype=float))
    bins = np.array(BINS).T
    low, mean, high, people, machines = (float(np.interp(values, bins[0], column).mean()) for column in bins[1:])
    if values.size > 1:
        low, mean, high = widened(low, mean, high, values.size)
    return Expected(low, mean, high, people, machines)


def widened(low: float, mean: float, high: float, n: int) -> tuple[float, float, float]:
    """Return the range with the sampling error of n labels added in quadrature."""
    error = STANDARD_ERRORS * np.sqrt(mean * (1 - mean) / n)
    return (
        max(float(mean - np.hypot(mean - low, error)), 0.0),
        mean,
        min(float(mean + np.hypot(high - mean, error)), 1.0),
    )


def expected_of(result: ResultData) -> Expected | None:
    """Return the expected accuracy of a result's labels; None if another method or other settings produced them."""
    found = result.gold == MISSING
    return expected_accuracy(result.confidence[found]) if found.any() and _is_measured(result) else None


def in_words(expected: Expected) -> str:
    """Return a sentence that states the expected accuracy."""
    low, mean, high, people, machines = (f"{100 * share:.0f}" for share in expected)
    return (
        f"Judged by {N_SETS} real data sets, {low} to {high} % of labels with such confidence are right, {mean} % on "
        f"average ({people} % where people voted, {machines} % where LLMs, systems or labelling functions did)."
    )


def caution(result: ResultData) -> str:
    """Return a warning if the result has few tasks; empty for results of methods other than the default."""
    return small_data_caution(len(result.label_codes)) if _is_measured(result) else ""


def _is_measured(result: ResultData) -> bool:
    settings = {name: value for name, value in result.all_settings.items() if name not in WITHOUT_EFFECT}
    return result.method == METHOD and settings == SETTINGS and result.combined is None
