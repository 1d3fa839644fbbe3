"""Appen, once Figure Eight and CrowdFlower: the full report, a CSV with a row per judgment.

The columns of Appen begin with "_". Of the others, those are answers that have a twin
<question>_gold; where there is no twin, those in which the judgments of one unit differ.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from finegold.errors import Placeholder, use
from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions
from finegold.io.source import Source

REMEDY = "download it again: on the job's page, Results, Full report"
UNIT, WORKER, TAINTED, GOLD = "_unit_id", "_worker_id", "_tainted", "_gold"


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    if WORKER not in seen.columns:
        raise DamagedExport(f"there is no {WORKER}: this looks like the aggregated report")
    task = base.task_column(seen, options.task, UNIT)
    table = base.read_sheet(seen, seen.columns)
    marks = {TAINTED: pl.col(TAINTED).str.to_lowercase() == "true"}
    table = base.drop_rows(table, marks, "tainted judgments", options, "tainted")
    # q_gold and q_gold_reason are not questions where there is a q.
    others = [
        name
        for name in seen.columns
        if not name.startswith(("_", "orig__"))
        and not (GOLD in name and name.rpartition(GOLD)[0] in seen.columns)
    ]
    questions = [name for name in others if name + GOLD in seen.columns]
    questions = questions or base.answer_columns(seen, UNIT, others, options.question)
    if not questions:
        problem = f"it does not show which of {', '.join(others)} are answers"
        raise DamagedExport(problem, use(question=Placeholder("NAME")))
    labels, golds = {}, {}
    for name in questions:
        lines = base.replace_cells(table[name], "\n", lambda cell, _: _join_lines(cell))
        labels[name] = base.join_lists(lines, options)
        if name + GOLD in table.columns:
            gold = table[name + GOLD].str.strip_chars()
            # several lines that all count as right
            is_vague = gold.str.contains("\n", literal=True).fill_null(False)
            golds[name] = gold.set(is_vague, None)
            if options.gold and (vague := table.filter(is_vague)[UNIT].n_unique()):
                options.left_out[f"gold truths of {name} that allow several answers"] += vague
    return base.votes_of_questions(table, task, WORKER, labels, golds)


def _join_lines(cell: str) -> object:
    return base.join_labels([part.strip() for part in cell.splitlines() if part.strip()])


EXPORT = Export(
    "appen", "Appen", REMEDY, None, read, include=("tainted",), takes_task=True, has_gold=True
)
