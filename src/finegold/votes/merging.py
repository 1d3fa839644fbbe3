"""Merge two sets of votes. The arrays are the same as if all votes had been read at once.

Only tasks with new votes are sorted again; the votes of all other tasks are copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError, use
from finegold.kernels.sort_votes import copy_tasks
from finegold.votes import encoding
from finegold.votes.annotations import Annotations, Counts, Predictions, Repeated, kernel_votes
from finegold.votes.encoding import MISSING, Codes, Names, match, text_of


class Joined(NamedTuple):
    """The names of both sets, and the new codes of the names of each set."""

    names: Names
    old: Codes
    new: Codes


class Merged(NamedTuple):
    votes: Annotations
    tasks: Joined
    annotators: Joined
    # tasks that have new votes
    touched: NDArray[np.int64]
    # the number of votes that were added, without repeated votes that were left out
    added: int


class Piece(NamedTuple):
    """Some tasks of some votes, their new positions, and the new codes of the annotators."""

    votes: Annotations
    tasks: NDArray[np.int64]
    places: NDArray[np.int64]
    annotators: Codes


def merge(old: Annotations, new: Annotations, repeated: Repeated = "first") -> Merged:
    """Return the votes of both sets. Of repeated votes, those of `old` are the first."""
    tasks, annotators, classes = (
        join_names(getattr(old, name), getattr(new, name))
        for name in ("task_names", "annotator_names", "class_names")
    )
    old, new = (
        _with_classes(old, classes.names, classes.old),
        _with_classes(new, classes.names, classes.new),
    )
    has_new = np.zeros(len(tasks.names), np.bool_)
    has_new[tasks.new] = True
    # old and new votes of the tasks with new votes are sorted
    again = np.flatnonzero(has_new[tasks.old])
    before = stitch([Piece(old, again, np.arange(len(again)), annotators.old)], len(again)).votes()
    task, annotator, label = new.votes()
    fresh = Annotations.from_codes(
        np.concatenate([tasks.old[again][before[0]], tasks.new[task]]),
        np.concatenate([before[1], annotators.new[annotator]]),
        np.concatenate([before[2], label]),
        # the names are codes
        np.arange(len(tasks.names)),
        np.arange(len(annotators.names)),
        old.class_names,
        repeated=repeated,
    )
    touched = np.asarray(fresh.task_names, dtype=np.int64)
    rest = np.flatnonzero(~has_new[tasks.old])
    pieces = [
        Piece(old, rest, tasks.old[rest].astype(np.int64), annotators.old),
        Piece(
            fresh,
            np.arange(fresh.n_tasks),
            touched,
            np.asarray(fresh.annotator_names, dtype=np.int32),
        ),
    ]
    gold = np.full(len(tasks.names), MISSING, np.int32)
    gold[tasks.old] = old.gold
    known = np.flatnonzero(new.gold != MISSING)
    gold[tasks.new[known]] = new.gold[known]
    votes = replace(
        stitch(pieces, len(tasks.names)),
        gold=gold,
        task_names=tasks.names,
        annotator_names=annotators.names,
        class_names=classes.names,
        **_what_was_left_out(old, new, tasks.names, annotators.names, fresh.counts.repeated),
    )
    if repeated == "first":
        old_code = np.full(len(tasks.names), MISSING, np.int64)
        old_code[tasks.old] = np.arange(old.n_tasks)
        code = old_code[touched]
        n_before = old.cell_ptr[old.task_ptr[code + 1]] - old.cell_ptr[old.task_ptr[code]]
        touched = touched[
            (code == MISSING)
            | (fresh.votes_per_task != n_before)
            | (votes.gold[touched] != old.gold[code])
        ]
    return Merged(votes, tasks, annotators, touched, votes.n_votes - old.n_votes)


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


def stitch(pieces: Sequence[Piece], n_tasks: int) -> Annotations:
    """Combine the tasks of all pieces. The caller sets names and gold."""
    cells, votes = np.zeros(n_tasks, np.int64), np.zeros(n_tasks, np.int64)
    for piece in pieces:
        cells[piece.places] = np.diff(piece.votes.task_ptr)[piece.tasks]
        votes[piece.places] = piece.votes.votes_per_task[piece.tasks]
    task_ptr, first_vote = (np.concatenate([[0], np.cumsum(lengths)]) for lengths in (cells, votes))
    cell_ptr = np.full(task_ptr[-1] + 1, first_vote[-1])
    cell_class = np.empty(task_ptr[-1], pieces[0].votes.cell_class.dtype)
    annotator = np.empty(first_vote[-1], np.int32)
    nobody, no_gold, classes = Names([]), np.empty(0, np.int32), pieces[0].votes.class_names
    made = Annotations(task_ptr, cell_ptr, cell_class, annotator, no_gold, nobody, nobody, classes)
    for piece in pieces:
        codes = piece.tasks.view(np.uint64), piece.places.view(np.uint64), piece.annotators
        copy_tasks(
            kernel_votes(piece.votes),
            *codes,
            first_vote.view(np.uint64),
            kernel_votes(made, 0, n_tasks),
        )
    return made


def _with_classes(votes: Annotations, names: Names, code: Codes) -> Annotations:
    """Return the votes with other classes, in which the old classes keep their order."""
    if names is votes.class_names:
        return votes
    dtype = np.uint8 if len(names) <= 256 else np.uint16
    gold = np.append(code, np.int32(MISSING))[votes.gold]
    cell_class: Any = code.astype(dtype)[votes.cell_class]
    return replace(votes, cell_class=cell_class, gold=gold, class_names=names)


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
