"""Toloka: the assignments of a pool, a TSV with a row per task and performer; GOLDEN:* are known truths."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from karat.io.readers.exports.export import Export, ExportOptions, Wrong
from karat.io.readers.exports.peek import Peek
from karat.io.readers.exports.sheets import chosen, leave_out, sheets_of, unlisted, votes_on

__all__ = ["EXPORT"]

INPUT, OUTPUT, GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
TASK, WORKER, STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"
UNFINISHED = ["ACTIVE", "SKIPPED", "EXPIRED"]


def fits(seen: Peek) -> bool:
    return seen.source.is_delimited and any(name.startswith("ASSIGNMENT:") for name in seen.columns)


def read(seen: Peek, options: ExportOptions) -> Iterator[pl.DataFrame]:
    task = _usual_task(seen) if options.task is None else chosen(seen, options, TASK, INPUT)
    outputs = [name for name in seen.columns if name.startswith(OUTPUT)]
    if not outputs or WORKER not in seen.columns:
        raise Wrong(f"there is no {WORKER if outputs else 'OUTPUT:*'} column")
    golden = [name for name in seen.columns if name.startswith(GOLDEN)]
    table = sheets_of(seen, [task, WORKER, STATUS, *outputs, *golden])
    table = table.filter(pl.col(WORKER).is_not_null() | pl.any_horizontal(pl.col(outputs).is_not_null()))
    if STATUS in table.columns:
        table = leave_out(table, pl.col(STATUS) == "REJECTED", "rejected assignments", options, "rejected")
        table = leave_out(table, pl.col(STATUS).is_in(UNFINISHED), "skipped or unfinished assignments", options)
    return votes_on(table, task, WORKER, _by_field(table, outputs), _by_field(table, golden))


def _by_field(table: pl.DataFrame, columns: list[str]) -> dict[str, pl.Series]:
    return {name.partition(":")[2]: unlisted(table[name]) for name in columns}


def _usual_task(seen: Peek) -> str:
    """Return the column of tasks. Older exports do not number them, and then a single input serves."""
    if TASK in seen.columns:
        return TASK
    inputs = [name for name in seen.columns if name.startswith(INPUT)]
    if len(inputs) != 1:
        found = ", ".join(inputs) or "no INPUT:* either"
        raise Wrong(f"there is no {TASK}", remedy=f"say with --task which input tells tasks apart ({found})")
    return inputs[0]


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
