"""JSON in which every task holds its votes: an object keyed by task, or rows with a field of votes."""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any

import polars as pl

from finegold.errors import FinegoldWarning, InputError, Placeholder, leave_out, use
from finegold.io.columns import ANNOTATOR, LABEL, TASK, Role, bare_name, candidates, find_column
from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote
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
ROW_ID = Role("task", "task", TASK.words | {"id", "uid", "index", "key", "pairid"})
# what is noted while reading
ROWS, BY_POSITION, NUMBERED = "rows", "by position", "numbered"
# votes of an annotator who should have some label in common with others
MANY = 3
# tasks that tell whether a file holds votes
SAMPLE = 200
NAME_TASK = use(task=Placeholder("NAME"), text="for the field of the tasks")

# an annotator, or None where only the position tells, and a label
Pair = tuple[Any, Any]


def fits(seen: Source) -> bool:
    if seen.format not in ("json", "jsonl") or not seen.record:
        return False
    roles = [role for role in (ANNOTATOR, LABEL) if candidates(seen.record, role)]
    is_inner = all(isinstance(value, dict | list | None) for value in seen.record.values())
    if not (
        len(roles) < 2
        if _is_record(seen.record)
        else is_inner and seen.layout != "list" and not roles
    ):
        return False
    with suppress(DamagedExport):
        tasks = [value for _, value in islice(_tasks(seen), SAMPLE) if value not in (None, {}, [])]
        are_rows = all(isinstance(task, dict) and list(task)[:2] == ["0", "1"] for task in tasks)
        if are_rows and len(tasks) > 1 and not all(str(key).isdigit() for key in seen.record):
            # columns, as pandas writes them: the keys are numbers of rows
            return False
        if not any(map(_is_record, tasks)):
            return _are_votes(tasks)
        # some field holds votes in every record that has it
        if all(isinstance(task, dict) for task in tasks):
            held = [_vote_fields(task) for task in tasks]
            fields = dict.fromkeys(field for votes_of in held for field in votes_of)
            return any(
                _are_votes([votes_of[name] for votes_of in held if name in votes_of], name)
                for name in fields
            )
    return False


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    # the rows, and what was assumed while reading
    notes: Counter[str] = Counter()
    tasks = base.with_numbers(_tasks(seen), lambda task: _votes(task[0], task[1], options, notes))
    yield from base.in_batches(tasks)
    if notes[BY_POSITION]:
        text = (
            f"{seen.name} has labels with no annotators; these are named 1, 2, ... by their"
            " position"
        )
        warnings.warn(text, FinegoldWarning, stacklevel=2)
    if notes[NUMBERED]:
        text = f"the rows of {seen.name} have no id; they are numbered from 0"
        warnings.warn(FinegoldWarning(text, [NAME_TASK]), stacklevel=2)


def _tasks(seen: Source) -> Iterator[tuple[Any, Any]]:
    """Yield the id and the content of every task. The id of a row is None. The object may be larger
    than memory.
    """
    if seen.layout == "list" or _is_record(seen.record):
        yield from ((None, record) for record in base.read_records(seen))
    else:
        with base.open_export(seen) as file:
            yield from base.json_items(file, "", as_pairs=True)


def _votes(key: Any, value: Any, options: ExportOptions, notes: Counter[str]) -> Iterator[Vote]:
    if key is None or _is_record(value):
        if not isinstance(value, dict):
            raise DamagedExport(f"expected a JSON object, found {value!r:.40}")
        notes[ROWS] += 1
        task = key
        if key is None or options.task is not None:
            try:
                field = find_column(list(value), ROW_ID, options.task)
            except InputError as error:
                raise DamagedExport(error.problem, NAME_TASK) from None
            if field is None and options.has_many_files:
                raise DamagedExport("the row has no id", NAME_TASK)
            notes[NUMBERED] += field is None
            # as rows of tables and matrices are numbered
            task = notes[ROWS] - 1 if field is None else value[field]
        votes_of = _vote_fields(value)
    else:
        if options.task is not None:
            raise DamagedExport("the keys of the object name the tasks", leave_out("task"))
        if not isinstance(value, dict | list | None):
            raise DamagedExport(f'"{key}" holds {value!r:.40}, expected votes')
        task, votes_of = key, {"": value} if value else {}
    if not votes_of:
        yield Vote(task)
    for question, votes in votes_of.items():
        for number, (annotator, label) in enumerate(_pairs_of(votes), start=1):
            if annotator is None:
                notes[BY_POSITION], annotator = 1, str(number)
            yield Vote(task, annotator, label, question)


