"""Merge two sets of votes. The arrays are the same as if all votes had been read at once."""

from __future__ import annotations

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
    old: Codes
    new: Codes


def merge(old: Annotations, new: Annotations, repeated: Repeated = "first") -> Annotations:
    """Return the votes of both sets. Of repeated votes, those of `old` are the first."""
    tasks, annotators, classes = (
        join_names(getattr(old, name), getattr(new, name))
        for name in ("task_names", "annotator_names", "class_names")
    )
    names = tasks.names, annotators.names, classes.names
    columns = []
    for votes, which in ((old, "old"), (new, "new")):
        task, annotator, label = votes.votes()
        codes = (getattr(joined, which) for joined in (tasks, annotators, classes))
        columns.append([code[n] for code, n in zip(codes, (task, annotator, label), strict=True)])
    # only tasks with new votes can have votes that repeat earlier ones
    has_new = np.isin(columns[0][0], tasks.new)
    rest, again = ([column[some] for column in columns[0]] for some in (~has_new, has_new))
    task, annotator, label = map(np.concatenate, zip(again, columns[1], strict=True))
    every_task, everybody = np.arange(len(tasks.names)), np.arange(len(annotators.names))
    fresh = Annotations.from_codes(
        task, annotator, label, every_task, everybody, classes.names, repeated=repeated
    )
    task, annotator, label = fresh.votes()
    task = np.asarray(fresh.task_names, dtype=np.int32)[task]
    annotator = np.asarray(fresh.annotator_names, dtype=np.int32)[annotator]
    votes = Annotations.from_codes(
        np.concatenate([rest[0], task]),
        np.concatenate([rest[1], annotator]),
        np.concatenate([rest[2], label]),
        *names,
        repeated="all",
    )
    gold = np.full(len(tasks.names), MISSING, np.int32)
    for one, task_of, class_of in ((old, tasks.old, classes.old), (new, tasks.new, classes.new)):
        known = np.flatnonzero(one.gold != MISSING)
        gold[task_of[known]] = class_of[one.gold[known]]
    left_out = _what_was_left_out(old, new, *names[:2], fresh.counts.repeated)
    return replace(votes, gold=gold, **left_out)


def merge_sets(old: Annotations, new: Annotations, repeated: Repeated = "first") -> Annotations:
    """Return the answers of both, if votes are sets of labels. If somebody answered a task twice,
    one answer counts.
    """
    # With `repeated="all"`, both answers together are one.
    if repeated not in ("first", "last", "all"):
        remedies = [use(repeated="last"), use(repeated="all", text="to join both")]
        raise InputError("sets of labels have no majority of two answers", remedies=remedies)
    tasks, annotators = (
        join_names(getattr(old, name), getattr(new, name))
        for name in ("task_names", "annotator_names")
    )
    options = join_names(old.class_names[: old.n_classes - 1], new.class_names[: new.n_classes - 1])
    names = old.class_names.of([*options.names, ""])
    parts = []
    for votes, task_of, who_of, option_of in (
        (old, tasks.old, annotators.old, options.old),
        (new, tasks.new, annotators.new, options.new),
    ):
        task, annotator, option = votes.votes()
        code = np.append(option_of, np.int32(len(names) - 1))[option]
        parts.append(np.stack([task_of[task], who_of[annotator], code]).astype(np.int64))
    pairs = [part[0] * len(annotators.names) + part[1] for part in parts]
    if repeated == "first":
        parts[1] = parts[1][:, ~np.isin(pairs[1], pairs[0])]
    elif repeated == "last":
        parts[0] = parts[0][:, ~np.isin(pairs[0], pairs[1])]
    task, annotator, code = np.unique(np.concatenate(parts, axis=1), axis=1).astype(np.int32)
    votes = Annotations.from_codes(
        task, annotator, code, tasks.names, annotators.names, names, repeated="all"
    )
    gold, gold_sets = _join_gold_sets(old, new, tasks, options)
    left_out = _what_was_left_out(old, new, tasks.names, annotators.names, 0)
    return replace(votes, gold=gold, gold_sets=gold_sets, multi=True, **left_out)


def add_gold_sets(old: Annotations, new: Annotations) -> Annotations:
    """Return the votes with the known sets of both, which have the same tasks and options."""
    tasks, options = (
        np.arange(old.n_tasks, dtype=np.int32),
        np.arange(old.n_classes - 1, dtype=np.int32),
    )
    same = Joined(old.task_names, tasks, tasks), Joined(old.class_names, options, options)
    gold, gold_sets = _join_gold_sets(old, new, *same)
    return replace(old, gold=gold, gold_sets=gold_sets, counts=new.counts)


