"""KOS: message passing between tasks and workers, for two classes.

David R. Karger, Sewoong Oh, Devavrat Shah: Budget-Optimal Task Allocation for Reliable Crowdsourcing Systems.
Operations Research 62 (1), 2014. With A_ij = 1 or -1, the vote of worker j on task i,

    x_ij = sum over the other workers j' of task i of A_ij' y_j'i
    y_ji = sum over the other tasks i' of worker j of A_i'j x_i'j
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from finegold.crowdkit.aggregation.base import BaseClassificationAggregator, Codes, Floats, Votes, encode
from finegold.errors import InputError

__all__ = ["KOS"]


@dataclass(eq=False)
class KOS(BaseClassificationAggregator):
    """Message passing between tasks and workers, for two classes (Karger, Oh and Shah).

    Parameters
    ----------
    n_iter : int, default 100
        The number of iterations.
    random_state : int, default 0
        The seed of the first messages.

    Attributes
    ----------
    labels_ : pandas.Series
        The label of every task.
    """

    n_iter: int = 100
    random_state: int = 0

    def fit(self, data: Any) -> Self:
        votes = encode(data)
        if not len(votes.tasks):
            self.labels_ = pd.Series([], dtype="O", name="agg_label")
            return self
        if len(votes.labels) != 2:
            raise InputError(f"KOS is for two classes, but there are {len(votes.labels):,}; choose another method")
        total = self._totals(votes)
        self.labels_ = votes.decide(np.column_stack([total, -total])).sort_index()
        return self

    def _totals(self, votes: Votes) -> Floats:
        """[T] Return the log-likelihood of the first class, up to a factor."""
        sign = 1.0 - 2.0 * votes.label
        y = np.random.RandomState(self.random_state).normal(1, 1, len(sign))
        for _ in range(self.n_iter):
            y = _of_others(sign * _of_others(sign * y, votes.task), votes.worker)
        return np.asarray(np.bincount(votes.task, sign * y), float)


def _of_others(message: Floats, group: Codes) -> Floats:
    """Return the sum over the other messages of the same group."""
    return np.asarray(np.bincount(group, message)[group] - message, float)
