"""Metrics that compare a posterior with known truths, and scores of classes that have an order.

Metrics take the posterior [T, K] and the true class of each task [T], negative if it is unknown;
only tasks with a known truth count. A truth can be a class without votes, with a code of K or more:
then every label is wrong. If m classes share the highest probability, up to rounding, the task
counts as 1/m of a prediction of each of them.

    >>> import numpy as np
    >>> from finegold.results import metrics
    >>> metrics.accuracy(np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]]), np.array([0, 1, 0]))
    0.8333333333333334
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finegold.errors import InputError, Placeholder, use
from finegold.kernels.cells import NEAR
from finegold.votes.encoding import Names, text_of, to_list

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

# a single certain mistake must not make the log loss infinite
LEAST_PROBABILITY = 1e-15
BINS = 15
# two classes such as 0 and 1 are rarely a scale
FEWEST_CLASSES = 3


def accuracy(posterior: Floats, truth: Codes) -> float:
    """Return the share of tasks whose label is right."""
    return float(credit(*_rows_with_truth(posterior, truth)).mean())


def macro_f1(posterior: Floats, truth: Codes) -> float:
    """Return the mean of F1 = 2 right / (predicted + true) over the classes that occur in the
    truth. Predicting another class costs recall.
    """
    rows, truths = _rows_with_truth(posterior, truth)
    true = np.bincount(truths, minlength=rows.shape[1])
    right = np.bincount(truths, weights=credit(rows, truths), minlength=rows.shape[1])
    occurs, predicted = true > 0, _predictions(rows).sum(axis=0)
    return float((2 * right[occurs] / (predicted + true)[occurs]).mean())


def log_loss(posterior: Floats, truth: Codes) -> float:
    """Return the mean of -ln p(truth), with p not below 1e-15."""
    rows, truths = _rows_with_truth(posterior, truth)
    p = rows[np.arange(len(rows)), truths]
    return float(-np.log(np.clip(p, LEAST_PROBABILITY, 1.0)).mean())


def calibration_error(posterior: Floats, truth: Codes, bins: int = BINS) -> float:
    """Return the expected calibration error: the mean of |accuracy - confidence| over bins of
    confidence, which are equally wide and count as much as they have tasks.
    """
    rows, truths = _rows_with_truth(posterior, truth)
    confidence = rows.max(axis=1)
    gaps = np.bincount(bin_of(confidence, bins), credit(rows, truths) - confidence, bins)
    return float(np.abs(gaps).sum() / len(rows))


def exact_interval(hits: ArrayLike, n: ArrayLike, alpha: float = 0.05) -> tuple[Floats, Floats]:
    """Return the intervals of Clopper and Pearson for shares hits / n; numbers need not be whole."""
    # loads slowly
    from scipy.special import betaincinv

    k = np.asarray(hits, np.float64)
    rest = np.asarray(n, np.float64) - k
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, betaincinv(np.maximum(k, 0), rest + 1, alpha / 2), 0.0)
        high = np.where(rest > 0, betaincinv(k + 1, np.maximum(rest, 0), 1 - alpha / 2), 1.0)
    return low, high


def bin_of(confidence: Floats, bins: int = BINS) -> NDArray[np.int64]:
    """Return the bin of each confidence; one on the edge of two is in the lower."""
    return np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)


def temper(posterior: Floats, temperature: float) -> Floats:
    """Return p^(1/T), normalised. A temperature T above 1 makes the same labels less confident."""
    if temperature == 1.0:
        return posterior
    powers = posterior ** (1 / temperature)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def pad_classes(posterior: Floats, n_classes: int) -> Floats:
    """Add columns of zeros up to this number of classes, for classes without votes."""
    missing = max(n_classes - posterior.shape[1], 0)
    return np.pad(posterior, ((0, 0), (0, missing))) if missing else posterior


def _rows_with_truth(posterior: Floats, truth: Codes) -> tuple[Floats, Codes]:
    """Return the tasks whose truth is known, with a column for every true class."""
    known = truth >= 0
    if not known.any():
        raise InputError("no task has a known truth, so nothing can be evaluated")
    rows, truths = posterior[known], truth[known]
    return pad_classes(rows, int(truths.max()) + 1), truths


def _predictions(rows: Floats) -> Floats:
    """[n, K] Return 1 for the most probable class, or 1/m for each of m tied classes."""
    top = rows >= rows.max(axis=1, keepdims=True) * (1 - NEAR)
    return np.asarray(top / top.sum(axis=1, keepdims=True))


def credit(rows: Floats, truths: Codes) -> Floats:
    """[n] Return 1 if the label is right, or 1/m if the truth is one of m tied classes."""
    return np.asarray(_predictions(rows)[np.arange(len(rows)), truths])


def scale_of(class_names: Names) -> Floats:
    """[K] Return the numbers that the classes are, or their positions from 1."""
    texts = [text_of(name) for name in to_list(class_names)]
    try:
        scale = np.array([float(text) for text in texts])
    except ValueError:
        return np.arange(1.0, len(texts) + 1)
    return scale if np.isfinite(scale).all() else np.arange(1.0, len(texts) + 1)


def consecutive_integers(class_names: Names) -> list[int]:
    """Return the classes if they are at least three integers without a gap, otherwise nothing."""
    names = to_list(class_names)
    if len(names) < FEWEST_CLASSES or {*map(type, names)} != {int}:
        return []
    return names if names == list(range(names[0], names[0] + len(names))) else []


def level_of_order(class_names: Names) -> Literal["ordinal", "interval"]:
    """Return the level of agreement on ordered classes: numbers have distances, others ranks."""
    are_numbers = all(isinstance(name, int | float) for name in to_list(class_names))
    return "interval" if are_numbers else "ordinal"


def mean_absolute_error(labels: Codes, truth: Codes, scale: Floats) -> float:
    """Return the mean distance between the label and the truth, for tasks with a known truth."""
    score, true = _scores_with_truth(labels, truth, scale)
    return float(np.abs(score - true).mean())


def quadratic_kappa(labels: Codes, truth: Codes, scale: Floats) -> float:
    """Return Cohen's kappa with squared distances between label and truth."""
    score, true = _scores_with_truth(labels, truth, scale)
    by_chance = score.var() + true.var() + (score.mean() - true.mean()) ** 2
    return float(1 - ((score - true) ** 2).mean() / by_chance) if by_chance > 0 else float("nan")


