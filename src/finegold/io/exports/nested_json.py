"""JSON in which every task holds its votes: an object keyed by task, or rows with a field of votes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import polars as pl

from finegold.errors import FinegoldWarning, InputError
from finegold.io.exports.export import Export, ExportOptions, Vote, Wrong, in_batches, numbered
from finegold.io.exports.nested_votes import are_votes, is_record, pairs_of, vote_fields, votes_in
from finegold.io.exports.peek import Peek
from finegold.io.exports.records import damage, open_export, records_of
from finegold.io.readers.columns import ANNOTATOR, LABEL, TASK, Role, candidates, find_column

__all__ = ["EXPORT"]

SAMPLE = 200  # tasks that tell whether a file holds votes
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
            text = f"the rows of {name} have no id; they are numbered by row (name a field with --task)"
            warnings.warn(text, FinegoldWarning, stacklevel=2)


def fits(seen: Peek) -> bool:
    if seen.source.format not in ("json", "jsonl") or not seen.record or seen.source.compression == "zstd":
        return False
    if not _may_fit(seen):
        return False
    with suppress(Wrong):
        tasks = [value for _, value in islice(_tasks(seen), SAMPLE) if value not in (None, {}, [])]
        return bool(tasks) and (_are_records(tasks) if any(map(is_record, tasks)) else are_votes(tasks))
    return False


def read(seen: Peek, options: ExportOptions) -> Iterator[pl.DataFrame]:
    notes = Notes()
    yield from in_batches(numbered(_tasks(seen), lambda task: _votes(task[0], task[1], options, notes)))
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
        return ((None, record) for record in records_of(seen))
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
            raise Wrong(damage(error), record=done + 1) from None


def _votes(key: Any, value: Any, options: ExportOptions, notes: Notes) -> Iterable[Vote]:
    if key is None or is_record(value):
        return _of_record(key, value, options, notes)
    if options.task is not None:
        raise Wrong("the keys of the object name the tasks", remedy="leave out --task")
    if value is None or value == {} or value == []:
        return [Vote(key)]
    if not isinstance(value, dict | list):
        raise Wrong(f'"{key}" holds {value!r:.40}, expected votes')
    return _of_task(key, value, "", notes)


def _of_record(key: Any, record: Any, options: ExportOptions, notes: Notes) -> Iterator[Vote]:
    if not isinstance(record, dict):
        raise Wrong(f"expected a JSON object, found {record!r:.40}")
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
        raise Wrong(str(error), remedy="name the field of the tasks with --task") from None
    if field is not None:
        return record[field]
    if options.has_many_files:
        raise Wrong("the row has no id", remedy="name the field of the tasks with --task")
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
