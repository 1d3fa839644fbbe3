"""Majority vote, Wawa and Dawid-Skene with the names and arguments of crowd-kit.

Like crowd-kit, `DawidSkene` starts from the vote shares and keeps every probability at 1e-10 or above; `DS` does
neither. It stops when the log-likelihood per vote increases by less than `tol`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from finegold.api.estimators import Estimator, as_series, as_table, one_of
from finegold.api.result import Result
from finegold.engines.blocks import Block
from finegold.errors import InputError, use
from finegold.io.read import read
from finegold.methods import ds, mv
from finegold.methods.base import Floats
from finegold.methods.common import ConfusionSums, start_confusion
from finegold.results.data import Learned, Step, summarise
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, match, to_list
from finegold.votes.labels import is_missing


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
        X, data : path, data frame or Annotations
            The votes. `data` is crowd-kit's name.
        skills : mapping or Series, optional
            The skill of each annotator, by name. By default all have the same weight.
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


Match = Callable[[Any], Any]  # returns the code of each name, or MISSING

MIN_PROBABILITY = 1e-10  # the smallest probability


class DawidSkene(Estimator, ds.DS):
    """Dawid-Skene with crowd-kit's arguments: see `DS` for the model and when to use it.

    Parameters
    ----------
    n_iter : int, default 100
        The largest number of iterations.
    tol : float, default 1e-5
        Stop when the log-likelihood per vote increases by less than this.
    initial_error_strategy : {"assign", "addition"}, optional
        How `fit` uses `initial_error`: it replaces the counts of the first majority vote ("assign") or is added to
        them ("addition").
    seed : int, default 0
        Has no effect: nothing is drawn at random.

    Examples
    --------
    >>> import pandas as pd
    >>> from finegold import DawidSkene
    >>> votes = pd.DataFrame({"task": [1, 1, 1, 2, 2], "worker": list("abcab"), "label": list("xxyyy")})
    >>> DawidSkene(n_iter=100).fit_predict(votes).to_dict()
    {1: 'x', 2: 'y'}
    """

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-5,
        initial_error_strategy: Literal["assign", "addition"] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(max_iterations=n_iter, tolerance=tol, seed=seed)
        if initial_error_strategy not in (None, "assign", "addition"):
            raise InputError(f'initial_error_strategy must be "assign" or "addition", not {initial_error_strategy!r}')
        self.initial_error_strategy = initial_error_strategy
        self.history: Floats | None = None  # [W, L, K] the initial error in the codes of the votes

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        own = {"n_iter": self.max_iterations, "tol": self.tolerance}
        return {**own, "initial_error_strategy": self.initial_error_strategy, "seed": self.seed}

    def fit(  # type: ignore[override]
        self, X: Any = None, true_labels: Any = None, initial_error: Any = None, *, data: Any = None, **reading: Any
    ) -> Self:
        """Fit to votes.

        Parameters
        ----------
        X, data : path, data frame or Annotations
            The votes. `data` is crowd-kit's name.
        true_labels : mapping or Series, optional
            Known truths: task -> label.
        initial_error : DataFrame, optional
            Known errors of annotators: a pandas frame indexed by worker and label, with one column per true label.
        **reading : dict
            Other keywords of `finegold.aggregate`; with `initial_error`, of `finegold.read`.

        Returns
        -------
        DawidSkene
            This object, with `labels_`, `probas_`, `priors_`, `errors_`, `loss_history_` and `result_`.
        """
        if (initial_error is None) != (self.initial_error_strategy is None):
            raise InputError("initial_error and initial_error_strategy belong together: give both or neither")
        if true_labels is not None:
            reading["gold"] = true_labels
        if initial_error is None:
            return super().fit(X, data=data, **reading)
        annotations = read(one_of("X", X, "data", data), **reading)
        self.history = error_counts(
            initial_error,
            to_list(annotations.annotator_names),
            lambda names: match(names.tolist(), annotations.annotator_names),
            lambda names: match(names.tolist(), annotations.class_names),
            annotations.n_classes,
            whole=self.initial_error_strategy == "assign",
        )
        return super().fit(annotations)

    def start(self, block: Block, restart: int) -> ConfusionSums:
        return start_confusion(block)

    def begin(self, statistics: ConfusionSums) -> ds.Parameters:
        n = statistics.n
        if self.history is not None:
            n = self.history + (0.0 if self.initial_error_strategy == "assign" else n)
        return _smooth(super().begin(statistics), statistics.tau, n)

    def expect(self, statistics: ConfusionSums, before: ds.Parameters) -> ds.Parameters:
        return _smooth(super().expect(statistics, before), statistics.tau, statistics.n)

    def bound(self, parameters: ds.Parameters, statistics: ConfusionSums) -> float:
        """Return the log-likelihood per vote."""
        return float(statistics.log_norm / statistics.n.sum())

    def converged(self, steps: list[Step]) -> bool:
        return len(steps) > 1 and steps[-1].bound - steps[-2].bound < self.tolerance

    @property
    def priors_(self) -> Any:
        """The frequency of every class among the truths: a series (pandas), otherwise a frame."""
        result = self.result_
        return as_series("label", result.class_names, "prior", result.learned.class_prior)

    @property
    def errors_(self) -> Any:
        """The probability of a vote given the truth: one row per annotator and vote, one column per truth."""
        result = self.result_
        K, v = len(result.class_names), result.learned.confusion
        assert v is not None
        worker = result.annotator_names[np.repeat(np.arange(len(v)), K)]
        label = result.class_names[np.tile(np.arange(K), len(v))]
        columns = (v[:, k, :].reshape(-1) for k in range(K))
        return as_table({"worker": worker, "label": label}, result.class_names, columns)

    @property
    def loss_history_(self) -> list[float]:
        """The log-likelihood per vote, after each iteration."""
        return [float(bound) for bound in self.result_.bound]


def _smooth(parameters: ds.Parameters, tau: Floats, n: Floats) -> ds.Parameters:
    """Clip probabilities at the minimum, except for labels that an annotator never gave."""
    gives = n.sum(axis=2, keepdims=True) > 0
    v = np.where(gives, np.maximum(n, MIN_PROBABILITY), 0.0)
    v /= v.sum(axis=1, keepdims=True)
    p = np.maximum(tau / tau.sum(), MIN_PROBABILITY)
    with np.errstate(divide="ignore"):  # log 0 = -inf is intended and never used
        return parameters._replace(p=p, v=v, log_p=np.log(p), log_v=np.log(v))


def error_counts(
    initial_error: Any,
    annotators: Sequence[Any],
    find_annotators: Match,
    find_classes: Match,
    n_classes: int,
    whole: bool,
) -> Floats:
    """[W, L, K] Return a frame of errors as an array in the codes of the votes; if `whole`, nobody may be missing."""
    if list(getattr(getattr(initial_error, "index", None), "names", [])) != ["worker", "label"]:
        raise InputError(
            "initial_error must be a pandas frame indexed by worker and label, with one column per true label"
        )
    workers, labels = (initial_error.index.get_level_values(name) for name in ("worker", "label"))
    worker, label, truth = find_annotators(workers), find_classes(labels), find_classes(initial_error.columns)
    rows, columns = (worker != MISSING) & (label != MISSING), truth != MISSING
    counts = np.zeros((len(annotators), n_classes, n_classes))
    values = initial_error.to_numpy(dtype=np.float64)[np.ix_(rows, columns)]
    counts[worker[rows][:, None], label[rows][:, None], truth[columns]] = values
    unknown = np.flatnonzero(~counts.any(axis=(1, 2)))
    if whole and unknown.size:
        raise InputError(
            f"initial_error has no values for worker {annotators[unknown[0]]!r} ({unknown.size:,} are missing)",
            remedies=[use(text="add them"), use(initial_error_strategy="addition")],
        )
    return counts
