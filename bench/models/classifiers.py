"""Simulated classifiers of a given accuracy."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

Floats = NDArray[np.float64]
Random = np.random.Generator


@cache
def strength(accuracy: float, n_classes: int) -> float:
    """The distance of classes, in standard deviations, at which the best classifier has this accuracy."""
    tests = np.random.default_rng(0).normal(size=(20_000, n_classes))
    strengths = np.linspace(0.1, 5, 200)
    reached = [(s**2 + s * tests[:, 0] > (s * tests[:, 1:]).max(axis=1)).mean() for s in strengths]
    return float(strengths[int(np.searchsorted(reached, accuracy))])


def classifier(
    rng: Random, truth: NDArray[np.int64], accuracy: float, scale: float, n_classes: int
) -> Floats:
    """Probabilities of a classifier of this accuracy; calibrated if the logits are multiplied by 1."""
    s = strength(accuracy, n_classes)
    noise = rng.normal(size=(len(truth), n_classes))
    return np.asarray(softmax(scale * (s**2 * np.eye(n_classes)[truth] + s * noise), axis=1))
