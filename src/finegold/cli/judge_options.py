"""Options for reading a judge log, which `finegold judges` and `finegold rank` share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from finegold.judges import JudgeLog

__all__ = ["JUDGE_LOG", "JudgeLogOptions", "Logs"]

PANEL = "Columns of the log"

Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG",
        help="Raw logs of LLM judges: CSV, JSONL, JSON or Parquet files, a glob pattern, or a folder.",
        show_default=False,
    ),
]


def column(name: str, what: str, metavar: str = "NAME") -> Any:
    return typer.Option(f"--{name}", metavar=metavar, help=what, rich_help_panel=PANEL)


@dataclass(frozen=True)
class JudgeLogOptions:
    """How to read a judge log."""

    item: Annotated[str | None, column("item", "The column with the items.")] = None
    judge: Annotated[str | None, column("judge", "The column with the judges.")] = None
    verdict: Annotated[str | None, column("verdict", "The column with the verdicts.")] = None
    order: Annotated[str | None, column("order", "The column with the order of the answers: AB or BA.")] = None
    system_a: Annotated[str | None, column("system-a", "The column with the first system.")] = None
    system_b: Annotated[str | None, column("system-b", "The column with the second system.")] = None
    repeat: Annotated[str | None, column("repeat", "The column with the number of the repeat.")] = None
    cost: Annotated[str | None, column("cost", "The column with the price of the call.")] = None
    error: Annotated[str | None, column("error", "The column with the error or the status of the call.")] = None
    kind: Annotated[
        str | None,
        column("kind", "Whether verdicts compare two answers or judge one.", "pairwise|pointwise"),
    ] = None
    verdicts: Annotated[
        str,
        column("verdicts", "What A and B mean in a log with orders: positions, or the answers.", "position|answer"),
    ] = "position"

    def read(self, files: list[str], gold: str | None = None) -> JudgeLog:
        from finegold.judges import read

        return read(files, gold=gold, **{option.name: getattr(self, option.name) for option in fields(self)})


JUDGE_LOG = JudgeLogOptions()