def _join_gold_sets(
    old: Annotations, new: Annotations, tasks: Joined, options: Joined
) -> tuple[Codes, tuple[tuple[int, ...], ...]]:
    """Return the known sets of both; those of `new` replace those of `old`."""
    known: dict[int, tuple[int, ...]] = {}
    for votes, task_of, option_of in ((old, tasks.old, options.old), (new, tasks.new, options.new)):
        sets = [tuple(sorted(option_of[list(codes)].tolist())) for codes in votes.gold_sets]
        known |= {
            int(task_of[task]): sets[votes.gold[task]]
            for task in np.flatnonzero(votes.gold != MISSING)
        }
    distinct = {codes: number for number, codes in enumerate(sorted(set(known.values())))}
    gold = np.full(len(tasks.names), MISSING, np.int32)
    gold[list(known)] = [distinct[codes] for codes in known.values()]
    return gold, tuple(distinct)


def join_names(old: Names, new: Names) -> Joined:
    """Join the names. They are sorted if the old ones are; otherwise the new names come after the
    old ones.
    """
    # Names that are written in the same way are the same: 7 in one file is "7" in another. Old
    # names keep their order.
    position = match(new, old)
    extra = np.flatnonzero(position == MISSING)
    if not extra.size:
        return Joined(old, np.arange(len(old), dtype=np.int32), position)
    values = old.of([*old, *new[extra]])
    coded = encoding.encode(values)
    names, codes = coded.names, coded.codes
    if (np.diff(codes[: len(old)]) <= 0).any():
        names, codes = values, np.arange(len(values), dtype=np.int32)
    position = position.copy()
    position[extra] = len(old) + np.arange(len(extra))
    return Joined(names, codes[: len(old)], codes[position])


def _what_was_left_out(
    old: Annotations, new: Annotations, tasks: Names, annotators: Names, repeated: int
) -> dict[str, Any]:
    """Return the fields of annotations that tell of more than votes: those of both sets together."""
    fields: dict[str, Any] = {"hygiene": old.hygiene.join(new.hygiene), "columns": old.columns}
    for field, names in (("unlabelled", tasks), ("never_voted", annotators)):
        both, more = getattr(old, field), getattr(new, field)
        both = join_names(both, more).names if len(more) else both
        fields[field] = both[np.flatnonzero(match(both, names) == MISSING)] if len(both) else both
    pair = old.counts, new.counts
    words = {**pair[0].left_out, **pair[1].left_out}
    left_out = {what: sum(counts.left_out.get(what, 0) for counts in pair) for what in words}
    numbers = ("rows", "missing", "repeated", "gold_unused", "disagreeing")
    totals = {name: sum(getattr(counts, name) for counts in pair) for name in numbers}
    return fields | {
        "counts": Counts(**totals | {"repeated": totals["repeated"] + repeated}, left_out=left_out)
    }


class ModelOutput(NamedTuple):
    """The predictions of one model: distinct tasks, and probabilities in the order of the classes
    of the votes.
    """

    name: str
    tasks: list[Any]
    # [n, K]
    probabilities: NDArray[np.float64]


def align(outputs: Sequence[ModelOutput], votes: Annotations) -> Predictions:
    """Return the predictions in the order of the tasks with votes, followed by the tasks without
    votes.
    """
    places = [match(output.tasks, votes.task_names) for output in outputs]
    others = [np.flatnonzero(place == MISSING).tolist() for place in places]
    new = {
        text_of(one.tasks[row]): one.tasks[row]
        for one, rows in zip(outputs, others, strict=True)
        for row in rows
    }
    names = sorted(
        new.values(),
        key=lambda task: (False, task) if isinstance(task, int | float) else (True, str(task)),
    )
    row_of = {text_of(name): votes.n_tasks + row for row, name in enumerate(names)}
    aligned = np.zeros((len(outputs), votes.n_tasks + len(names), votes.n_classes))
    for model, (output, place, rows) in enumerate(zip(outputs, places, others, strict=True)):
        place = place.astype(np.int64)
        place[rows] = [row_of[text_of(output.tasks[row])] for row in rows]
        aligned[model, place] = output.probabilities
    return Predictions([output.name for output in outputs], aligned, votes.task_names.of(names))


def outputs_of(predictions: Predictions, votes: Annotations) -> list[ModelOutput]:
    """Return predictions that were aligned with these votes as they were before `align`."""
    tasks = [*votes.task_names, *predictions.task_names]
    return [
        ModelOutput(
            name, [tasks[row] for row in np.flatnonzero(known).tolist()], probabilities[known]
        )
        for name, probabilities, known in zip(
            predictions.models, predictions.probabilities, predictions.known, strict=True
        )
    ]
