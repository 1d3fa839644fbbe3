"""Appen, once Figure Eight and CrowdFlower: the full report, a CSV with a row per judgment.

The columns of Appen begin with "_". Of the others, those are answers that have a twin
<question>_gold; where there is no twin, those in which the judgments of one unit differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from finegold.errors import Placeholder, use
from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote
from finegold.io.source import Source

REMEDY = "download it again: on the job's page, Results, Full report"
UNIT, WORKER, TAINTED, GOLD = "_unit_id", "_worker_id", "_tainted", "_gold"


def read(seen: Source, options: ExportOptions) -> Iterator[Vote]:
    if WORKER not in seen.columns:
        raise DamagedExport(f"there is no {WORKER}: this looks like the aggregated report")
    task = base.task_column(seen, options.task, UNIT)
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
    vague = set()

    def votes(row: dict[str, Any]) -> Iterator[Vote]:
        is_tainted = (row.get(TAINTED) or "").lower() == "true"
        if options.leaves_out(is_tainted, "tainted judgments", "tainted"):
            return
        for name in questions:
            lines = [part.strip() for part in (row[name] or "").splitlines() if part.strip()]
            label = base.join_labels(lines) if len(lines) > 1 else base.label_in(row[name], options)
            gold = (row.get(name + GOLD) or "").strip() or None
            # several lines that all count as right
            if gold and "\n" in gold and options.gold and (name, row[UNIT]) not in vague:
                vague.add((name, row[UNIT]))
                options.left_out[f"gold truths of {name} that allow several answers"] += 1
            gold = None if gold and "\n" in gold else gold
            yield Vote(row[task], row[WORKER], label, name, gold)

    golds = [name + GOLD for name in questions]
    rows = base.read_rows(seen, [task, UNIT, WORKER, TAINTED, *questions, *golds])
    return base.with_numbers(rows, votes)


EXPORT = Export("appen", "Appen", REMEDY, None, read, ("tainted",), True, has_gold=True)
