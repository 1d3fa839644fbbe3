"""Result: what a method says of every task and every annotator, the same for all methods and all surfaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from karat.accuracy import Intervals, accuracies
from karat.annotations import Annotations, Counts
from karat.encoding import Codes, Names, as_column, look_up
from karat.errors import InputError
from karat.kernels.labels import decide, preference_of
from karat.kernels.votes import agreement
from karat.knowledge import Knowledge, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from karat.planning import Plan
    from karat.trust import Trust

__all__ = ["Knowledge", "Result", "Step", "summarise"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Result:
    """Labels one can trust, and why.

    Ties: where several classes are equally probable, but for rounding (1e-9 of the highest probability), the label is
    the one that is most frequent over all tasks (by summed posterior), then the first in the order of the classes;
    `tied` marks such tasks.
    """

    method: str
    settings: dict[str, Any]
    task_names: Names
    annotator_names: Names
    class_names: Names
    unlabelled: Names  # tasks without any vote: they are listed, but get no label
    posterior: Floats  # [T, K]
    label_codes: Codes  # [T]
    tied: NDArray[np.bool_]  # [T]
    votes_per_task: NDArray[np.int64]  # [T]
    gold: Codes  # [T]
    votes_per_annotator: NDArray[np.int64]  # [W]
    agreement: Floats  # [W] share of an annotator's votes that equal the label
    accuracy: Floats  # [W] expected share of right votes, judged by the posterior
    accuracy_low: Floats  # [W] 95 % credible interval
    accuracy_high: Floats  # [W]
    knowledge: Knowledge
    steps: list[Step]
    counts: Counts = Counts()
    converged: bool = True
    stopped: str = ""
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)  # what a method wants its user to know, a sentence or two each
    annotations: Annotations | None = None  # the votes it was computed from; None in files of the first Karat

    @property
    def label(self) -> Any:
        """The name of each task's label, in the order of `task_names`."""
        return self.class_names[self.label_codes]

    @property
    def confidence(self) -> Floats:
        """The probability of each task's label."""
        best: Floats = np.take_along_axis(self.posterior, self.label_codes[:, None].astype(np.int64), axis=1)[:, 0]
        return best

    @property
    def iterations(self) -> int:
        return self.steps[-1].iteration

    @property
    def bound(self) -> Floats:
        """What the method maximises, after each iteration (NaN where it has no such thing)."""
        return np.array([step.bound for step in self.steps])

    @property
    def change(self) -> Floats:
        """The biggest change of a posterior in each iteration."""
        return np.array([step.change for step in self.steps])

    def confusion(self, annotator: Any) -> Floats:
        """[K, K]: how this annotator votes (columns) when the truth is given (rows)."""
        from karat.predict import matrices

        code = int(look_up([annotator], self.annotator_names)[0])
        if code < 0:
            raise InputError(f"there is no annotator {annotator!r}")
        if not self.knowledge.has_matrices:
            raise InputError(f"{self.method} has no confusion matrices")
        matrix: Floats = matrices(self, np.array([code], np.int32), np.arange(len(self.class_names)))[0]
        return matrix

    def predict(self, task: Any, annotator: Any) -> Floats:
        """[n, K]: how likely each label is, for pairs of a task and an annotator (names, one or many of each).

        Somebody who has not voted is taken for the mean of all; a task without votes, for any.
        """
        from karat.predict import predictive

        tasks, annotators = np.broadcast_arrays(as_column(np.atleast_1d(task)), as_column(np.atleast_1d(annotator)))
        return predictive(self, look_up(tasks, self.task_names), look_up(annotators, self.annotator_names))

    def labels(self, *, probabilities: bool = False) -> Any:
        """A data frame, a row a task: task, label, confidence, n_votes, tied (and a column a class)."""
        from karat.tables import labels_table

        return labels_table(self, probabilities=probabilities)

    def annotators(self) -> Any:
        """A data frame, a row an annotator: votes, accuracy with its interval, agreement, prototype weights."""
        from karat.tables import annotators_table

        return annotators_table(self)

    def flips(self) -> Any:
        """A data frame, a row a task whose label is not that of the majority vote, and why."""
        from karat.trust import flips

        return flips(self)

    def contested(self, below: float = 0.2) -> Any:
        """A data frame, a row a task whose label leads the next class by less than `below`."""
        from karat.trust import contested

        return contested(self, below)

    def why(self, task: Any, against: Any = None) -> Any:
        """A data frame, a row a vote on this task: how much it speaks for the label against another class."""
        from karat.trust import why

        return why(self, task, against)

    def spammers(self) -> Any:
        """A data frame, a row an annotator, those first whose votes do not depend on the truth."""
        from karat.trust import spammers

        return spammers(self)

    def trust(self, truth: Any = None) -> Trust:
        """How far these labels can be trusted: agreement, flips, spammers, copies; and calibration, given truths."""
        from karat.trust import trust

        return trust(self, truth)

    def report(self, path: str | Path, truth: Any = None) -> None:
        """One HTML file that shows all of this: labels, tasks in doubt, annotators, prototypes, and how it came about.

        truth: known truths to judge by (a path, a data frame or a mapping); needs `karat[report]`.
        """
        from karat.report import write_report

        write_report(self, path, truth)

    def update(self, votes: Any = None, *, gold: Any = None, refit: bool = False, **more: Any) -> Result:
        """A result that knows these votes, too: of old and new tasks, by old and new annotators.

        Only tasks with new votes (or truths, `gold`) are looked at again; the cost follows them. `refit` fits all votes
        again, as if they had come at once. `repeated` says which votes count if an annotator votes on a task more than
        once: those of this result came first. Further keywords are those of `karat.aggregate` for reading votes, and
        `threads`, `watch` and, with `refit`, `prior`.
        """
        from karat.updating import update

        return update(self, votes, gold=gold, refit=refit, **more)

    def next(self, budget: int | None = None, *, annotators: Sequence[Any] | None = None, safe: float = 0.95) -> Plan:
        """Where the next votes are worth most: `tasks()` to ask about, `safe_tasks()`, `annotators()` to look after.

        budget: how many votes there may be, one a task. annotators: those who may vote next; by default all, each as
        likely as they voted so far. safe: a label with this probability needs no further vote.
        """
        from karat.planning import plan

        return plan(self, budget, annotators=annotators, safe=safe)

    def save(self, path: str | Path) -> None:
        """Keep everything in one file, whole or not at all; `karat.load` reads it."""
        from karat.archive import save

        save(self, Path(path))

    def to_table(self, address: str, table: str, *, probabilities: bool = False) -> None:
        """The labels into a table of a database (postgresql://..., sqlite:///FILE, duckdb:///FILE).

        The rows of a table that is there are replaced in one transaction: others see the old ones until it is done.
        """
        from karat.writers.database import write_labels_to_table

        write_labels_to_table(self, address, table, probabilities=probabilities)

    def __repr__(self) -> str:
        return (
            f"Result({self.method}: {len(self.label_codes):,} tasks, {len(self.accuracy):,} annotators, "
            f"{len(self.class_names):,} classes; {self.stopped})"
        )

    def _repr_html_(self) -> str:
        from karat.notebook import result_html

        return result_html(self)


