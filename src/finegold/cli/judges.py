"""`finegold judges` and `rank`: what LLM judges are worth, and how the systems that they compared rank."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli.messages import count, say, warn
from finegold.cli.outputs import check_outputs, console, frame_table, frame_writer, print_json, write_all
from finegold.errors import InputError
from finegold.options import option

if TYPE_CHECKING:
    from finegold.insight.judges.panels import Cascade, JudgeComparison, Panel
    from finegold.judges import JudgeLog, JudgeReport

GOLD_GATES = ("accuracy", "strict_accuracy", "pair_accuracy", "kappa", "weighted_kappa", "error", "bias")
GATES = (
    *GOLD_GATES,
    "undecided",
    "position_bias",
    "swap_consistency",
    "repeat_consistency",
    "ties",
    "failed",
    "agreement",
    "cost",
)
GATES_SHOWN = 5
NO_GOLD = ": it needs known truths (--gold)"
JUDGES_SHOWN, PANELS_SHOWN, SYSTEMS_SHOWN, COLUMNS_SHOWN = 50, 20, 50, 12

Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG",
        help="Raw logs of LLM judges: CSV, JSONL, JSON or Parquet files, a glob pattern, or a folder.",
        show_default=False,
    ),
]


def column(help: str) -> Any:
    return option(None, help, group="Columns of the log", metavar="NAME")


@dataclass(frozen=True)
class JudgeLogOptions:
    """How to read a judge log."""

    item: str | None = column("The column with the items.")
    judge: str | None = column("The column with the judges.")
    verdict: str | None = column("The column with the verdicts.")
    order: str | None = column("The column with the order of the answers: AB or BA.")
    system_a: str | None = column("The column with the first system.")
    system_b: str | None = column("The column with the second system.")
    repeat: str | None = column("The column with the number of the repeat.")
    cost: str | None = column("The column with the price of the call.")
    error: str | None = column("The column with the error or the status of the call.")
    kind: str | None = option(
        None,
        "Whether verdicts compare two answers or judge one.",
        group="Columns of the log",
        kind="choice",
        choices=("pairwise", "pointwise"),
    )
    verdicts: str = option(
        "position",
        "What A and B mean in a log with orders: positions, or the answers.",
        group="Columns of the log",
        kind="choice",
        choices=("position", "answer"),
    )
    verdict_pattern: str | None = option(
        None,
        "A regular expression that finds the verdict in a text: its first group. The last match counts.",
        group="Columns of the log",
        metavar="REGEX",
    )
    verdict_map: str | None = option(
        None,
        "What verdicts mean: A, B or tie, or the name of a class. Several are separated by commas.",
        group="Columns of the log",
        metavar="X=A,Y=B",
    )

    def read(self, files: list[str], gold: str | None = None) -> JudgeLog:
        from finegold.judges import read

        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return read(files, gold=gold, **given | {"verdict_map": _meant(self.verdict_map)})


JUDGE_LOG: Any = o.Group(JudgeLogOptions)


@o.with_groups
def judges(
    logs: Logs,
    gold: Annotated[
        str | None,
        o.value("--gold", metavar="FILE", help="Known truths of some items: a file, or the name of a column of LOG."),
    ] = None,
    versus: Annotated[
        list[str] | None,
        o.value(
            "--compare", metavar="A,B:C,D", help="Compare two judges or panels on the same items. Can be repeated."
        ),
    ] = None,
    panels: Annotated[
        bool, typer.Option("--panels", help="Show the best panels for the money: accuracy against cost.")
    ] = False,
    price: Annotated[
        list[str] | None,
        o.value("--price", metavar="JUDGE=X", help="The price of an item; for other judges that of the log, or 1."),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        o.value("--fail-under", metavar="FIGURE=X", help="End with 1 if a judge has less, such as accuracy=.75."),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        o.value("--fail-over", metavar="FIGURE=X", help="End with 1 if a judge has more, such as position_bias=.1."),
    ] = None,
    output: Annotated[str | None, o.value("-o", "--output", help="Write the table of judges to a file.")] = None,
    labels: Annotated[str | None, o.value("--labels", help="Write the label of every item, by all judges.")] = None,
    report: Annotated[
        str | None, o.value("--report", help="Write an HTML report with a section on the judges.")
    ] = None,
    reading: JudgeLogOptions = JUDGE_LOG,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Find out what each LLM judge is worth: accuracy, position bias, consistency, failures, cost.

    LOG is a raw log with a row per call. Its columns are found by their usual names, verdicts are understood in the
    usual forms, the swap of the answers is undone, and failed calls are counted. Accuracies need known truths: a column
    of LOG that is called gold, truth or label, or --gold. --fail-under and --fail-over make a gate of it.
    """
    from finegold.judges import assess

    check_outputs([output, labels], [report], [*logs, gold])
    pairs = [_pair(text) for text in versus or []]
    limits = [(*_limit(text), 1) for text in fail_under or []] + [(*_limit(text), -1) for text in fail_over or []]
    assessed = assess(reading.read(logs, gold))
    compared = [assessed.compare(*pair) for pair in pairs]
    best = assessed.panels(_prices(price)) if panels or price else []
    steps = assessed.cascade(_prices(price)) if panels or price else None
    broken = _broken(assessed, limits)
    tables = {output: frame_writer(assessed.table, raw), labels: frame_writer(assessed.labels, raw)}
    write_all(tables | {report: assessed.report})
    if json:
        more: dict[str, Any] = {"comparisons": list(map(_plain, compared)), "panels": list(map(_plain, best))}
        more |= {"cascade": None if steps is None else _plain(steps)} | ({"failed_gates": broken} if limits else {})
        print_json(assessed.to_dict() | more)
    else:
        _show(assessed, compared, best, steps)
    if broken:
        left = f"; and {len(broken) - GATES_SHOWN} more" if len(broken) > GATES_SHOWN else ""
        say(f"gate: {'; '.join(broken[:GATES_SHOWN])}{left}")
        raise typer.Exit(1)


