"""Class probabilities that models predict for tasks, matched to the tasks and classes of votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.votes.encoding import Names

__all__ = ["Predictions"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The probabilities of one or more models for tasks with votes and for tasks without votes."""

    models: list[str]
    probabilities: list[NDArray[np.float64]]  # per model [T + P, K]; NaN in the rows of tasks without a prediction
    task_names: Names  # [P] tasks that have predictions but no votes

    @property
    def n_models(self) -> int:
        """The number of models."""
        return len(self.models)
