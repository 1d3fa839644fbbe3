"""JSON in which every task holds its votes: rows with a field of votes, or an object keyed by task
or by annotator. The votes may stand one level deeper, with each sentence of a record.

The votes of a task are an object annotator -> label, objects with a label and perhaps an annotator,
or a list of labels.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from finegold.errors import InputError, Placeholder, leave_out, use
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
from finegold.io.exports.marks import PLACES
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
# different labels of an annotator, of which some should be those of others
MANY = 3
# tasks that tell whether a file holds votes
SAMPLE = 200
# as many times more tasks than annotators as show that the keys are annotators
MANY_TASKS = 3


def fits(seen: Source) -> bool:
    """Return whether the first tasks plainly hold votes."""
    record, by_field = seen.record, defaultdict[str, list[Any]](list)
    are_inner = all(isinstance(value, dict | list | None) for value in record.values())
    is_keyed = seen.layout != "list" and are_inner
    if not record or (_parts_of(record) is None and not is_keyed):
        return False
    # a long table has both
    if candidates(record, ANNOTATOR) and candidates(record, LABEL):
        return False
    try:
        for _, content in islice(_tasks(seen, None), SAMPLE):
            parts = _parts_of(content)
            for _, fields in [("", {"": content})] if parts is None else parts:
                for name, votes in fields.items():
                    by_field[name] += [votes] if votes else []
        return any(_are_votes(votes, name) for name, votes in by_field.items())
    except (DamagedExport, *base.MISUSED):
        return False


def _tasks(seen: Source, options: ExportOptions | None) -> Iterator[tuple[Any, Any]]:
    """Yield the key and the content of every task. The key of a row is its number."""
    are_rows = seen.layout == "list" or _parts_of(seen.record) is not None
    for number, record in enumerate(base.read_records(seen)):
        if are_rows:
            yield number, record
        elif (by_annotator := _by_annotator(record)) is None:
            yield from record.items()
        else:
            if options is not None:
                names = list_names([*by_annotator][:3])
                wrong = "if they are tasks, write rows with a task, an annotator and a label"
                text = f"the keys of {seen.name} are taken as annotators: {names}"
                options.warn_once(text, use(text=wrong))
            tasks = dict.fromkeys(task for labels in by_annotator.values() for task in labels)
            for task in tasks:
                each = by_annotator.items()
                yield task, {who: labels[task] for who, labels in each if task in labels}


def _by_annotator(record: dict[str, Any]) -> dict[str, dict[str, Any]] | None:
    """Return the labels of each annotator by task if the keys of an object are annotators."""
    rows = {key: _labels_of_rows(value) for key, value in record.items()}
    n_labels = sum(map(len, rows.values()))
    if len(rows) > 1 and all(rows.values()):
        # those of several annotators, and not those of parts of the tasks
        tasks = {task for labels in rows.values() for task in labels}
        return rows if len(tasks) < n_labels else None
    inner = {task for votes in record.values() if isinstance(votes, dict) for task in votes}
    if not inner or not all(
        isinstance(votes, dict) and not any(isinstance(vote, dict) for vote in votes.values())
        for votes in record.values()
    ):
        return None
    outside, inside = (all(map(PEOPLE.fullmatch, names)) for names in (record, inner))
    are_few = len(record) > 1 and len(inner) >= MANY_TASKS * len(record)
    return record if (outside if outside != inside else are_few) else None


def _labels_of_rows(rows: Any) -> dict[str, Any]:
    """Return the labels in rows such as {"id": ..., "label": ...} by task; none in other lists."""
    labels = {}
    for row in rows if isinstance(rows, list) else []:
        fields = row if isinstance(row, dict) else {}
        tasks, said = candidates(fields, ROW_ID), candidates(fields, LABEL)
        if len(tasks) != 1 or len(said) != 1 or candidates(fields, ANNOTATOR):
            return {}
        labels[text_of(row[tasks[0]])] = row[said[0]]
    return labels


def _votes(task: tuple[Any, Any], options: ExportOptions) -> Iterator[Vote]:
    """Yield the votes on a task, or on the parts of it that hold them, such as its sentences."""
    key, content = task
    parts = _parts_of(content)
    if isinstance(key, int) or parts is not None:
        name = _id_of(content, key, options)
    else:
        if options.task is not None:
            raise DamagedExport("the keys of the object name the tasks", leave_out("task"))
        if not isinstance(content, dict | list | None):
            raise DamagedExport(f'"{key}" holds {content!r:.40}, expected votes')
        name, parts = key, [("", {"": content} if content else {})]
    for place, fields in parts or [("", {})]:
        part = name if place == "" else f"{text_of(name)}/{place}"
        if not fields:
            yield Vote(part)
        for question, votes in fields.items():
            for number, (annotator, label) in enumerate(_pairs_of(votes), start=1):
                if annotator is None:
                    options.warn_once(
                        f"{options.seen.name} has labels with no annotators; these are named 1, 2,"
                        " ... by their position"
                    )
                yield Vote(part, number if annotator is None else annotator, label, question)


def _id_of(record: Any, key: Any, options: ExportOptions) -> Any:
    """Return the name of the task: the key of the object, what a field of the row says, or its
    number.
    """
    if isinstance(key, str) and options.task is None:
        return key
    name_task = use(task=Placeholder("NAME"), text="for the field of the tasks")
    try:
        field = find_column(list(base.need({"": record}, "", dict)), ROW_ID, options.task)
    except InputError as error:
        raise DamagedExport(error.problem, name_task) from None
    if field is not None:
        return record[field]
    if options.has_many_files:
        raise DamagedExport("the row has no id", name_task)
    text = f"the rows of {options.seen.name} have no id; they are numbered from 0"
    options.warn_once(text, name_task)
    return key


# the same fields occur in task after task
@lru_cache(2**16)
def _is_field(name: str) -> bool:
    return bare_name(name) in FIELDS


def _parts_of(record: Any) -> list[tuple[Any, dict[str, Any]]] | None:
    """Return what a record holds votes on, with the votes by question: "" for the record, or each
    of its sentences; None if it has no field of votes.
    """
    if not isinstance(record, dict):
        return None
    if any(map(_is_field, record)):
        return [("", _fields_of(record))]
    for name, parts in record.items():
        if not isinstance(parts, list) or not parts or not all(isinstance(p, dict) for p in parts):
            continue
        if all(any(map(_is_field, part)) for part in parts):
            return [(_place_of(part, n), _fields_of(part)) for n, part in enumerate(parts, 1)]
        if not bare_name(name).endswith(tuple(FIELDS)):
            continue
        # an object of annotators for each sentence, or one of criteria for each annotator
        if all(PEOPLE.fullmatch(key) for part in parts for key in part):
            return [(n, {"": part}) for n, part in enumerate(parts, 1)]
        if len({frozenset(part) for part in parts}) == 1 and not candidates(parts[0], LABEL):
            return [("", _criteria_of(parts))]
    return None


def _place_of(part: dict[str, Any], number: int) -> Any:
    names = candidates(part, ROW_ID)
    return part[names[0]] if len(names) == 1 and part[names[0]] is not None else number


def _criteria_of(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the votes by criterion of objects with the same fields, one for each annotator."""
    people = candidates(parts[0], ANNOTATOR)[:1]
    who = [part[people[0]] if people else None for part in parts]
    return {
        name: list(zip(who, (part[name] for part in parts), strict=True))
        for name in parts[0]
        if name not in people and not any(isinstance(part[name], dict) for part in parts)
    }


