"""Long tables: one row per vote."""

from __future__ import annotations

from typing import Any

from finegold.errors import InputError
from finegold.io.readers.assemble import ReadOptions, assemble, refuse_lost_ids, with_columns
from finegold.io.readers.columns import ANNOTATOR, LABEL, TASK, columns_of, find_columns
from finegold.io.readers.limits import limit, remedy_of
from finegold.io.readers.sets import lists_as_text
from finegold.io.readers.table import Opened
from finegold.io.readers.truth import gold_column, gold_truth
from finegold.votes.annotations import Annotations
from finegold.votes.hygiene import votes_in

__all__ = ["read_long"]


def read_long(
    opened: Opened, task: str | None, annotator: str | None, label: str | None, options: ReadOptions
) -> Annotations:
    with columns_of(opened.name):
        gold = gold_column(options.gold, opened.columns)
        free = [column for column in opened.columns if column != gold]
        chosen = find_columns(free, {TASK: task, ANNOTATOR: annotator, LABEL: label})
    if options.multi is not False:
        for column in (chosen[2], gold):
            opened = opened if column is None else lists_as_text(opened, column)
    values = [chosen[2]] if gold is None else [chosen[2], gold]
    table = opened.encode(chosen[:2], values, options.watch)
    tasks, annotators = table.ids(chosen[0]), table.ids(chosen[1])
    labels = votes_in(table.values(chosen[2]), options.no_vote)
    options = options.decided(labels)
    if not options.multi:
        _refuse_too_many_classes(opened.name, chosen[2], len(labels.names))
    refuse_lost_ids("task", tasks.codes, labels.codes, table.where)
    refuse_lost_ids("annotator", annotators.codes, labels.codes, table.where)
    truth = gold_truth(table, tasks, gold, options.gold, options.no_vote)
    annotations = assemble(tasks, annotators, labels, truth, options, table.is_text, table.where)
    return with_columns(annotations, opened, *chosen[:2])


def _refuse_too_many_classes(name: str, column: Any, found: int) -> None:
    """Refuse a column with so many classes that it probably holds texts or ids."""
    if found > (most := limit("CLASSES")):
        raise InputError(
            f'{name} has {found:,} classes in the column "{column}", more than {most:,}, which is the limit; name the '
            f"column of the labels with --label NAME, or, {remedy_of('CLASSES')}"
        )
