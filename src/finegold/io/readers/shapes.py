"""Recognise tables without a label column: a column per annotator (wide) or per task (transposed).

The values tell: columns with votes share labels, and the column that names the rows has each name once. Tables in which
tasks occur in several rows are long, and are never taken for either. A guess is made only where it is plain; see
`evidence`.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from finegold.errors import FinegoldWarning, InputError
from finegold.io.readers.columns import (
    ANNOTATOR,
    INDEX,
    LABEL,
    RESPONDENT,
    WIDE_TASK,
    bare_name,
    find_column,
    truth_columns,
)
from finegold.io.readers.evidence import doubt_names, doubt_values, is_derived, names_people
from finegold.io.readers.table import Loaded, Opened
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list
from finegold.votes.labels import drop_missing
from finegold.votes.names import Coded, text_of

__all__ = ["Guess", "Shape", "alike", "guess_shape", "plain_columns", "say_aside", "shape_of"]

MOST_COLUMNS = 1_000  # that are compared with each other
MOST_LABELS = 200  # of one column; a column with more holds ids, texts or measurements
TEXT_LENGTH = 50  # of labels on average; longer ones are texts
MANY_ROWS = 5  # in which a column of votes repeats itself


class Shape(NamedTuple):
    is_transposed: bool
    ids: Any  # the column that names the rows
    votes: list[Any]  # the columns that hold votes


class Guess(NamedTuple):
    """What a table may be, and why that is not plain; no shape if nothing speaks for one."""

    shape: Shape | None = None
    doubt: str = ""
    aside: Sequence[Any] = ()  # columns without votes


def shape_of(opened: Opened, task: str | None) -> Shape | None:
    """Return the shape, or None if the table may be long or it is not plain."""
    found = guess_shape(opened, task)
    return None if found.doubt else found.shape


def guess_shape(opened: Opened, task: str | None) -> Guess:
    if any(bare_name(column) in LABEL.words for column in opened.columns):
        return Guess()
    found = _ids(opened.columns, task) if len(opened.columns) <= MOST_COLUMNS else None
    if found is None:
        return Guess()
    ids, is_transposed = found
    others = _others(opened.columns, ids)
    table = opened.load(opened.columns)
    labels = {name: drop_missing(table.values(name), None) for name in others}
    groups = _groups(labels)
    if not groups or not _names_each_once(table, ids):
        return Guess()
    votes = max(groups, key=len)
    if (people := [name for name in votes if names_people(name)]) and not is_transposed:
        votes = _without_features(votes, people)
    doubt = _doubt({name: labels[name] for name in votes}, is_transposed)
    doubt = "other columns share other labels" if len(groups) > 1 else doubt
    voting = {ids, *votes}
    aside = [name for name in opened.columns if name not in voting and name not in truth_columns(opened.columns)]
    return Guess(Shape(is_transposed, ids, votes), doubt, aside)


def _others(columns: Sequence[Any], ids: Any) -> list[Any]:
    """Return the columns that may hold votes: neither ids, truths, row numbers nor labels made of votes."""
    known = {ids, *truth_columns(columns)}
    return [name for name in columns if name not in known and bare_name(name) not in INDEX and not is_derived(name)]


def _ids(columns: list[Any], task: str | None) -> tuple[Any, bool] | None:
    """Return the column of tasks, or of people, and whether it is that of people."""
    try:
        tasks = find_column(columns, WIDE_TASK, task)
        if tasks is not None and bare_name(tasks) not in INDEX:
            return tasks, False
        people = find_column(columns, RESPONDENT, None)
    except InputError:  # several could be it
        return None
    if people is None or people == tasks:
        return None if tasks is None else (tasks, False)
    return people, True


def _names_each_once(table: Loaded, column: Any) -> bool:
    ids = table.ids(column)
    return bool((ids.codes != MISSING).all()) and len(ids.names) == len(ids.codes)


def _groups(labels: dict[Any, Coded]) -> list[list[Any]]:
    """Return the groups of two or more columns that share labels; none if there are too many columns to compare."""
    if len(labels) > MOST_COLUMNS:
        return []
    few = {name: coded for name, coded in labels.items() if len(coded.names) <= MOST_LABELS}
    groups = alike({name: set(map(text_of, to_list(coded.names))) for name, coded in few.items()})
    return [names for names in groups if len(names) > 1]


def _without_features(votes: list[Any], people: list[Any]) -> list[Any]:
    """Leave out columns that look like features, if two or more others are named like people."""
    features = {name for name in votes if doubt_names([name], is_transposed=False)}
    return [name for name in votes if name not in features] if len(people) > 1 else votes


def _doubt(labels: dict[Any, Coded], is_transposed: bool) -> str:
    if reason := doubt_names(list(labels), is_transposed):
        return reason
    names = sorted({text_of(name) for coded in labels.values() for name in to_list(coded.names)})
    if sum(map(len, names)) > TEXT_LENGTH * len(names):
        return "the values look like texts"
    code_of = {name: code for code, name in enumerate(names)}
    codes = np.stack([_renumbered(coded, code_of) for coded in labels.values()], axis=1)
    people = sum(map(names_people, labels))
    return doubt_values(codes, names, people, is_transposed)


def _renumbered(coded: Coded, code_of: dict[str, int]) -> Any:
    codes = np.array([code_of[text_of(name)] for name in to_list(coded.names)] + [MISSING], np.int32)
    return codes[coded.codes]


def alike(answers: dict[Any, set[str]]) -> list[list[Any]]:
    """Group columns that share labels, directly or through others."""
    groups: dict[int, tuple[list[Any], set[str]]] = {}
    groups_with: dict[str, set[int]] = defaultdict(
        set
    )  # by label, for most columns of a large table have none in common
    for number, (column, said) in enumerate(answers.items()):
        near = sorted(set().union(*(groups_with[label] for label in said)))
        joined = [groups.pop(group) for group in near if _share(groups[group][1], said)]
        names = [name for group in joined for name in group[0]]
        groups[number] = ([*names, column], said.union(*(group[1] for group in joined)))
        for label in groups[number][1]:
            groups_with[label] = {group for group in groups_with[label] if group in groups} | {number}
    return [names for names, _ in groups.values()]


def _share(some: set[str], others: set[str]) -> bool:
    """Return whether half of the smaller set is shared: one common number would not be enough."""
    return len(some & others) * 2 >= min(len(some), len(others)) > 0


def say_aside(name: str, is_transposed: bool, votes: Sequence[Any], aside: Sequence[Any]) -> None:
    """Warn of the columns that are left aside."""
    if aside:
        kind = "transposed table, whose tasks" if is_transposed else "wide table, whose annotators"
        text = f"{name} is taken for a {kind} are {', '.join(map(str, votes))}; {', '.join(map(str, aside))} left aside"
        warnings.warn(text, FinegoldWarning, stacklevel=5)


def plain_columns(table: Loaded, columns: Sequence[Any], ids: Any) -> list[Any]:
    """Return the columns of a table that the user calls wide, without row numbers, ids, texts and derived labels."""
    others = _others(columns, ids)
    labels = {name: drop_missing(table.values(name), None) for name in others}
    groups = _groups(labels)
    largest: list[Any] = max(groups, key=len, default=[])
    votes = set(largest)
    return [name for name in others if name in votes or not _may_be_left(name, labels[name], bool(votes))]


def _may_be_left(name: Any, labels: Coded, has_votes: bool) -> bool:
    """Return whether a column that shares no labels with others holds ids, texts, or another kind of values."""
    voted = int((labels.codes != MISSING).sum())
    if bare_name(name) in WIDE_TASK.words | ANNOTATOR.words:
        return True
    names = [text_of(value) for value in to_list(labels.names)]
    if names and sum(map(len, names)) > TEXT_LENGTH * len(names):
        return True
    return has_votes and voted >= MANY_ROWS and (len(names) * 2 > voted or voted * 2 > len(labels.codes))
