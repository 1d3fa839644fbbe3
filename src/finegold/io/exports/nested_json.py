"""JSON in which every task holds its votes: rows with a field of votes, or an object keyed by task
or by annotator. The votes may stand one level deeper, with each sentence of a record.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import polars as pl

from finegold.errors import InputError, Placeholder, Remedy, leave_out, use
from finegold.io.columns import (
    ANNOTATOR,
    LABEL,
    TASK,
    Role,
    bare_name,
    candidates,
    find_column,
    list_names,
)
from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote
from finegold.io.exports.refusals import PLACES
from finegold.io.source import Source
from finegold.votes.encoding import text_of

_FIELDS = (
    "annotations annotatorlabels labels votes judgments judgements ratings answers responses"
    " verdicts"
)
FIELDS = frozenset(_FIELDS.split())
# fields whose lists have one label per annotator
ONE_EACH = FIELDS - {"labels", "answers", "responses"}
# the field beside a list of labels
ANNOTATORS = frozenset(word + "s" for word in ANNOTATOR.words)
PEOPLE = re.compile(
    r"(ann|" + "|".join(sorted(ANNOTATOR.words, key=len, reverse=True)) + r")[ _.-]?\w*",
    re.IGNORECASE,
)
ROW_ID = Role("task", "task", TASK.words | {"id", "uid", "index", "key", "pairid", "hash"})
# votes of an annotator who should have some label in common with others
MANY = 3
# tasks that tell whether a file holds votes, and whether its keys are annotators
SAMPLE = 200
# as many times more tasks than annotators as show that the keys are annotators
MANY_TASKS = 3
NAME_TASK = use(task=Placeholder("NAME"), text="for the field of the tasks")

# the id of a row is None
Task = tuple[Any, Any]


def fits(seen: Source) -> bool:
    record = seen.record
    if seen.format not in ("json", "jsonl") or not record:
        return False
    roles = [role for role in (ANNOTATOR, LABEL) if candidates(record, role)]
    are_inner = all(isinstance(value, dict | list | None) for value in record.values())
    is_keyed = seen.layout != "list" and are_inner and not roles
    with suppress(DamagedExport):
        if len(roles) > 1 or (_parts_of(record) is None and not is_keyed):
            return False
        held: dict[str, list[Any]] = defaultdict(list)
        for _, task in islice(_tasks(seen, []), SAMPLE):
            parts = _parts_of(task)
            for _, fields in [("", {"": task})] if parts is None else parts:
                for name, votes in fields.items():
                    held[name] += [votes] if votes else []
        return any(_are_votes(votes, name) for name, votes in held.items())
    return False


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    numbers = Counter[str]()
    turned: list[str] = []
    tasks = base.with_numbers(
        _tasks(seen, turned), lambda task: _votes(task[0], task[1], seen, options, numbers)
    )
    yield from base.in_batches(tasks)
    if turned:
        wrong = Remedy(text="if they are tasks, write rows with a task, an annotator and a label")
        names = list_names(turned, 3)
        options.warn_once(f"the keys of {seen.name} are taken as annotators: {names}", wrong)


def _tasks(seen: Source, turned: list[str]) -> Iterator[Task]:
    """Yield the id and the content of every task. An object may be larger than memory, but for one
    whose keys are annotators; these are then noted.
    """
    if seen.layout == "list" or _parts_of(seen.record) is not None:
        yield from ((None, record) for record in base.read_records(seen))
        return
    with base.open_export(seen) as file:
        pairs = _pairs_in(base.Json(file))
        first = list(islice(pairs, SAMPLE))
        have_rows = _are_rows_of_annotators(first)
        if not have_rows and not _are_annotators(first):
            yield from chain(first, pairs)
            return
        by_task: dict[str, dict[str, Any]] = defaultdict(dict)
        for annotator, votes in chain(first, pairs):
            labels = _labels_by_task(votes) or {} if have_rows else votes
            for task, label in labels.items():
                by_task[task][annotator] = label
        turned += [annotator for annotator, _ in first]
        yield from by_task.items()


def _are_rows_of_annotators(pairs: Sequence[Task]) -> bool:
    """Return whether all values are lists of rows that name their tasks, of which some are in
    several lists.
    """
    rows = [_labels_by_task(value) for _, value in pairs]
    if len(rows) < 2 or any(each is None for each in rows):
        return False
    return len({task for each in rows for task in each or ()}) < sum(
        len(each or ()) for each in rows
    )


def _labels_by_task(value: Any) -> dict[str, Any] | None:
    """Return the labels in a list of rows such as {"id": ..., "label": ...} by their tasks; None if
    it holds something else.
    """
    labels = {}
    for row in value if isinstance(value, list) else [None]:
        if not isinstance(row, dict) or candidates(row, ANNOTATOR):
            return None
        tasks, said = candidates(row, ROW_ID), candidates(row, LABEL)
        if len(tasks) != 1 or len(said) != 1:
            return None
        labels[text_of(row[tasks[0]])] = row[said[0]]
    return labels


def _pairs_in(content: base.Json) -> Iterator[Task]:
    while content.next():
        for key in content.parts():
            yield key, content.value()


def _are_annotators(pairs: Sequence[Task]) -> bool:
    """Return whether the keys of an object are annotators, and the keys within are tasks."""
    inner = {key for _, value in pairs if isinstance(value, dict) for key in value}
    values = [value for _, value in pairs]
    if not inner or not all(
        isinstance(value, dict) and not any(isinstance(v, dict) for v in value.values())
        for value in values
    ):
        return False
    outside = all(PEOPLE.fullmatch(str(key)) for key, _ in pairs)
    inside = all(map(PEOPLE.fullmatch, inner))
    if outside != inside:
        return outside
    return len(pairs) > 1 and len(inner) >= MANY_TASKS * len(pairs)


def _votes(
    key: Any, value: Any, seen: Source, options: ExportOptions, numbers: Counter[str]
) -> Iterator[Vote]:
    """Yield the votes on a task, or on the parts of it that hold them, such as its sentences."""
    parts = _parts_of(value)
    if key is None or parts is not None:
        if not isinstance(value, dict):
            raise DamagedExport(f"expected a JSON object, found {value!r:.40}")
        task = _id_of(value, key, seen, options, numbers)
    else:
        if options.task is not None:
            raise DamagedExport("the keys of the object name the tasks", leave_out("task"))
        if not isinstance(value, dict | list | None):
            raise DamagedExport(f'"{key}" holds {value!r:.40}, expected votes')
        task, parts = key, [("", {"": value} if value else {})]
    for place, fields in parts or [("", {})]:
        name = f"{text_of(task)}/{place}" if place != "" else task
        if not fields:
            yield Vote(name)
        for question, votes in fields.items():
            for number, (annotator, label) in enumerate(_pairs_of(votes), start=1):
                if annotator is None:
                    options.warn_once(
                        f"{seen.name} has labels with no annotators; these are named 1, 2, ... by"
                        " their position"
                    )
                    annotator = str(number)
                yield Vote(name, annotator, label, question)


def _id_of(
    record: dict[str, Any], key: Any, seen: Source, options: ExportOptions, numbers: Counter[str]
) -> Any:
    numbers["rows"] += 1
    if key is not None and options.task is None:
        return key
    try:
        field = find_column(list(record), ROW_ID, options.task)
    except InputError as error:
        raise DamagedExport(error.problem, NAME_TASK) from None
    if field is not None:
        return record[field]
    if options.has_many_files:
        raise DamagedExport("the row has no id", NAME_TASK)
    options.warn_once(f"the rows of {seen.name} have no id; they are numbered from 0", NAME_TASK)
    # as rows of tables and matrices are numbered
    return numbers["rows"] - 1


# What holds votes.


# the same annotators or fields occur in task after task
@lru_cache(2**16)
def _is_field(name: str) -> bool:
    return bare_name(name) in FIELDS


def _parts_of(value: Any) -> list[tuple[Any, dict[str, Any]]] | None:
    """Return the votes in a record by question, with the place of what they are on: "" for the
    record, or each of its sentences; None if this is no record.
    """
    if not isinstance(value, dict):
        return None
    if any(map(_is_field, value)):
        return [("", _vote_fields(value))]
    for name, parts in value.items():
        if not isinstance(parts, list) or not parts or not all(isinstance(p, dict) for p in parts):
            continue
        if all(any(map(_is_field, part)) for part in parts):
            return [
                (_place_of(part, number), _vote_fields(part))
                for number, part in enumerate(parts, 1)
            ]
        if bare_name(name).endswith(tuple(FIELDS)):
            # an object of annotators for each sentence, or one of criteria for each annotator
            if all(PEOPLE.fullmatch(key) for part in parts for key in part):
                return [(number, {"": part}) for number, part in enumerate(parts, 1)]
            if len({frozenset(part) for part in parts}) == 1 and not candidates(parts[0], LABEL):
                people = candidates(parts[0], ANNOTATOR)
                who = [part[people[0]] if people else None for part in parts]
                said = {key: [part[key] for part in parts] for key in parts[0] if key not in people}
                return [
                    (
                        "",
                        {
                            key: list(zip(who, labels, strict=True))
                            for key, labels in said.items()
                            if not any(isinstance(label, dict) for label in labels)
                        },
                    )
                ]
    return None


def _place_of(part: dict[str, Any], number: int) -> Any:
    names = candidates(part, ROW_ID)
    return part[names[0]] if len(names) == 1 and part[names[0]] is not None else number


def _vote_fields(record: dict[str, Any]) -> dict[str, Any]:
    """Return the votes in each field with some, paired with annotators if a field lists them, as
    "ann,bob" may.
    """

    def parts(value: Any) -> Any:
        return [part.strip() for part in value.split(",")] if isinstance(value, str) else value

    listed = [name for name in record if bare_name(name) in ANNOTATORS]
    annotators = parts(record[listed[0]]) if listed else None
    annotators = annotators if isinstance(annotators, list) else None
    fields = {}
    for name, value in record.items():
        is_text = annotators is not None and isinstance(value, str) and value.strip()
        if not _is_field(name) or not (is_text or (isinstance(value, list | dict) and value)):
            continue
        votes = fields[name] = parts(value)
        are_labels = isinstance(votes, list) and not any(isinstance(vote, dict) for vote in votes)
        if are_labels and annotators is not None:
            if len(annotators) != len(votes):
                problem = f"found {len(votes):,} labels but {len(annotators):,} annotators"
                raise DamagedExport(problem)
            fields[name] = list(zip(annotators, votes, strict=True))
    return fields


def _pairs_of(votes: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every vote as an annotator, or None where only the position tells, and a label."""
    for vote in votes.items() if isinstance(votes, dict) else votes:
        if isinstance(vote, dict):
            labels, annotators = candidates(vote, LABEL), candidates(vote, ANNOTATOR)
            other = (
                "a task" if candidates(vote, TASK) else "a place" if PLACES & vote.keys() else ""
            )
            if len(labels) != 1 or len(annotators) > 1 or other:
                what = other or ("several fields for one vote" if labels else "no label")
                fields = ", ".join(vote) or "(none)"
                raise DamagedExport(f"found {what} in an object with the fields {fields}")
            annotator, label = vote[annotators[0]] if annotators else None, vote[labels[0]]
        else:
            annotator, label = vote if isinstance(vote, tuple) else (None, vote)
        label = base.join_labels(label) if isinstance(label, list) else label
        # NaN is not a label
        yield annotator, None if label != label else label


