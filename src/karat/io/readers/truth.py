"""Known truths, to teach a method (gold) or to evaluate it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from karat.errors import InputError
from karat.io.readers.columns import LABEL, TASK, TRUTH, candidates, columns_of, find_columns, the_only, truth_columns
from karat.io.readers.table import Table, open_table
from karat.votes.annotations import Annotations, warn_of_unused_gold
from karat.votes.encoding import MISSING, Codes, Names
from karat.votes.frames import to_list
from karat.votes.labels import drop_missing, is_missing
from karat.votes.names import Coded, integer_names, match

__all__ = ["GoldColumn", "Match", "Truth", "gold_column", "gold_truth", "match_truth", "read_truth", "with_gold"]


class GoldColumn(str):
    """The name of a column of the votes' own table with the gold truths. It is never taken for a path."""


class Truth(NamedTuple):
    """Distinct tasks and their truths."""

    task: Names
    truth: Names


class Match(NamedTuple):
    """Truths in the codes of some annotations."""

    codes: Codes  # [T] the true class of each task; MISSING where it is not known or nobody voted for that class
    unmatched: int  # truths of tasks that are not among the annotations
    unvoted: int  # truths that are none of the classes: tasks that no label can get right


def read_truth(
    truth: Any, *, task: str | None = None, label: str | None = None, missing: Sequence[Any] | None = None
) -> Truth:
    """Read tasks and truths of a file, a data frame, a mapping, or a pandas series indexed by task.

    The truth column is called truth, gold or ground truth, or has a usual name of a label column.
    """
    if isinstance(truth, Truth):
        return truth
    if isinstance(truth, GoldColumn):
        raise InputError(f'a column cannot hold the gold of such a file, but "{truth}" was named; leave it out')
    if isinstance(truth, Mapping) or (hasattr(truth, "items") and not hasattr(truth, "columns")):
        return _of_pairs(list(truth.items()), missing)
    opened = open_table(truth)
    role = TRUTH if label is None and truth_columns(opened.columns) else LABEL
    with columns_of(opened.name):
        by_task, by_truth = find_columns(opened.columns, {TASK: task, role: label})
    table = opened.encode([by_task], [by_truth])
    return one_per_task(table, table.ids(by_task), by_truth, missing)


def one_per_task(table: Table, tasks: Coded, column: Any, missing: Sequence[Any] | None) -> Truth:
    """Return the truth of each task of a table in which a task may have several rows."""
    truths = drop_missing(table.values(column), missing)
    if table.is_text:
        truths = integer_names(truths)
    rows = np.flatnonzero(truths.codes != MISSING)
    lost = rows[tasks.codes[rows] == MISSING]
    if lost.size:
        place = table.where(int(lost[0]))
        raise InputError(f"{place}: there is a truth but no task; fill in the task or remove the row")
    truth_of = np.full(len(tasks.names), MISSING, dtype=np.int32)
    truth_of[tasks.codes[rows]] = truths.codes[rows]
    wrong = rows[truth_of[tasks.codes[rows]] != truths.codes[rows]]
    if wrong.size:
        _refuse_contradiction(table, tasks, truths, int(wrong[0]), truth_of)
    told = np.flatnonzero(truth_of != MISSING)
    return Truth(tasks.names[told], truths.names[truth_of[told]])


def gold_column(gold: Any, columns: Sequence[Any]) -> Any:
    """Return the column of the votes' own table with the gold truths, or None if they are elsewhere.

    True means the column called gold or truth. A text means the column of that name, or else a path.
    """
    if isinstance(gold, str) and gold in columns:
        return str(gold)
    if isinstance(gold, GoldColumn):
        raise InputError(f'there is no column "{gold}" for the gold; the columns are {", ".join(map(str, columns))}')
    if gold is not True:
        return None
    found = candidates(columns, TRUTH)
    if not found:
        names = ", ".join(f'"{column}"' for column in columns)
        raise InputError(f"there is no gold column among {names}; name it (gold=) or give a file of truths")
    return the_only(found, replace(TRUTH, option="gold"))


def gold_truth(table: Table, tasks: Coded, column: Any, gold: Any, missing: Sequence[Any] | None) -> Truth | None:
    """Return the gold truths, from a column of the votes' own table or from another source."""
    if column is not None:
        return one_per_task(table, tasks, column, missing)
    return None if gold is None or gold is False else read_truth(gold, missing=missing)


def match_truth(annotations: Annotations, truth: Any) -> Match:
    """Truths (or what read_truth takes) as codes of the annotations' tasks and classes."""
    tasks, truths = read_truth(truth)
    task = match(to_list(tasks), annotations.task_names)
    code = match(to_list(truths), annotations.class_names)
    there = task != MISSING
    codes = np.full(annotations.n_tasks, MISSING, dtype=np.int32)
    codes[task[there]] = code[there]
    return Match(codes, int((~there).sum()), int((code[there] == MISSING).sum()))


def with_gold(annotations: Annotations, gold: Any) -> Annotations:
    """Return annotations whose gold truths are replaced."""
    truth = read_truth(gold)
    found = match_truth(annotations, truth)
    if found.unvoted:
        raise InputError(
            f"{found.unvoted:,} gold truths are not among the classes {to_list(annotations.class_names)}; "
            "give the classes when the annotations are read (classes=)"
        )
    warn_of_unused_gold(found.unmatched)
    return replace(annotations, gold=found.codes, counts=replace(annotations.counts, gold_unused=found.unmatched))


def _of_pairs(pairs: list[tuple[Any, Any]], missing: Sequence[Any] | None) -> Truth:
    known = [(task, truth) for task, truth in pairs if not is_missing(truth, missing)]
    return Truth(_objects([task for task, _ in known]), _objects([truth for _, truth in known]))


def _objects(values: list[Any]) -> Names:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _refuse_contradiction(table: Table, tasks: Coded, truths: Coded, row: int, truth_of: Codes) -> None:
    names, task = to_list(truths.names), tasks.codes[row]
    here, elsewhere = names[truths.codes[row]], names[truth_of[task]]
    raise InputError(
        f"{table.where(row)}: task {to_list(tasks.names)[task]!r} has the truth {here!r} here "
        f"and {elsewhere!r} in another row; keep one of them"
    )
