"""What a fit returns besides the labels: its steps, and what the method learned about annotators and classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Learned", "Step"]

Floats = NDArray[np.float64]


class Step(NamedTuple):
    """One sweep of a fit."""

    restart: int
    iteration: int
    change: float  # largest change of a posterior
    bound: float  # NaN if the method has none


@dataclass(frozen=True)
class Learned:
    """What a method learned besides the labels. Everything except the class prior is optional.

    Attributes
    ----------
    class_prior : ndarray of shape (K,)
        The share of each class among the tasks.
    prototypes : ndarray of shape (S, K, K), optional
        The matrices that annotators mix: truth in rows, vote in columns.
    weights : ndarray of shape (W, S), optional
        How each annotator mixes the prototypes.
    confusion : ndarray of shape (W, K, K), optional
        The matrix of each annotator: truth in rows, vote in columns.
    statistics : dict of str to ndarray
        Arrays that only this method has, by the names of its docstring and paper, such as `ability` and `difficulty`
        (glad), `weight` (catd, bwa), `reliability` (tiremge) or `communities` (cbcc). The names and shapes that folding
        in new votes needs are listed in the `keeps` of the method.
    """

    class_prior: Floats
    prototypes: Floats | None = None
    weights: Floats | None = None
    confusion: Floats | None = None
    statistics: dict[str, Floats] = field(default_factory=dict)

    @property
    def has_matrices(self) -> bool:
        """Whether the method learned how annotators vote for each truth."""
        return self.confusion is not None or (self.weights is not None and self.prototypes is not None)
