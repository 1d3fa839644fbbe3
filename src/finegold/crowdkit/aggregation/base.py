"""What the classes of `finegold.crowdkit.aggregation` share: integer codes of votes, and a fit with
Finegold's loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finegold.engines.base import one_blas_thread
from finegold.engines.local import LocalEngine
from finegold.errors import InputError, NotFittedError
from finegold.fitting.solve import Descent, check_memory, descend
from finegold.methods.base import Method
from finegold.votes.annotations import Annotations

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


class ColumnError(InputError, KeyError):
    """A column is missing in a data frame."""

    def __str__(self) -> str:
        return str(self.args[0])


class BaseClassificationAggregator:
    """Base class of the aggregators that find the label of every task.

    Attributes:
        labels_: The label of every task.
    """

    labels_: Any

    def fit(self, data: Any) -> Self:
        """Fit to votes.

        Args:
            data: The votes, with the columns task, worker and label.

        Returns:
            The fitted aggregator.
        """
        raise NotImplementedError

    def fit_predict(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Fit to votes and return the label of every task (`labels_`).

        Args:
            data: The votes, with the columns task, worker and label.
            *args: Further arguments of `fit`.
            **kwargs: Further arguments of `fit`.

        Returns:
            The attribute `labels_`.
        """
        return self.fit(data, *args, **kwargs).labels_


class BaseProbabilityAggregator(BaseClassificationAggregator):
    """Base class of the aggregators that also find the probability of every label.

    Attributes:
        labels_: The label of every task.
        probas_: The probability of every label.
    """

    probas_: Any

    def fit_predict_proba(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Fit to votes and return the probability of every label of every task (`probas_`).

        Args:
            data: The votes, with the columns task, worker and label.
            *args: Further arguments of `fit`.
            **kwargs: Further arguments of `fit`.

        Returns:
            The attribute `probas_`.
        """
        return self.fit(data, *args, **kwargs).probas_


class BaseSkillAggregator(BaseClassificationAggregator):
    """Base class of weighted votes: `fit` finds the skills of the workers, `predict` votes with
    them.

    Attributes:
        labels_: The label of every task, after `predict`.
        skills_: The skills of the workers.
    """

    skills_: Any

    def predict(self, data: Any) -> Any:
        """Return the label of every task (`labels_`), from votes weighted by the skills that `fit`
        found.

        Args:
            data: The votes, with the columns task, worker and label.

        Returns:
            The attribute `labels_`.
        """
        return self._apply(data).labels_

    def fit_predict(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        return self.fit(data, *args, **kwargs).predict(data)

    def _apply(self, data: Any) -> Self:
        """Vote with the skills, and keep what was found."""
        if not hasattr(self, "skills_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit(data) first"
            )
        self._vote(data)
        return self

    def _vote(self, data: Any) -> None:
        raise NotImplementedError


class BasePairwiseAggregator:
    """Base class of the aggregators that find the score of every item from comparisons."""

    scores_: Any

    def fit(self, data: Any) -> Self:
        """Fit to comparisons.

        Args:
            data: The comparisons, with the columns left, right and label; the label is the item
                that won. `NoisyBradleyTerry` also needs the column worker.

        Returns:
            The fitted aggregator.
        """
        raise NotImplementedError

    def fit_predict(self, data: Any) -> Any:
        """Fit to comparisons and return the score of every item.

        Args:
            data: The comparisons, as in `fit`.

        Returns:
            pandas.Series: The attribute `scores_`.
        """
        return self.fit(data).scores_


class CodedVotes(NamedTuple):
    """Votes as integers. Names are in the order of their first appearance, or sorted."""

    task: Codes
    worker: Codes
    label: Codes
    # pandas.Index
    tasks: Any
    workers: Any
    labels: Any

    def annotations(self, gold: tuple[Codes, Codes] | None = None) -> Annotations:
        """Return the votes in the form that methods use; repeated votes all count."""
        names = [np.arange(len(names)) for names in (self.tasks, self.workers, self.labels)]
        codes = (code.astype(np.int32) for code in (self.task, self.worker, self.label))
        known = None if gold is None else (gold[0].astype(np.int32), gold[1].astype(np.int32))
        return Annotations.from_codes(*codes, *names, gold=known, repeated="all")

    def frame(self, values: Floats, columns_name: str | None = "label") -> Any:
        """Return a frame with a row per task and a column per label."""
        index = pd.Index(self.tasks, name="task")
        return pd.DataFrame(values, index=index, columns=pd.Index(self.labels, name=columns_name))

    def decide(self, values: Floats) -> Any:
        """Return the label with the highest value of each task; the first one if several have it."""
        best = self.labels.take(np.argmax(values, axis=1))
        return pd.Series(best, index=pd.Index(self.tasks, name="task"), name="agg_label")

    def of_workers(self, values: Floats, name: str) -> Any:
        """Return a series with a number per worker."""
        return pd.Series(values, index=pd.Index(self.workers, name="worker"), name=name)


def check_columns(data: Any, columns: tuple[str, ...]) -> None:
    """Raise an error if a column is missing or has missing values."""
    for column in columns:
        if column not in data:
            raise ColumnError(
                f'the data frame has no column "{column}"; rename the column that holds it'
            )
        empty = np.flatnonzero(data[column].isna())
        if empty.size:
            row = data.index[empty[0]]
            raise InputError(
                f'row {row!r} has no value in the column "{column}"; drop or fill such rows'
            )


def encode(data: Any, *, sort: bool = False, required: bool = False) -> CodedVotes:
    """Return the votes as integers; with `sort`, names are sorted, and with `required`, there must
    be votes.
    """
    check_columns(data, ("task", "worker", "label"))
    if required and not len(data):
        raise InputError("there are no votes")
    coded = [pd.factorize(data[column], sort=sort) for column in ("task", "worker", "label")]
    return CodedVotes(
        *(codes.astype(np.int64) for codes, _ in coded), *(pd.Index(names) for _, names in coded)
    )


def run(method: Method, annotations: Annotations, n_iter: int) -> tuple[Descent, Floats]:
    """Fit with Finegold's loop; `n_iter` may be 0, which leaves the first estimate."""
    method.max_iterations = n_iter
    check_memory(method, annotations, "label", annotations.n_tasks * annotations.n_classes)
    engine = LocalEngine(1)
    engine.scatter(annotations, divisible=method.divisible)
    with one_blas_thread():
        descent = descend(method, engine)
    return descent, engine.gather()