def _pair(text: str) -> list[list[str]]:
    sides = [[name.strip() for name in side.split(",") if name.strip()] for side in text.split(":")]
    if len(sides) != 2 or not all(sides):
        raise InputError(f"--compare needs two judges or panels such as A:B or A,B:C,D, not {text!r}")
    return sides


def _meant(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    pairs = [part.rpartition("=") for part in text.split(",")]
    if not all(sign and word.strip() and meant.strip() for word, sign, meant in pairs):
        raise InputError(f"--verdict-map needs pairs such as 1=A,2=B,3=tie, not {text!r}")
    return {word.strip(): meant.strip() for word, _, meant in pairs}


def _limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        limit = float(value)
    except ValueError:
        raise InputError(f"a gate needs FIGURE=NUMBER such as accuracy=.75, not {text!r}") from None
    figures = [*GATES]
    if name.strip() not in figures:
        raise InputError(f"there is no figure {name.strip()!r}; a gate takes {', '.join(figures)}")
    return name.strip(), limit


def _broken(assessed: JudgeReport, limits: list[tuple[str, float, int]]) -> list[str]:
    """Return what is wrong by the limits. A bias counts in either direction; what is not known fails, too."""
    broken = []
    for name, limit, sign in limits:
        for one in assessed.judges():
            value = one[name]["value"] if name == "accuracy" and one[name] else one[name]
            if value is None:
                why = NO_GOLD if name in GOLD_GATES else ""
                broken.append(f"{name} of {one['judge']} is not known{why}")
            elif sign * (abs(value) if name in ("position_bias", "bias") else value) < sign * limit:
                broken.append(f"{name} of {one['judge']} is {value:.3f}, {'under' if sign > 0 else 'over'} {limit:g}")
    return broken


def _prices(given: list[str] | None) -> dict[str, float] | None:
    try:
        return {name: float(value) for name, _, value in (text.rpartition("=") for text in given or ())} or None
    except ValueError:
        raise InputError(f"--price needs JUDGE=NUMBER, not {' '.join(given or ())}") from None


def _show(assessed: JudgeReport, compared: list[JudgeComparison], best: list[Panel], steps: Cascade | None) -> None:
    import polars as pl

    log, screen = assessed.log, console()
    title = (
        f"{count(log.n_verdicts, 'verdict')} of {count(log.n_judges, 'judge')} on {count(log.n_items, 'item')}, "
        f"{log.n_failed:,} failed; the judges are worth {assessed.effective:.1f} independent ones"
    )
    screen.print(frame_table(title, pl.DataFrame(_judge_rows(assessed)), JUDGES_SHOWN))
    if best:
        screen.print(frame_table("Best panels for the money", pl.DataFrame(_panel_rows(best)), PANELS_SHOWN))
    for comparison in [*([steps] if steps else []), *compared]:
        screen.print(str(comparison), markup=False, soft_wrap=True)
    for note in assessed.notes:
        warn(note)


def _judge_rows(assessed: JudgeReport) -> list[dict[str, Any]]:
    """Return a row per judge, with the columns that some judge has a figure in."""
    from finegold.insight.notebook import figure_of, percent

    def figure(value: float | None) -> str:
        return "–" if value is None else f"{value:.2f}"

    rows = [
        {
            "judge": one["judge"],
            "ranks": "-".join(str(place) for place in dict.fromkeys(one["ranks"])),
            "accuracy": figure_of(one, "accuracy"),
            "undecided": percent(one["undecided"]),
            "strict": percent(one["strict_accuracy"]),
            "pair": percent(one["pair_accuracy"]),
            "kappa": figure(one["kappa"]),
            "weighted": figure(one["weighted_kappa"]),
            "error": figure(one["error"]),
            "bias": figure(one["bias"]),
            "position bias": figure_of(one, "position_bias"),
            "same after swap": percent(one["swap_consistency"]),
            "same in repeats": percent(one["repeat_consistency"]),
            "ties": percent(one["ties"] or None),
            "failed": percent(one["failed"]),
            "agreement": percent(one["agreement"]),
            "cost": "–" if one["cost"] is None else f"{one['cost']:.3g}",
        }
        for one in assessed.judges()
    ]
    shown = [name for name in rows[0] if name == "undecided" or any(row[name] != "–" for row in rows)]
    return [{name: row[name] for name in shown} for row in rows]


def _panel_rows(best: list[Panel]) -> list[dict[str, Any]]:
    from finegold.insight.notebook import with_interval

    return [
        {
            "cost per item": f"{panel.cost:.3g}",
            "accuracy": with_interval(panel.accuracy),
            "judges": ", ".join(panel.judges),
        }
        for panel in best
    ]


def _plain(figures: JudgeComparison | Panel | Cascade) -> dict[str, Any]:
    return {name: value._asdict() if hasattr(value, "_asdict") else value for name, value in vars(figures).items()}


@o.with_groups
def rank(
    logs: Logs,
    weights: Annotated[
        str,
        o.value("--weights", metavar="learned|equal", help="How much judges count: by what was learned, or alike."),
    ] = "learned",
    gold: Annotated[
        str | None,
        o.value("--gold", metavar="FILE", help="Preferences of people on some items: a file, or a column of LOG."),
    ] = None,
    seed: Annotated[int, o.value("--seed", metavar="N", help="The seed of the bootstrap.")] = 0,
    output: Annotated[str | None, o.value("-o", "--output", help="Write the ranking to a file.")] = None,
    matrix: Annotated[str | None, o.value("--matrix", help="Write the win rates of all pairs to a file.")] = None,
    reading: JudgeLogOptions = JUDGE_LOG,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Rank the systems that LLM judges compared: Bradley-Terry with ties, intervals and ranges of ranks.

    LOG is a raw log of pairwise verdicts that names the two systems. Every judge has a position effect, a tie rate and
    a weight; judges that err alike count less. Intervals are from a bootstrap over items. With --gold, win rates by
    people's preferences stand beside them, which the judges make more precise (prediction-powered inference).
    """
    from finegold.judges import rank as rank_log
    from finegold.votes.frames import to_polars

    check_outputs([output, matrix], [], [*logs, gold])
    ranking = rank_log(reading.read(logs, gold), weights=weights, seed=seed)  # type: ignore[arg-type]  # checked there
    write_all({output: frame_writer(ranking.table, raw), matrix: frame_writer(ranking.matrix, raw)})
    if json:
        print_json(ranking.to_dict())
        return
    screen, n = console(), len(ranking.standings)
    screen.print(frame_table(f"Ranking of {n:,} systems", ranking.table(), SYSTEMS_SHOWN))
    if n <= COLUMNS_SHOWN:
        rates = to_polars(ranking.matrix())
        screen.print(frame_table("Share of verdicts that the row wins against the column", rates, SYSTEMS_SHOWN))
    for note in ranking.notes:
        warn(note)
