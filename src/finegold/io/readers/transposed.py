"""Transposed tables, as survey tools write them: one row per annotator, one column per task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from finegold.errors import InputError
from finegold.io.readers.assemble import ReadOptions, assemble, refuse_lost_ids, with_columns
from finegold.io.readers.columns import RESPONDENT, TRUTH, bare_name, candidates, columns_of
from finegold.io.readers.table import Opened
from finegold.io.readers.truth import Truth, read_gold
from finegold.io.readers.wide import cells_of, column_names, count_cells, id_column, row_ids, with_unlabelled
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Names
from finegold.votes.frames import to_list
from finegold.votes.hygiene import votes_in
from finegold.votes.names import Coded

__all__ = ["read_transposed"]

TIMES = frozenset(["timestamp", "starttime", "completiontime", "lastmodifiedtime", "submittedat", "submitdate"])


def read_transposed(
    opened: Opened, tasks: str | Sequence[Any] | None, annotator: str | None, options: ReadOptions
) -> Annotations:
    """Annotators are named by their column (or by a pandas index), else by the number of their row, from 1.

    tasks: the columns that are tasks, or patterns of them with commas between; by default all but those that name
    people or tell times. A row called gold or truth is no annotator; it is used if `gold` is True.
    """
    with columns_of(opened.name):
        opened, by_annotator = id_column(opened, RESPONDENT, annotator, set())
        columns = _task_columns(opened.columns, tasks, by_annotator)
    table = opened.load([column for column in [by_annotator, *columns] if column is not None], [by_annotator])
    people, items = row_ids(table, by_annotator), column_names(table, columns)
    cells, row, column = cells_of(table, columns)
    labels = votes_in(cells, options.no_vote, is_wide=options.classes is None)

    def where(cell: int) -> str:
        return f'{table.where(int(row[cell]))}, column "{columns[column[cell]]}"'

    refuse_lost_ids("annotator", people.codes[row], labels.codes, where)
    task, who = Coded(items.codes[column], items.names), Coded(people.codes[row], people.names)
    keys = _truth_rows(people)
    is_truth = np.isin(who.codes, keys)
    truth = _truth(task, labels, is_truth, options, opened.name)
    votes = Coded(np.where(is_truth, np.int32(MISSING), labels.codes), labels.names)
    whole = with_unlabelled(task, who, votes, items)
    annotations = assemble(*whole, truth, options, table.is_text, where)
    counted = count_cells(annotations, int((~np.isin(people.codes, keys)).sum()) * len(columns))
    counted = with_columns(counted, opened, None, by_annotator)
    return replace(counted, never_voted=_without_truth(counted.never_voted))


def _task_columns(columns: list[Any], tasks: str | Sequence[Any] | None, by_annotator: Any) -> list[Any]:
    if tasks is not None and not isinstance(tasks, str):
        return list(tasks)
    others = {by_annotator, *candidates(columns, RESPONDENT)}
    found = [column for column in columns if column not in others and bare_name(column) not in TIMES]
    if tasks is not None:
        patterns = [pattern.strip() for pattern in tasks.split(",")]
        wanted = [column for column in columns if any(fnmatchcase(str(column), pattern) for pattern in patterns)]
        found = [column for column in wanted if column != by_annotator]
    if not found:
        named = "" if tasks is None else f" that fits {tasks}"
        raise InputError(f"there is no column of a task{named} among {', '.join(map(str, columns))}")
    return found


def _truth_rows(people: Coded) -> list[int]:
    return [code for code, name in enumerate(to_list(people.names)) if bare_name(name) in TRUTH.words]


def _without_truth(names: Names) -> Names:
    kept = [place for place, name in enumerate(to_list(names)) if bare_name(name) not in TRUTH.words]
    people: Names = names[np.array(kept, np.int64)]
    return people


def _truth(task: Coded, labels: Coded, is_truth: Any, options: ReadOptions, name: str) -> Truth | None:
    """Return the truths of a row of the table, or of another source."""
    if options.gold is not True:
        return None if options.gold is None or options.gold is False else read_gold(options.gold, options.no_vote)
    told = np.flatnonzero(is_truth & (labels.codes != MISSING))
    if not told.size:
        raise InputError(f"{name} has no row called gold or truth; give a file of truths (--gold FILE)")
    return Truth(task.names[task.codes[told]], labels.names[labels.codes[told]])
