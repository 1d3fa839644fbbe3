"""Dawid-Skene and its one-coin variant, with crowd-kit's arguments and attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finegold.crowdkit.aggregation.base import (
    BaseProbabilityAggregator,
    CodedVotes,
    Floats,
    encode,
    run,
)
from finegold.engines.blocks import Block
from finegold.errors import InputError, use
from finegold.methods import ds
from finegold.methods.common import ConfusionSums, start_confusion
from finegold.results.data import Step
from finegold.votes.encoding import MISSING

__all__ = ["DawidSkene", "OneCoinDawidSkene"]

MIN_PROBABILITY = 1e-10
Match = Callable[[Any], NDArray[Any]]


class _Method(ds.DS):
    """Dawid-Skene as in crowd-kit: it starts from the vote shares, and keeps probabilities above a
    minimum.

    It stops when the evidence lower bound per vote, which crowd-kit reports, increases by less than
    the tolerance.
    """

    # [W, L, K] the initial error in the codes of the votes
    history: Floats | None = None
    # the counts of the first vote shares, instead of being added to them
    replaces: bool = False

    def start(self, block: Block, restart: int) -> ConfusionSums:
        return start_confusion(block)

    def begin(self, statistics: ConfusionSums) -> ds.Parameters:
        n = statistics.n
        if self.history is not None:
            n = self.history if self.replaces else self.history + n
        return _smooth(super().begin(statistics), statistics.tau, n)

    def expect(self, statistics: ConfusionSums, before: ds.Parameters) -> ds.Parameters:
        return _smooth(super().expect(statistics, before), statistics.tau, statistics.n)

    def converged(self, steps: list[Step]) -> bool:
        return len(steps) > 1 and steps[-1].bound - steps[-2].bound < self.tolerance

    def bound(self, parameters: ds.Parameters, statistics: ConfusionSums) -> float:
        """Return the bound per vote after the M step; crowd-kit counts the frequency of classes
        once per vote.
        """
        after = self.expect(statistics, parameters)
        entropy = statistics.log_norm - _log_likelihood(parameters, statistics)
        per_vote = _times_log(statistics.n.sum(axis=(0, 1)) - statistics.tau, after)
        return float((_log_likelihood(after, statistics) + per_vote + entropy) / statistics.n.sum())


class _OneCoinMethod(_Method):
    """One number per annotator: the share of right votes."""

    def begin(self, statistics: ConfusionSums) -> ds.Parameters:
        return _one_coin(super().begin(statistics), statistics.n)

    def expect(self, statistics: ConfusionSums, before: ds.Parameters) -> ds.Parameters:
        return _one_coin(super().expect(statistics, before), statistics.n)


def _log_likelihood(parameters: ds.Parameters, statistics: ConfusionSums) -> float:
    """Return the expected log-likelihood of votes and truths."""
    votes = np.where(statistics.n > 0, parameters.log_v, 0.0)
    return float((statistics.n * votes).sum() + _times_log(statistics.tau, parameters))


def _times_log(weight: Floats, parameters: ds.Parameters) -> float:
    """Return the sum over classes of weight times the logarithm of the frequency."""
    return float((weight * np.where(weight > 0, parameters.log_p, 0.0)).sum())


def _one_coin(parameters: ds.Parameters, n: Floats) -> ds.Parameters:
    """Replace confusion matrices by those of one coin."""
    n_classes = n.shape[1]
    # the expected share of right votes
    skill = (np.trace(n, axis1=1, axis2=2) / n.sum(axis=(1, 2)))[:, None, None]
    v = np.where(np.eye(n_classes, dtype=bool), skill, (1 - skill) / max(n_classes - 1, 1))
    v = np.maximum(v, MIN_PROBABILITY)
    return parameters._replace(v=v, log_v=np.log(v))


def _smooth(parameters: ds.Parameters, tau: Floats, n: Floats) -> ds.Parameters:
    """Clip probabilities at the minimum, except for labels that an annotator never gave."""
    gives = n.sum(axis=2, keepdims=True) > 0
    v = np.where(gives, np.maximum(n, MIN_PROBABILITY), 0.0)
    v /= v.sum(axis=1, keepdims=True)
    p = np.maximum(tau / tau.sum(), MIN_PROBABILITY)
    # log 0 = -inf is intended and never used
    with np.errstate(divide="ignore"):
        return parameters._replace(p=p, v=v, log_p=np.log(p), log_v=np.log(v))


def error_counts(
    initial_error: Any,
    annotators: Sequence[Any],
    find_annotators: Match,
    find_classes: Match,
    n_classes: int,
    whole: bool,
) -> Floats:
    """[W, L, K] Return a frame of errors as an array in the codes of the votes; if `whole`, nobody
    may be missing.
    """
    if list(getattr(getattr(initial_error, "index", None), "names", [])) != ["worker", "label"]:
        raise InputError(
            "initial_error must be a pandas frame indexed by worker and label, with one column per"
            " true label"
        )
    workers, labels = (initial_error.index.get_level_values(name) for name in ("worker", "label"))
    worker, label, truth = (
        find_annotators(workers),
        find_classes(labels),
        find_classes(initial_error.columns),
    )
    rows, columns = (worker != MISSING) & (label != MISSING), truth != MISSING
    counts = np.zeros((len(annotators), n_classes, n_classes))
    values = initial_error.to_numpy(dtype=np.float64)[np.ix_(rows, columns)]
    counts[worker[rows][:, None], label[rows][:, None], truth[columns]] = values
    unknown = np.flatnonzero(~counts.any(axis=(1, 2)))
    if whole and unknown.size:
        raise InputError(
            f"initial_error has no values for worker {annotators[unknown[0]]!r} ({unknown.size:,}"
            " are missing)",
            remedies=[use(text="add them"), use(initial_error_strategy="addition")],
        )
    return counts


@dataclass(eq=False)
class DawidSkene(BaseProbabilityAggregator):
    """Dawid-Skene: every worker has a confusion matrix, found by expectation maximisation.

    Args:
        n_iter: The largest number of iterations. With 0 the result is the first estimate, from the
            vote shares.
        tol: Stop when the evidence lower bound per vote increases by less than this.
        initial_error_strategy: How `fit` uses `initial_error`: it replaces the first confusion
            matrices ("assign"), or is added to their counts ("addition").

    Attributes:
        labels_: The label of every task.
        probas_: The probability of every label.
        priors_: The frequency of every label.
        errors_ (pandas.DataFrame): The probability of a vote given the truth, for the votes that
            occur.
        loss_history_ (list of float): The evidence lower bound per vote after each iteration.
    """

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: Literal["assign", "addition"] | None = None
    _method: ClassVar[type[_Method]] = _Method

    def fit(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> Self:
        """Fit to votes.

        Args:
            data: The votes, with the columns task, worker and label.
            true_labels: Known truths, indexed by task.
            initial_error (pandas.DataFrame, optional): Known errors, indexed by worker and label,
                with a column per true label.

        Raises:
            InputError: If `initial_error` does not fit to the data.

        Returns:
            The fitted aggregator.
        """
        votes, gold, strategy = encode(data), None, self.initial_error_strategy
        if not len(votes.tasks):
            self.probas_, self.errors_, self.loss_history_ = pd.DataFrame(), pd.DataFrame(), []
            nothing = (
                pd.Series(dtype=float, name=name) for name in ("prior", "agg_label", "skill")
            )
            self.priors_, self.labels_, self.skills_ = nothing
            return self
        if true_labels is not None:
            truths = true_labels[true_labels.index.isin(votes.tasks)]
            new = pd.Index(truths.unique()).difference(votes.labels, sort=False)
            votes = votes._replace(labels=votes.labels.append(new) if len(new) else votes.labels)
            gold = votes.tasks.get_indexer(truths.index), votes.labels.get_indexer(truths)
        if strategy not in (None, "assign", "addition"):
            raise InputError(
                f'initial_error_strategy must be "assign" or "addition", not {strategy!r}'
            )
        method, rows = self._method(max_iterations=1, tolerance=self.tol), None
        if initial_error is not None and strategy is not None:
            finders = votes.workers.get_indexer, votes.labels.get_indexer
            counts = error_counts(
                initial_error,
                votes.workers,
                *finders,
                len(votes.labels),
                whole=strategy == "assign",
            )
            if strategy == "assign" and not np.allclose(counts.sum(axis=1), 1.0):
                raise InputError(
                    "the errors of a worker in initial_error must sum to 1 for each true label"
                )
            method.history, method.replaces = counts, strategy == "assign"
            rows = initial_error.index if self.n_iter == 0 else None
        descent, probas = run(method, votes.annotations(gold), self.n_iter)
        self._learn(votes, descent.parameters, rows)
        self.probas_, self.labels_ = votes.frame(probas), votes.decide(probas)
        self.loss_history_ = [step.bound for step in descent.steps]
        return self

    def _learn(self, votes: CodedVotes, parameters: ds.Parameters, rows: Any) -> None:
        """Set what was learned of classes and workers; `rows` are those of the known errors, if
        they are the result.
        """
        self.priors_ = pd.Series(
            parameters.p, index=pd.Index(votes.labels, name="label"), name="prior"
        )
        pair = pd.unique(votes.worker * len(votes.labels) + votes.label)
        worker, label = np.divmod(pair, len(votes.labels))
        names = [votes.workers.take(worker), votes.labels.take(label)]
        index = pd.MultiIndex.from_arrays(names, names=["worker", "label"])
        if rows is not None:
            index = rows if self.initial_error_strategy == "assign" else index.union(rows)
            index = index[index.isin(votes.workers, "worker") & index.isin(votes.labels, "label")]
        codes = (
            known.get_indexer(index.get_level_values(n))
            for n, known in enumerate((votes.workers, votes.labels))
        )
        self.errors_ = pd.DataFrame(
            parameters.v[tuple(codes)], index=index, columns=pd.Index(votes.labels)
        )


@dataclass(eq=False)
class OneCoinDawidSkene(DawidSkene):
    """Dawid-Skene with one number per worker: the share of right votes; all errors are equally
    likely.

    Args:
        n_iter: The largest number of iterations. With 0 the result is the first estimate, from the
            vote shares.
        tol: Stop when the evidence lower bound per vote increases by less than this.
        initial_error_strategy: Has no effect.

    Attributes:
        labels_: The label of every task.
        probas_: The probability of every label.
        priors_: The frequency of every label.
        errors_ (pandas.DataFrame): The probability of a vote given the truth, for the votes that
            occur.
        loss_history_ (list of float): The evidence lower bound per vote after each iteration.
        skills_: The expected share of each worker's votes that are right.
    """

    _method: ClassVar[type[_Method]] = _OneCoinMethod

    def fit(self, data: Any) -> Self:  # type: ignore[override]
        """Fit to votes.

        Args:
            data: The votes, with the columns task, worker and label.

        Returns:
            The fitted aggregator.
        """
        return super().fit(data)

    def _learn(self, votes: CodedVotes, parameters: ds.Parameters, rows: Any) -> None:
        super()._learn(votes, parameters, rows)
        self.skills_ = votes.of_workers(parameters.v[:, 0, 0], "skill")
