"""Bring all votes of a task together: split every part into ranges of tasks, and join the parts of every range."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.io.folders import shared_store
from finegold.io.folders.vocabulary import Vocabulary, code_of, in_kind
from finegold.io.truth import Truth
from finegold.votes.annotations import Annotations, Repeated, count_disagreeing
from finegold.votes.encoding import MISSING, Codes, rank_of
from finegold.votes.frames import to_list
from finegold.votes.names import Coded, encode_series, match, renumber

__all__ = ["Range", "gathered", "locate", "spread"]


@dataclass(frozen=True)
class Range:
    """What the client knows of the tasks between two splitters."""

    n_tasks: int
    n_votes: int
    repeated: int  # votes left out
    gold: int  # tasks whose truth is known
    unlabelled: pl.Series
    disagreeing: int = 0  # pairs of task and annotator whose repeated votes disagree


def spread(folder: Path, known: Vocabulary, to: Path) -> None:
    """Store the votes of a part in the codes of all parts, sorted by range."""
    task, annotator, label = (shared_store.array(folder, name) for name in ("task", "annotator", "label"))
    names, task = _of_kind(shared_store.names(folder, "tasks"), task, known.task_kind)
    first_name = [0, *(bisect_left(names, splitter) for splitter in known.splitters), len(names)]
    in_range = np.repeat(np.arange(len(first_name) - 1, dtype=np.uint16), np.diff(first_name))[task]
    order = np.argsort(in_range, kind="stable")  # "first" and "last" vote mean the order of the rows
    annotator_of = code_of(shared_store.names(folder, "annotators"), known.annotators)
    class_of = known.class_of[code_of(shared_store.names(folder, "labels"), known.labels)]
    shared_store.put(
        to,
        tasks=names,
        task=task[order],
        annotator=annotator_of[annotator[order]],
        label=renumber(label[order], class_of),
        first_name=np.array(first_name),
        first_row=np.searchsorted(in_range[order], np.arange(len(first_name))),
    )


def gathered(
    number: int, parts: Sequence[Path], known: Vocabulary, truth: Truth | None, repeated: Repeated, to: Path
) -> Range:
    """Store all votes of a range, sorted and grouped as in `Annotations`."""
    names, task, annotator, label = _of_range(number, parts)
    if not (label != MISSING).any():
        return Range(0, 0, 0, 0, names.names.to_native())
    everybody: Any = np.arange(len(known.annotators), dtype=np.int32)
    votes = Annotations.from_codes(
        names.codes[task], annotator, label, names.names, everybody, known.classes, repeated=repeated
    )
    gold = _gold(votes, truth, known.truths)
    shared_store.put(
        to,
        tasks=votes.task_names.to_native(),  # type: ignore[attr-defined]  # a series, as the names that went in
        task_ptr=votes.task_ptr,
        cell_ptr=votes.cell_ptr,
        cell_class=votes.cell_class,
        annotator=np.asarray(votes.annotator_names)[votes.annotator],
        gold=gold,
    )
    unlabelled: Any = votes.unlabelled
    known_truths = int((gold != MISSING).sum())
    left_out = votes.counts.repeated
    disagreeing = count_disagreeing(names.codes[task], annotator, label, votes.votes_per_task) if left_out else 0
    return Range(votes.n_tasks, votes.n_votes, left_out, known_truths, unlabelled.to_native(), disagreeing)


def locate(folder: Path, votes_before: int, cuts: NDArray[np.float64]) -> list[int]:
    """Return the tasks of a range at which blocks begin: the first with so many votes before it in the data set."""
    first_vote = shared_store.array(folder, "cell_ptr")[shared_store.array(folder, "task_ptr")] + votes_before
    return [int(task) for task in np.searchsorted(first_vote, cuts)]


def _of_kind(names: pl.Series, task: NDArray[Any], kind: pl.DataType) -> tuple[pl.Series, NDArray[Any]]:
    if names.dtype == kind:
        return names, task
    names = in_kind(names, kind)
    order = names.arg_sort().to_numpy()  # as text, 10 comes before 9
    return names.gather(order), rank_of(order)[task]


def _of_range(number: int, parts: Sequence[Path]) -> tuple[Coded, Codes, Codes, Codes]:
    """Return the names of all parts as one column of codes, and the place in it, annotator and label of each row."""
    names, columns, before = [], [], 0
    for part in parts:
        first, end = shared_store.array(part, "first_name")[number : number + 2].tolist()
        rows = slice(*shared_store.array(part, "first_row")[number : number + 2].tolist())
        names.append(shared_store.names(part, "tasks", first, end))
        task, annotator, label = (shared_store.array(part, name)[rows] for name in ("task", "annotator", "label"))
        columns.append((task - np.int32(first - before), annotator, label))
        before += end - first
    task, annotator, label = (np.concatenate(column) for column in zip(*columns, strict=True))
    return encode_series(nw.from_native(pl.concat(names), series_only=True)), task, annotator, label


def _gold(votes: Annotations, truth: Truth | None, classes: Codes) -> Codes:
    gold: Codes = np.full(votes.n_tasks, MISSING, np.int32)
    if truth is not None:
        task = match(to_list(truth.task), votes.task_names)
        there = task != MISSING
        gold[task[there]] = classes[there]
    return gold
