"""Majority vote and Wawa with the names and arguments of crowd-kit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from finegold.api.estimators import Estimator, as_series, one_of
from finegold.api.result import Result
from finegold.errors import InputError
from finegold.io.read import read
from finegold.methods import mv
from finegold.methods.base import Floats
from finegold.results.data import Learned, Step, summarise
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list
from finegold.votes.labels import is_missing
from finegold.votes.names import match

__all__ = ["MajorityVote", "Wawa"]


class Skilled(Estimator):
    """Base class of votes that estimate the skills of annotators."""

    @property
    def skills_(self) -> Any:
        """The share of each annotator's votes that equal the label: a series (pandas), otherwise a frame."""
        return as_series("worker", self.result_.annotator_names, "skill", self.result_.agreement)


class MajorityVote(Skilled, mv.MajorityVote):
    """Majority vote, optionally weighted by the skills of the annotators.

    Use it as a baseline, or if there are many annotators of similar quality.

    Parameters
    ----------
    default_skill : float, optional
        The skill of annotators who have none, with `on_missing_skill="value"`.
    on_missing_skill : {"error", "ignore", "value"}, default "error"
        What to do if skills are given, but not for every annotator: raise an error, leave out the votes of those who
        have none, or give them `default_skill`.
    tolerance : float, default 1e-3
        Has no effect: there is only one pass over the votes.
    max_iterations : int, default 500
        Has no effect.
    seed : int, default 0
        Has no effect.

    Examples
    --------
    >>> import pandas as pd
    >>> from finegold import MajorityVote
    >>> votes = pd.DataFrame({"task": [1, 1, 1], "worker": ["ann", "bob", "eve"], "label": ["cat", "cat", "dog"]})
    >>> MajorityVote().fit_predict(votes).to_dict()
    {1: 'cat'}
    >>> MajorityVote().fit_predict(votes, {"ann": 0.1, "bob": 0.2, "eve": 0.9}).to_dict()
    {1: 'dog'}
    """

    def __init__(
        self,
        default_skill: float | None = None,
        on_missing_skill: Literal["error", "ignore", "value"] = "error",
        *,
        tolerance: float = 1e-3,
        max_iterations: int = 500,
        seed: int = 0,
    ) -> None:
        super().__init__(tolerance=tolerance, max_iterations=max_iterations, seed=seed)
        if on_missing_skill not in ("error", "ignore", "value"):
            raise InputError(f'on_missing_skill must be "error", "ignore" or "value", not {on_missing_skill!r}')
        if (default_skill is None) == (on_missing_skill == "value"):
            raise InputError('default_skill and on_missing_skill="value" belong together: give both or neither')
        self.default_skill, self.on_missing_skill = default_skill, on_missing_skill

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        own = {"default_skill": self.default_skill, "on_missing_skill": self.on_missing_skill}
        return {**own, **super().get_params()}

    def fit(self, X: Any = None, skills: Any = None, *, data: Any = None, **reading: Any) -> Self:  # type: ignore[override]
        """Fit to votes.

        Parameters
        ----------
        X : path, data frame or Annotations
            The votes.
        skills : mapping or Series, optional
            The skill of each annotator, by name. By default all have the same weight.
        data : path, data frame or Annotations, optional
            Another name for `X`, used by crowd-kit.
        **reading : dict
            Other keywords of `finegold.aggregate`; with skills, of `finegold.read`.

        Returns
        -------
        MajorityVote
            This object, with `labels_`, `probas_`, `skills_` and `result_`.
        """
        if skills is None:
            return super().fit(X, data=data, **reading)
        annotations = read(one_of("X", X, "data", data), **reading)
        given = {name: skill for name, skill in skills.items() if not is_missing(skill, ())}
        known = match(to_list(annotations.annotator_names), np.array(list(given), dtype=object))
        lost = np.flatnonzero(known == MISSING)
        if lost.size and self.on_missing_skill == "error":
            name = to_list(annotations.annotator_names)[lost[0]]
            raise InputError(
                f"there is no skill for annotator {name!r} ({lost.size:,} are missing); give it, "
                'or choose on_missing_skill="ignore" or "value"'
            )
        weights = np.array([*given.values(), self.default_skill or 0.0], dtype=np.float64)[known]
        self._result = weighted_vote(annotations, weights, self.settings)
        return self


class Wawa(Skilled, mv.MajorityVote):
    """Worker agreement with aggregate: a majority vote, then a vote weighted by the agreement with it.

    Parameters
    ----------
    tolerance : float, default 1e-3
        Has no effect: there are two passes over the votes.
    max_iterations : int, default 500
        Has no effect.
    seed : int, default 0
        Has no effect.

    Examples
    --------
    >>> from finegold import Wawa
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": [1, 1, 2, 2, 2], "worker": list("abacd"), "label": list("xyxxy")})
    >>> Wawa().fit_predict(votes).to_dict()
    {1: 'x', 2: 'x'}
    """

    def fit(self, X: Any = None, y: Any = None, *, data: Any = None, **reading: Any) -> Self:
        super().fit(X, y, data=data, **reading)
        first = self.result_
        if first.annotations is not None:
            self._result = weighted_vote(first.annotations, first.agreement, self.settings)
        return self


def weighted_vote(annotations: Annotations, weights: Floats, settings: dict[str, Any]) -> Result:
    """Return a result with weighted vote shares as probabilities; known truths are kept."""
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InputError("skills must be numbers of at least 0")
    shape = annotations.n_tasks, annotations.n_classes
    task, annotator, label = annotations.votes()
    cell = task.astype(np.int64) * shape[1] + label
    score = np.bincount(cell, weights[annotator], minlength=shape[0] * shape[1]).reshape(shape)
    known = np.flatnonzero(annotations.gold != MISSING)
    score[known] = np.eye(shape[1])[annotations.gold[known]]
    total = score.sum(axis=1, keepdims=True)
    if not total.all():
        name = to_list(annotations.task_names)[int(np.argmin(total))]
        raise InputError(f"nobody who voted on task {name!r} has a skill above 0; give one of them a skill")
    posterior = score / total
    step = Step(0, 1, 0.0, math.nan)
    result = summarise("mv", settings, annotations, posterior, [step], Learned(class_prior=posterior.mean(axis=0)))
    return Result.of(replace(result, stopped="one pass over weighted votes"))