def _are_votes(values: Sequence[Any], field: str = "") -> bool:
    """Return whether the values of some tasks, in a field or by key, are plainly votes, not other
    lists and objects.
    """
    if not values or len({type(value) for value in values}) > 1:
        return False
    try:
        pairs = [list(_pairs_of(value)) for value in values]
    except (DamagedExport, *base.MISUSED):
        return False
    labels = [label for task in pairs for _, label in task if label is not None]
    are_labels = all(
        isinstance(label, str | int) or (isinstance(label, float) and label.is_integer())
        for label in labels
    )
    if not labels or not are_labels:
        return False
    if isinstance(values[0], dict):
        return _are_by_annotator(pairs)
    if bare_name(field) in ONE_EACH and _repeats([pair for task in pairs for pair in task]):
        return True
    return all(annotator is not None for task in pairs for annotator, _ in task) or any(
        map(_repeats, pairs)
    )


def _are_by_annotator(pairs: list[list[tuple[Any, Any]]]) -> bool:
    """Tell annotators from fields of a record, which have values of their own, and from classes with
    counts.
    """
    labels_of: dict[str, list[str]] = defaultdict(list)
    for annotator, label in chain.from_iterable(pairs):
        labels_of[annotator].append(text_of(label))
    labels = [label for _, label in chain.from_iterable(pairs)]
    are_numbers = all(isinstance(label, int | float | None) for label in labels)
    is_dense = len({frozenset(annotator for annotator, _ in task) for task in pairs}) == 1
    are_people = all(
        PEOPLE.fullmatch(key) or (key.isdecimal() and not is_dense) for key in labels_of
    )
    if not _repeats(list(chain.from_iterable(pairs))) or (are_numbers and not are_people):
        return False
    sets = {annotator: set(said) for annotator, said in labels_of.items()}
    # in how many annotators' votes each label occurs
    shared = Counter(label for said in sets.values() for label in said)
    return len(sets) == 1 or not any(
        len(said) >= MANY and all(shared[label] == 1 for label in sets[annotator])
        for annotator, said in labels_of.items()
    )


def _repeats(pairs: list[tuple[Any, Any]]) -> bool:
    """Return whether a label occurs twice: in a list of votes, but never in a set of labels that
    apply.
    """
    labels = [text_of(label) for _, label in pairs if label is not None]
    return len(set(labels)) < len(labels)


REMEDY = (
    'expected an object of tasks, {"task": {"annotator": "label"}}, or rows with a list or an'
    " object of votes"
)
EXPORT = Export("nested-json", "nested JSON", REMEDY, fits, read, takes_task=True)
