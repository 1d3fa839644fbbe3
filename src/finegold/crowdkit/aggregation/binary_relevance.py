"""Several labels per task: one aggregation per label."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Self

import pandas as pd

from finegold.crowdkit.aggregation.base import BaseClassificationAggregator, check_columns
from finegold.crowdkit.aggregation.weighted import MajorityVote

__all__ = ["BinaryRelevance"]


@dataclass(eq=False)
class BinaryRelevance(BaseClassificationAggregator):
    """Several labels per task: for each label, an aggregator decides which tasks have it.

    In the column label of the votes, each entry is a list of labels.

    Parameters
    ----------
    base_aggregator : BaseClassificationAggregator, default MajorityVote()
        The aggregator; each label gets a copy of it.

    Attributes
    ----------
    labels_ : pandas.Series
        The list of labels of every task.
    """

    base_aggregator: Any = field(default_factory=MajorityVote)

    def __post_init__(self) -> None:
        assert isinstance(self.base_aggregator, BaseClassificationAggregator), (
            "base_aggregator must be a classification aggregator, such as MajorityVote()"
        )

    def fit(self, data: Any) -> Self:
        check_columns(data, ("task", "worker", "label"))
        if not len(data):
            self.labels_ = pd.Series(dtype=float, name="agg_label")
            return self
        tasks = pd.Index(data["task"].unique(), name="task")
        chosen: dict[Any, list[Any]] = {task: [] for task in tasks}
        for label in sorted({label for given in data["label"] for label in given}):
            for task in self._tasks_with(data, label):
                chosen[task].append(label)
        self.labels_ = pd.Series(list(chosen.values()), index=tasks, name="agg_label")
        return self

    def _tasks_with(self, data: Any, label: Any) -> Any:
        """Return the tasks that have the label."""
        votes = data.assign(label=[label in given for given in data["label"]])
        decided = copy.copy(self.base_aggregator).fit_predict(votes)
        return decided.index[decided.astype(bool)]
