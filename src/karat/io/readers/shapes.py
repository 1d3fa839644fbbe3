"""Recognise tables without a label column: a column per annotator (wide) or per task (transposed).

The values tell: columns with votes share labels, and the column that names the rows has each name once. Tables in which
tasks occur in several rows are long, and are never taken for either.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any, NamedTuple

from karat.errors import InputError, KaratWarning
from karat.io.readers.columns import LABEL, RESPONDENT, WIDE_TASK, candidates, find_column, truth_columns
from karat.io.readers.table import Loaded, Opened
from karat.votes.encoding import MISSING
from karat.votes.frames import to_list
from karat.votes.labels import drop_missing
from karat.votes.names import text_of

__all__ = ["Shape", "alike", "shape_of"]


class Shape(NamedTuple):
    is_transposed: bool
    ids: Any  # the column that names the rows
    votes: list[Any]  # the columns that hold votes


def shape_of(opened: Opened, task: str | None) -> Shape | None:
    """Return the shape, or None if the table may be long or the values do not tell."""
    if candidates(opened.columns, LABEL):
        return None
    found = _ids(opened.columns, task)
    if found is None:
        return None
    ids, is_transposed = found
    named = {ids, *truth_columns(opened.columns)}
    others = [name for name in opened.columns if name not in named]
    table = opened.load(opened.columns)
    group = _voting(table, others)
    if group is None or not _names_each_once(table, ids):
        return None
    _say(opened.name, is_transposed, group, others)
    return Shape(is_transposed, ids, group)


def _ids(columns: list[Any], task: str | None) -> tuple[Any, bool] | None:
    """Return the column of tasks, or of people, and whether it is that of people."""
    try:
        tasks = find_column(columns, WIDE_TASK, task)
        if tasks is not None:
            return tasks, False
        people = find_column(columns, RESPONDENT, None)
    except InputError:  # several could be it
        return None
    return None if people is None else (people, True)


def _names_each_once(table: Loaded, column: Any) -> bool:
    ids = table.ids(column)
    return bool((ids.codes != MISSING).all()) and len(ids.names) == len(ids.codes)


def _voting(table: Loaded, columns: list[Any]) -> list[Any] | None:
    """Return the columns that share labels, if there is exactly one group of two or more."""
    labels = {name: drop_missing(table.values(name), None) for name in columns}
    groups = alike({name: set(map(text_of, to_list(coded.names))) for name, coded in labels.items()})
    several = [names for names in groups if len(names) > 1]
    return several[0] if len(several) == 1 else None


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


def _say(name: str, is_transposed: bool, votes: list[Any], others: list[Any]) -> None:
    voting = set(votes)
    aside = [column for column in others if column not in voting]
    if aside:
        kind = "transposed table, whose tasks" if is_transposed else "wide table, whose annotators"
        text = f"{name} is taken for a {kind} are {', '.join(map(str, votes))}; {', '.join(map(str, aside))} left aside"
        warnings.warn(text, KaratWarning, stacklevel=5)
