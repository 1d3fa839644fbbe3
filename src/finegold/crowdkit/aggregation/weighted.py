"""Votes weighted by the skills of the workers, and votes on several labels per task."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from finegold.crowdkit.aggregation.base import (
    BaseClassificationAggregator,
    BaseProbabilityAggregator,
    BaseSkillAggregator,
    CodedVotes,
    Floats,
    check_columns,
    encode,
)
from finegold.crowdkit.aggregation.utils import get_accuracy
from finegold.errors import InputError

__all__ = ["BinaryRelevance", "GoldMajorityVote", "MajorityVote", "Wawa", "ZeroBasedSkill"]


def weighted_scores(votes: CodedVotes, weights: Any) -> Floats:
    """Return the sum of the weights of the votes for each class of each task.

    pandas adds groups with compensated summation, so equal sums are equal whatever the order of the
    votes.
    """
    cell = votes.task * len(votes.labels) + votes.label
    sums = pd.Series(weights).groupby(cell).sum()
    scores = np.zeros(len(votes.tasks) * len(votes.labels))
    scores[sums.index] = sums
    return scores.reshape(len(votes.tasks), len(votes.labels))


def shares(scores: Floats) -> Floats:
    """Divide rows by their sums."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))


class _SkilledVote(BaseSkillAggregator, BaseProbabilityAggregator):
    """Base class of the weighted votes whose probabilities are those of a weighted `MajorityVote`.

    Attributes:
        labels_: The label of every task, after `predict`.
        skills_: The skills of the workers.
        probas_: The share of every label, after `predict`.
    """

    def predict_proba(self, data: Any) -> Any:
        """Return the share of every label (`probas_`), from votes weighted by the skills that `fit`
        found.

        Args:
            data: The votes, with the columns task, worker and label.

        Returns:
            The attribute `probas_`.
        """
        return self._apply(data).probas_

    def fit_predict_proba(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        return self.fit(data, *args, **kwargs).predict_proba(data)

    def _vote(self, data: Any) -> None:
        vote = MajorityVote().fit(data, self.skills_)
        self.labels_, self.probas_ = vote.labels_, vote.probas_


@dataclass(eq=False)
class MajorityVote(BaseProbabilityAggregator):
    """Majority vote, optionally weighted by the skills of the workers.

    Args:
        default_skill: The skill of workers who have none, with `on_missing_skill="value"`.
        on_missing_skill: What to do if skills are given, but not for every worker: raise an error,
            leave out the votes of those who have none, or give them `default_skill`.

    Attributes:
        labels_: The label of every task.
        probas_: The share of every label.
        skills_: The share of each worker's votes that equal the label.
    """

    default_skill: float | None = None
    on_missing_skill: Literal["error", "ignore", "value"] = "error"

    def fit(self, data: Any, skills: Any = None) -> Self:
        """Fit to votes.

        Args:
            data: The votes, with the columns task, worker and label.
            skills: The skill of each worker. By default all have the same.

        Raises:
            InputError: If a skill is missing.

        Returns:
            The fitted aggregator.
        """
        check_columns(data, ("task", "worker", "label"))
        data = data[["task", "worker", "label"]]
        weights = np.ones(len(data))
        if skills is not None:
            data, weights = self._with_skills(data, skills)
        votes = encode(data, sort=skills is not None)
        probas = shares(weighted_scores(votes, weights))
        self.probas_ = votes.frame(probas)
        self.labels_ = (
            votes.decide(probas) if len(votes.tasks) else pd.Series([], dtype="O", name="agg_label")
        )
        self.skills_ = get_accuracy(data, self.labels_, by="worker").rename("skill")
        return self

    def _with_skills(self, data: Any, skills: Any) -> tuple[Any, Any]:
        """Return the votes that count, and the weight of each."""
        if self.on_missing_skill not in ("error", "ignore", "value"):
            raise InputError(
                'on_missing_skill must be "error", "ignore" or "value", not'
                f" {self.on_missing_skill!r}"
            )
        weights = data["worker"].map(skills)
        lost = weights.isna()
        if self.on_missing_skill == "value":
            if self.default_skill is None:
                raise InputError('on_missing_skill="value" needs a default_skill')
            weights = weights.fillna(self.default_skill)
        elif self.on_missing_skill == "ignore":
            without = ~data["task"].isin(data["task"][~lost])
            if without.any():
                name = data["task"][without].iloc[0]
                raise InputError(
                    f"nobody who voted on task {name} has a skill; give one of them a skill"
                )
            data, weights = data[~lost], weights[~lost]
        elif lost.any():
            name = data["worker"][lost].iloc[0]
            raise InputError(
                f"there is no skill for worker {name!r} ({lost.sum():,} votes have none); give it, "
                'or choose on_missing_skill="ignore" or "value"'
            )
        return data, weights.to_numpy(dtype=np.float64)


@dataclass(eq=False)
class Wawa(_SkilledVote):
    """Worker agreement with aggregate: a majority vote, then a vote weighted by the agreement with
    it.

    Attributes:
        labels_: The label of every task, after `predict`.
        skills_: The share of each worker's votes that equal the majority.
        probas_: The share of every label, after `predict`.
    """

    def fit(self, data: Any) -> Self:
        self.skills_ = MajorityVote().fit(data).skills_
        return self


@dataclass(eq=False)
class GoldMajorityVote(_SkilledVote):
    """A vote weighted by the accuracy of each worker on tasks whose truth is known.

    Attributes:
        labels_: The label of every task, after `predict`.
        skills_: The share of each worker's votes that equal the known truth.
        probas_: The share of every label, after `predict`.
    """

    def fit(self, data: Any, true_labels: Any) -> Self:  # type: ignore[override]
        """Find the skills of the workers.

        Args:
            data: The votes, with the columns task, worker and label.
            true_labels: The known truths, indexed by task. A task may have several.

        Returns:
            The fitted aggregator.
        """
        self.skills_ = get_accuracy(data, true_labels, by="worker").rename("skill")
        return self


@dataclass(eq=False)
class ZeroBasedSkill(_SkilledVote):
    """A vote weighted by skills that move, step by step, towards the agreement with the vote.

    Args:
        n_iter: The number of steps.
        lr_init: The share of the way to the agreement that the first step goes.
        lr_steps_to_reduce: After this many steps, the share is reduced.
        lr_reduce_factor: The factor by which it is reduced.
        eps: Added to the first skills. As in crowd-kit, it is not a stopping rule.

    Attributes:
        labels_: The label of every task, after `predict`.
        skills_: The skills of the workers.
        probas_: The share of every label, after `predict`.
    """

    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5

    def fit(self, data: Any) -> Self:
        votes = encode(data, sort=True, required=True)
        skills = np.full(len(votes.workers), 1 / len(votes.labels) + self.eps)
        rate = self.lr_init
        for step in range(1, self.n_iter + 1):
            rate *= self.lr_reduce_factor if step % self.lr_steps_to_reduce == 0 else 1.0
            best = np.argmax(shares(weighted_scores(votes, skills[votes.worker])), axis=1)
            right = (votes.label == best[votes.task]).astype(np.float64)
            agreement = np.bincount(votes.worker, right) / np.bincount(votes.worker)
            skills = skills + rate * (agreement - skills)
        self.skills_ = votes.of_workers(skills, "skill")
        return self


@dataclass(eq=False)
class BinaryRelevance(BaseClassificationAggregator):
    """Several labels per task: for each label, an aggregator decides which tasks have it.

    In the column label of the votes, each entry is a list of labels.

    Args:
        base_aggregator (BaseClassificationAggregator, default MajorityVote()): The aggregator, of
            which each label gets a copy.

    Attributes:
        labels_: The list of labels of every task.
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
            votes = data.assign(label=[label in given for given in data["label"]])
            decided = copy.copy(self.base_aggregator).fit_predict(votes)
            for task in decided.index[decided.astype(bool)]:
                chosen[task].append(label)
        self.labels_ = pd.Series(list(chosen.values()), index=tasks, name="agg_label")
        return self
