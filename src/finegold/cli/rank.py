"""`finegold rank`: rank the systems that LLM judges compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from finegold.cli import options as o
from finegold.cli.judge_options import JUDGE_LOG, JudgeLogOptions, Logs

if TYPE_CHECKING:
    from finegold.insight.judges.ranking import Ranking

__all__ = ["rank"]

SYSTEMS_SHOWN, COLUMNS_SHOWN = 50, 12


@o.with_groups
def rank(
    logs: Logs,
    weights: Annotated[
        str,
        typer.Option(
            "--weights", metavar="learned|equal", help="How much judges count: by what was learned, or alike."
        ),
    ] = "learned",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The seed of the bootstrap.")] = 0,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUT", help="Write the ranking to a file.")
    ] = None,
    matrix: Annotated[
        str | None, typer.Option("--matrix", metavar="OUT", help="Write the win rates of all pairs to a file.")
    ] = None,
    reading: JudgeLogOptions = JUDGE_LOG,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Rank the systems that LLM judges compared: Bradley-Terry with ties, intervals and ranges of ranks.

    LOG is a raw log of pairwise verdicts that names the two systems. Every judge has a position effect, a tie rate and
    a weight; judges that err alike count less. Intervals are from a bootstrap over items.
    """
    from finegold.cli.outputs import check_outputs, frame_writer, write_all
    from finegold.judges import rank as rank_log

    check_outputs([path for path in (output, matrix) if path], [], logs)
    found = rank_log(reading.read(logs), weights=weights, seed=seed)  # type: ignore[arg-type]  # checked there
    tables = ((output, found.table), (matrix, found.matrix))
    write_all({path: frame_writer(make) for path, make in tables if path is not None})
    if json:
        from finegold.cli.summary import print_json

        print_json(found.to_dict())
        return
    _show(found)


def _show(found: Ranking) -> None:
    from finegold.cli.messages import warn
    from finegold.cli.show import console, frame_table
    from finegold.votes.frames import to_polars

    screen, n = console(), len(found.standings)
    screen.print(frame_table(f"Ranking of {n:,} systems", found.table(), SYSTEMS_SHOWN))
    rates = to_polars(found.matrix())
    if n <= COLUMNS_SHOWN:
        screen.print(frame_table("Share of verdicts that the row wins against the column", rates, SYSTEMS_SHOWN))
    for note in found.notes:
        warn(note)
