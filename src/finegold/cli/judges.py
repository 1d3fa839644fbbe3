"""Options for reading a judge log, which `finegold judges` and `finegold rank` share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.errors import InputError

if TYPE_CHECKING:
    from finegold.insight.judges.panels import JudgeComparison, Panel
    from finegold.insight.judges.ranking import Ranking
    from finegold.judges import JudgeLog, JudgeReport

__all__ = ["JUDGE_LOG", "JudgeLogOptions", "Logs", "judges", "rank"]


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


JUDGES_SHOWN = 50
PANELS_SHOWN = 20


@o.with_groups
def judges(
    logs: Logs,
    gold: Annotated[
        str | None,
        typer.Option(
            "--gold", metavar="FILE", help="Known truths of some items: a file, or the name of a column of LOG."
        ),
    ] = None,
    torn: Annotated[
        str,
        typer.Option("--torn", metavar="tie|half", help="What counts where a judge contradicts itself after a swap."),
    ] = "tie",
    versus: Annotated[
        list[str] | None,
        typer.Option(
            "--compare", metavar="A,B:C,D", help="Compare two judges or panels on the same items. Can be repeated."
        ),
    ] = None,
    panels: Annotated[
        bool, typer.Option("--panels", help="Show the best panels for the money: accuracy against cost.")
    ] = False,
    price: Annotated[
        list[str] | None,
        typer.Option("--price", metavar="JUDGE=X", help="The price of an item; by default that of the log, or 1."),
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUT", help="Write the table of judges to a file.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="OUT", help="Write the label of every item, by all judges.")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="OUT", help="Write an HTML report with a section on the judges.")
    ] = None,
    reading: JudgeLogOptions = JUDGE_LOG,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Find out what each LLM judge is worth: accuracy, position bias, consistency, failures, cost.

    LOG is a raw log with a row per call. Its columns are found by their usual names, verdicts are understood in the
    usual forms, the swap of the answers is undone, and failed calls are counted. With --gold, accuracies are unbiased.
    """
    from finegold.cli.outputs import check_outputs
    from finegold.cli.source import inputs_of
    from finegold.judges import assess

    check_outputs([path for path in (output, labels) if path], [report] if report else [], inputs_of(logs, gold))
    pairs = [_pair(text) for text in versus or []]
    found = assess(reading.read(logs, gold), torn=torn)  # type: ignore[arg-type]  # checked there
    compared = [found.compare(*pair) for pair in pairs]
    best = found.panels(_prices(price)) if panels or price else []
    _write(found, output, labels, report)
    if json:
        from finegold.cli.outputs import print_json

        print_json(found.to_dict() | {"comparisons": list(map(_plain, compared)), "panels": list(map(_plain, best))})
        return
    _show(found, compared, best)


def _pair(text: str) -> list[list[str]]:
    sides = [[name.strip() for name in side.split(",") if name.strip()] for side in text.split(":")]
    if len(sides) != 2 or not all(sides):
        raise InputError(f"--compare needs two judges or panels such as A:B or A,B:C,D, not {text!r}")
    return sides


def _prices(given: list[str] | None) -> dict[str, float] | None:
    if not given:
        return None
    try:
        return {name: float(value) for name, _, value in (text.rpartition("=") for text in given)}
    except ValueError:
        raise InputError(f"--price needs JUDGE=NUMBER, not {' '.join(given)}") from None


def _write(found: JudgeReport, output: str | None, labels: str | None, report: str | None) -> None:
    from finegold.cli.outputs import Write, frame_writer, write_all

    makers: dict[str | None, Write] = {
        output: frame_writer(found.table),
        labels: frame_writer(found.labels),
        report: found.report,
    }
    write_all({path: make for path, make in makers.items() if path is not None})


def _show(found: JudgeReport, compared: list[JudgeComparison], best: list[Panel]) -> None:
    import polars as pl

    from finegold.cli.messages import count, warn
    from finegold.cli.outputs import console, frame_table

    log, screen = found.log, console()
    title = (
        f"{count(log.n_verdicts, 'verdict')} of {count(log.n_judges, 'judge')} on {count(log.n_items, 'item')}, "
        f"{log.n_failed:,} failed; the judges are worth {found.effective:.1f} independent ones"
    )
    screen.print(frame_table(title, pl.DataFrame(_rows(found)), JUDGES_SHOWN))
    if best:
        screen.print(frame_table("Best panels for the money", pl.DataFrame(_panel_rows(best)), PANELS_SHOWN))
    for one in compared:
        screen.print(str(one), markup=False, soft_wrap=True)
    for note in found.notes:
        warn(note)


def _rows(found: JudgeReport) -> list[dict[str, Any]]:
    from finegold.insight.notebook import percent, with_interval

    rows = [
        {
            "judge": one.judge,
            "accuracy": with_interval(one.accuracy),
            "position bias": with_interval(one.position_bias),
            "p": "–" if one.position_p != one.position_p else f"{one.position_p:.2g}",
            "same after swap": percent(one.swap_consistency.value),
            "same in repeats": percent(one.repeat_consistency.value),
            "ties": percent(one.tie_rate.value),
            "failed": percent(one.failure_rate.value),
            "agreement": percent(one.agreement.value),
            "cost": "–" if one.cost != one.cost else f"{one.cost:.3g}",
        }
        for one in sorted(found.scores, key=lambda one: -one.accuracy.value)
    ]
    shown = [name for name in rows[0] if any(row[name] != "–" for row in rows)]
    return [{name: row[name] for name in shown} for row in rows]


def _panel_rows(best: list[Panel]) -> list[dict[str, Any]]:
    from finegold.insight.notebook import percent, with_interval

    return [
        {
            "cost per item": f"{one.cost:.3g}",
            "accuracy": with_interval(one.accuracy),
            "on gold": percent(one.gold_accuracy),
            "judges": ", ".join(one.judges),
        }
        for one in best
    ]


def _plain(one: JudgeComparison | Panel) -> dict[str, Any]:
    return {name: value._asdict() if hasattr(value, "_asdict") else value for name, value in vars(one).items()}


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
        from finegold.cli.outputs import print_json

        print_json(found.to_dict())
        return
    _show_rank(found)


def _show_rank(found: Ranking) -> None:
    from finegold.cli.messages import warn
    from finegold.cli.outputs import console, frame_table
    from finegold.votes.frames import to_polars

    screen, n = console(), len(found.standings)
    screen.print(frame_table(f"Ranking of {n:,} systems", found.table(), SYSTEMS_SHOWN))
    rates = to_polars(found.matrix())
    if n <= COLUMNS_SHOWN:
        screen.print(frame_table("Share of verdicts that the row wins against the column", rates, SYSTEMS_SHOWN))
    for note in found.notes:
        warn(note)
