"""Toloka: the assignments of a pool, a TSV with a row per task and performer; GOLDEN:* are known
truths.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions
from finegold.io.source import Source

REMEDY = "download it again: on the page of the pool, Download results, as TSV with all columns"
INPUT, OUTPUT, GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
TASK, WORKER, STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"
# the column with the name of the task, and what stands between the values of several
KEY, BETWEEN = "finegold task", " | "
UNFINISHED = ["ACTIVE", "SKIPPED", "EXPIRED"]


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    inputs, outputs, golden = (
        [name for name in seen.columns if name.startswith(prefix)]
        for prefix in (INPUT, OUTPUT, GOLDEN)
    )
    keys = [TASK] if TASK in seen.columns else inputs
    if options.task is not None:
        # columns that the user names, with commas between them
        names = [options.task] if options.task in seen.columns else options.task.split(",")
        keys = [base.task_column(seen, name.strip(), TASK, INPUT) for name in names]
    elif len(keys) > 1:
        options.warn_once(f"{seen.name} has no {TASK}; {', '.join(keys)} together name the tasks")
    for name, found in ((TASK, keys), (WORKER, WORKER in seen.columns), (f"{OUTPUT}*", outputs)):
        if not found:
            raise DamagedExport(f"there is no {name} column")
    table = base.read_sheet(seen, [*keys, WORKER, STATUS, *outputs, *golden])
    table = table.filter(
        pl.col(WORKER).is_not_null() | pl.any_horizontal(pl.col(outputs).is_not_null())
    )
    rejected = {STATUS: pl.col(STATUS) == "REJECTED"}
    unfinished = {STATUS: pl.col(STATUS).is_in(UNFINISHED)}
    table = base.drop_rows(table, rejected, "rejected assignments", options, "rejected")
    table = base.drop_rows(table, unfinished, "skipped or unfinished assignments", options)
    key = pl.concat_str(keys, separator=BETWEEN, ignore_nulls=len(keys) > 1).alias(KEY)
    labels = {name.removeprefix(OUTPUT): base.join_lists(table[name], options) for name in outputs}
    golds = {
        name.removeprefix(GOLDEN): base.join_lists(table[name], ExportOptions()) for name in golden
    }
    return base.votes_of_questions(table.with_columns(key), KEY, WORKER, labels, golds)


EXPORT = Export(
    "toloka", "Toloka", REMEDY, None, read, include=("rejected",), takes_task=True, has_gold=True
)
