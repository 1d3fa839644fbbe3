"""crowd-kit's majority vote, Wawa and Dawid-Skene by their names and arguments there: change the import, keep the rest.

    MajorityVote().fit_predict(votes, skills)     votes count as much as their annotators' skills
    Wawa().fit_predict(votes)                     the same, with everybody's agreement with the majority for a skill
    DawidSkene(n_iter, tol).fit_predict(votes, true_labels, initial_error)

Dawid-Skene starts from the shares of the votes and keeps every probability above 1e-10, as crowd-kit does; `DS` is
the variant of the paper. It stops where the log-likelihood per vote gains less than `tol`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from karat.api.estimators import Estimator
from karat.api.result import Result
from karat.engines.blocks import Block
from karat.errors import InputError
from karat.io.readers import read
from karat.kernels import confusion
from karat.kernels.jit import fixed_length
from karat.methods import ds, mv
from karat.methods.base import Floats, start_from_shares
from karat.results.data import Learned, Step, summarise
from karat.votes.annotations import Annotations
from karat.votes.encoding import MISSING
from karat.votes.frames import make_frame, to_list
from karat.votes.labels import is_missing
from karat.votes.names import match

__all__ = ["DawidSkene", "MajorityVote", "Wawa"]

LEAST = 1e-10  # no probability of Dawid-Skene is below


class Skilled(Estimator):
    """What the two votes have in common."""

    @property
    def skills_(self) -> Any:
        """The share of each annotator's votes that equal the label."""
        result = self.result_
        frame = make_frame({"worker": result.annotator_names, "skill": result.agreement}, result.annotator_names)
        return frame.set_index("worker")["skill"] if hasattr(frame, "set_index") else frame


