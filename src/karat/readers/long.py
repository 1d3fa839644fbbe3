"""Long tables: one row per vote."""

from __future__ import annotations

from karat.annotations import Annotations
from karat.readers.assemble import Wishes, assemble, refuse_lost_ids
from karat.readers.columns import ANNOTATOR, LABEL, TASK, columns_of, find_columns
from karat.readers.labels import drop_missing
from karat.readers.table import Opened
from karat.readers.truth import gold_column, gold_truth

__all__ = ["read_long"]


def read_long(
    opened: Opened, task: str | None, annotator: str | None, label: str | None, wishes: Wishes
) -> Annotations:
    with columns_of(opened.name):
        gold = gold_column(wishes.gold, opened.columns)
        free = [column for column in opened.columns if column != gold]
        chosen = find_columns(free, {TASK: task, ANNOTATOR: annotator, LABEL: label})
    values = [chosen[2]] if gold is None else [chosen[2], gold]
    table = opened.encode(chosen[:2], values, wishes.watch)
    tasks, annotators = table.ids(chosen[0]), table.ids(chosen[1])
    labels = drop_missing(table.values(chosen[2]), wishes.missing)
    refuse_lost_ids("task", tasks.codes, labels.codes, table.where)
    refuse_lost_ids("annotator", annotators.codes, labels.codes, table.where)
    truth = gold_truth(table, tasks, gold, wishes.gold, wishes.missing)
    return assemble(tasks, annotators, labels, truth, wishes, table.is_text, table.where)
