"""Appen, once Figure Eight and CrowdFlower: the full report, a CSV with a row per judgment.

The columns of Appen begin with "_". Of the others, those are answers that have a twin <question>_gold; where there is
no twin, those in which the judgments of one unit differ, for the data of a unit are the same in all of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from finegold.errors import Placeholder, use
from finegold.io.exports.base import (
    DamagedExport,
    Export,
    ExportOptions,
    drop_rows,
    join_labels,
    read_sheet,
    task_column,
    votes_of_questions,
)
from finegold.io.source import Source

UNIT, WORKER, TAINTED = "_unit_id", "_worker_id", "_tainted"
MARKS = {"_golden", TAINTED, "_trust"}
GOLD = "_gold"


def fits(seen: Source) -> bool:
    """Recognise a full report.

    Columns of units and workers are not enough: people use these names in their own tables.
    """
    return seen.is_delimited and UNIT in seen.columns and not MARKS.isdisjoint(seen.columns)


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    if WORKER not in seen.columns:
        raise DamagedExport(f"there is no {WORKER}: this looks like the aggregated report")
    task = task_column(seen, options.task, UNIT, "")
    table = read_sheet(seen, seen.columns)
    if TAINTED in table.columns:
        table = drop_rows(table, pl.col(TAINTED).str.to_lowercase() == "true", "tainted judgments", options, "tainted")
    questions = _questions(seen, table, options)
    labels = {name: _join_lines(table[name]) for name in questions}
    golds = {name: _gold(table, name, options) for name in questions if name + GOLD in table.columns}
    return votes_of_questions(table, task, WORKER, labels, golds)


def _questions(seen: Source, table: pl.DataFrame, options: ExportOptions) -> list[str]:
    # q_gold and q_gold_reason are not questions where there is a q.
    about_gold = [name for name in seen.columns if GOLD in name and name.rpartition(GOLD)[0] in seen.columns]
    others = [name for name in seen.columns if not name.startswith(("_", "orig__")) and name not in about_gold]
    twins = [name for name in others if name + GOLD in seen.columns]
    if twins:
        return twins
    if options.question in others:
        return [options.question] if options.question else []
    spread = table.group_by(UNIT).agg(pl.col(others).n_unique() > 1).select(pl.col(others).any())
    differ = [name for name in others if spread[name].item()]
    if not differ:
        raise DamagedExport(
            f"it does not show which of {', '.join(others)} are answers", use(question=Placeholder("NAME"))
        )
    return differ


def _join_lines(cells: pl.Series) -> pl.Series:
    """Join several answers, which are on separate lines."""
    lists = cells.unique().drop_nulls()
    lists = lists.filter(lists.str.contains("\n", literal=True))
    meant = {cell: join_labels([part.strip() for part in cell.splitlines() if part.strip()]) for cell in lists}
    return cells.replace(meant) if meant else cells


def _gold(table: pl.DataFrame, question: str, options: ExportOptions) -> pl.Series:
    """Return gold answers. Several lines are alternatives that all count as right, so there is no single truth."""
    gold = table[question + GOLD].str.strip_chars()
    is_vague = gold.str.contains("\n", literal=True).fill_null(False)
    vague = table.filter(is_vague)[UNIT].n_unique()
    if options.gold and vague:
        options.left_out[f"gold truths of {question} that allow several answers"] += vague
    return gold.set(is_vague, None)


EXPORT = Export(
    name="appen",
    title="Appen",
    remedy="download it again: on the job's page, Results, Full report",
    fits=fits,
    read=read,
    include=("tainted",),
    takes_task=True,
    has_gold=True,
)
