"""Measure what each annotator or labelling function covers, as shares of all tasks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from finegold.errors import InputError
from finegold.insight.votes import Flags, single_votes, true_answers, truth_codes
from finegold.io.read import read
from finegold.results.data import ResultData
from finegold.results.tables import known_intervals, own_name
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, to_list
from finegold.votes.frames import make_frame


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
    found = votes.annotations if isinstance(votes, ResultData) else read(votes, **reading)
    if found.multi:
        truth = None if truth is None else true_answers(found, truth)
        found = single_votes(found)
    names = found.annotator_names
    if len(found.never_voted):
        names = names.of([*names, *found.never_voted])
    n_tasks, shared, W = found.n_tasks + len(found.unlabelled), _shared(found), len(names)
    task, who, label = found.votes()
    # 1 where the annotator votes on the task or for the class, even if more than once
    ones = np.ones(len(who), np.bool_)
    seen = csr_array((ones, (who, task)), shape=(W, found.n_tasks)).astype(np.int64)
    counts = seen @ np.column_stack([np.ones(found.n_tasks, np.int64), shared, _disputed(found)])
    class_names, classes = to_list(found.class_names), _classes_of(found, W)
    if len({type(name) for name in class_names}) > 1:
        # the lists of a data frame hold values of one type
        class_names = [str(name) for name in class_names]
    columns: dict[str, Any] = {
        "annotator": names,
        "n_votes": np.bincount(who, minlength=W),
        "coverage": counts[:, 0] / n_tasks,
        "polarity": [
            [class_names[k] for k in classes.indices[a:b]]
            for a, b in pairwise(classes.indptr.tolist())
        ],
        "overlaps": counts[:, 1] / n_tasks,
        "conflicts": counts[:, 2] / n_tasks,
    }
    if isinstance(votes, ResultData):
        unknown = [None] * len(found.never_voted)
        known = {"accuracy": votes.annotator_accuracy, **known_intervals(votes)}
        columns |= {name: [*values, *unknown] for name, values in known.items()}
    if truth is not None:
        codes = truth_codes(found, truth, with_gold=True)
        n = np.bincount(who[codes[task] != MISSING], minlength=W)
        right = np.bincount(who[codes[task] == label], minlength=W).tolist()
        shares = [r / m if m else None for r, m in zip(right, n.tolist(), strict=True)]
        columns |= {"n_truths": n, "empirical_accuracy": shares}
    return own_name(make_frame(columns, like=found.annotator_names), found, 1)


def coverage_figures(votes: Annotations | ResultData) -> dict[str, Any]:
    """Return the same shares for all annotators together, as plain values."""
    votes = single_votes(votes.annotations if isinstance(votes, ResultData) else votes)
    n_tasks = votes.n_tasks + len(votes.unlabelled)
    n_voted_for = np.diff(_classes_of(votes, votes.n_annotators).indptr)
    return {
        "n_tasks": n_tasks,
        "n_annotators": votes.n_annotators + len(votes.never_voted),
        "n_votes": votes.n_votes,
        "classes": to_list(votes.class_names),
        "coverage": votes.n_tasks / n_tasks,
        "overlaps": int(_shared(votes).sum()) / n_tasks,
        "conflicts": int(_disputed(votes).sum()) / n_tasks,
        "n_one_class": int((n_voted_for == 1).sum()),
        "never_voted": to_list(votes.never_voted),
    }


def _shared(votes: Annotations) -> Flags:
    """[T] Return whether several annotators vote on the task."""
    task, who, _ = votes.votes()
    pairs = np.unique(task * np.int64(votes.n_annotators) + who)
    return np.bincount(pairs // votes.n_annotators, minlength=votes.n_tasks) > 1


def _disputed(votes: Annotations) -> Flags:
    """[T] Return whether several annotators vote on the task, for several classes."""
    return _shared(votes) & (np.diff(votes.task_ptr) > 1)


def _classes_of(votes: Annotations, n: int) -> csr_array:
    """[n, K] Return True where the annotator votes for the class at least once."""
    _, who, label = votes.votes()
    return csr_array((np.ones(len(who), np.bool_), (who, label)), shape=(n, votes.n_classes))
