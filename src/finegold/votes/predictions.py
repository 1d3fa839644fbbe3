"""Class probabilities that models predict for tasks, matched to the tasks and classes of votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finegold.votes.encoding import Names

__all__ = ["Predictions"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The probabilities of one or more models for tasks with votes and for tasks without votes."""

    models: list[str]  # names
    probabilities: NDArray[np.float64]  # [M, T + P, K]; rows of 0 for tasks without a prediction
    task_names: Names  # [P] tasks that have predictions but no votes

    @property
    def known(self) -> NDArray[np.bool_]:
        """[M, T + P] Whether the model has a prediction for the task."""
        return np.asarray(self.probabilities.any(axis=2))
