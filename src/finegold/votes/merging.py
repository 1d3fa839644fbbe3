"""Merge two sets of votes, and align predictions of models with votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError, use
from finegold.votes import encoding
from finegold.votes.annotations import Annotations, Counts, Predictions, Repeated
from finegold.votes.encoding import MISSING, Codes, Names, match, text_of


class Joined(NamedTuple):
    """The names of both sets, and the new codes of the names of each set."""

    names: Names
    codes: tuple[Codes, Codes]


def merge(old: Annotations, new: Annotations, repeated: Repeated = "first") -> Annotations:
    """Return the votes of both sets. Of repeated votes, those of `old` are the first. If votes are
    sets of labels, answers are repeated, and with "all", both answers together are one.
    """
    multi = old.multi
    if multi and repeated not in ("first", "last", "all"):
        remedies = [use(repeated="last"), use(repeated="all", text="to join both")]
        raise InputError("sets of labels have no majority of two answers", remedies=remedies)
    tasks = join_names(old.task_names, new.task_names)
    annotators = join_names(old.annotator_names, new.annotator_names)
    classes = join_names(*(each.class_names[: each.n_classes - multi] for each in (old, new)))
    parts = []
    for n, votes in enumerate((old, new)):
        task, annotator, label = votes.votes()
        # in sets, the last class means that nothing was chosen
        code = np.append(classes.codes[n], np.int32(len(classes.names)))
        parts.append(np.stack([tasks.codes[n][task], annotators.codes[n][annotator], code[label]]))
    pairs = [part[0] * np.int64(len(annotators.names)) + part[1] for part in parts]
    n_repeated = 0
    if repeated in ("first", "last"):
        loser = 1 if repeated == "first" else 0
        is_repeated = np.isin(pairs[loser], pairs[1 - loser])
        parts[loser], n_repeated = parts[loser][:, ~is_repeated], int(is_repeated.sum())
    rows = np.concatenate(parts, axis=1)
    task, annotator, label = np.unique(rows, axis=1) if multi else rows
    votes = Annotations.from_codes(
        *(task, annotator, label, tasks.names, annotators.names),
        old.class_names.of([*classes.names, ""]) if multi else classes.names,
        repeated=repeated if repeated in ("majority", "error") else "all",
    )
    counts = [old.counts, new.counts, Counts(repeated=0 if multi else n_repeated)]
    numbers = ("rows", "missing", "repeated", "gold_unused", "disagreeing")
    totals = {name: sum(getattr(each, name) for each in counts) for name in numbers}
    totals["repeated"] += votes.counts.repeated
    left_out = dict(Counter(old.counts.left_out) + Counter(new.counts.left_out))
    gold, gold_sets = _join_gold(old, new, tasks, classes)
    return replace(
        votes,
        gold=gold,
        gold_sets=gold_sets,
        multi=multi,
        unlabelled=_without(old.unlabelled, new.unlabelled, tasks.names),
        never_voted=_without(old.never_voted, new.never_voted, annotators.names),
        hygiene=old.hygiene.join(new.hygiene),
        columns=old.columns,
        counts=Counts(**totals, left_out=left_out),
    )


def add_gold(old: Annotations, new: Annotations) -> Annotations:
    """Return the votes with the known truths of both, which have the same tasks and classes."""
    tasks, classes = (
        Joined(names, (np.arange(len(names), dtype=np.int32),) * 2)
        for names in (old.task_names, old.class_names)
    )
    gold, gold_sets = _join_gold(old, new, tasks, classes)
    return replace(old, gold=gold, gold_sets=gold_sets, counts=new.counts)


def _join_gold(
    old: Annotations, new: Annotations, tasks: Joined, classes: Joined
) -> tuple[Codes, tuple[tuple[int, ...], ...]]:
    """Return known truths and distinct sets of both; those of `new` replace those of `old`."""
    gold = np.full(len(tasks.names), MISSING, np.int32)
    known: dict[int, tuple[int, ...]] = {}
    for votes, task_of, class_of in zip((old, new), tasks.codes, classes.codes, strict=True):
        rows = np.flatnonzero(votes.gold != MISSING)
        if not votes.multi:
            gold[task_of[rows]] = class_of[votes.gold[rows]]
            continue
        sets = [tuple(sorted(class_of[list(codes)].tolist())) for codes in votes.gold_sets]
        known |= {int(task_of[task]): sets[votes.gold[task]] for task in rows}
    distinct = {codes: number for number, codes in enumerate(sorted(set(known.values())))}
    if known:
        gold[list(known)] = [distinct[codes] for codes in known.values()]
    return gold, tuple(distinct)


def join_names(old: Names, new: Names) -> Joined:
    """Join the names: sorted if the old ones are, else the new ones after the old ones."""
    # Names that are written in the same way are the same: 7 in one file is "7" in another. Old
    # names keep their order.
    position = match(new, old)
    extra = np.flatnonzero(position == MISSING)
    if not extra.size:
        return Joined(old, (np.arange(len(old), dtype=np.int32), position))
    values = old.of([*old, *new[extra]])
    coded = encoding.encode(values)
    names, codes = coded.names, coded.codes
    if (np.diff(codes[: len(old)]) <= 0).any():
        names, codes = values, np.arange(len(values), dtype=np.int32)
    position = position.copy()
    position[extra] = len(old) + np.arange(len(extra))
    return Joined(names, (codes[: len(old)], codes[position]))


def _without(old: Names, new: Names, names: Names) -> Names:
    """Return the names of both that are not among these."""
    both = join_names(old, new).names
    return Names(both[np.flatnonzero(match(both, names) == MISSING)])


class ModelOutput(NamedTuple):
    """The predictions of one model for distinct tasks, in the order of the classes of the votes."""

    name: str
    tasks: list[Any]
    # [n, K]
    probabilities: NDArray[np.float64]


def align(outputs: Sequence[ModelOutput], votes: Annotations) -> Predictions:
    """Return the predictions in the order of the tasks with votes, then of those without votes."""
    new = {
        text_of(output.tasks[row]): output.tasks[row]
        for output in outputs
        for row in np.flatnonzero(match(output.tasks, votes.task_names) == MISSING).tolist()
    }
    names = sorted(
        new.values(),
        key=lambda task: (False, task) if isinstance(task, int | float) else (True, str(task)),
    )
    every = votes.task_names.of([*votes.task_names, *names])
    aligned = np.zeros((len(outputs), len(every), votes.n_classes))
    for model, output in enumerate(outputs):
        aligned[model, match(output.tasks, every)] = output.probabilities
    return Predictions([output.name for output in outputs], aligned, votes.task_names.of(names))


def outputs_of(
    predictions: Predictions, votes: Annotations
) -> dict[str, tuple[list[Any], NDArray[np.float64]]]:
    """Return predictions that were aligned with these votes: tasks and probabilities by model."""
    tasks = [*votes.task_names, *predictions.task_names]
    rows = [np.flatnonzero(known).tolist() for known in predictions.known]
    return {
        name: ([tasks[row] for row in some], probabilities[some])
        for name, some, probabilities in zip(
            predictions.models, rows, predictions.probabilities, strict=True
        )
    }
