"""Logs of LLM judges: recognise them, and read their votes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
from pydantic import BaseModel, Field

from finegold.errors import FinegoldWarning, InputError
from finegold.insight.judges.answers import merge
from finegold.io.columns import bare_name
from finegold.io.judge_logs import Chosen, JudgeLog, choose_columns, read_judge_log
from finegold.votes.annotations import Annotations

if TYPE_CHECKING:
    from finegold.studio.reading import Reading

__all__ = ["EXPORTS", "JudgeColumns", "guess_log", "read_judge_votes", "read_log"]

EXPORTS = ("mt-bench", "judgebench", "arena", "alpaca-eval")  # exports whose records are verdicts on pairs
JUDGES = ("judge", "evaluator", "grader", "llm")  # how names of columns of LLM judges begin
VERDICTS = ("verdict", "judg", "decision", "raw")


class JudgeColumns(BaseModel, extra="forbid"):
    """How to read a judge log, besides its items, judges and verdicts. Columns are found by their usual names."""

    order: str | None = Field(default=None, description="The column that says which answer was shown first: AB or BA.")
    system_a: str | None = Field(default=None, description="The column with the first system.")
    system_b: str | None = Field(default=None, description="The column with the second system.")
    repeat: str | None = Field(default=None, description="The column with the number of the repeat.")
    cost: str | None = Field(default=None, description="The column with the price of the call.")
    error: str | None = Field(default=None, description="The column with the error or the status of the call.")
    kind: Literal["pairwise", "pointwise"] | None = Field(
        default=None, description="Whether verdicts compare two answers or judge one."
    )
    verdicts: Literal["position", "answer"] = Field(
        default="position", description="Whether A and B mean the positions of the answers, or the answers themselves."
    )


def guess_log(head: pl.DataFrame) -> dict[str, Any] | None:
    """Return the columns of tasks, annotators and labels if these first rows are of a judge log, otherwise None."""
    try:
        chosen = choose_columns(head.columns, {}, source="", by_file=False)
        log = read_judge_log(head)
    except InputError:
        return None
    if not log.system_names and (log.first < 0).all() and not _names_judges(chosen):
        return None
    return {"task": chosen.item, "annotator": chosen.judge, "label": chosen.verdict}


def _names_judges(chosen: Chosen) -> bool:
    """Return whether names of columns say that these are verdicts of LLM judges without orders or systems."""
    is_call = bare_name(chosen.verdict).startswith(VERDICTS) or chosen.cost is not None or chosen.error is not None
    return is_call and bare_name(chosen.judge).startswith(JUDGES)


def read_judge_votes(path: Path, options: Reading) -> Annotations:
    """Read a judge log and return the answers of the judges as votes, with the swap undone and without failed calls."""
    log = read_log(path, options)
    for note in log.notes:
        warnings.warn(note, FinegoldWarning, stacklevel=2)
    votes = merge(log).votes
    left_out = {"calls that failed": log.n_failed} if log.n_failed else {}
    return replace(votes, counts=replace(votes.counts, rows=log.n_verdicts, left_out=left_out))


def read_log(path: Path, options: Reading) -> JudgeLog:
    more = options.judges or JudgeColumns()
    named = {"item": options.task, "judge": options.annotator, "verdict": options.label, "gold": options.gold}
    others = more.model_dump(exclude={"kind", "verdicts"})
    return read_judge_log(str(path), kind=more.kind, verdicts=more.verdicts, **named, **others)
