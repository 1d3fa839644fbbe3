"""Toloka: the assignments of a pool, a TSV with a row per task and performer; GOLDEN:* are known truths."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import polars as pl

from finegold.errors import FinegoldWarning, Placeholder, use
from finegold.io.exports.base import (
    DamagedExport,
    Export,
    ExportOptions,
    drop_rows,
    join_lists,
    read_sheet,
    task_column,
    votes_of_questions,
)
from finegold.io.source import Source

INPUT, OUTPUT, GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
TASK, WORKER, STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"
KEY = "finegold task"  # the column with the name of the task
BETWEEN = " | "  # the values of a task that several columns name
UNFINISHED = ["ACTIVE", "SKIPPED", "EXPIRED"]


def fits(seen: Source) -> bool:
    return seen.is_delimited and any(name.startswith("ASSIGNMENT:") for name in seen.columns)


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    keys = _usual_keys(seen) if options.task is None else _chosen_keys(seen, options)
    outputs = [name for name in seen.columns if name.startswith(OUTPUT)]
    if not outputs or WORKER not in seen.columns:
        raise DamagedExport(f"there is no {WORKER if outputs else 'OUTPUT:*'} column")
    golden = [name for name in seen.columns if name.startswith(GOLDEN)]
    table = read_sheet(seen, [*keys, WORKER, STATUS, *outputs, *golden])
    table = table.filter(pl.col(WORKER).is_not_null() | pl.any_horizontal(pl.col(outputs).is_not_null()))
    if STATUS in table.columns:
        table = drop_rows(table, pl.col(STATUS) == "REJECTED", "rejected assignments", options, "rejected")
        table = drop_rows(table, pl.col(STATUS).is_in(UNFINISHED), "skipped or unfinished assignments", options)
    table = table.with_columns(pl.concat_str(keys, separator=BETWEEN, ignore_nulls=len(keys) > 1).alias(KEY))
    labels, golds = ({name.partition(":")[2]: join_lists(table[name]) for name in names} for names in (outputs, golden))
    return votes_of_questions(table, KEY, WORKER, labels, golds)


def _usual_keys(seen: Source) -> list[str]:
    """Return the columns that name tasks. Older exports have no ids, and then all inputs together name a task."""
    if TASK in seen.columns:
        return [TASK]
    inputs = [name for name in seen.columns if name.startswith(INPUT)]
    if not inputs:
        raise DamagedExport(f"there is no {TASK}, and no INPUT:* either")
    if len(inputs) > 1:
        named = f"{', '.join(inputs[:-1])} and {inputs[-1]} together name the tasks"
        others = use("if others do", task=Placeholder("A,B"))
        warnings.warn(FinegoldWarning(f"{seen.name} has no {TASK}; {named}", [others]), stacklevel=2)
    return inputs


def _chosen_keys(seen: Source, options: ExportOptions) -> list[str]:
    """Return the columns that the user names, which may be several with commas between them."""
    names = str(options.task).split(",") if options.task not in seen.columns else [options.task]
    return [task_column(seen, name.strip(), TASK, INPUT) for name in names]


EXPORT = Export(
    name="toloka",
    title="Toloka",
    remedy="download it again: on the page of the pool, Download results, as TSV with all columns",
    fits=fits,
    read=read,
    include=("rejected",),
    takes_task=True,
    has_gold=True,
)
