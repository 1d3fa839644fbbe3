"""How often workers agree with the aggregated labels."""

from __future__ import annotations

from typing import Any

from finegold.crowdkit.aggregation.utils import get_accuracy
from finegold.crowdkit.aggregation.weighted import MajorityVote
from finegold.errors import InputError

__all__ = ["accuracy_on_aggregates"]

_DEFAULT: Any = MajorityVote()


def accuracy_on_aggregates(
    answers: Any, aggregator: Any = _DEFAULT, aggregates: Any = None, by: str | None = None
) -> Any:
    """Return the share of votes that equal the aggregated label.

    Args:
        answers: The votes, with the columns task, worker and label.
        aggregator (BaseClassificationAggregator, default MajorityVote()): Gives the labels, unless
            `aggregates` does.
        aggregates: The labels, indexed by task.
        by (str, optional): A column, such as "worker", by which the votes are grouped.

    Returns:
        float or pandas.Series: The share, or the share of every group.
    """
    if aggregates is None:
        if aggregator is None:
            raise InputError("give an aggregator, or the labels in aggregates")
        aggregates = aggregator.fit_predict(answers)
    return get_accuracy(answers, aggregates, by=by)
