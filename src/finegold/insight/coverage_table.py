"""Measure what each annotator or labelling function covers: its votes, overlaps and conflicts, as
shares of all tasks.

Only sums over votes and cells are computed, never a dense table of tasks and annotators.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from finegold.errors import InputError
from finegold.insight.votes import Integers, single_votes, true_answers, truth_codes, votes_of
from finegold.io.read import read
from finegold.results.data import ResultData
from finegold.results.tables import known_intervals, own_name
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, to_list
from finegold.votes.frames import make_frame

# of annotators who never voted
UNKNOWN = ("accuracy", "accuracy_low", "accuracy_high", "empirical_accuracy")


def coverage(votes: Any, truth: Any = None, **reading: Any) -> Any:
    """Return what each annotator covers, like Snorkel's LFAnalysis for labelling functions.

    Args:
        votes (path, data frame, Annotations or ResultData): What `finegold.read` takes, or a
            result, which adds expected accuracies.
        truth (path, data frame, mapping or array of class codes): Known truths of some or all
            tasks.
        **reading: Keywords of `finegold.read`, such as ``layout="wide", missing=[-1]`` for a
            label matrix.

    Returns:
        DataFrame: Of the kind of the votes (Polars for files and arrays), with one row per
            annotator; those who never voted come last. As shares of all tasks, `coverage` counts
            the annotator's, `overlaps` those on which another one votes too, and `conflicts` those
            on which another one votes differently; `polarity` lists the classes that the annotator
            votes for. A result adds `accuracy`, gold its interval, and truths `n_truths` and
            `empirical_accuracy`, the share of right votes on tasks whose truth is known.

    Raises:
        InputError: If the votes cannot be read, or no truth belongs to a task with votes.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_matrix([[0, 0, -1], [1, 0, -1], [1, -1, 1], [-1, -1, -1]])
        >>> table = finegold.coverage(votes, truth={0: 0, 1: 1, 2: 1})
        >>> table["coverage"].to_list(), table["conflicts"].to_list()
        ([0.75, 0.5, 0.25], [0.25, 0.25, 0.0])
        >>> table["polarity"].to_list(), table["empirical_accuracy"].to_list()
        ([[0, 1], [0], [1]], [1.0, 0.5, 1.0])
    """
    if isinstance(votes, ResultData) and reading:
        raise InputError(
            f"{', '.join(reading)} cannot be applied to a result, whose votes are read already"
        )
    annotations = votes_of(votes if isinstance(votes, ResultData) else read(votes, **reading))
    if annotations.multi:
        truth = None if truth is None else true_answers(annotations, truth)
        annotations = single_votes(annotations)
    voted, shared, disputed, _ = _count(annotations)
    n_tasks, absent = (
        annotations.n_tasks + len(annotations.unlabelled),
        len(annotations.never_voted),
    )
    seen = _classes_of(annotations)
    class_names = to_list(annotations.class_names)
    if len({type(name) for name in class_names}) > 1:
        # the lists of a data frame hold values of one type
        class_names = [str(name) for name in class_names]
    columns: dict[str, Any] = {
        "n_votes": np.bincount(annotations.annotator, minlength=annotations.n_annotators),
        "coverage": voted / n_tasks,
        "polarity": [
            [class_names[k] for k in seen.indices[a:b]] for a, b in pairwise(seen.indptr.tolist())
        ],
        "overlaps": shared / n_tasks,
        "conflicts": disputed / n_tasks,
    }
    if isinstance(votes, ResultData):
        columns |= {"accuracy": votes.accuracy, **known_intervals(votes)}
    if truth is not None:
        codes = truth_codes(annotations, truth, with_gold=True)
        task, who, label = annotations.votes()
        n, right = (
            np.bincount(who[which], minlength=annotations.n_annotators)
            for which in (codes[task] != MISSING, codes[task] == label)
        )
        shares = [r / m if m else None for r, m in zip(right.tolist(), n.tolist(), strict=True)]
        columns |= {"n_truths": n, "empirical_accuracy": shares}
    names = annotations.annotator_names
    if absent:
        names = names.of([*names, *annotations.never_voted])
        # rows of the same type for annotators who never voted
        for name, values in columns.items():
            nothing: Any = None if name in UNKNOWN else [] if name == "polarity" else 0
            if isinstance(values, np.ndarray) and nothing is not None:
                columns[name] = np.append(values, np.full(absent, nothing, values.dtype))
            else:
                columns[name] = [*values, *[nothing] * absent]
    table = make_frame({"annotator": names, **columns}, like=annotations.annotator_names)
    return own_name(table, annotations, 1)


def coverage_figures(votes: Annotations) -> dict[str, Any]:
    """Return the same shares for all annotators together: tasks with votes, with several
    annotators, in conflict.
    """
    votes = single_votes(votes)
    n_shared, n_disputed = _count(votes)[3]
    n_tasks, n_voted_for = votes.n_tasks + len(votes.unlabelled), np.diff(_classes_of(votes).indptr)
    return {
        "n_tasks": n_tasks,
        "n_annotators": votes.n_annotators + len(votes.never_voted),
        "n_votes": votes.n_votes,
        "classes": to_list(votes.class_names),
        "coverage": votes.n_tasks / n_tasks,
        "overlaps": n_shared / n_tasks,
        "conflicts": n_disputed / n_tasks,
        "n_one_class": int((n_voted_for == 1).sum()),
        "never_voted": to_list(votes.never_voted),
    }


def _count(votes: Annotations) -> tuple[Integers, Integers, Integers, tuple[int, int]]:
    """[W] Count the tasks that each annotator votes on, shares and disputes, and those that are
    shared and disputed.
    """
    task, who, _ = votes.votes()
    shape = (votes.n_annotators, votes.n_tasks)
    # 1 where the annotator votes on the task, even if more than once
    seen = csr_array((np.ones(len(who), np.bool_), (who, task)), shape=shape).astype(np.int64)
    is_shared = seen.sum(axis=0) > 1
    # with votes for two classes, every annotator disagrees with another one
    is_disputed = is_shared & (np.diff(votes.task_ptr) > 1)
    counts = (
        seen @ each.astype(np.int64) for each in (np.ones_like(is_shared), is_shared, is_disputed)
    )
    voted, shared, disputed = counts
    return voted, shared, disputed, (int(is_shared.sum()), int(is_disputed.sum()))


def _classes_of(votes: Annotations) -> csr_array:
    """[W, K] Return a sparse matrix that is True where the annotator votes for the class at least
    once.
    """
    _, who, label = votes.votes()
    return csr_array(
        (np.ones(len(who), np.bool_), (who, label)), shape=(votes.n_annotators, votes.n_classes)
    )
