"""Ordered classes, such as ratings from 1 to 5: expected scores, their intervals, and metrics that know the order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.votes.encoding import Names, text_of
from finegold.votes.frames import to_list

__all__ = [
    "consecutive_integers",
    "expected_scores",
    "level_of_order",
    "mean_absolute_error",
    "quadratic_kappa",
    "scale_of",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

MASS = 0.95  # of the interval of a score
FEWEST_CLASSES = 3  # two classes such as 0 and 1 are rarely a scale


def scale_of(class_names: Names) -> Floats:
    """[K] Return the numbers that the classes are, or their positions from 1."""
    texts = [text_of(name) for name in to_list(class_names)]
    try:
        scale = np.array([float(text) for text in texts])
    except ValueError:
        return np.arange(1.0, len(texts) + 1)
    return scale if np.isfinite(scale).all() else np.arange(1.0, len(texts) + 1)


def consecutive_integers(class_names: Names) -> list[int]:
    """Return the classes if they look like a scale: at least three integers without a gap. Otherwise nothing."""
    names = to_list(class_names)
    if len(names) < FEWEST_CLASSES or not all(isinstance(name, int) and not isinstance(name, bool) for name in names):
        return []
    return names if names == list(range(names[0], names[0] + len(names))) else []


def level_of_order(class_names: Names) -> str:
    """Return the level at which agreement on ordered classes is measured: numbers have distances, others only ranks."""
    return "interval" if all(isinstance(name, int | float) for name in to_list(class_names)) else "ordinal"


def expected_scores(posterior: Floats, scale: Floats) -> tuple[Floats, Floats, Floats]:
    """[T] Return the mean score of each task, and the bounds of the central 95 % of its distribution."""
    order = np.argsort(scale, kind="stable")
    sums = np.cumsum(posterior[:, order], axis=1)
    tail = (1 - MASS) / 2
    low = (sums < tail).sum(axis=1)
    high = (sums < 1 - tail).sum(axis=1).clip(max=len(scale) - 1)
    return posterior @ scale, scale[order][low], scale[order][high]


def mean_absolute_error(labels: Codes, truth: Codes, scale: Floats) -> float:
    """Return the mean distance between the label and the truth, for tasks with a known truth."""
    found, true = _known(labels, truth, scale)
    return float(np.abs(found - true).mean())


def quadratic_kappa(labels: Codes, truth: Codes, scale: Floats) -> float:
    """Return Cohen's kappa with squared distances: 1 minus those between label and truth over those by chance."""
    found, true = _known(labels, truth, scale)
    by_chance = found.var() + true.var() + (found.mean() - true.mean()) ** 2
    return float(1 - ((found - true) ** 2).mean() / by_chance) if by_chance > 0 else float("nan")


def _known(labels: Codes, truth: Codes, scale: Floats) -> tuple[Floats, Floats]:
    known = truth >= 0
    if (truth >= len(scale)).any():
        raise InputError("a truth is not among the ordered classes; add it to --ordered (ordered= in Python)")
    return scale[labels[known]], scale[truth[known]]
