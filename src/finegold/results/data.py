"""ResultData: the labels and annotators of a fit, in the same form for all methods."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.cells import agreement, decide, preference_of
from finegold.kernels.compiling import in_threads
from finegold.results.metrics import exact_interval
from finegold.votes.annotations import Annotations, Counts, Predictions, kernel_votes, votes_on
from finegold.votes.encoding import Codes, Names

Floats = NDArray[np.float64]


class Step(NamedTuple):
    """One sweep of a fit."""

    restart: int
    iteration: int
    # largest change of a posterior
    largest_change: float
    # NaN if the method has none
    objective: float


@dataclass(frozen=True)
class Learned:
    """What a method learned besides the labels. Everything except the class prior is optional.

    Attributes:
        class_prior (ndarray of shape (K,)): The share of each class among the tasks.
        prototypes (ndarray of shape (S, K, K), optional): The matrices that annotators mix: truth
            in rows, vote in columns.
        weights (ndarray of shape (W, S), optional): How each annotator mixes the prototypes.
        confusion (ndarray of shape (W, K, K), optional): The matrix of each annotator: truth in
            rows, vote in columns.
        statistics (dict of str to ndarray): Arrays that only this method has, by the names of its
            docstring and paper, such as `ability` and `difficulty` (glad), `weight` (catd, bwa),
            `reliability` (tiremge) or `communities` (cbcc). Methods that take a prior have `n`,
            the expected votes of each annotator by vote and truth.
    """

    class_prior: Floats
    prototypes: Floats | None = None
    weights: Floats | None = None
    confusion: Floats | None = None
    statistics: dict[str, Floats] = field(default_factory=dict)

    @property
    def has_matrices(self) -> bool:
        """Whether the method learned how annotators vote for each truth."""
        return self.confusion is not None or self.prototypes is not None


class ModelRecord(NamedTuple):
    """What was learned about a model whose predictions were combined with the votes."""

    model: str
    # with votes, so that they show what the model is worth
    n_tasks: int
    n_tasks_without_votes: int
    # of log p: 1 for calibrated probabilities, less for overconfident ones, 0 for an ignored model
    weight: float
    # expected share of right predictions, judged by the combined posterior
    accuracy: float
    # mean probability of the predicted class, as the model gave it
    confidence: float
    # by truths, or by votes where they agree with the model
    accuracy_low: float
    accuracy_high: float


@dataclass(frozen=True, eq=False)
class Combined:
    """The predictions that a result was combined with, and what came of them."""

    predictions: Predictions
    # [T, K] from votes alone, which updates continue from
    votes_posterior: Floats
    # [P, K] of tasks that have predictions but no votes
    posterior: Floats
    records: list[ModelRecord]


def suggested_accuracies(result: ResultData) -> tuple[Floats, Floats]:
    """[W] Return a range of accuracies that the votes suggest if the labels are right."""
    # It contains the true accuracy far less often than 95 % promises (docs/evidence/trust.md), so
    # it is never shown; advice that needs clear evidence asks whether it lies on one side.
    # importing it takes as long as importing NumPy twice
    from scipy.special import betaincinv

    votes, share = result.votes_per_annotator + 2, result.annotator_accuracy
    right, wrong = np.maximum(share * votes, 1e-9), np.maximum((1 - share) * votes, 1e-9)
    return betaincinv(right, wrong, 0.025), betaincinv(right, wrong, 0.975)


def exact_intervals(annotations: Annotations, accuracy: Floats) -> tuple[Floats, Floats]:
    """[W] Return 95 % intervals from votes on tasks with known truths; NaN where these are few."""
    low, high = np.full(len(accuracy), np.nan), np.full(len(accuracy), np.nan)
    tasks = np.flatnonzero(annotations.gold >= 0)
    if annotations.multi or not len(tasks):
        return low, high
    row, who, label = votes_on(annotations, tasks)
    n = np.bincount(who, minlength=len(accuracy))
    is_right = label == annotations.gold[tasks][row]
    hits = np.bincount(who[is_right], minlength=len(accuracy))
    some = np.flatnonzero(n >= MIN_GOLD_VOTES)
    low[some], high[some] = exact_interval(hits[some], n[some])
    # the expected accuracy is inside
    return np.minimum(low, accuracy), np.maximum(high, accuracy)


# between the labels of a set in tables
SEPARATOR = ";"
# about the fit, whatever posterior comes of it
KEPT = ("converged", "stopped", "seconds", "notes", "known_annotators", "temperature")
# that a thread processes at a time
TASKS_PER_RUN = 2**18
# on tasks with known truths, from which an annotator gets an interval
MIN_GOLD_VOTES = 5
# for counts by annotator, which each run needs memory for
MAX_RUNS = 8


@dataclass(frozen=True, eq=False)
class ResultData:
    """The data of a result. `finegold.Result` says what they are, and adds the methods for users."""

    method: str
    settings: dict[str, Any]
    task_names: Names
    annotator_names: Names
    class_names: Names
    unlabelled: Names
    posterior: Floats
    label_codes: Codes
    tied: NDArray[np.bool_]
    votes_per_task: NDArray[np.int64]
    gold: Codes
    votes_per_annotator: NDArray[np.int64]
    annotator_agreement: Floats
    annotator_accuracy: Floats
    annotator_accuracy_low: Floats
    annotator_accuracy_high: Floats
    learned: Learned
    steps: list[Step]
    annotations: Annotations
    converged: bool = True
    stopped: str = ""
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    known_annotators: int | None = None
    temperature: float = 1.0
    combined: Combined | None = None
    label_sets: tuple[tuple[int, ...], ...] | None = None

    @property
    def counts(self) -> Counts:
        """How many rows were read and how many were left out, and why."""
        return self.annotations.counts

    @property
    def label(self) -> Any:
        """The name of each task's label, in the order of `task_names`; ; is between those of a set."""
        if self.label_sets is None:
            return self.class_names[self.label_codes]
        names = [str(name) for name in self.class_names]
        texts = [SEPARATOR.join(names[code] for code in codes) for codes in self.label_sets]
        return Names(texts)[self.label_codes]

    def label_lists(self) -> list[list[Any]]:
        """Return the labels of each task: the classes of its set, or a list of one label.

        Returns:
            In the order of `task_names`.
        """
        names = list(self.class_names)
        sets = self.label_sets or [(code,) for code in range(len(names))]
        return [[names[code] for code in sets[label]] for label in self.label_codes.tolist()]

    @property
    def confidence(self) -> Floats:
        """The probability of each task's label. That of a set holds if its classes do not depend on
        each other.
        """
        if self.label_sets is not None:
            return np.asarray(np.maximum(self.posterior, 1 - self.posterior).prod(axis=1))
        columns = self.label_codes[:, None].astype(np.int64)
        return np.take_along_axis(self.posterior, columns, axis=1)[:, 0]

    @property
    def all_settings(self) -> dict[str, Any]:
        """The settings, and what was done besides running the method."""
        done = {"prior": self.known_annotators} if self.known_annotators is not None else {}
        calibrated = {"calibrated": self.temperature} if self.temperature != 1.0 else {}
        return {**self.settings, **done, **calibrated}

    @property
    def iterations(self) -> int:
        """The number of iterations of the fit."""
        return self.steps[-1].iteration

    @property
    def objective(self) -> Floats:
        """The objective of the method after each iteration; NaN if it has none."""
        return np.array([step.objective for step in self.steps])

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.method}: {len(self.label_codes):,} tasks,"
            f" {len(self.annotator_accuracy):,} annotators, {len(self.class_names):,}"
            f" {'classes' if self.label_sets is None else 'options'}; {self.stopped})"
        )


