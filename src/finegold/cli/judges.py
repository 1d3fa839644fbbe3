"""`finegold judges` and `rank`: what LLM judges are worth, and how the systems that they compared
rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from finegold.cli import options as o
from finegold.cli.outputs import (
    check_files,
    console,
    count,
    frame_writer,
    print_frame,
    print_json,
    say,
    warn,
    write_all,
)
from finegold.errors import InputError
from finegold.io.verdicts import LogReading
from finegold.options import options_of

if TYPE_CHECKING:
    from finegold.insight.judges.panels import Cascade, JudgeComparison, Panel
    from finegold.judges import JudgeReport

GATES_SHOWN, JUDGES_SHOWN, PANELS_SHOWN, SYSTEMS_SHOWN, COLUMNS_SHOWN = 5, 50, 20, 50, 12

logs_argument = click.argument(
    "logs",
    nargs=-1,
    required=True,
    metavar="LOG...",
    help="Raw logs of LLM judges: CSV, JSONL, JSON or Parquet files, a glob pattern, or a folder.",
)


@o.command
@logs_argument
@o.opt(
    "--gold",
    metavar="FILE",
    help="Known truths of some items: a file, or the name of a column of LOG.",
)
@o.opt(
    *("--compare", "versus"),
    multiple=True,
    metavar="A,B:C,D",
    help="Compare two judges or panels on the same items. Can be repeated.",
)
@o.switch("--panels", help="Show the best panels for the money: accuracy against cost.")
@o.opt(
    "--panel",
    metavar="best|A,B",
    help="The judges that give --labels; best: the best for the money.",
)
@o.opt(
    "--price",
    multiple=True,
    metavar="JUDGE=X",
    help="The price of an item; for other judges that of the log, or 1.",
)
@o.opt(
    "--fail-under",
    multiple=True,
    metavar="FIGURE=X",
    help="End with 1 if a judge has less, such as accuracy=.75.",
)
@o.opt(
    "--fail-over",
    multiple=True,
    metavar="FIGURE=X",
    help="End with 1 if a judge has more, such as position_bias=.1.",
)
@o.opt("-o", "--output", help="Write the table of judges to a file.")
@o.opt("--labels", help="Write the label of every item, by all judges.")
@o.opt("--report", help="Write an HTML report with a section on the judges.")
@o.json_option
@o.declared(LogReading, "reading")
def judges(
    logs: tuple[str, ...],
    gold: str | None,
    versus: tuple[str, ...],
    panels: bool,
    panel: str | None,
    price: tuple[str, ...],
    fail_under: tuple[str, ...],
    fail_over: tuple[str, ...],
    output: str | None,
    labels: str | None,
    report: str | None,
    json: bool,
    reading: LogReading,
) -> None:
    """Find out what each LLM judge is worth: accuracy, position bias, consistency, failures, cost.

    LOG is a raw log with a row per call. Its columns are found by their usual names, verdicts are
    understood in the usual forms, the swap of the answers is undone, and failed calls are counted.
    Accuracies need known truths: a column of LOG that is called gold, truth or label, or --gold.
    --fail-under and --fail-over make a gate of it.
    """
    from finegold.insight.judges.panels import plain
    from finegold.insight.judges.scores import AGAINST_GOLD, FIGURES
    from finegold.judges import assess

    check_files([output, labels], [report], [*logs, gold])
    pairs, limits = [], []
    for text in versus:
        sides = [
            [name.strip() for name in side.split(",") if name.strip()] for side in text.split(":")
        ]
        if len(sides) != 2 or not all(sides):
            raise InputError(
                f"--compare needs two judges or panels such as A:B or A,B:C,D, not {text!r}"
            )
        pairs.append(sides)
    for sign, text in [
        *((1, text) for text in fail_under),
        *((-1, text) for text in fail_over),
    ]:
        name, _, value = text.partition("=")
        try:
            limits.append((name.strip(), float(value), sign))
        except ValueError:
            raise InputError(
                f"a gate needs FIGURE=NUMBER such as accuracy=.75, not {text!r}"
            ) from None
        if name.strip() not in (figures := [*FIGURES, "cost"]):
            raise InputError(
                f"there is no figure {name.strip()!r}; a gate takes {', '.join(figures)}"
            )
    try:
        prices = {name: float(value) for name, _, value in (text.rpartition("=") for text in price)}
    except ValueError:
        raise InputError(f"--price needs JUDGE=NUMBER, not {' '.join(price)}") from None
    assessed = assess(
        list(logs), gold=gold, **{name: getattr(reading, name) for name in options_of(reading)}
    )
    compared = [assessed.compare(*pair) for pair in pairs]
    best = assessed.panels(prices) if panels or price else []
    steps = assessed.cascade(prices) if panels or price else None
    # a bias counts in either direction; what is not known fails, too
    broken = []
    for name, limit, sign in limits:
        for one in assessed.judges():
            value = one[name]["value"] if name == "accuracy" and one[name] else one[name]
            if value is None:
                why = ": it needs known truths (--gold)" if name in AGAINST_GOLD else ""
                broken.append(f"{name} of {one['judge']} is not known{why}")
            elif (
                sign * (abs(value) if name.endswith("bias") or name == "drift" else value)
                < sign * limit
            ):
                side = "under" if sign > 0 else "over"
                broken.append(f"{name} of {one['judge']} is {value:.3f}, {side} {limit:g}")
    chosen = (
        assessed.best_panel(prices).judges
        if panel == "best"
        else panel.split(",")
        if panel
        else None
    )
    labelled = assessed.labels(chosen) if labels else None
    tables = {
        output: frame_writer(assessed.table),
        labels: frame_writer(lambda: labelled),
    }
    write_all(tables | {report: assessed.report})
    if json:
        more: dict[str, Any] = {
            "comparisons": list(map(plain, compared)),
            "panels": list(map(plain, best)),
        }
        more |= {"cascade": None if steps is None else plain(steps)} | (
            {"failed_gates": broken} if limits else {}
        )
        print_json(assessed.to_dict() | more)
    else:
        _show(assessed, compared, best, steps)
    if broken:
        left = f"; and {len(broken) - GATES_SHOWN} more" if len(broken) > GATES_SHOWN else ""
        say(f"gate: {'; '.join(broken[:GATES_SHOWN])}{left}")
        raise click.exceptions.Exit(1)


def _show(
    assessed: JudgeReport, compared: list[JudgeComparison], best: list[Panel], steps: Cascade | None
) -> None:
    import polars as pl

    from finegold.insight.notebook import figure_of, percent, with_interval

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
            "length bias": figure(one["length_bias"]),
            "position bias": figure_of(one, "position_bias"),
            "same after swap": percent(one["swap_consistency"]),
            "same in repeats": percent(one["repeat_consistency"]),
            "ties": percent(one["ties"] or None),
            "failed": percent(one["failed"]),
            "agreement": percent(one["agreement"]),
            "drift": figure(one["drift"]),
            "cost": "–" if one["cost"] is None else f"{one['cost']:.3g}",
        }
        for one in assessed.judges()
    ]
    shown = [
        name for name in rows[0] if name == "undecided" or any(row[name] != "–" for row in rows)
    ]
    log = assessed.log
    title = (
        f"{count(log.n_verdicts, 'verdict')} of {count(log.n_judges, 'judge')} on"
        f" {count(log.n_items, 'item')}, {log.n_failed:,} failed; the judges are worth"
        f" {assessed.effective:.1f} independent ones"
    )
    print_frame(title, pl.DataFrame(rows).select(shown), JUDGES_SHOWN)
    if best:
        columns = {
            "cost per item": [f"{panel.cost:.3g}" for panel in best],
            "accuracy": [with_interval(panel.accuracy) for panel in best],
            "judges": [", ".join(panel.judges) for panel in best],
        }
        print_frame("Best panels for the money", pl.DataFrame(columns), PANELS_SHOWN)
    for comparison in [*([steps] if steps else []), *compared]:
        console().print(str(comparison), markup=False, soft_wrap=True)
    for note in assessed.notes:
        warn(note)


@o.command
@logs_argument
@o.opt(
    "--weights",
    type=click.Choice(["learned", "equal"]),
    default="learned",
    show_default=True,
    help="How much judges count: by what was learned, or alike.",
)
@o.opt(
    "--gold",
    metavar="FILE",
    help="Preferences of people on some items: a file, or a column of LOG.",
)
@o.opt(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="The seed of the bootstrap."
)
@o.switch("--control-length", help="Leave aside what the lengths of the answers explain.")
@o.opt("-o", "--output", help="Write the ranking to a file.")
@o.opt("--matrix", help="Write the win rates of all pairs to a file.")
@o.json_option
@o.declared(LogReading, "reading")
def rank(
    logs: tuple[str, ...],
    weights: str,
    gold: str | None,
    seed: int,
    control_length: bool,
    output: str | None,
    matrix: str | None,
    json: bool,
    reading: LogReading,
) -> None:
    """Rank the systems that LLM judges compared: Bradley-Terry with ties, intervals and ranges of
    ranks.

    LOG is a raw log of pairwise verdicts that names the two systems. Every judge has a position
    effect, a tie rate and a weight; judges that err alike count less. Intervals are from a
    bootstrap over items. With --gold, win rates by people's preferences stand beside them, which
    the judges make more precise (prediction-powered inference).
    """
    from finegold.judges import rank as rank_log

    check_files([output, matrix], [], [*logs, gold])
    how: dict[str, Any] = {"weights": weights, "seed": seed, "control_length": control_length}
    how |= {name: getattr(reading, name) for name in options_of(reading)}
    ranking = rank_log(list(logs), gold=gold, **how)
    write_all({output: frame_writer(ranking.table), matrix: frame_writer(ranking.matrix)})
    if json:
        print_json(ranking.to_dict())
        return
    n = len(ranking.standings)
    print_frame(f"Ranking of {n:,} systems", ranking.table(), SYSTEMS_SHOWN)
    if n <= COLUMNS_SHOWN:
        print_frame(
            "Share of verdicts that the row wins against the column",
            ranking.matrix(),
            SYSTEMS_SHOWN,
        )
    for note in ranking.notes:
        warn(note)
