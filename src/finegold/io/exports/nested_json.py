"""JSON in which every task holds its votes: an object keyed by task, or rows with a field of votes."""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import polars as pl

from finegold.errors import FinegoldWarning, InputError, Placeholder, leave_out, use
from finegold.io.columns import ANNOTATOR, LABEL, TASK, Role, bare_name, candidates, find_column
from finegold.io.exports.base import (
    DamagedExport,
    Export,
    ExportOptions,
    Peek,
    Vote,
    describe_damage,
    in_batches,
    join_labels,
    open_export,
    read_records,
    with_numbers,
)
from finegold.votes.encoding import text_of

__all__ = ["EXPORT", "are_votes", "is_record", "pairs_of", "vote_fields", "votes_in"]


Pair = tuple[Any, Any]  # an annotator, or None where only the position tells, and a label

_FIELDS = "annotations annotatorlabels labels votes judgments judgements ratings answers responses verdicts"
FIELDS = frozenset(_FIELDS.split())
ONE_EACH = FIELDS - {"labels", "answers", "responses"}  # fields whose lists have one label per annotator
ANNOTATORS = frozenset(word + "s" for word in ANNOTATOR.words)  # the field beside a list of labels
PEOPLE = re.compile(r"(ann|" + "|".join(sorted(ANNOTATOR.words, key=len, reverse=True)) + r")[ _.-]?\w*", re.IGNORECASE)
MANY = 3  # votes of an annotator who should have some label in common with others


def is_record(value: Any) -> bool:
    """Return whether an object has a field for votes, which may be empty."""
    return isinstance(value, dict) and any(map(_is_field, value))


def vote_fields(record: dict[str, Any]) -> list[str]:
    """Return the fields of a record that hold votes."""
    return [name for name in record if _is_field(name) and _may_be_votes(record[name], record)]


def votes_in(record: dict[str, Any], field: str) -> Any:
    """Return the votes of a field, paired with the annotators if another field of the record lists them."""
    value, names = record[field], _annotators_of(record)
    if isinstance(value, str):
        value = _split(value)
    if not isinstance(value, list) or names is None or any(isinstance(one, dict) for one in value):
        return value
    if len(names) != len(value):
        raise DamagedExport(f"found {len(value):,} labels but {len(names):,} annotators")
    return list(zip(names, value, strict=True))


def pairs_of(votes: Any) -> Iterator[Pair]:
    """Yield every vote as an annotator and a label."""
    for one in votes.items() if isinstance(votes, dict) else votes:
        annotator, label = one if isinstance(one, tuple) else _of_object(one) if isinstance(one, dict) else (None, one)
        label = join_labels(label) if isinstance(label, list) else label
        yield annotator, None if label != label else label  # NaN is no label


def are_votes(values: Sequence[Any], field: str = "") -> bool:
    """Return whether the values of some tasks, in a field or by key, are plainly votes, not other lists and objects."""
    if not values or len({type(value) for value in values}) > 1:
        return False
    try:
        pairs = [list(pairs_of(value)) for value in values]
    except DamagedExport:
        return False
    labels = [label for task in pairs for _, label in task if label is not None]
    if not labels or not all(map(_is_label, labels)):
        return False
    if isinstance(values[0], dict):
        return len(set(map(text_of, labels))) < len(labels) and _have_annotators_as_keys(values)
    if bare_name(field) in ONE_EACH and _repeats([pair for task in pairs for pair in task]):
        return True
    return all(annotator is not None for task in pairs for annotator, _ in task) or any(map(_repeats, pairs))


@lru_cache(2**16)  # the same annotators or fields occur in task after task
def _is_field(name: str) -> bool:
    return bare_name(name) in FIELDS


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and value.is_integer())


def _repeats(pairs: list[Pair]) -> bool:
    """Return whether a label occurs twice: in a list of votes, but never in a set of labels that apply."""
    labels = [text_of(label) for _, label in pairs if label is not None]
    return len(set(labels)) < len(labels)


def _have_annotators_as_keys(tasks: Sequence[dict[str, Any]]) -> bool:
    """Tell annotators from fields of a record, which have values of their own, and from classes with counts."""
    said: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        for annotator, label in task.items():
            said[annotator].append(text_of(label))
    if all(isinstance(label, int | float | None) for task in tasks for label in task.values()):
        is_dense = len({frozenset(task) for task in tasks}) == 1
        if not all(PEOPLE.fullmatch(key) or (key.isdecimal() and not is_dense) for key in said):
            return False
    return not any(len(labels) >= MANY and _is_alone(key, said) for key, labels in said.items())


def _is_alone(key: str, said: dict[str, list[str]]) -> bool:
    own = set(said[key])
    return len(said) > 1 and not any(own & set(labels) for other, labels in said.items() if other != key)


def _may_be_votes(value: Any, record: dict[str, Any]) -> bool:
    if isinstance(value, str):
        return bool(value.strip()) and _annotators_of(record) is not None
    return isinstance(value, list | dict) and bool(value)


def _annotators_of(record: dict[str, Any]) -> list[Any] | None:
    """Return the annotators in a field beside the labels, such as "ann,bob" or a list."""
    for name, value in record.items():
        if bare_name(name) in ANNOTATORS and isinstance(value, str | list):
            return _split(value) if isinstance(value, str) else value
    return None


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _of_object(vote: dict[str, Any]) -> Pair:
    labels, annotators = candidates(vote, LABEL), candidates(vote, ANNOTATOR)
    if len(labels) != 1 or len(annotators) > 1:
        found = "no label" if not labels else "several fields for one vote"
        raise DamagedExport(f"found {found} in an object with the fields {', '.join(vote) or '(none)'}")
    return vote[annotators[0]] if annotators else None, vote[labels[0]]