def summarise(
    method: str,
    settings: dict[str, Any],
    annotations: Annotations,
    posterior: Floats,
    steps: list[Step],
    knowledge: Knowledge,
    kept: Intervals | None = None,
) -> Result:
    """Labels, ties and annotators' records, computed alike for every method."""
    label_codes, tied = _labels(posterior)
    votes, agreed, expected = _records(annotations, posterior, label_codes)
    accuracy, low, high = accuracies(votes, expected, kept)
    return Result(
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
        agreement=agreed / votes,
        accuracy=accuracy,
        accuracy_low=low,
        accuracy_high=high,
        knowledge=knowledge,
        steps=steps,
        counts=annotations.counts,
        annotations=annotations,
    )


def _labels(posterior: Floats) -> tuple[Codes, NDArray[np.bool_]]:
    preference = preference_of(posterior.sum(axis=0, dtype=np.float64))
    label, tied = np.empty(len(posterior), np.int32), np.empty(len(posterior), np.bool_)
    decide(posterior, preference, label, tied)
    return label, tied


def _records(
    annotations: Annotations, posterior: Floats, label: Codes
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    n = annotations.n_annotators
    votes, agreed, expected = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    agreement(
        annotations.task_ptr.view(np.uint64),
        annotations.cell_ptr.view(np.uint64),
        annotations.cell_class,  # type: ignore[arg-type]  # a kernel takes either width
        annotations.annotator.view(np.uint32),
        posterior,
        label,
        votes,
        agreed,
        expected,
    )
    return votes, agreed, expected