# What holds votes.


# the same annotators or fields occur in task after task
@lru_cache(2**16)
def _is_field(name: str) -> bool:
    return bare_name(name) in FIELDS


def _is_record(value: Any) -> bool:
    """Return whether an object has a field for votes, which may be empty."""
    return isinstance(value, dict) and any(map(_is_field, value))


def _vote_fields(record: dict[str, Any]) -> dict[str, Any]:
    """Return the votes in each field with some, paired with annotators if a field lists them, as
    "ann,bob" may.
    """

    def parts(value: Any) -> Any:
        return [part.strip() for part in value.split(",")] if isinstance(value, str) else value

    listed = (
        value
        for name, value in record.items()
        if bare_name(name) in ANNOTATORS and isinstance(value, str | list)
    )
    annotators = parts(next(listed, None))
    fields = {}
    for name, value in record.items():
        is_text = annotators is not None and isinstance(value, str) and value.strip()
        if not _is_field(name) or not (is_text or (isinstance(value, list | dict) and value)):
            continue
        votes = fields[name] = parts(value)
        if (
            isinstance(votes, list)
            and annotators is not None
            and not any(isinstance(vote, dict) for vote in votes)
        ):
            if len(annotators) != len(votes):
                raise DamagedExport(
                    f"found {len(votes):,} labels but {len(annotators):,} annotators"
                )
            fields[name] = list(zip(annotators, votes, strict=True))
    return fields


def _pairs_of(votes: Any) -> Iterator[Pair]:
    """Yield every vote as an annotator and a label."""
    for vote in votes.items() if isinstance(votes, dict) else votes:
        if isinstance(vote, dict):
            labels, annotators = candidates(vote, LABEL), candidates(vote, ANNOTATOR)
            if len(labels) != 1 or len(annotators) > 1:
                what = "no label" if not labels else "several fields for one vote"
                raise DamagedExport(
                    f"found {what} in an object with the fields {', '.join(vote) or '(none)'}"
                )
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
    except DamagedExport:
        return False
    labels = [label for task in pairs for _, label in task if label is not None]
    if not labels or not all(
        isinstance(v, str | int) or (isinstance(v, float) and v.is_integer()) for v in labels
    ):
        return False
    if isinstance(values[0], dict):
        # Tell annotators from fields of a record, which have values of their own, and from classes
        # with counts.
        labels_of: dict[str, list[str]] = defaultdict(list)
        for task in values:
            for annotator, label in task.items():
                labels_of[annotator].append(text_of(label))
        are_numbers = all(
            isinstance(label, int | float | None) for task in values for label in task.values()
        )
        is_dense = len({frozenset(task) for task in values}) == 1
        are_people = all(
            PEOPLE.fullmatch(key) or (key.isdecimal() and not is_dense) for key in labels_of
        )
        if len(set(map(text_of, labels))) == len(labels) or (are_numbers and not are_people):
            return False
        sets = {annotator: set(labels) for annotator, labels in labels_of.items()}
        return len(sets) == 1 or not any(
            len(labels) >= MANY
            and not any(sets[key] & others for other, others in sets.items() if other != key)
            for key, labels in labels_of.items()
        )
    if bare_name(field) in ONE_EACH and _repeats([pair for task in pairs for pair in task]):
        return True
    return all(annotator is not None for task in pairs for annotator, _ in task) or any(
        map(_repeats, pairs)
    )


def _repeats(pairs: list[Pair]) -> bool:
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