SAMPLE = 200  # tasks that tell whether a file holds votes
NAME_TASK = use(task=Placeholder("NAME"), text="for the field of the tasks")
ROW_ID = Role("task", "task", TASK.words | {"id", "uid", "index", "key", "pairid"})


@dataclass
class Notes:
    """What was assumed while reading."""

    rows: int = 0
    by_position: bool = False
    numbered: bool = False

    def say(self, name: str) -> None:
        if self.by_position:
            text = f"{name} has labels with no annotators; these are named 1, 2, ... by their position"
            warnings.warn(text, FinegoldWarning, stacklevel=2)
        if self.numbered:
            text = f"the rows of {name} have no id; they are numbered by row"
            warnings.warn(FinegoldWarning(text, [NAME_TASK]), stacklevel=2)


def fits(seen: Peek) -> bool:
    if seen.source.format not in ("json", "jsonl") or not seen.record or seen.source.compression == "zstd":
        return False
    if not _may_fit(seen):
        return False
    with suppress(DamagedExport):
        tasks = [value for _, value in islice(_tasks(seen), SAMPLE) if value not in (None, {}, [])]
        return bool(tasks) and (_are_records(tasks) if any(map(is_record, tasks)) else are_votes(tasks))
    return False


def read(seen: Peek, options: ExportOptions) -> Iterator[pl.DataFrame]:
    notes = Notes()
    yield from in_batches(with_numbers(_tasks(seen), lambda task: _votes(task[0], task[1], options, notes)))
    notes.say(seen.source.name)


def _may_fit(seen: Peek) -> bool:
    """Return whether the first record can be a row with votes, or an object keyed by task."""
    roles = [role for role in (ANNOTATOR, LABEL) if candidates(seen.record, role)]
    if is_record(seen.record):
        return len(roles) < 2
    return not seen.is_list and not roles and all(isinstance(value, _INNER) for value in seen.record.values())


_INNER = (dict, list, type(None))


def _are_records(tasks: list[Any]) -> bool:
    """Return whether some field holds votes in every record that has it."""
    if not all(isinstance(task, dict) for task in tasks):
        return False
    fields = dict.fromkeys(field for task in tasks for field in vote_fields(task))
    found = {field: [votes_in(task, field) for task in tasks if field in vote_fields(task)] for field in fields}
    return any(are_votes(values, field) for field, values in found.items())


def _tasks(seen: Peek) -> Iterator[tuple[Any, Any]]:
    """Yield the id and the content of every task. The id of a row is None."""
    if seen.is_list or is_record(seen.record):
        return ((None, record) for record in read_records(seen))
    return _pairs(seen)


def _pairs(seen: Peek) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of an object that may be larger than memory."""
    import ijson

    done = 0
    with open_export(seen.source) as file:
        try:
            for pair in ijson.kvitems(file, "", use_float=True, multiple_values=True):
                done += 1
                yield pair
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise DamagedExport(describe_damage(error), record=done + 1) from None


def _votes(key: Any, value: Any, options: ExportOptions, notes: Notes) -> Iterable[Vote]:
    if key is None or is_record(value):
        return _of_record(key, value, options, notes)
    if options.task is not None:
        raise DamagedExport("the keys of the object name the tasks", leave_out("task"))
    if value is None or value == {} or value == []:
        return [Vote(key)]
    if not isinstance(value, dict | list):
        raise DamagedExport(f'"{key}" holds {value!r:.40}, expected votes')
    return _of_task(key, value, "", notes)


def _of_record(key: Any, record: Any, options: ExportOptions, notes: Notes) -> Iterator[Vote]:
    if not isinstance(record, dict):
        raise DamagedExport(f"expected a JSON object, found {record!r:.40}")
    notes.rows += 1
    task = _id_of(key, record, options, notes)
    fields = vote_fields(record)
    if not fields:
        yield Vote(task)
    for field in fields:
        yield from _of_task(task, votes_in(record, field), field, notes)


def _of_task(task: Any, votes: Any, question: str, notes: Notes) -> Iterator[Vote]:
    for number, (annotator, label) in enumerate(pairs_of(votes), start=1):
        notes.by_position = notes.by_position or annotator is None
        yield Vote(task, str(number) if annotator is None else annotator, label, question)


def _id_of(key: Any, record: dict[str, Any], options: ExportOptions, notes: Notes) -> Any:
    """Return the id of a record: its key, the field that the user names, a field with a usual name, or its number."""
    try:
        if key is not None and options.task is None:
            return key
        field = find_column(list(record), ROW_ID, options.task)
    except InputError as error:
        raise DamagedExport(error.problem, NAME_TASK) from None
    if field is not None:
        return record[field]
    if options.has_many_files:
        raise DamagedExport("the row has no id", NAME_TASK)
    notes.numbered = True
    return notes.rows


EXPORT = Export(
    name="nested-json",
    title="nested JSON",
    remedy='expected an object of tasks, {"task": {"annotator": "label"}}, or rows with a list or an object of votes',
    fits=fits,
    read=read,
    takes_task=True,
)
