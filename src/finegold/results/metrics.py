"""Metrics that compare a posterior with known truths.

Metrics take the posterior [T, K] and the true class of each task [T], negative if it is unknown; only tasks with a
known truth count. A truth can be a class without votes, with a code of K or more: then every label is wrong.
If m classes share the highest probability, up to rounding, the task counts as 1/m of a prediction of each of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.kernels.votes import NEAR

__all__ = ["BINS", "accuracy", "bin_of", "calibration_error", "credit", "log_loss", "macro_f1", "padded", "temper"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

LEAST_PROBABILITY = 1e-15  # a single certain mistake must not make the log loss infinite
BINS = 15


def accuracy(posterior: Floats, truth: Codes) -> float:
    """Return the share of tasks whose label is right.

    A truth that is as probable as m - 1 other classes counts 1/m.

    Parameters
    ----------
    posterior : ndarray of shape (T, K)
        The probability of each class for each task.
    truth : ndarray of int of shape (T,)
        The true class of each task; -1 where it is not known. Tasks without a known truth do not count.

    Returns
    -------
    float
        The accuracy, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from finegold.results import metrics
    >>> posterior = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    >>> metrics.accuracy(posterior, np.array([0, 1, 0]))
    0.8333333333333334
    """
    return float(credit(*_judged(posterior, truth)).mean())


def macro_f1(posterior: Floats, truth: Codes) -> float:
    """Return the mean of F1 = 2 right / (predicted + true) over the classes that occur in the truth.

    Classes that never are the truth have no F1 of their own; predicting them costs recall elsewhere.

    Parameters
    ----------
    posterior : ndarray of shape (T, K)
        The probability of each class for each task.
    truth : ndarray of int of shape (T,)
        The true class of each task; -1 where it is not known. Tasks without a known truth do not count.

    Returns
    -------
    float
        The macro F1, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from finegold.results import metrics
    >>> posterior = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    >>> metrics.macro_f1(posterior[:2], np.array([0, 1]))
    1.0
    """
    rows, truths = _judged(posterior, truth)
    predicted = _predictions(rows)
    true = np.bincount(truths, minlength=rows.shape[1])
    right = np.bincount(truths, weights=credit(rows, truths), minlength=rows.shape[1])
    occurs = true > 0
    return float((2 * right[occurs] / (predicted.sum(axis=0) + true)[occurs]).mean())


def log_loss(posterior: Floats, truth: Codes) -> float:
    """Return the mean of -ln p(truth), with p not below 1e-15.

    Parameters
    ----------
    posterior : ndarray of shape (T, K)
        The probability of each class for each task.
    truth : ndarray of int of shape (T,)
        The true class of each task; -1 where it is not known. Tasks without a known truth do not count.

    Returns
    -------
    float
        The log loss; 0 is best.

    Examples
    --------
    >>> import numpy as np
    >>> from finegold.results import metrics
    >>> posterior = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    >>> round(metrics.log_loss(posterior, np.array([0, 1, -1])), 3)
    0.308
    """
    rows, truths = _judged(posterior, truth)
    p = rows[np.arange(len(rows)), truths]
    return float(-np.log(np.clip(p, LEAST_PROBABILITY, 1.0)).mean())


def calibration_error(posterior: Floats, truth: Codes, bins: int = BINS) -> float:
    """Return the expected calibration error: the mean of |accuracy - confidence| over bins of confidence.

    Bins are equally wide and count as much as they have tasks. A confidence on the edge of two bins belongs to the
    lower one.

    Parameters
    ----------
    posterior : ndarray of shape (T, K)
        The probability of each class for each task.
    truth : ndarray of int of shape (T,)
        The true class of each task; -1 where it is not known. Tasks without a known truth do not count.
    bins : int, default 15
        The number of bins.

    Returns
    -------
    float
        The error, from 0 to 1; 0 is best.

    Examples
    --------
    >>> import numpy as np
    >>> from finegold.results import metrics
    >>> posterior = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    >>> round(metrics.calibration_error(posterior, np.array([0, 1, -1])), 3)
    0.25
    """
    rows, truths = _judged(posterior, truth)
    confidence = rows.max(axis=1)
    gaps = np.bincount(bin_of(confidence, bins), weights=credit(rows, truths) - confidence, minlength=bins)
    return float(np.abs(gaps).sum() / len(rows))


def bin_of(confidence: Floats, bins: int = BINS) -> NDArray[np.int64]:
    """Return the bin of each confidence."""
    return np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)


def temper(posterior: Floats, temperature: float) -> Floats:
    """Return p^(1/T), normalised. A temperature T above 1 makes the same labels less confident."""
    if temperature == 1.0:
        return posterior
    powers = posterior ** (1 / temperature)
    tempered: Floats = powers / powers.sum(axis=1, keepdims=True)
    return tempered


def padded(posterior: Floats, n_classes: int) -> Floats:
    """Add columns of zeros up to this number of classes, for classes without votes."""
    missing = max(n_classes - posterior.shape[1], 0)
    return np.pad(posterior, ((0, 0), (0, missing))) if missing else posterior


def _judged(posterior: Floats, truth: Codes) -> tuple[Floats, Codes]:
    """Return the tasks whose truth is known, with a column for every true class."""
    known = truth >= 0
    if not known.any():
        raise InputError("no task has a known truth, so nothing can be evaluated")
    rows, truths = posterior[known], truth[known]
    return padded(rows, int(truths.max()) + 1), truths


def _predictions(rows: Floats) -> Floats:
    """[n, K] Return 1 for the most probable class, or 1/m for each of m tied classes, as in `ResultData.tied`."""
    top = rows >= rows.max(axis=1, keepdims=True) * (1 - NEAR)
    shares: Floats = top / top.sum(axis=1, keepdims=True)
    return shares


def credit(rows: Floats, truths: Codes) -> Floats:
    """[n] Return 1 if the label is right, or 1/m if the truth is one of m tied classes."""
    earned: Floats = _predictions(rows)[np.arange(len(rows)), truths]
    return earned
