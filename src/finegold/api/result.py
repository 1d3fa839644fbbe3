"""The public class `Result`: the data of a fit, and methods to analyse, update and save it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError, leave_out
from finegold.results import matrices, tables
from finegold.results.data import ModelRecord, ResultData
from finegold.results.sets import annotators_of_sets, refuse_sets
from finegold.votes.encoding import Names, match, to_list
from finegold.votes.frames import make_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from finegold.api.certify import Certificate
    from finegold.api.sample import Sample
    from finegold.insight.next_votes import Plan
    from finegold.insight.overview import Trust

# the user's kind of data frame: Polars unless the votes came in another
if TYPE_CHECKING:
    from polars import DataFrame
    from typing_extensions import TypeVar

    Frame = TypeVar("Frame", default=DataFrame)
else:
    from typing import TypeVar

    Frame = TypeVar("Frame")

Floats = NDArray[np.float64]

# in a notebook, at most
TASKS_SHOWN, ANNOTATORS_SHOWN = 5, 3


class Result(ResultData, Generic[Frame]):
    """Labels, their probabilities, and the accuracy of each annotator.

    `finegold.aggregate` and `finegold.load` make results; the constructor is not meant for users.

    Attributes:
        method: The name of the method.
        settings: Its settings.
        task_names, annotator_names, class_names (sequence): The names, in the order of the arrays
            below. T, W and K are the numbers of tasks, annotators and classes.
        unlabelled (sequence): Names of tasks without any vote. They get no label.
        posterior (ndarray of shape (T, K)): The probability of each class for each task.
        label_codes (ndarray of shape (T,)): The most probable class of each task, as a position in
            `class_names`; `label` has its name.
        confidence (ndarray of shape (T,)): The probability of each task's label.
        tied (ndarray of shape (T,)): Whether several classes are equally probable, up to rounding.
            The label is then the class that is most frequent over all tasks, then the first in the
            order of the classes.
        votes_per_task (ndarray of shape (T,)): The number of votes of each task.
        gold (ndarray of shape (T,)): The known truth that the fit used, as a position in
            `class_names`; -1 where there is none.
        votes_per_annotator (ndarray of shape (W,)): The number of votes of each annotator.
        agreement (ndarray of shape (W,)): The share of each annotator's votes that equal the label.
        accuracy (ndarray of shape (W,)): The expected share of right votes of each annotator,
            judged by the labels.
        accuracy_low, accuracy_high (ndarray of shape (W,)): A 95 % interval of it, from votes on
            gold tasks; NaN for annotators with fewer than five of them.
        converged, stopped, steps (bool, str, list): Whether the fit converged, why it stopped, and
            its steps.
        seconds: The duration of the fit on this machine, without that of compiling code, which only
            the first fit does.
        counts: How many rows were read and how many were left out, and why.
        annotations: The votes; None if they stayed on a cluster.
        notes: Remarks on this fit for the user.
        learned: What the method learned besides the labels: class prior, prototypes, weights,
            confusion matrices, statistics.
        known_annotators: How many annotators the prior knew; None without a prior.
        temperature: The temperature that a calibration applied to the posterior; 1 without one.
        combined: The predictions that were combined with the votes, the posterior of the votes
            alone (`votes_posterior`), that of tasks without votes (`posterior`), and what was
            learned about each model (`records`); None without predictions. The arrays above are
            those of tasks with votes; `labels` lists the others too.
        label_sets: If the votes are sets of labels: the distinct sets that are labels, as positions
            in `class_names`, which are the options. `label_codes` are positions in it, `gold` in
            those of the votes (`annotations.gold_sets`), each number of `posterior` is the
            probability that an option is right, and accuracies are those of the answers, yes or no,
            about all options. `flips`, `contested`, `why`, `spammers`, `trust` and `next_votes` take each
            task and option as a question of yes or no. None for other votes.

    Examples:
        >>> import finegold
        >>> votes = [("t1", "ann", "cat"), ("t1", "bob", "cat"), ("t2", "ann", "dog"), ("t2", "bob", "cat")]
        >>> result = finegold.aggregate(finegold.Annotations.from_arrays(*zip(*votes)), "mv")
        >>> result.label.tolist(), result.confidence.tolist(), result.tied.tolist()
        (['cat', 'cat'], [1.0, 0.5], [False, True])
        >>> result.labels().columns
        ['task', 'label', 'confidence', 'n_votes', 'tied', 'is_gold']
    """

    @classmethod
    def of(cls, data: ResultData) -> Result[Any]:
        """Return the same data as a public result.

        Args:
            data: The data of a fit.

        Returns:
            With the same arrays.
        """
        if isinstance(data, Result):
            return data
        return cls(**{field.name: getattr(data, field.name) for field in fields(data)})

    def confusion(self, annotator: Any) -> Floats:
        """Return how an annotator votes, given the truth.

        Args:
            annotator (str or int): The name of the annotator.

        Returns:
            ndarray of shape (K, K): Row k is the distribution of the annotator's votes on tasks of
                class k.

        Raises:
            InputError: If there is no such annotator, or if the method has no confusion matrices.
        """
        refuse_sets(
            self, "confusion matrix; `annotators` tells how good annotators are at each option"
        )
        if not self.learned.has_matrices:
            raise InputError(f"{self.method} has no confusion matrices")
        matrix: Floats = matrices.matrices(
            self, self._codes([annotator]), np.arange(len(self.class_names))
        )[0]
        return matrix

    def predict(self, task: Any, annotator: Any) -> Floats:
        """Return how likely each vote is, for pairs of a task and an annotator.

        Args:
            task (name or sequence of names): Tasks. For a task without votes, the class frequencies
                are used.
            annotator (name or sequence of names): Annotators who voted at least once.

        Returns:
            ndarray of shape (n, K): The probability of each class as the annotator's vote.

        Raises:
            InputError: If there is no such annotator.
        """
        refuse_sets(self, "single vote to predict")
        tasks, annotators = np.broadcast_arrays(
            *(np.array(Names(np.atleast_1d(names)), object) for names in (task, annotator))
        )
        return matrices.predictive(self, match(tasks, self.task_names), self._codes(annotators))

    def _codes(self, annotators: Any) -> NDArray[np.int32]:
        codes = match(annotators, self.annotator_names)
        if (codes < 0).any():
            unknown = to_list(Names(annotators))[int(np.argmin(codes))]
            raise InputError(f"there is no annotator {unknown!r}")
        return codes

    def labels(self, *, probabilities: bool = False) -> Frame:
        """Return a data frame with one row per task.

        Args:
            probabilities: Add one column per class with its probability.

        Returns:
            DataFrame: With the columns task (named as in the votes), label, confidence, n_votes,
                tied and is_gold, of the library that the votes came from (Polars for files). With
                predictions, the column predictions_only marks tasks without votes. If labels are
                sets, the column labels has them, separated by ;, and there is no column tied.
        """
        return self._own_name(tables.labels_table(self, probabilities=probabilities), 0)

    def scores(self) -> Frame:
        """Return the score of each task, if classes are ordered, such as ratings from 1 to 5.

        Returns:
            DataFrame: With the columns task, score, score_low and score_high. The score is the mean
                of the votes, in half without the annotators' biases, and the interval is for the
                mean that many more such annotators would give; it holds in .94 to .96 of tasks on
                real data. The number of a class is itself, or its position from 1 if the classes
                are not numbers. Tasks without votes are left out.
        """
        return self._own_name(tables.scores_table(self), 0)

    def soft_labels(self) -> Frame:
        """Return the probability of each class for each task, to train a model on.

        Returns:
            DataFrame: With the column task (named as in the votes) and one column per class, of the
                library that the votes came from (Polars for files and arrays). Tasks without votes
                are left out.
        """
        return self._own_name(tables.soft_labels(self), 0)

    def sample_weights(self) -> Floats:
        """Return how much each task should count in training.

        Returns:
            ndarray of shape (T,): 1 where the label is certain, 0 where all classes are equally
                probable: 1 minus the entropy of the probabilities, divided by the largest possible
                one.
        """
        return tables.sample_weights(self)

    def export(
        self,
        path: str | Path,
        purpose: str,
        *,
        validation: float = 0.1,
        groups: Mapping[Any, Any] | None = None,
    ) -> None:
        """Write labels for training as Parquet: labels, probabilities, weights, agreement, and what
        to validate on.

        Args:
            path: The file to write, with the suffix .parquet.
            purpose ({"huggingface", "torch", "sklearn"}): "huggingface": labels are numbers, with
                their names beside, and probabilities a list. "torch": the same, with arrays of
                fixed length. "sklearn": labels are names, and every class has a column.
            validation: The share of tasks whose `split` is "validation" and not "train". A hash of
                the task or of its group decides, so the share is approximate, and the tasks are the
                same every time.
            groups: task -> group, such as the document of a sentence, for the column `group`. A
                group has one split.
        """
        from finegold.io.writers import write_training

        write_training(self, path, purpose, validation, groups)

    def annotators(self, *, by_option: bool = False) -> Frame:
        """Return a data frame with one row per annotator.

        Args:
            by_option: If labels are sets: one row per annotator and option instead.

        Returns:
            DataFrame: With the number of votes, the expected accuracy and its interval, the
                agreement with the labels, and what the method learned about each annotator. If
                labels are sets: the number of answers and of choices, the sensitivity (the share of
                right options that the annotator chose), the specificity (the share of wrong options
                left out), and the precision (the share of choices that are right).
        """
        if by_option and self.label_sets is None:
            raise InputError("only sets of labels have options", remedies=[leave_out("by_option")])
        table = (
            annotators_of_sets(self, by_option=True) if by_option else tables.annotators_table(self)
        )
        return self._own_name(table, 1)

    def models(self) -> Frame:
        """Return a data frame with one row per model whose predictions were combined with the
        votes.

        Returns:
            DataFrame: With the columns model, n_tasks (with votes), n_tasks_without_votes, weight
                (1 for calibrated probabilities, 0 for a model that is ignored), accuracy (the
                expected share of right predictions) and confidence (what the model itself claims).
        """
        records = self.combined.records if self.combined else []
        columns = {
            name: [getattr(record, name) for record in records] for name in ModelRecord._fields
        }
        frame: Frame = make_frame(columns, like=self.task_names)
        return frame

    def flips(self) -> Frame:
        """Return a data frame of the tasks whose label has fewer votes than another class.

        Returns:
            DataFrame: One row per task, with the reason.
        """
        from finegold.insight.majority import flips

        return self._own_name(flips(self), 0)

    def contested(self, below: float = 0.2) -> Frame:
        """Return a data frame of the tasks whose label is nearly as probable as another class.

        Args:
            below: The label leads the next class by less than this probability.

        Returns:
            DataFrame: One row per task, the smallest lead first.
        """
        from finegold.insight.majority import contested

        return self._own_name(contested(self, below), 0)

    def why(self, task: Any, against: Any = None) -> Frame:
        """Return a data frame with one row per vote on a task, and how much the vote supports the
        label.

        Args:
            task (str or int): The name of the task.
            against (str or int): The class to compare the label with. The default is the second
                most probable one.

        Returns:
            DataFrame: With the annotator, the vote and how much it supports the label.
        """
        from finegold.insight.majority import why

        return self._own_name(why(self, task, against), 1)

    def spammers(self) -> Frame:
        """Return a data frame of the annotators, first those whose votes do not depend on the
        truth.

        Returns:
            DataFrame: One row per annotator, with how much their votes depend on the truth.
        """
        from finegold.insight.spam import spammers

        return self._own_name(spammers(self), 1)

    def trust(self, truth: Any = None) -> Trust:
        """Return how far the labels can be trusted: agreement, flips, spammers, correlated
        annotators, calibration.

        Args:
            truth (path, data frame or mapping): Known truths to compare the labels with.

        Returns:
            Warnings as text, and the figures that they are based on.
        """
        from finegold.insight.overview import trust

        return trust(self, truth)

    def report(
        self,
        path: str | Path,
        truth: Any = None,
        *,
        certificate: Any = None,
        svg: str | Path | None = None,
    ) -> None:
        """Write one HTML file that shows the labels, tasks in doubt, annotators and the fit.

        Args:
            path: The file to write.
            truth (path, data frame or mapping): Known truths to compare the labels with.
            certificate (Certificate or path): What `finegold.certify` measured: it stands first.
            svg: A folder for the figures, as SVG files.
        """
        from finegold.report import write_report

        write_report(self, path, truth, certificate=certificate, svg=svg)

    def update(self, votes: Any = None, *, gold: Any = None, **more: Any) -> Result[Frame]:
        """Fit the votes of this result and new ones, on old and new tasks, by old and new
        annotators.

        The method and its settings stay, and the labels are those of all votes read at once.

        Args:
            votes (path, data frame or Annotations): The new votes, as in `finegold.aggregate`.
            gold (path, data frame or mapping): New known truths.
            **more: `repeated` says which votes count if an annotator votes on a task more than
                once. `predictions` replace those that the result was combined with. `threads`,
                `on_step`, `prior` and `engine` are as in `finegold.aggregate`. All other keywords
                are those of `finegold.read`.

        Returns:
            A new result; this one is not changed.
        """
        from finegold.api.aggregate import update

        return update(self, votes, gold=gold, **more)

    def next_votes(
        self,
        budget: int | None = None,
        *,
        available: Sequence[Any] | None = None,
        safe: float = 0.95,
    ) -> Plan:
        """Return the tasks for which further votes are worth most.

        Args:
            budget: The largest number of votes to plan, one per task. By default there is no limit.
            available: The annotators who may vote next. The default is all, in proportion to their
                votes so far.
            safe: A label with at least this probability needs no further vote.

        Returns:
            `tasks()` to collect votes for, `safe_tasks()`, and `annotators()` to retrain or drop.
        """
        from finegold.insight.next_votes import plan

        return plan(self, budget, annotators=available, safe=safe)

    def sample(self, n: int = 100, **options: Any) -> Sample:
        """Draw the tasks that a person checks, so that `certify` can estimate how accurate all
        labels are.

        Args:
            n: The number of tasks to check.
            **options: `risk`, `seed`, `looks` and `items`, as in `finegold.sample`.

        Returns:
            `save(path)` writes the sheet and its plan.
        """
        from finegold.api.sample import sample

        return sample(self, n, **options)

    def certify(self, checks: Any, plan: Any = None) -> Certificate:
        """Estimate how accurate all labels are, from a completed sheet of a sample of this result.

        Args:
            checks (path, data frame or mapping): The filled sheet, or task -> truth.
            plan (Plan, Sample or path): The plan. By default, the file beside the sheet.

        Returns:
            The accuracy of all labels with a 95 % interval, and what may be accepted unchecked.
        """
        from finegold.api.certify import certify

        return certify(self, checks, plan=plan)

    def save(self, path: str | Path) -> None:
        """Save everything, with the votes, in one file that `finegold.load` reads.

        Args:
            path: The file to write, usually with the suffix .finegold.
        """
        from finegold.results.archive import save

        save(self, Path(path))

    def to_table(self, address: str, table: str, *, probabilities: bool = False) -> None:
        """Write the labels into a table of a database, in one transaction.

        Args:
            address: postgresql://..., sqlite:///FILE or duckdb:///FILE.
            table: The table. An existing table of labels is replaced.
            probabilities: Add one column per class with its probability.
        """
        from finegold.io.databases import write_labels_to_table

        write_labels_to_table(self, address, table, probabilities=probabilities)

    def _own_name(self, table: Any, column: int) -> Frame:
        """Name the first column as in the votes, where 0 is the column of tasks and 1 that of
        annotators.
        """
        named: Frame = tables.own_name(table, self.annotations, column)
        return named

    def _repr_html_(self) -> str:
        from html import escape

        from finegold.insight.majority import n_flips
        from finegold.votes.notebook import cell_html, meter_html, name_html, page_html, table_html

        label, confidence, n_tasks = self.label, self.confidence, len(self.label_codes)
        rows = [
            [
                name_html(self.task_names, i),
                name_html(label[i : i + 1], 0),
                meter_html(confidence[i]),
                cell_html(f"{confidence[i]:.3f}" + (" (tied)" if self.tied[i] else "")),
                cell_html(f"{self.votes_per_task[i]:,}"),
            ]
            for i in range(min(TASKS_SHOWN, n_tasks))
        ]
        ties = f"{int(self.tied.sum()):,} tied labels"
        against = f"{n_flips(self):,} labels against the majority vote, {ties}"
        order = np.argsort(-self.accuracy, kind="stable").tolist()
        shown = max(min(ANNOTATORS_SHOWN, len(order) // 2), 1)
        best, worst = (
            ", ".join(
                f"{name_html(self.annotator_names, j)} ({100 * self.agreement[j]:.0f} % agreement)"
                for j in some
            )
            for some in (order[:shown], order[::-1][:shown])
        )
        return page_html(
            f"<b>{escape(self.method)}</b>: {n_tasks:,} tasks, {len(order):,} annotators, "
            f"{len(self.class_names):,} {'classes' if self.label_sets is None else 'options'}",
            escape(self.stopped),
            table_html(["task", "label", "", "confidence", "votes"], rows, n_tasks),
            against,
            f"best annotators: {best}; worst: {worst}",
            *(escape(note) for note in self.notes),
        )


def load(path: str | Path) -> Result:
    """Load a result that `Result.save` or `finegold aggregate --save` wrote.

    Args:
        path: The file, usually with the suffix .finegold.

    Returns:
        With the same arrays, to the bit.

    Raises:
        InputError: If the file is not a saved result, is damaged, or was written by a later
            version.

    Examples:
        >>> import finegold, tempfile
        >>> votes = finegold.Annotations.from_arrays([1, 1, 2], list("aba"), list("xxy"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     finegold.aggregate(votes, "mv").save(f"{folder}/labels.finegold")
        ...     finegold.load(f"{folder}/labels.finegold").label.tolist()
        ['x', 'y']
    """
    from finegold.results import archive

    return Result.of(archive.load(path))
