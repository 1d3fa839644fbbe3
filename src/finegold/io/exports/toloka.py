"""Toloka: the assignments of a pool, a TSV with a row per task and performer; GOLDEN:* are known
truths.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote
from finegold.io.source import Source

REMEDY = "download it again: on the page of the pool, Download results, as TSV with all columns"
INPUT, OUTPUT, GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
TASK, WORKER, STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"
UNFINISHED = ("ACTIVE", "SKIPPED", "EXPIRED")


def read(seen: Source, options: ExportOptions) -> Iterator[Vote]:
    keys = [name for name in seen.columns if name.startswith(INPUT)]
    keys = [TASK] if TASK in seen.columns else keys
    if options.task is not None:
        # columns that the user names, with commas between them
        names = [options.task] if options.task in seen.columns else options.task.split(",")
        keys = [base.task_column(seen, name.strip(), TASK, INPUT) for name in names]
    elif len(keys) > 1:
        options.warn_once(f"{seen.name} has no {TASK}; {', '.join(keys)} together name the tasks")
    outputs = [name for name in seen.columns if name.startswith(OUTPUT)]
    for name, found in ((TASK, keys), (WORKER, WORKER in seen.columns), (f"{OUTPUT}*", outputs)):
        if not found:
            raise DamagedExport(f"there is no {name} column")

    def votes(row: dict[str, Any]) -> Iterator[Vote]:
        status = row.get(STATUS)
        if not any(row[name] for name in (WORKER, *outputs)):
            return
        if options.leaves_out(status == "REJECTED", "rejected assignments", "rejected"):
            return
        if options.leaves_out(status in UNFINISHED, "skipped or unfinished assignments"):
            return
        task = " | ".join(row[key] for key in keys if row[key]) or None
        for output in outputs:
            question = output.removeprefix(OUTPUT)
            gold = base.label_in(row.get(GOLDEN + question), ExportOptions())
            yield Vote(task, row[WORKER], base.label_in(row[output], options), question, gold)

    golden = [name for name in seen.columns if name.startswith(GOLDEN)]
    rows = base.read_rows(seen, [*keys, WORKER, STATUS, *outputs, *golden])
    return base.with_numbers(rows, votes)


EXPORT = Export("toloka", "Toloka", REMEDY, None, read, ("rejected",), True, has_gold=True)