def _scores_with_truth(labels: Codes, truth: Codes, scale: Floats) -> tuple[Floats, Floats]:
    known = truth >= 0
    if (truth >= len(scale)).any():
        raise InputError(
            "a truth is not among the ordered classes",
            remedies=[use(ordered=Placeholder("CLASSES"), text="with all classes")],
        )
    return scale[labels[known]], scale[truth[known]]


def distances(p: Floats, q: Floats, scale: Floats | None = None) -> dict[str, float]:
    """Return the mean distances of rows of probabilities from others, by name.

    `jensen_shannon` is a distance from 0 to 1, the root of the divergence in bits; `manhattan` is
    the sum of absolute differences, from 0 to 2; `wasserstein` is in units of the scale, and only
    there if a scale is given.
    """
    middle = np.maximum((p + q) / 2, 1e-300)
    # 0 log 0 is 0
    divergence = [rows * np.log2(np.where(rows > 0, rows / middle, 1.0)) for rows in (p, q)]
    shared = np.sum(divergence, axis=(0, 2)) / 2
    found = {
        "jensen_shannon": float(np.sqrt(np.maximum(shared, 0)).mean()),
        "manhattan": float(np.abs(p - q).sum(axis=1).mean()),
    }
    if scale is not None:
        order = np.argsort(scale)
        steps = np.diff(scale[order])
        moved = np.abs(np.cumsum(p[:, order] - q[:, order], axis=1)[:, :-1])
        found["wasserstein"] = float((moved * steps).sum(axis=1).mean())
    return found
