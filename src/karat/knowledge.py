"""What a fit leaves behind beside labels: its steps, what the method learned of annotators, and what it blends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CHOOSING", "Knowledge", "Part", "Step"]

Floats = NDArray[np.float64]

CHOOSING = "choosing"  # a stage of many small fits, whose steps tell nothing


class Step(NamedTuple):
    """What one sweep did; the record of a fit is a list of these."""

    restart: int
    iteration: int
    change: float  # biggest change of a posterior
    bound: float  # NaN where the method has none
    stage: str = ""  # of work that has several: who watches is told, the record of a fit is of one stage


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


@dataclass(frozen=True)
class Part:
    """One of the methods that a result blends: all that new votes, or a later run, need of it. Nothing per task."""

    share: float  # of the posterior
    method: str
    settings: dict[str, Any]
    knowledge: Knowledge
