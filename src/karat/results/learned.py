"""What a fit leaves behind beside labels: its steps, and what the method learned of annotators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Knowledge", "Step"]

Floats = NDArray[np.float64]


class Step(NamedTuple):
    """What one sweep did; the record of a fit is a list of these."""

    restart: int
    iteration: int
    change: float  # biggest change of a posterior
    bound: float  # NaN where the method has none


@dataclass(frozen=True)
class Knowledge:
    """What a method learned beside the truth. All of it is optional but the class shares."""

    class_prior: Floats  # [K] the share of each class among the tasks
    prototypes: Floats | None = None  # [S, K, K] truth in rows, vote in columns
    weights: Floats | None = None  # [W, S] each annotator's mixture of prototypes
    confusion: Floats | None = None  # [W, K, K]
    more: dict[str, Floats] = field(default_factory=dict)  # by name: abilities, difficulties, communities, ...

    @property
    def has_matrices(self) -> bool:
        """Whether it tells which votes annotators cast for each truth."""
        return self.confusion is not None or (self.weights is not None and self.prototypes is not None)
