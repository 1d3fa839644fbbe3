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
from finegold.votes.encoding import match
from finegold.votes.frames import make_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

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
TASKS_SHOWN = 5


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
        annotator_agreement (ndarray of shape (W,)): The share of each annotator's votes that equal
            the label.
        annotator_accuracy (ndarray of shape (W,)): The expected share of right votes of each
            annotator, judged by the labels.
        annotator_accuracy_low, annotator_accuracy_high (ndarray of shape (W,)): A 95 % interval of
            it, from votes on gold tasks; NaN for annotators with fewer than five of them.
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
    def from_data(cls, data: ResultData) -> Result[Any]:
        """Return the data of a fit as a public result with the same arrays.

        Args:
            data: The data.
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
        code = match([annotator], self.annotator_names)
        if code[0] < 0:
            raise InputError(f"there is no annotator {annotator!r}")
        matrix: Floats = matrices.matrices(self, code, np.arange(len(self.class_names)))[0]
        return matrix

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
            DataFrame: With the column task (named as in the votes) and one column per class. Tasks
                without votes are left out.
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
        group: Mapping[Any, Any] | None = None,
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
            group: task -> group, such as the document of a sentence, for the column `group`. A
                group has one split.
        """
        from finegold.io.writers import write_training

        write_training(self, path, purpose, validation, group)

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
        if not by_option:
            return self._own_name(tables.annotators_table(self), 1)
        if self.label_sets is None:
            raise InputError("only sets of labels have options", remedies=[leave_out("by_option")])
        return self._own_name(annotators_of_sets(self, by_option=True), 1)

    def models(self) -> Frame:
        """Return a data frame with one row per model whose predictions were combined with the
        votes.

        Returns:
            DataFrame: With the columns model, n_tasks (with votes), n_tasks_without_votes, weight
                (1 for calibrated probabilities, 0 for a model that is ignored), accuracy (the
                expected share of right predictions) and confidence (what the model itself claims).
        """
        records = self.combined.records if self.combined else []
        columns = {name: [getattr(each, name) for each in records] for name in ModelRecord._fields}
        frame: Frame = make_frame(columns, like=self.task_names)
        return frame

    def flips(self) -> Frame:
        """Return a data frame of the tasks whose label has fewer votes than another class, with the
        reasons.
        """
        from finegold.insight.majority import flips

        return self._own_name(flips(self), 0)

    def contested(self, below: float = 0.2) -> Frame:
        """Return a data frame of the tasks whose label is nearly as probable as another class, the
        smallest lead first.

        Args:
            below: The label leads the next class by less than this probability.
        """
        from finegold.insight.majority import contested

        return self._own_name(contested(self, below), 0)

    def why(self, task: Any, against: Any = None) -> Frame:
        """Return a data frame with one row per vote on a task: the annotator, the vote and how much
        it supports the label.

        Args:
            task (str or int): The name of the task.
            against (str or int): The class to compare the label with. The default is the second
                most probable one.
        """
        from finegold.insight.majority import why

        return self._own_name(why(self, task, against), 1)

    def spammers(self) -> Frame:
        """Return a data frame of the annotators with how much their votes depend on the truth,
        those who do not first.
        """
        from finegold.insight.spam import spammers

        return self._own_name(spammers(self), 1)

    def trust(self, truth: Any = None) -> Trust:
        """Return how far the labels can be trusted: agreement, flips, spammers, correlated
        annotators and calibration, as figures, and warnings as text.

        Args:
            truth (path, data frame or mapping): Known truths to compare the labels with.
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
        scores: bool = False,
    ) -> None:
        """Write one HTML file that shows the labels, tasks in doubt, annotators and the fit.

        Args:
            path: The file to write.
            truth (path, data frame or mapping): Known truths to compare the labels with.
            certificate (Certificate or path): What `finegold.certify` measured: it stands first.
            svg: A folder for the figures, as SVG files.
            scores: Classes are ordered: show the scores of tasks, as in `scores`.
        """
        from finegold.report import write_report

        write_report(self, path, truth, certificate=certificate, svg=svg, scores=scores)

    def update(self, votes: Any = None, *, gold: Any = None, **more: Any) -> Result[Frame]:
        """Fit the votes of this result and new ones, on old and new tasks, by old and new
        annotators, and return a new result.

        The method and its settings stay, and the labels are those of all votes read at once.

        Args:
            votes (path, data frame or Annotations): The new votes, as in `finegold.aggregate`.
            gold (path, data frame or mapping): New known truths.
            **more: `repeated` says which votes count if an annotator votes on a task more than
                once. `predictions` replace those that the result was combined with. `threads`,
                `on_step`, `prior` and `engine` are as in `finegold.aggregate`. All other keywords
                are those of `finegold.read`.
        """
        from finegold.api.aggregate import update

        return update(self, votes, gold=gold, **more)

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

        from finegold.api.summary import sentences_of, summary_of
        from finegold.votes.notebook import Meter, rows_html

        label, confidence = self.label, self.confidence
        rows = [
            {
                "task": str(self.task_names[i]),
                "label": str(label[i]),
                "_": Meter(confidence[i]),
                "confidence": float(confidence[i]),
                "votes": int(self.votes_per_task[i]),
            }
            for i in range(min(TASKS_SHOWN, len(self.label_codes)))
        ]
        kind, sizes = "classes" if self.label_sets is None else "options", summary_of(self)
        title = (
            f"<b>{escape(self.method)}</b>: {sizes['n_tasks']:,} tasks,"
            f" {sizes['n_annotators']:,} annotators, {len(self.class_names):,} {kind}"
        )
        said = [self.stopped, *sentences_of(self, sizes)]
        return rows_html(title, rows, said, sizes["n_tasks"])


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

    return Result.from_data(archive.load(path))