def _fields_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return the votes of each field with some, paired with annotators if a field lists them, as
    "ann,bob" may.
    """

    def parts(value: Any) -> Any:
        return [part.strip() for part in value.split(",")] if isinstance(value, str) else value

    listed = [parts(record[name]) for name in record if bare_name(name) in ANNOTATORS]
    annotators = next((each for each in listed if isinstance(each, list)), None)
    fields = {}
    for name in filter(_is_field, record):
        votes = record[name] if annotators is None else parts(record[name])
        if not isinstance(votes, list | dict) or not votes or votes == [""]:
            continue
        are_labels = isinstance(votes, list) and not any(isinstance(vote, dict) for vote in votes)
        if are_labels and annotators is not None:
            if len(annotators) != len(votes):
                problem = f"found {len(votes):,} labels but {len(annotators):,} annotators"
                raise DamagedExport(problem)
            votes = list(zip(annotators, votes, strict=True))
        fields[name] = votes
    return fields


def _pairs_of(votes: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every vote as an annotator, or None where only the position tells, and a label."""
    for vote in votes.items() if isinstance(votes, dict) else votes:
        annotator, label = vote if isinstance(vote, tuple) else (None, vote)
        if isinstance(vote, dict):
            labels, annotators = candidates(vote, LABEL), candidates(vote, ANNOTATOR)
            is_other = bool(candidates(vote, TASK) or PLACES & vote.keys())
            if len(labels) != 1 or len(annotators) > 1 or is_other:
                what = "other fields than those of one vote" if labels else "no label"
                fields = ", ".join(vote) or "(none)"
                raise DamagedExport(f"found {what} in an object with the fields {fields}")
            annotator, label = vote[annotators[0]] if annotators else None, vote[labels[0]]
        # NaN is not a label, and differs from itself
        yield annotator, None if label != label else base.join_labels(label)


# Votes, or other lists and objects?


def _are_votes(values: Sequence[Any], field: str) -> bool:
    """Return whether the values of some tasks, in a field or by key, are plainly votes."""
    pairs = [list(_pairs_of(value)) for value in values]
    votes = [pair for task in pairs for pair in task if pair[1] is not None]
    if not votes or len({type(value) for value in values}) > 1:
        return False
    if not all(isinstance(label, str | int) or label % 1 == 0 for _, label in votes):
        return False
    if isinstance(values[0], dict):
        return _are_by_annotator(votes, len({frozenset(value) for value in values}) == 1)
    if bare_name(field) in ONE_EACH and _repeats(votes):
        return True
    return all(annotator is not None for annotator, _ in votes) or any(map(_repeats, pairs))


def _are_by_annotator(votes: list[tuple[Any, Any]], is_dense: bool) -> bool:
    """Tell annotators from fields of a record, which have values of their own, and from classes with
    counts.
    """
    said = defaultdict[str, set[str]](set)
    for annotator, label in votes:
        said[annotator].add(text_of(label))
    are_people = all(PEOPLE.fullmatch(key) or (key.isdecimal() and not is_dense) for key in said)
    if not _repeats(votes) or not (are_people or any(isinstance(label, str) for _, label in votes)):
        return False
    # in how many annotators' votes each label occurs
    shared = Counter(chain.from_iterable(said.values()))
    fields = [each for each in said.values() if all(shared[label] == 1 for label in each)]
    return len(said) == 1 or all(len(each) < MANY for each in fields)


def _repeats(votes: list[tuple[Any, Any]]) -> bool:
    """Return whether a label occurs twice, as it never does in a set of labels that apply."""
    labels = [text_of(label) for _, label in votes if label is not None]
    return len(set(labels)) < len(labels)


REMEDY = (
    'expected an object of tasks, {"task": {"annotator": "label"}}, or rows with a list or an'
    " object of votes"
)
READ = base.by_record(_votes, _tasks)
EXPORT = Export("nested-json", "nested JSON", REMEDY, fits, READ, takes_task=True)
