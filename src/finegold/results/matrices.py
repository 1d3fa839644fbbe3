"""The confusion matrix of an annotator: the probability of each vote (columns) given the truth (rows).

Methods learn it in one of three forms. `annotator_matrices` selects the form, and all forms have the same methods. None
of them allocates a dense array that the method did not learn, since there can be many annotators and classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finegold.results.data import ResultData
from finegold.votes.encoding import Codes

__all__ = ["AnnotatorMatrices", "annotator_matrices"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AnnotatorMatrices(ABC):
    """The matrices of all annotators. They are linear in `rows`, so the mean of rows gives the mean of matrices."""

    rows: Floats  # [W, ...] what the method learned about each annotator

    @abstractmethod
    def at(self, annotator: Codes, truth: Codes, label: Codes) -> Floats:
        """[n] Return P(label | truth) for each annotator."""

    @abstractmethod
    def of(self, annotators: Codes | Integers, classes: Integers) -> Floats:
        """[n, k, k] Return the matrices of these annotators, restricted to these classes."""

    @abstractmethod
    def predict(self, phi: Floats, annotator: Codes) -> Floats:
        """[n, K] Return the distribution of each annotator's vote on a task with the posterior phi [n, K]."""


class Confusion(AnnotatorMatrices):
    """Each annotator has a matrix: rows [W, K, K]."""

    def at(self, annotator: Codes, truth: Codes, label: Codes) -> Floats:
        return np.asarray(self.rows[annotator, truth, label])

    def of(self, annotators: Codes | Integers, classes: Integers) -> Floats:
        return np.asarray(self.rows[np.ix_(annotators, classes, classes)], dtype=np.float64)

    def predict(self, phi: Floats, annotator: Codes) -> Floats:
        expected = np.zeros_like(phi)
        for k in range(phi.shape[1]):  # class by class, so that no array [n, K, K] is needed
            expected += phi[:, k, None] * self.rows[annotator, k]
        return expected


@dataclass(frozen=True, eq=False)
class Mixture(AnnotatorMatrices):
    """Each annotator mixes prototypes [S, K, K]: rows [W, S] are the weights."""

    prototypes: Floats

    def at(self, annotator: Codes, truth: Codes, label: Codes) -> Floats:
        return np.asarray((self.rows[annotator] * self.prototypes[:, truth, label].T).sum(axis=1))

    def of(self, annotators: Codes | Integers, classes: Integers) -> Floats:
        chosen = self.prototypes[:, classes[:, None], classes]  # select classes before mixing, since there can be many
        return np.tensordot(self.rows[annotators], chosen, axes=1)

    def predict(self, phi: Floats, annotator: Codes) -> Floats:
        weights, expected = self.rows[annotator], np.zeros_like(phi)
        for s, prototype in enumerate(self.prototypes):
            expected += weights[:, s, None] * (phi @ prototype)
        return expected


@dataclass(frozen=True, eq=False)
class Coin(AnnotatorMatrices):
    """Each annotator is right with an accuracy, rows [W], and every error is equally likely."""

    n_classes: int

    def _error(self, right: Floats) -> Floats:
        return (1 - right) / max(self.n_classes - 1, 1)

    def at(self, annotator: Codes, truth: Codes, label: Codes) -> Floats:
        right = self.rows[annotator]
        return np.where(truth == label, right, self._error(right))

    def of(self, annotators: Codes | Integers, classes: Integers) -> Floats:
        right = self.rows[annotators][:, None, None]
        return np.asarray(np.where(classes[:, None] == classes, right, self._error(right)))

    def predict(self, phi: Floats, annotator: Codes) -> Floats:
        if self.n_classes == 1:
            return phi
        right = self.rows[annotator][:, None]
        return np.asarray(right * phi + (1 - right) * (1 - phi) / (self.n_classes - 1))


def annotator_matrices(result: ResultData) -> AnnotatorMatrices:
    """Return the matrices that the method learned; for methods without matrices, `Coin` with the accuracies."""
    learned = result.learned
    if learned.confusion is not None:
        return Confusion(learned.confusion)
    if learned.weights is not None and learned.prototypes is not None:
        return Mixture(learned.weights, learned.prototypes)
    return Coin(result.accuracy, len(result.class_names))