class MajorityVote(Skilled, mv.MajorityVote):
    """The plain vote, or one in which annotators count as much as their skills say.

    skills: a mapping or a pandas series, annotator -> skill. Where somebody's skill is missing, on_missing_skill
    says what to do: "error", "ignore" (leave out their votes) or "value" (take default_skill).

    >>> import pandas as pd
    >>> from karat import MajorityVote
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
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        if on_missing_skill not in ("error", "ignore", "value"):
            raise InputError(f'on_missing_skill must be "error", "ignore" or "value", not {on_missing_skill!r}')
        if (default_skill is None) == (on_missing_skill == "value"):
            raise InputError('default_skill and on_missing_skill="value" belong together: give both or neither')
        self.default_skill, self.on_missing_skill = default_skill, on_missing_skill

    def fit(self, data: Any, skills: Any = None, **reading: Any) -> Any:
        if skills is None:
            return super().fit(data, **reading)
        annotations = read(data, **reading)
        self.result_ = weighted_vote(annotations, self._weights(annotations, skills), self.settings)
        return self

    def _weights(self, annotations: Annotations, skills: Any) -> Floats:
        """[W]: the skill of every annotator; nothing for those who are left out."""
        given = {name: skill for name, skill in skills.items() if not is_missing(skill, ())}
        known = match(to_list(annotations.annotator_names), np.array(list(given), dtype=object))
        lost = np.flatnonzero(known == MISSING)
        if lost.size and self.on_missing_skill == "error":
            name = to_list(annotations.annotator_names)[lost[0]]
            raise InputError(
                f"there is no skill of annotator {name!r} ({lost.size:,} are without); give it, "
                'or choose on_missing_skill="ignore" or "value"'
            )
        return np.array([*given.values(), self.default_skill or 0.0], dtype=np.float64)[known]


class Wawa(Skilled, mv.MajorityVote):
    """Worker agreement with aggregate: a majority vote, then one weighted by everybody's agreement with the first.

    >>> from karat import Wawa
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": [1, 1, 2, 2, 2], "worker": list("abacd"), "label": list("xyxxy")})
    >>> Wawa().fit_predict(votes).to_dict()
    {1: 'x', 2: 'x'}
    """

    def fit(self, data: Any, **reading: Any) -> Any:
        super().fit(data, **reading)
        first = self.result_
        if first.annotations is not None:
            self.result_ = weighted_vote(first.annotations, first.agreement, self.settings)
        return self


def weighted_vote(annotations: Annotations, weights: Floats, settings: dict[str, Any]) -> Result:
    """The share of a class is the sum of the weights of those who voted for it; known truths stay."""
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


class DawidSkene(Estimator, ds.DS):
    """Dawid-Skene with crowd-kit's arguments: see `DS` for the model and when to use it.

    true_labels: known truths, task -> label. initial_error: what is known of annotators, a pandas frame indexed by
    worker and label with a column for every true label; initial_error_strategy says whether its counts are added
    to those of the first majority vote ("addition") or taken in their place ("assign").

    >>> import pandas as pd
    >>> from karat import DawidSkene
    >>> votes = pd.DataFrame({"task": [1, 1, 1, 2, 2], "worker": list("abcab"), "label": list("xxyyy")})
    >>> DawidSkene(n_iter=100).fit_predict(votes).to_dict()
    {1: 'x', 2: 'y'}
    """

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-5,
        initial_error_strategy: Literal["assign", "addition"] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(max_iterations=n_iter, tolerance=tol, **settings)
        if initial_error_strategy not in (None, "assign", "addition"):
            raise InputError(f'initial_error_strategy must be "assign" or "addition", not {initial_error_strategy!r}')
        self.initial_error_strategy = initial_error_strategy
        self.history: Floats | None = None  # [W, L, K] the initial error in the codes of the votes

    def fit(self, data: Any, true_labels: Any = None, initial_error: Any = None, **reading: Any) -> Any:
        if (initial_error is None) != (self.initial_error_strategy is None):
            raise InputError("initial_error and initial_error_strategy belong together: give both or neither")
        if true_labels is not None:
            reading["gold"] = true_labels
        if initial_error is None:
            return super().fit(data, **reading)
        annotations = read(data, **reading)
        self.history = _history(annotations, initial_error, self.initial_error_strategy == "assign")
        return super().fit(annotations)

    def start(self, block: Block, restart: int) -> ds.Statistics:
        start_from_shares(block)
        n = np.zeros((block.n_annotators, block.n_classes, block.n_classes))
        confusion.counts(fixed_length(block.n_classes), *block.votes, block.posterior, n)
        return ds.Statistics(0.0, block.posterior.sum(axis=0), n, 0.0)

    def begin(self, statistics: ds.Statistics) -> ds.Parameters:
        n = statistics.n
        if self.history is not None:
            n = self.history + (0.0 if self.initial_error_strategy == "assign" else n)
        return _smooth(super().begin(statistics), statistics.tau, n)

    def expect(self, statistics: ds.Statistics, before: ds.Parameters) -> ds.Parameters:
        return _smooth(super().expect(statistics, before), statistics.tau, statistics.n)

    def bound(self, parameters: ds.Parameters, statistics: ds.Statistics) -> float:
        """The log-likelihood per vote."""
        return float(statistics.log_likelihood / statistics.n.sum())

    def converged(self, steps: list[Step]) -> bool:
        return len(steps) > 1 and steps[-1].bound - steps[-2].bound < self.tolerance

    @property
    def priors_(self) -> Any:
        """How frequent every class is among the truths."""
        result = self.result_
        frame = make_frame({"label": result.class_names, "prior": result.learned.class_prior}, result.class_names)
        return frame.set_index("label")["prior"] if hasattr(frame, "set_index") else frame

    @property
    def errors_(self) -> Any:
        """A row an annotator and vote, a column a truth: the probability of that vote given that truth."""
        result = self.result_
        K, v = len(result.class_names), result.learned.confusion
        assert v is not None
        worker = result.annotator_names[np.repeat(np.arange(len(v)), K)]
        label = result.class_names[np.tile(np.arange(K), len(v))]
        names = to_list(result.class_names)
        truths = {str(name): v[:, k, :].reshape(-1) for k, name in enumerate(names)}
        frame = make_frame({"worker": worker, "label": label, **truths}, result.annotator_names)
        if not hasattr(frame, "set_index"):
            return frame
        frame = frame.set_index(["worker", "label"])
        frame.columns = type(frame.columns)(names)
        return frame

    @property
    def loss_history_(self) -> list[float]:
        """The log-likelihood per vote, after each iteration."""
        return [float(bound) for bound in self.result_.bound]


def _smooth(parameters: ds.Parameters, tau: Floats, n: Floats) -> ds.Parameters:
    """Probabilities of at least LEAST; labels that an annotator never gave need none."""
    gives = n.sum(axis=2, keepdims=True) > 0
    v = np.where(gives, np.maximum(n, LEAST), 0.0)
    v /= v.sum(axis=1, keepdims=True)
    p = np.maximum(tau / tau.sum(), LEAST)
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant, and never looked at
        return parameters._replace(p=p, v=v, log_p=np.log(p), log_v=np.log(v))


def _history(annotations: Annotations, initial_error: Any, must_be_whole: bool) -> Floats:
    """[W, L, K]: the rows and columns of the frame by the codes of annotators and classes."""
    if list(getattr(getattr(initial_error, "index", None), "names", [])) != ["worker", "label"]:
        raise InputError("initial_error must be a pandas frame indexed by worker and label, with a column a true label")
    workers, labels = (initial_error.index.get_level_values(name).tolist() for name in ("worker", "label"))
    worker, label = match(workers, annotations.annotator_names), match(labels, annotations.class_names)
    truth = match(initial_error.columns.tolist(), annotations.class_names)
    known = (worker != MISSING) & (label != MISSING)
    history = np.zeros((annotations.n_annotators, annotations.n_classes, annotations.n_classes))
    values = initial_error.to_numpy(dtype=np.float64)[np.ix_(known, truth != MISSING)]
    history[worker[known][:, None], label[known][:, None], truth[truth != MISSING]] = values
    unknown = np.flatnonzero(~history.any(axis=(1, 2)))
    if must_be_whole and unknown.size:
        name = to_list(annotations.annotator_names)[unknown[0]]
        raise InputError(
            f"initial_error says nothing of annotator {name!r} ({unknown.size:,} are like that); "
            'with "assign" it must have all of them, with "addition" it need not'
        )
    return history
