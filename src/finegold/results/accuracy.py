"""Estimate how often an annotator is right according to the posterior, with a credible interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

__all__ = ["Intervals", "accuracies", "spread"]

Floats = NDArray[np.float64]


class Intervals(NamedTuple):
    """Credible intervals that an update can keep; their ends are distances from the mean in standard deviations."""

    known: NDArray[np.bool_]  # [W]
    below: Floats  # [W]
    above: Floats


def accuracies(
    votes: NDArray[np.int64], expected: Floats, kept: Intervals | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return the expected share of right votes, and the central 95 % interval of its Beta distribution.

    The prior is worth two votes with the average accuracy of all annotators.
    """
    average = expected.sum() / votes.sum()
    mean = (expected + 2 * average) / (votes + 2)
    right, wrong = np.maximum(mean * (votes + 2), 1e-9), np.maximum((1 - mean) * (votes + 2), 1e-9)
    new = slice(None) if kept is None else np.flatnonzero(~kept.known)
    low, high = np.zeros_like(mean), np.zeros_like(mean)
    if kept is not None:
        deviation = spread(mean, votes)
        low, high = np.maximum(mean - kept.below * deviation, 0.0), np.minimum(mean + kept.above * deviation, 1.0)
    low[new], high[new] = (betaincinv(right[new], wrong[new], tail) for tail in (0.025, 0.975))  # a microsecond each
    return mean, np.minimum(low, mean), np.maximum(high, mean)


def spread(mean: Floats, votes: NDArray[np.int64]) -> Floats:
    """Return the standard deviation of an accuracy; it is never zero."""
    deviation: Floats = np.sqrt(np.maximum(mean * (1 - mean), 1e-12) / (votes + 3))
    return deviation