def votes_of(result: ResultData) -> Annotations:
    """Return the votes that a result was computed from."""
    return result.annotations


def summarise(
    method: str,
    settings: dict[str, Any],
    annotations: Annotations,
    posterior: Floats,
    steps: list[Step],
    learned: Learned,
    records: tuple[Any, ...] | None = None,
) -> ResultData:
    """Build a result from a posterior, the same way for all methods, and from what `_records`
    returns, if it is known.
    """
    if records is None:
        records = _records(annotations, posterior)
    label_codes, tied, votes, agreed, expected = records
    # the prior is worth two votes with the average of all annotators
    accuracy = (expected + 2 * expected.sum() / votes.sum()) / (votes + 2)
    low, high = exact_intervals(annotations, accuracy)
    return ResultData(
        method=method,
        settings=settings,
        task_names=annotations.task_names,
        annotator_names=annotations.annotator_names,
        class_names=annotations.class_names,
        unlabelled=annotations.unlabelled,
        posterior=posterior,
        label_codes=label_codes,
        tied=tied,
        votes_per_task=annotations.votes_per_task,
        gold=annotations.gold,
        votes_per_annotator=votes,
        annotator_agreement=agreed / votes,
        annotator_accuracy=accuracy,
        annotator_accuracy_low=low,
        annotator_accuracy_high=high,
        learned=learned,
        steps=steps,
        annotations=annotations,
    )


def with_posterior(
    result: ResultData,
    posterior: Floats,
    votes: Annotations | None = None,
    learned: Learned | None = None,
) -> ResultData:
    """Return the same fit with another posterior, of its votes or of others."""
    votes, learned = votes or result.annotations, learned or result.learned
    made = summarise(result.method, result.settings, votes, posterior, result.steps, learned)
    return replace(made, **{name: getattr(result, name) for name in KEPT})


def _records(annotations: Annotations, posterior: Floats) -> tuple[Any, ...]:
    """Return labels, ties, and of each annotator the votes, those that agree and the right ones."""
    # runs do not depend on the number of threads, so that sums do not either
    n, n_annotators = len(posterior), annotations.n_annotators
    runs, long_runs = (
        [slice(first, min(first + size, n)) for first in range(0, max(n, 1), size)]
        for size in (TASKS_PER_RUN, max(TASKS_PER_RUN, -(-n // MAX_RUNS)))
    )
    totals = in_threads(lambda run: posterior[run].sum(axis=0, dtype=np.float64), runs)
    preference = preference_of(np.sum(totals, axis=0))
    labels, tied = np.empty(n, np.int32), np.empty(n, np.bool_)
    in_threads(lambda run: decide(posterior[run], preference, labels[run], tied[run]), runs)

    def count(run: slice) -> list[NDArray[Any]]:
        counts: list[Any] = [np.zeros(n_annotators, kind) for kind in (np.int64, np.int64, float)]
        votes = kernel_votes(annotations, run.start, run.stop)
        agreement(votes, posterior[run], labels[run], *counts)
        return counts

    counted = zip(*in_threads(count, long_runs), strict=True)
    return labels, tied, *(sum(parts[1:], parts[0]) for parts in counted)
