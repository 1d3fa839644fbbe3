"""Annotations: every vote as integers, grouped into cells.

A cell is the set of votes of one task for one class. Nearly everything that a method computes depends on the
task and the class voted for, not on who voted, so it is computed once per cell.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.encoding import MISSING, Codes, Names, as_column, encode, look_up, to_values
from karat.errors import InputError, KaratWarning
from karat.kernels import group
from karat.repeats import majority_of_repeats

__all__ = ["Annotations", "Counts", "Repeated"]

Repeated = Literal["first", "last", "majority", "all", "error"]
POLICY = {
    "first": group.FIRST,
    "last": group.LAST,
    "majority": group.FIRST,  # of the one that is left
    "all": group.KEEP_ALL,
    "error": group.FIRST,
}
MOST_CLASSES = 65_536


@dataclass(frozen=True)
class Counts:
    """What was read and what was left out; nothing is dropped in silence."""

    rows: int = 0
    missing: int = 0  # rows without a label
    repeated: int = 0  # further votes of an annotator on the same task, left out
    gold_unused: int = 0  # gold truths of tasks that have no votes
    left_out: dict[str, int] = field(default_factory=dict)  # of an export: {"cancelled annotations": 3}


@dataclass(frozen=True, eq=False)
class Annotations:
    """Votes sorted by task, class and annotator: the same votes in any order give the same arrays."""

    task_ptr: NDArray[np.int64]  # [T+1] first cell of each task
    cell_ptr: NDArray[np.int64]  # [C+1] first vote of each cell
    cell_class: NDArray[np.uint8] | NDArray[np.uint16]  # [C] the class of each cell
    annotator: Codes  # [L] who cast each vote
    gold: Codes  # [T] the known truth, MISSING where there is none
    task_names: Names
    annotator_names: Names
    class_names: Names
    unlabelled: Names = field(default_factory=lambda: np.empty(0, dtype=object))  # tasks with missing votes only
    counts: Counts = Counts()

    @property
    def n_tasks(self) -> int:
        return len(self.task_ptr) - 1

    @property
    def n_annotators(self) -> int:
        return len(self.annotator_names)

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    @property
    def n_votes(self) -> int:
        return len(self.annotator)

    @property
    def votes_per_task(self) -> NDArray[np.int64]:
        return np.diff(self.cell_ptr[self.task_ptr])

    def __repr__(self) -> str:
        return (
            f"Annotations({self.n_votes:,} votes, {self.n_tasks:,} tasks, "
            f"{self.n_annotators:,} annotators, {self.n_classes:,} classes)"
        )

    def _repr_html_(self) -> str:
        from karat.notebook import annotations_html

        return annotations_html(self)

    def votes(self) -> tuple[Codes, Codes, Codes]:
        """The codes (task, annotator, label) of every vote, in the order of the cells."""
        per_cell = np.diff(self.cell_ptr)
        cell_task = np.repeat(np.arange(self.n_tasks, dtype=np.int32), np.diff(self.task_ptr))
        return np.repeat(cell_task, per_cell), self.annotator, np.repeat(self.cell_class.astype(np.int32), per_cell)

    def label_of(self, votes: NDArray[np.int64]) -> NDArray[Any]:
        """The class that each of these votes is for, by their places."""
        return self.cell_class[np.searchsorted(self.cell_ptr, votes, side="right") - 1]

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
        """One entry per vote. Names may be of any kind; a label of None or NaN is no vote.

        >>> from karat import Annotations
        >>> Annotations.from_arrays(["a", "a", "b"], ["ann", "bob", "ann"], ["cat", "dog", "cat"])
        Annotations(3 votes, 2 tasks, 2 annotators, 2 classes)
        """
        columns = [as_column(task), as_column(annotator), as_column(label)]
        if len({len(column) for column in columns}) != 1:
            lengths = ", ".join(f"{len(column):,}" for column in columns)
            raise InputError(f"task, annotator and label must be equally long, but have {lengths} entries")
        gold = dict(gold or {})
        task_codes, task_names = encode(columns[0])
        annotator_codes, annotator_names = encode(columns[1])
        label_codes, class_names = _encode_labels(columns[2], list(gold.values()), classes)
        return cls.from_codes(
            task_codes,
            annotator_codes,
            label_codes[: len(columns[2])],
            task_names,
            annotator_names,
            class_names,
            gold=(look_up(list(gold), task_names), label_codes[len(columns[2]) :]),
            repeated=repeated,
        )

    @classmethod
    def from_codes(
        cls,
        task: Codes,
        annotator: Codes,
        label: Codes,
        task_names: Names,
        annotator_names: Names,
        class_names: Names,
        *,
        gold: tuple[Codes, Codes] | None = None,
        repeated: Repeated = "first",
    ) -> Annotations:
        """The one door: every reader ends here. A MISSING label is no vote; unused names are left out."""
        _check(task, annotator, class_names, repeated)
        n_rows, asked = len(label), task
        task, annotator, label = _votes_only(task, annotator, label)
        n_votes = len(label)
        if repeated == "majority":
            task, annotator, label = _merged(task, annotator, label)
        counts = group.count(task, len(task_names))
        was_asked = group.count(asked, len(task_names)) > 0 if asked is not task else counts > 0
        has_vote = counts > 0
        start, by_annotator, by_label = _grouped(task, annotator, label, counts, len(class_names))
        del task, annotator, label, counts, asked
        seen = _renumber_seen(by_annotator, len(annotator_names))
        kept = _sort(start, by_annotator, by_label, repeated)
        task_ptr, cell_ptr, cell_class = group.cells(start, by_label[:kept])
        truths, gold_unused = _gold_of(gold, has_vote)
        return cls(
            task_ptr=task_ptr,
            cell_ptr=cell_ptr,
            cell_class=cell_class,
            annotator=by_annotator[:kept],
            gold=truths,
            task_names=_take(task_names, has_vote),
            annotator_names=_take(annotator_names, seen),
            class_names=class_names,
            unlabelled=task_names[np.flatnonzero(was_asked & ~has_vote)],
            counts=Counts(n_rows, n_rows - n_votes, n_votes - kept, gold_unused),
        )


def _check(task: Codes, annotator: Codes, class_names: Names, repeated: str) -> None:
    if repeated not in get_args(Repeated):
        raise InputError(f'repeated must be "first", "last", "majority", "all" or "error", not "{repeated}"')
    if len(class_names) > MOST_CLASSES:
        raise InputError(f"{len(class_names):,} different labels: is this the right column? (at most {MOST_CLASSES:,})")
    for name, codes in (("task", task), ("annotator", annotator)):
        if codes.size and codes.min() == MISSING:
            row = int(np.argmax(codes == MISSING))
            raise InputError(
                f"row {row + 1} has a label but no {name}; {(codes == MISSING).sum():,} rows are like that"
            )


def _votes_only(task: Codes, annotator: Codes, label: Codes) -> tuple[Codes, Codes, Codes]:
    """Rows that have a label: the very arrays, where all rows have one."""
    if label.size and label.min() != MISSING:
        return task, annotator, label
    voted = np.flatnonzero(label != MISSING)
    if not voted.size:
        raise InputError("there is not a single vote: every label is missing")
    return task[voted], annotator[voted], label[voted]


def _merged(task: Codes, annotator: Codes, label: Codes) -> tuple[Codes, Codes, Codes]:
    merged = majority_of_repeats(task, annotator, label)
    if not len(merged[0]):
        raise InputError("there is not a single vote left: every annotator is torn between labels on every task")
    return merged


def _grouped(
    task: Codes, annotator: Codes, label: Codes, counts: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[np.int64], Codes, group.Labels]:
    """Where the votes of each task that has any begin, and (annotator, label) of the votes in that order."""
    start = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=start[1:])
    by_annotator = np.empty(len(task), np.int32)
    by_label: group.Labels = np.empty(len(task), np.uint8)
    if n_classes > 256:
        by_label = np.empty(len(task), np.uint16)
    group.group_by_task(task, annotator, label, start[:-1].copy(), by_annotator, by_label)
    used = np.append(counts > 0, True)
    return start if used.all() else start[used], by_annotator, by_label


def _sort(start: NDArray[np.int64], annotator: Codes, label: group.Labels, repeated: Repeated) -> int:
    """Sorts the votes of each task. -> how many are kept"""
    kept = group.sort_tasks(start, annotator, label, POLICY[repeated])
    left_out = len(label) - kept
    if repeated == "error" and left_out:
        raise InputError(
            f"{left_out:,} votes repeat an earlier vote of the same annotator on the same task; "
            'choose repeated="first", "last", "majority" or "all" (--repeated)'
        )
    return kept


def _renumber_seen(annotator: Codes, n: int) -> NDArray[np.bool_]:
    """Which annotators have votes; these are counted without the others, in place."""
    seen: NDArray[np.bool_] = group.count(annotator, n) > 0
    if not seen.all():
        group.renumber(annotator, _renumber(seen))
    return seen


def _take(names: Names, used: NDArray[np.bool_]) -> Names:
    taken: Names = names if used.all() else names[np.flatnonzero(used)]
    return taken


def _renumber(used: NDArray[np.bool_]) -> Codes:
    numbers: Codes = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return numbers


def _encode_labels(
    labels: NDArray[Any], truths: list[Any], classes: Sequence[Any] | None
) -> tuple[Codes, NDArray[Any]]:
    """Codes of the labels, then of the gold truths, into one vocabulary of classes."""
    if classes is None and not truths:
        return encode(labels)
    both = _join(labels, as_column(truths) if truths else labels[:0])
    if classes is None:
        return encode(both)
    given = as_column(list(classes))
    present, names = encode(both)
    codes = look_up(names, given)
    if (codes == MISSING).any():
        raise InputError(
            f"label {names[codes == MISSING].tolist()[0]!r} is not among the given classes {given.tolist()}"
        )
    return np.append(codes, np.int32(MISSING))[present], given


def _join(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    if first.dtype.kind != second.dtype.kind:  # NumPy would turn 1 into "1" here
        return as_column([*to_values(first), *to_values(second)])
    return np.concatenate([first, second])


def _gold_of(gold: tuple[Codes, Codes] | None, has_vote: NDArray[np.bool_]) -> tuple[Codes, int]:
    """The truth of each task with votes, and how many truths belong to no such task."""
    truths = np.full(int(has_vote.sum()), MISSING, dtype=np.int32)
    if gold is None:
        return truths, 0
    task, truth = gold
    known = (task != MISSING) & (truth != MISSING)
    usable = known.copy()
    usable[known] = has_vote[task[known]]
    truths[_renumber(has_vote)[task[usable]]] = truth[usable]
    unused = len(task) - int(usable.sum())
    warn_of_unused_gold(unused)
    return truths, unused


def warn_of_unused_gold(count: int) -> None:
    if count:
        text = f"{count:,} gold truths belong to tasks without votes and are not used"
        warnings.warn(text, KaratWarning, stacklevel=4)
