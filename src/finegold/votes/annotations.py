"""Annotations: every vote as integers, grouped into cells.

A cell is the set of votes of one task for one class. Nearly everything that a method computes
depends on the task and the class voted for, not on who voted, so it is computed once per cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from finegold.errors import InputError, use, warn_user
from finegold.kernels import Votes, cells
from finegold.votes.encoding import (
    MISSING,
    Codes,
    Names,
    as_text,
    encode,
    listed,
    match,
    series_of,
    text_of,
)
from finegold.votes.hygiene import Hygiene, left_out_words
from finegold.votes.labels import encode_classes

Repeated = Literal["first", "last", "majority", "all", "error"]
# the others keep the first vote
SORT_POLICIES = {"last": cells.LAST, "all": cells.KEEP_ALL}
MAX_CLASSES = 65_536


@dataclass(frozen=True)
class Counts:
    """The numbers of rows that were read and left out."""

    rows: int = 0
    # rows without a label
    missing: int = 0
    # repeated votes of an annotator on a task that were left out
    repeated: int = 0
    # gold truths of tasks that have no votes
    gold_unused: int = 0
    # of an export: {"cancelled annotations": 3}
    left_out: dict[str, int] = field(default_factory=dict)
    # pairs of task and annotator whose repeated votes disagree
    disagreeing: int = field(default=0, compare=False)


@dataclass(frozen=True, eq=False)
class Predictions:
    """The probabilities of one or more models for tasks with votes and for tasks without votes."""

    # names
    models: list[str]
    # [M, T + P, K]; rows of 0 for tasks without a prediction
    probabilities: NDArray[np.float64]
    # [P] tasks that have predictions but no votes
    task_names: Names

    @property
    def known(self) -> NDArray[np.bool_]:
        """[M, T + P] Whether the model has a prediction for the task."""
        return np.asarray(self.probabilities.any(axis=2))


@dataclass(frozen=True, eq=False)
class Annotations:
    """Votes as integers, sorted by task, class and annotator.

    The same votes in any order give the same arrays. A cell is the set of votes of one task for one
    class. The constructor is not meant for users: `finegold.read`, `from_arrays` and `from_matrix`
    make annotations.

    Attributes:
        task_ptr (ndarray of shape (n_tasks + 1,)): The first cell of each task.
        cell_ptr (ndarray of shape (n_cells + 1,)): The first vote of each cell.
        cell_class (ndarray of shape (n_cells,)): The class of each cell, as a position in
            `class_names`.
        annotator (ndarray of shape (n_votes,)): Who cast each vote, as a position in
            `annotator_names`.
        gold (ndarray of shape (n_tasks,)): The known truth of each task, as a position in
            `class_names`; -1 where there is none. If `multi`, a position in `gold_sets`.
        task_names, annotator_names, class_names (sequence): The names, sorted.
        unlabelled (sequence): Names of tasks that have missing votes only.
        never_voted (sequence): Names of annotators who have missing votes only.
        counts: How many rows were read and how many were left out, and why.
        hygiene: What looked wrong in the labels, and how spellings became classes.
        columns (tuple of two str): What the user calls tasks and annotators: the names of their
            columns.
        multi: Whether an annotator may choose several classes of a task. The last class is then "",
            for nothing chosen.
        gold_sets (tuple of tuple of int): If `multi`: the distinct known sets, as positions in
            `class_names`.

    Examples:
        >>> from finegold import Annotations
        >>> votes = Annotations.from_arrays(["a", "a", "b"], ["ann", "bob", "ann"], ["cat", "dog", "cat"])
        >>> votes
        Annotations(3 votes, 2 tasks, 2 annotators, 2 classes)
        >>> votes.class_names.tolist(), votes.votes_per_task.tolist()
        (['cat', 'dog'], [2, 1])
    """

    task_ptr: NDArray[np.int64]
    cell_ptr: NDArray[np.int64]
    cell_class: NDArray[np.uint8] | NDArray[np.uint16]
    annotator: Codes
    gold: Codes
    task_names: Names
    annotator_names: Names
    class_names: Names
    unlabelled: Names = field(default_factory=lambda: Names([]))
    never_voted: Names = field(default_factory=lambda: Names([]))
    counts: Counts = Counts()
    hygiene: Hygiene = field(default_factory=Hygiene)
    columns: tuple[str, str] = ("task", "annotator")
    multi: bool = False
    gold_sets: tuple[tuple[int, ...], ...] = ()

    @property
    def n_tasks(self) -> int:
        """The number of tasks that have votes."""
        return len(self.task_ptr) - 1

    @property
    def n_annotators(self) -> int:
        """The number of annotators who voted."""
        return len(self.annotator_names)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.class_names)

    @property
    def n_votes(self) -> int:
        """The number of votes."""
        return len(self.annotator)

    @property
    def votes_per_task(self) -> NDArray[np.int64]:
        """The number of votes of each task."""
        return np.diff(self.cell_ptr[self.task_ptr])

    def __repr__(self) -> str:
        return (
            f"Annotations({self.n_votes:,} votes, {self.n_tasks:,} tasks, "
            f"{self.n_annotators:,} annotators, {self.n_classes:,} classes"
            f"{'; left out: ' if self.left_out else ''}{self.left_out})"
        )

    @property
    def left_out(self) -> str:
        """What was read but left out, in words; empty if nothing was."""
        return left_out_words(self)

    def votes(self) -> tuple[Codes, Codes, Codes]:
        """Return task, annotator and class of every vote, in the order of the cells.

        Returns:
            tuple of three ndarrays of shape (n_votes,): Positions in `task_names`,
                `annotator_names` and `class_names`.
        """
        per_cell = np.diff(self.cell_ptr)
        cell_task = np.repeat(np.arange(self.n_tasks, dtype=np.int32), np.diff(self.task_ptr))
        return (
            np.repeat(cell_task, per_cell),
            self.annotator,
            np.repeat(self.cell_class.astype(np.int32), per_cell),
        )

    @property
    def votes_per_class(self) -> NDArray[np.int64]:
        """The number of votes for each class."""
        return np.bincount(
            self.cell_class, np.diff(self.cell_ptr), minlength=self.n_classes
        ).astype(np.int64)

    @classmethod
    def from_arrays(
        cls,
        task: ArrayLike,
        annotator: ArrayLike,
        label: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        gold: Mapping[Any, Any] | None = None,
        repeated: Repeated = "first",
    ) -> Annotations:
        """Make annotations from arrays with one entry per vote.

        Args:
            task (array_like of shape (n,)): The name of the task of each vote, of any type.
            annotator (array_like of shape (n,)): The name of its annotator, of any type.
            label (array_like of shape (n,)): Its class, of any type; None or NaN means no vote.
            classes: All classes, in the order wanted. Any other label is then an error.
            gold: Known truths: task -> class.
            repeated ({"first", "last", "majority", "all", "error"}): Which votes count if an
                annotator voted on a task more than once.

        Returns:
            The votes.

        Raises:
            InputError: If the arrays differ in length, or if a vote has no task or no annotator.

        Examples:
            >>> from finegold import Annotations
            >>> Annotations.from_arrays(["a", "a", "b"], ["ann", "bob", "ann"], ["cat", "dog", "cat"])
            Annotations(3 votes, 2 tasks, 2 annotators, 2 classes)
        """
        tasks, annotators, labels = Names(task), Names(annotator), Names(label)
        lengths = [len(column) for column in (tasks, annotators, labels)]
        if len({*lengths}) != 1:
            shown = ", ".join(f"{length:,}" for length in lengths)
            raise InputError(
                f"task, annotator and label must be equally long, but have {shown} entries"
            )
        known = {name: truth for name, truth in (gold or {}).items() if truth is not None}
        by_task, by_annotator = encode(tasks), encode(annotators)
        codes, truths, class_names = encode_classes(
            encode(labels), list(known.values()), classes, False, lambda row: f"row {row + 1:,}"
        )
        return cls.from_codes(
            *(by_task.codes, by_annotator.codes, codes),
            *(by_task.names, by_annotator.names, class_names),
            gold=(match(list(known), by_task.names), truths),
            repeated=repeated,
        )

    @classmethod
    def from_matrix(
        cls,
        matrix: ArrayLike,
        abstain: Any = -1,
        *,
        annotators: Sequence[Any] | None = None,
        tasks: Sequence[Any] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> Annotations:
        """Make annotations from a label matrix like that of Snorkel: one row per task, one column
        per annotator.

        Args:
            matrix (array_like of shape (n_tasks, n_annotators)): The label that each annotator gave
                to each task: integers, text or objects.
            abstain (object): The value that means "no vote". None, NaN and masked entries mean the
                same.
            annotators: Names of the columns. By default they are numbered from 0.
            tasks: Names of the rows. By default they are numbered from 0.
            classes: All classes, in the order wanted. Any other label is then an error.

        Returns:
            Rows without a vote are listed in `unlabelled`, columns without a vote in `never_voted`.

        Raises:
            InputError: If the matrix does not have two dimensions, has no votes, or if the names do
                not match its shape.

        Examples:
            >>> from finegold import Annotations
            >>> votes = Annotations.from_matrix([[0, -1, 1], [1, -1, -1], [-1, -1, -1]], annotators=["a", "b", "c"])
            >>> votes
            Annotations(3 votes, 2 tasks, 2 annotators, 2 classes)
            >>> votes.unlabelled.tolist(), votes.never_voted.tolist()
            ([2], ['b'])
        """
        if hasattr(type(matrix), "columns"):
            how = 'finegold.read(frame, layout="wide", missing=[-1])'
            raise InputError(f"this is a data frame, not a matrix; read it with {how}")
        try:
            values = np.asarray(matrix)
        except ValueError as error:
            raise InputError(f"the rows of the matrix must be equally long ({error})") from None
        if values.ndim != 2:
            problem = "a label matrix has one row per task and one column per annotator"
            raise InputError(f"{problem}, but the shape is {values.shape}")
        # NumPy turns [1, "a"] into text
        if values.dtype.kind == "U" and not isinstance(matrix, np.ndarray):
            values = np.asarray(matrix, dtype=object)
        labels = series_of(values.ravel())
        numbers = labels.drop_nulls().drop_nans() if labels.dtype.is_float() else None
        # missing values turn integers into floats
        if numbers is not None and (numbers == numbers.round()).all() and numbers.is_finite().all():
            labels = labels.fill_nan(None).cast(pl.Int64)
        abstains = (as_text(labels) == text_of(abstain)).fill_null(True)
        labels = labels.set(
            abstains | pl.Series(np.ma.getmaskarray(np.ma.asanyarray(matrix)).ravel()), None
        )
        n_tasks, n_annotators = values.shape
        of_rows = _matrix_names(tasks, n_tasks, "tasks")
        of_columns = _matrix_names(annotators, n_annotators, "annotators")
        return cls.from_arrays(
            of_rows[np.repeat(np.arange(n_tasks), n_annotators)],
            of_columns[np.tile(np.arange(n_annotators), n_tasks)],
            labels,
            classes=classes,
        )

    @classmethod
    def from_codes(
        cls,
        task: Codes,
        annotator: Codes,
        label: Codes,
        task_names: Names | ArrayLike,
        annotator_names: Names | ArrayLike,
        class_names: Names | ArrayLike,
        *,
        gold: tuple[Codes, Codes] | None = None,
        repeated: Repeated = "first",
    ) -> Annotations:
        """Make annotations from integer codes. All readers use this function.

        Args:
            task (ndarray of int of shape (n,)): The position of each vote's task in `task_names`.
            annotator (ndarray of int of shape (n,)): That of its annotator in `annotator_names`.
            label (ndarray of int of shape (n,)): That of its class in `class_names`; -1 means no
                vote.
            task_names (sequence): The names of the tasks, sorted; those without votes are left out.
            annotator_names (sequence): The names of the annotators, likewise.
            class_names (sequence): The names of the classes, sorted.
            gold (tuple of two ndarrays): Known truths: positions of tasks, and of their classes.
            repeated ({"first", "last", "majority", "all", "error"}): Which votes count if an
                annotator voted on a task more than once.

        Returns:
            The votes.
        """
        task_names, annotator_names = Names(task_names), Names(annotator_names)
        class_names = Names(class_names)
        if repeated not in get_args(Repeated):
            raise InputError(
                f'repeated must be "first", "last", "majority", "all" or "error", not "{repeated}"'
            )
        if (n_classes := len(class_names)) > MAX_CLASSES:
            problem = f"{n_classes:,} different labels: is this the right column?"
            raise InputError(f"{problem} (at most {MAX_CLASSES:,})")
        for name, codes in (("task", task), ("annotator", annotator)):
            if codes.size and codes.min() == MISSING:
                row, n_such = int(np.argmax(codes == MISSING)), (codes == MISSING).sum()
                problem = f"row {row + 1} has a label but no {name}; there are {n_such:,} such rows"
                raise InputError(problem)
        n_rows, asked = len(label), task
        if not label.size or label.min() == MISSING:
            voted = np.flatnonzero(label != MISSING)
            if not voted.size:
                raise InputError("there are no votes: every label is missing")
            task, annotator, label = task[voted], annotator[voted], label[voted]
        n_votes, disagreeing = len(label), 0
        if repeated == "majority":
            disagreeing = cells.pack(task, annotator, label, cells.FIRST).n_disagreeing
            task, annotator, label = majority_of_repeats(task, annotator, label)
            if not len(task):
                tied = "the repeated votes of every annotator are tied on every task"
                raise InputError(f"there are no votes left: {tied}")
        has_vote = cells.count(task, len(task_names)) > 0
        was_asked = has_vote if asked is task else cells.count(asked, len(task_names)) > 0
        has_voted = cells.count(annotator, len(annotator_names)) > 0
        rows = cells.pack(task, annotator, label, SORT_POLICIES.get(repeated, cells.FIRST))
        # the largest arrays, which may be nobody else's
        del task, annotator, label, codes, asked
        made = cells.sort(rows, n_classes)
        if not has_voted.all():
            new_code = np.cumsum(has_voted, dtype=np.int32) - np.int32(1)
            made = made._replace(annotator=new_code[made.annotator])
        kept = len(made.annotator)
        if repeated == "error" and kept < n_votes:
            problem = f"{n_votes - kept:,} votes repeat an earlier vote of the same annotator on"
            remedies = [use(repeated=rule) for rule in get_args(Repeated)[:-1]]
            raise InputError(f"{problem} the same task", remedies=remedies)
        truths, gold_unused = np.full(len(made.task_ptr) - 1, MISSING, dtype=np.int32), 0
        if gold is not None:
            known = (gold[0] != MISSING) & (gold[1] != MISSING)
            known[known] = has_vote[gold[0][known]]
            truths[(np.cumsum(has_vote) - 1)[gold[0][known]]] = gold[1][known]
            gold_unused = len(known) - int(known.sum())
            warn_of_unused_gold(gold_unused)
        disagreeing += rows.n_disagreeing
        left_out = (n_rows - n_votes, n_votes - kept, gold_unused)
        return cls(
            *made,
            gold=truths,
            task_names=task_names if has_vote.all() else task_names[has_vote],
            annotator_names=annotator_names if has_voted.all() else annotator_names[has_voted],
            class_names=class_names,
            unlabelled=task_names[was_asked & ~has_vote],
            never_voted=annotator_names[~has_voted],
            counts=Counts(n_rows, *left_out, disagreeing=disagreeing),
        )


def warn_of_unused_gold(count: int) -> None:
    if count:
        text = f"{count:,} gold truths belong to tasks without votes and are not used"
        warn_user(text)


def _matrix_names(given: Sequence[Any] | None, length: int, what: str) -> Names:
    """Return the names of rows or columns, by default numbers from 0."""
    names = Names(np.arange(length) if given is None else list(given))
    if len(names) != length or len(encode(names).names) != length:
        problem = f"{what} must be {length:,} distinct names, one for each in the matrix"
        raise InputError(f"{problem}, but are {listed(names)}")
    return names


# Repeated votes of an annotator on a task


class Repeats(NamedTuple):
    """Pairs of votes that one annotator cast on one task."""

    pairs: int
    agreeing: int


PAIR = ("task", "annotator")


def majority_of_repeats(task: Codes, annotator: Codes, label: Codes) -> tuple[Codes, Codes, Codes]:
    """Return one vote per annotator and task, the most frequent one. If several are tied, there is
    no vote.
    """
    # The result does not depend on the order of the rows. An LLM judge whose verdict changes when
    # the answers are swapped therefore has no vote.
    counted = _count_votes(task, annotator, label)
    best = counted.filter(pl.col("n") == pl.col("n").max().over(PAIR))
    chosen = best.filter(pl.len().over(PAIR) == 1)
    return chosen["task"].to_numpy(), chosen["annotator"].to_numpy(), chosen["label"].to_numpy()


def count_repeats(task: Codes, annotator: Codes, label: Codes) -> Repeats:
    """Count pairs of votes of one annotator on one task, and those that agree."""
    pair = np.sort(task * (np.int64(annotator.max()) + 1) + annotator)
    # the usual case, and this check is cheap
    if (pair[1:] != pair[:-1]).all():
        return Repeats(0, 0)
    counted = _count_votes(task, annotator, label)
    votes = counted.group_by(PAIR).agg(pl.col("n").sum())
    n_pairs, agreeing = (
        int((each["n"] * (each["n"] - 1)).to_numpy().sum()) // 2 for each in (votes, counted)
    )
    return Repeats(n_pairs, agreeing)


def _count_votes(task: Codes, annotator: Codes, label: Codes) -> pl.DataFrame:
    """Return how often each annotator gave each label to each task, as `n`."""
    votes = pl.DataFrame({"task": task, "annotator": annotator, "label": label})
    return votes.group_by(votes.columns).agg(pl.len().cast(pl.Int64).alias("n"))


def votes_on(
    votes: Annotations, tasks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Codes, Codes]:
    """Return the votes on these tasks: the position of the task, annotator, class."""
    first = votes.cell_ptr[votes.task_ptr[tasks]]
    n = votes.cell_ptr[votes.task_ptr[tasks + 1]] - first
    vote = np.repeat(first - np.cumsum(n) + n, n) + np.arange(n.sum())
    cell = np.searchsorted(votes.cell_ptr, vote, side="right") - 1
    label = votes.cell_class[cell].astype(np.int32)
    return np.repeat(np.arange(len(tasks)), n), votes.annotator[vote], label


def kernel_votes(votes: Annotations, first: int = 0, end: int | None = None) -> Votes:
    """Return the votes of a range of tasks, with the unsigned integers that kernels take."""
    task_ptr = votes.task_ptr[first : votes.n_tasks + 1 if end is None else end + 1]
    return Votes(
        task_ptr.view(np.uint64),
        votes.cell_ptr.view(np.uint64),
        votes.cell_class,
        votes.annotator.view(np.uint32),
    )
