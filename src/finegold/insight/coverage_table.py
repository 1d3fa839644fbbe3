"""Measure what each annotator or labelling function covers: its votes, overlaps and conflicts, as shares of all tasks.

Only sums over votes and cells are computed, never a dense table of tasks and annotators.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from finegold.errors import InputError
from finegold.insight.votes import single_votes, true_answers, truth_codes, votes_of
from finegold.io.read import read
from finegold.kernels.insight import count_tasks
from finegold.results.data import ResultData
from finegold.results.tables import known_intervals
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes, Names, to_list
from finegold.votes.frames import make_frame, series_like

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


NEVER_VOTED_VALUES: dict[str, Any] = {  # for annotators who never voted; all other columns are zero
    "polarity": [],
    "accuracy": None,
    "accuracy_low": None,
    "accuracy_high": None,
    "empirical_accuracy": None,
}


class Counted(NamedTuple):
    """Numbers of tasks, for each annotator [W] and in total."""

    voted: Integers
    shared: Integers
    disputed: Integers
    n_shared: int
    n_disputed: int


def coverage(votes: Any, truth: Any = None, **reading: Any) -> Any:
    """Return what each annotator covers, like Snorkel's LFAnalysis for labelling functions.

    Parameters
    ----------
    votes : path, data frame, Annotations or ResultData
        What `finegold.read` takes, or a result, which adds expected accuracies.
    truth : path, data frame, mapping or array of class codes, optional
        Known truths of some or all tasks.
    **reading
        Keywords of `finegold.read`, such as ``wide=True, missing=[-1]`` for a label matrix.

    Returns
    -------
    DataFrame
        Of the kind of the votes (Polars for files and arrays), with one row per annotator:

        - annotator, n_votes
        - coverage: share of all tasks on which the annotator votes
        - polarity: list of the classes that the annotator ever votes for
        - overlaps: share of all tasks on which the annotator and another vote
        - conflicts: share of all tasks on which another annotator votes differently
        - accuracy: with a result, the expected accuracy; with gold, accuracy_low and accuracy_high, its 95 % interval
        - n_truths, empirical_accuracy: with truths, the number of votes on tasks whose truth is known, and the share
          of these that is right

        Annotators who never voted come last.

    Raises
    ------
    InputError
        If the votes cannot be read, or no truth belongs to a task with votes.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_matrix([[0, 0, -1], [1, 0, -1], [1, -1, 1], [-1, -1, -1]])
    >>> table = finegold.coverage(votes, truth={0: 0, 1: 1, 2: 1})
    >>> table["coverage"].to_list(), table["conflicts"].to_list()
    ([0.75, 0.5, 0.25], [0.25, 0.25, 0.0])
    >>> table["polarity"].to_list(), table["empirical_accuracy"].to_list()
    ([[0, 1], [0], [1]], [1.0, 0.5, 1.0])
    """
    if isinstance(votes, ResultData) and reading:
        raise InputError(f"{', '.join(reading)} cannot be applied to a result, whose votes are read already")
    annotations = votes_of(votes if isinstance(votes, ResultData) else read(votes, **reading))
    if annotations.multi:
        truth = None if truth is None else true_answers(annotations, truth)
        annotations = single_votes(annotations)
    columns = _covered(annotations)
    if isinstance(votes, ResultData):
        columns |= {"accuracy": votes.accuracy, **known_intervals(votes)}
    if truth is not None:
        columns |= _judged(annotations, truth_codes(annotations, truth, with_gold=True))
    return make_frame(_with_never_voted(columns, annotations), like=annotations.annotator_names)


def coverage_figures(votes: Annotations) -> dict[str, Any]:
    """Return the same shares for all annotators together: tasks with votes, with several annotators, in conflict."""
    votes = single_votes(votes)
    counted, n_tasks = _count(votes), votes.n_tasks + len(votes.unlabelled)
    n_voted_for = np.diff(_classes_of(votes).indptr)
    return {
        "n_tasks": n_tasks,
        "n_annotators": votes.n_annotators + len(votes.never_voted),
        "n_votes": votes.n_votes,
        "classes": to_list(votes.class_names),
        "coverage": votes.n_tasks / n_tasks,
        "overlaps": counted.n_shared / n_tasks,
        "conflicts": counted.n_disputed / n_tasks,
        "n_one_class": int((n_voted_for == 1).sum()),
        "never_voted": to_list(votes.never_voted),
    }


def _count(votes: Annotations) -> Counted:
    voted, shared, disputed = (np.zeros(votes.n_annotators, np.int64) for _ in range(3))
    pointers = votes.task_ptr.view(np.uint64), votes.cell_ptr.view(np.uint64)
    in_all = count_tasks(*pointers, votes.annotator.view(np.uint32), voted, shared, disputed)
    return Counted(voted, shared, disputed, *in_all)


def _covered(votes: Annotations) -> dict[str, Any]:
    counted, n_tasks = _count(votes), votes.n_tasks + len(votes.unlabelled)
    return {
        "n_votes": np.bincount(votes.annotator, minlength=votes.n_annotators),
        "coverage": counted.voted / n_tasks,
        "polarity": _polarity(votes),
        "overlaps": counted.shared / n_tasks,
        "conflicts": counted.disputed / n_tasks,
    }


def _polarity(votes: Annotations) -> list[list[Any]]:
    """Return the classes that each annotator votes for at least once."""
    seen = _classes_of(votes)
    names = to_list(votes.class_names)
    if len({type(name) for name in names}) > 1:
        names = [str(name) for name in names]  # the lists of a data frame hold values of one type
    voted = [names[code] for code in seen.indices.tolist()]
    return [voted[first:end] for first, end in zip(seen.indptr[:-1].tolist(), seen.indptr[1:].tolist(), strict=True)]


def _classes_of(votes: Annotations) -> csr_array:
    """[W, K] Return a sparse matrix that is True where the annotator votes for the class at least once."""
    _, who, label = votes.votes()
    return csr_array((np.ones(len(who), np.bool_), (who, label)), shape=(votes.n_annotators, votes.n_classes))


def _judged(votes: Annotations, truth: Codes) -> dict[str, Any]:
    task, who, label = votes.votes()
    known = truth[task] != MISSING
    n = np.bincount(who[known], minlength=votes.n_annotators)
    right = np.bincount(who[known & (truth[task] == label)], minlength=votes.n_annotators)
    shares = [r / m if m else None for r, m in zip(right.tolist(), n.tolist(), strict=True)]
    return {"n_truths": n, "empirical_accuracy": shares}


def _with_never_voted(columns: dict[str, Any], votes: Annotations) -> dict[str, Any]:
    n = len(votes.never_voted)
    if n:
        columns = {name: _extended(name, values, n) for name, values in columns.items()}
    return {"annotator": _all_names(votes) if n else votes.annotator_names, **columns}


def _extended(name: str, values: Any, n: int) -> Any:
    """Append n rows of the same type to a column, for annotators who never voted."""
    nothing = NEVER_VOTED_VALUES.get(name, 0)
    if isinstance(values, np.ndarray) and nothing is not None:
        return np.append(values, np.full(n, nothing, values.dtype))
    return [*values, *[nothing] * n]


def _all_names(votes: Annotations) -> Names:
    return series_like([*to_list(votes.annotator_names), *to_list(votes.never_voted)], votes.annotator_names)
