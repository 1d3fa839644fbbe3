"""`finegold judges`, `rate` and `rank`: what LLM judges are worth, what would pass if people judged
everything, and how the systems that judges compared rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from finegold.cli import options as o
from finegold.cli.outputs import (
    check_files,
    count,
    frame_writer,
    print_columns,
    print_json,
    say,
    warn,
    write_all,
)
from finegold.errors import InputError
from finegold.io.verdicts import LogReading
from finegold.options import options_of

if TYPE_CHECKING:
    from finegold.judges import JudgeReport

GATES_SHOWN, SYSTEMS_SHOWN, DISAGREEMENTS_SHOWN, CLASSES_SHOWN = 5, 12, 12, 6
# the exit code of a gate that fails, and the word for all judges together in a gate
GATE_FAILED, PANEL = 3, "panel"
WIDTH_OF_TEXT = 40

logs_argument = click.argument(
    "logs",
    nargs=-1,
    required=True,
    metavar="LOG...",
    help="Raw logs of LLM judges: CSV, JSONL, JSON or Parquet files, a glob pattern, or a folder.",
)
gold_option = o.opt(
    "--gold",
    metavar="FILE",
    help="Known truths of some items: a file, or the name of a column of LOG.",
)


@o.command
@logs_argument
@gold_option
@o.opt(
    *("--compare", "versus"),
    multiple=True,
    metavar="A,B:C,D",
    help="Compare two judges or panels on the same items. Can be repeated.",
)
@o.opt(
    "--replace",
    metavar="expert|trained|crowd|X",
    help="Test whether a judge may replace the people who voted: the alternative annotator test.",
)
@o.switch("--panels", help="Show the best panels for the money: accuracy against cost.")
@o.opt(
    "--panel",
    metavar="best|A,B",
    help="The judges of --labels and --save-panel; best: the best for the money.",
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
    metavar="[JUDGE:]FIGURE=X",
    help="End with 3 if a figure is less, such as accuracy.low=.75 or panel:accuracy.low=.8.",
)
@o.opt(
    "--fail-over",
    multiple=True,
    metavar="[JUDGE:]FIGURE=X",
    help="End with 3 if a figure is more, such as position_bias.high=.1.",
)
@o.opt("-o", "--output", help="Write the table of judges to a file.")
@o.opt("--labels", help="Write the label of every item, by all judges.")
@o.opt("--disagreements", help="Write the answers that differ from the truth, with the texts.")
@o.opt("--save-panel", help="Write a panel that finegold.judges.load reads.")
@o.opt("--report", help="Write an HTML report with a section on the judges.")
@o.json_option
@o.declared(LogReading, "reading")
def judges(
    logs: tuple[str, ...],
    gold: str | None,
    versus: tuple[str, ...],
    replace: str | None,
    panels: bool,
    panel: str | None,
    price: tuple[str, ...],
    fail_under: tuple[str, ...],
    fail_over: tuple[str, ...],
    output: str | None,
    labels: str | None,
    disagreements: str | None,
    save_panel: str | None,
    report: str | None,
    json: bool,
    reading: LogReading,
) -> None:
    """Find out what each LLM judge is worth: accuracy, position bias, consistency, failures, cost.

    LOG is a raw log with a row per call. The first line says how it was read. Verdicts are
    understood in the usual forms, the swap of the answers is undone, and failed calls are counted.
    Accuracies need known truths: a column of LOG that is called gold, truth or human_label, or
    --gold. --fail-under and --fail-over make a gate of it.
    """
    from finegold.insight.judges.answers import plain
    from finegold.judges import assess, read_each

    check_files([output, labels, disagreements], [report, save_panel], [*logs, gold])
    pairs = [_sides(text) for text in versus]
    gates = [
        *(_gate(text, 1) for text in fail_under),
        *(_gate(text, -1) for text in fail_over),
    ]
    try:
        prices = {name: float(value) for name, _, value in (text.rpartition("=") for text in price)}
    except ValueError:
        raise InputError(f"--price needs JUDGE=NUMBER, not {' '.join(price)}") from None
    named = {name: getattr(reading, name) for name in options_of(reading)}
    found = {name: assess(log) for name, log in read_each(list(logs), gold=gold, **named).items()}
    if len(found) > 1 and (report or save_panel):
        names = ", ".join(found)
        raise InputError(
            f"a report or a panel is of one criterion; name one of {names}, with --question"
        )
    results, broken = {}, []
    for name, one in found.items():
        more: dict[str, Any] = {"comparisons": [one.compare(*pair) for pair in pairs]}
        if panels or price:
            more["panels"] = one.panels(prices)
        if replace:
            is_number = replace.replace(".", "", 1).isdigit()
            more["replace"] = one.may_replace(float(replace) if is_number else replace)
        failed = [each for gate in gates for each in _failed(one, *gate)]
        broken += [f"{name}: {each}" if name else each for each in failed]
        more |= {"failed_gates": failed} if gates else {}
        results[name] = more
    chosen = {name: _members(one, panel, prices) for name, one in found.items()}
    tables = {
        output: frame_writer(lambda: _stacked({k: one.table() for k, one in found.items()})),
        labels: frame_writer(
            lambda: _stacked({k: one.labels(chosen[k]) for k, one in found.items()})
        ),
        disagreements: frame_writer(
            lambda: _stacked({k: one.disagreements() for k, one in found.items()})
        ),
    }
    first = next(iter(found.values()))
    write_all(
        tables
        | {report: first.report}
        | {save_panel: lambda path: first.fit(next(iter(chosen.values()))).save(path)}
    )
    if json:
        every = {name: one.to_dict() | plain(results[name]) for name, one in found.items()}
        print_json(every.get("", {"criteria": every}))
    else:
        for name, one in found.items():
            _show(one, results[name])
    if broken:
        left = f"; and {len(broken) - GATES_SHOWN} more" if len(broken) > GATES_SHOWN else ""
        say(f"gate: {'; '.join(broken[:GATES_SHOWN])}{left}")
        raise click.exceptions.Exit(GATE_FAILED)


def _sides(text: str) -> list[list[str]]:
    sides = [[each.strip() for each in side.split(",") if each.strip()] for side in text.split(":")]
    if len(sides) != 2 or not all(sides):
        raise InputError(
            f"--compare needs two judges or panels such as A:B or A,B:C,D, not {text!r}"
        )
    return sides


def _gate(text: str, sign: int) -> tuple[str, str, str, float, int]:
    """Return the judge, the figure, its end, the limit and 1 if the figure must not be under it."""
    from finegold.insight.judges.scores import FIGURES

    what, _, value = text.rpartition("=")
    judge, _, figure = what.rpartition(":")
    name, _, end = figure.strip().partition(".")
    try:
        limit = float(value)
    except ValueError:
        limit = float("nan")
    if not what or limit != limit:
        raise InputError(f"a gate needs FIGURE=NUMBER such as accuracy.low=.75, not {text!r}")
    if name not in [*FIGURES, "cost"] or end not in ("", "low", "high"):
        raise InputError(
            f"there is no figure {figure.strip()!r}; a gate takes {', '.join([*FIGURES, 'cost'])},"
            " and .low or .high for the end of the interval"
        )
    return judge.strip(), name, end or "value", limit, sign


def _failed(
    one: JudgeReport, judge: str, name: str, end: str, limit: float, sign: int
) -> list[str]:
    """Return why a gate fails. What is not known fails, too."""
    from finegold.insight.judges.scores import AGAINST_GOLD

    if judge == PANEL:
        accuracy = one.panels()[-1].accuracy if name == "accuracy" else None
        rows = [(PANEL, accuracy)]
    else:
        names = [each.judge for each in one.scores]
        if judge and judge not in names:
            raise InputError(f"there is no judge {judge!r}; the judges are {', '.join(names)}")
        rows = [
            (each.judge, getattr(each, name)) for each in one.scores if judge in ("", each.judge)
        ]
    figure, failed = name if end == "value" else f"{name}.{end}", []
    for who, share in rows:
        value = share if share is None or isinstance(share, float) else getattr(share, end)
        if value is None or value != value:
            why = ": it needs known truths (--gold)" if name in AGAINST_GOLD else ""
            failed.append(f"{figure} of {who} is not known{why}")
        elif sign * value < sign * limit:
            side = "under" if sign > 0 else "over"
            failed.append(f"{figure} of {who} is {value:.3f}, {side} {limit:g}")
    return failed


def _members(one: JudgeReport, panel: str | None, prices: dict[str, float]) -> Sequence[str] | None:
    if panel == "best":
        return one.best_panel(prices).judges
    return panel.split(",") if panel else None


def _stacked(frames: dict[str, Any]) -> Any:
    """Return tables of several criteria as one, with a column that says which."""
    import polars as pl

    from finegold.votes.frames import to_polars

    if list(frames) == [""]:
        return frames[""]
    return pl.concat(
        [
            to_polars(each).select(pl.lit(name).alias("criterion"), pl.all())
            for name, each in frames.items()
        ],
        how="diagonal_relaxed",
    )


def _show(one: JudgeReport, more: dict[str, Any]) -> None:
    from finegold.insight.judges.answers import Share
    from finegold.insight.judges.scores import places
    from finegold.votes.frames import to_polars

    log, ranks = one.log, places(one.scores)
    click.echo(str(log.reading))
    about = f"{log.criterion}: " if log.criterion else ""
    click.echo(
        f"{about}{count(log.n_verdicts, 'verdict')} of {count(log.n_judges, 'judge')} on"
        f" {count(log.n_items, 'item')}, {log.n_failed:,} failed; the judges are worth"
        f" {one.effective:.1f} independent ones"
    )
    heads = {
        "correlation": "correlation",
        "accuracy": "accuracy",
        "undecided": "undecided",
        "kappa": "kappa",
        "weighted_kappa": "weighted",
        "error": "error",
        "bias": "bias",
        "position_bias": "position bias",
        "swap_consistency": "after swap",
        "repeat_consistency": "in repeats",
        "failed": "failed",
        "agreement": "agreement",
    }
    with_ends = ("correlation", "accuracy", "position_bias", "error")

    def cell(share: Share, name: str) -> str:
        if share.value != share.value:
            return "–"
        text = f"{share.value:z.2f}"
        return f"{text} [{share.low:z.2f}, {share.high:z.2f}]" if name in with_ends else text

    columns = {
        "judge": [each.judge for each in one.scores],
        "place": ["-".join(map(str, dict.fromkeys(ranks[each.judge]))) for each in one.scores],
    }
    for name, head in heads.items():
        cells = [cell(getattr(each, name), name) for each in one.scores]
        never = name == "undecided" and log.kind == "pointwise" and {"0.00", "–"} >= set(cells)
        if any(each != "–" for each in cells) and not never:
            columns[head] = cells
    if any(each.cost == each.cost for each in one.scores):
        columns["cost"] = [f"{each.cost:.3g}" for each in one.scores]
    print_columns(columns)
    classes = one.classes()
    if classes and len(next(iter(classes.values()))) <= CLASSES_SHOWN and not log.is_ordered:
        rows = [(judge, each) for judge, own in classes.items() for each in own]
        shares = ("sensitivity", "specificity", "precision")
        print_columns(
            {"judge": [judge for judge, _ in rows], "class": [each.label for _, each in rows]}
            | {"truths": [f"{each.n:,}" for _, each in rows]}
            | {name: [cell(getattr(each, name), "accuracy") for _, each in rows] for name in shares}
        )
    if "panels" in more:
        print_columns(
            {
                "cost per item": [f"{panel.cost:.3g}" for panel in more["panels"]],
                "accuracy": [cell(panel.accuracy, "accuracy") for panel in more["panels"]],
                "judges": [", ".join(panel.judges) for panel in more["panels"]],
            },
            "Best panels for the money",
        )
    if "replace" in more:
        rows_ = more["replace"]
        print_columns(
            {
                "judge": [each.judge for each in rows_],
                "winning rate": [f"{each.winning_rate:.2f}" for each in rows_],
                "advantage": [f"{each.advantage:.2f}" for each in rows_],
                "may replace": ["yes" if each.passed else "no" for each in rows_],
                "people": [str(each.n_people) for each in rows_],
                "items": [f"{each.n_items:,}" for each in rows_],
            },
            "May a judge replace the people who voted? (alternative annotator test)",
        )
    if one.n_gold:
        wrong = to_polars(one.disagreements()).head(DISAGREEMENTS_SHOWN)
        if wrong.height:
            texts = {
                name: [" ".join(str(value or "").split())[:WIDTH_OF_TEXT] for value in wrong[name]]
                for name in wrong.columns
            }
            print_columns(
                texts, "Answers that differ from the truth (--disagreements FILE has all)"
            )
    for comparison in more["comparisons"]:
        click.echo(str(comparison))
    for note in one.notes:
        warn(note)


@o.command
@logs_argument
@gold_option
@o.opt(
    "--passes", metavar="CLASS", help="The class that passes, a bound such as '>=4', or a system."
)
@o.opt("--by", metavar="COLUMN", help="Groups of items, such as systems or versions.")
@o.opt(
    *("--compare", "versus"),
    metavar="X:Y",
    help="The difference of two groups of --by, paired by item.",
)
@o.opt("-o", "--output", help="Write the table of rates to a file.")
@o.json_option
@o.declared(LogReading, "reading")
def rate(
    logs: tuple[str, ...],
    gold: str | None,
    passes: str | None,
    by: str | None,
    versus: str | None,
    output: str | None,
    json: bool,
    reading: LogReading,
) -> None:
    """Estimate what would pass if people judged everything: the share, or the mean score.

    The verdicts of the judges on all items are corrected by the truths of the items that people
    checked, which must be a random sample (prediction-powered inference). Beside it stand what the
    verdicts alone say, what the checks alone say, and Rogan and Gladen's correction. With --by, the
    intervals hold for all groups together.
    """
    import polars as pl

    from finegold.insight.judges.answers import plain
    from finegold.judges import assess

    check_files([output], [], [*logs, gold])
    if versus and not by:
        raise InputError("--compare needs --by, the column that has both groups")
    named = {name: getattr(reading, name) for name in options_of(reading)}
    one = assess(list(logs), gold=gold, **named)
    pair = [part.strip() for part in versus.split(":")] if versus else []
    if versus and len(pair) != 2:
        raise InputError(f"--compare needs two groups such as X:Y, not {versus!r}")
    rates = one.rate(passes=passes, by=by)
    difference = one.difference(*pair, by=str(by), passes=passes) if pair else None

    def text(share: Any) -> str:
        if share.value != share.value:
            return "–"
        return f"{share.value:z.3f} [{share.low:z.3f}, {share.high:z.3f}]"

    rows = plain(rates)
    flat = [_flat(row) for row in rows]
    write_all({output: frame_writer(lambda: pl.DataFrame(flat))})
    if json:
        print_json(
            {"reading": one.log.reading.to_dict(), "rates": rows, "difference": plain(difference)}
            | {"notes": one.notes}
        )
        return
    click.echo(str(one.log.reading))
    gladen = any(each.rogan_gladen.value == each.rogan_gladen.value for each in rates)
    print_columns(
        (
            {by: [each.group for each in rates]}
            if by
            else {"items": [f"{each.n_items:,}" for each in rates]}
        )
        | {"corrected": [text(each.rate) for each in rates]}
        | {"verdicts alone": [f"{each.raw:.3f}" for each in rates]}
        | {"checks alone": [text(each.checks_alone) for each in rates]}
        | ({"Rogan-Gladen": [text(each.rogan_gladen) for each in rates]} if gladen else {})
        | {"checks": [f"{each.n_checked:,}" for each in rates]}
        | {"for half the width": [f"{each.checks_to_halve:,}" for each in rates]}
    )
    if difference is not None:
        click.echo(f"\n{pair[0]} minus {pair[1]}, paired by item: {text(difference)}")
    for note in one.notes:
        warn(note)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        ends = value if isinstance(value, dict) else {"value": value}
        flat |= {name if end == "value" else f"{name}_{end}": each for end, each in ends.items()}
    return flat


@o.command
@logs_argument
@gold_option
@o.opt(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="The seed of the bootstrap."
)
@o.opt("-o", "--output", help="Write the ranking to a file.")
@o.json_option
@o.declared(LogReading, "reading")
def rank(
    logs: tuple[str, ...],
    gold: str | None,
    seed: int,
    output: str | None,
    json: bool,
    reading: LogReading,
) -> None:
    """Rank the systems that LLM judges compared: Bradley-Terry with ties, intervals and ranges of
    ranks.

    LOG is a raw log of pairwise verdicts that names the two systems. Every judge has a position
    effect, if the log has pairs of systems in both orders, a tie rate and a weight; judges that err
    alike count less. Intervals are from a bootstrap over items. With --gold, what systems would win
    if people judged everything stands beside the strengths (prediction-powered inference).
    """
    from finegold.judges import rank as rank_log
    from finegold.judges import read

    check_files([output], [], [*logs, gold])
    named = {name: getattr(reading, name) for name in options_of(reading)}
    log = read(list(logs), gold=gold, **named)
    ranking = rank_log(log, seed=seed)
    write_all({output: frame_writer(ranking.table)})
    if json:
        print_json({"reading": log.reading.to_dict()} | ranking.to_dict())
        return
    click.echo(str(log.reading))
    columns: dict[str, list[str]] = {}
    for row in (one.plain() for one in ranking.standings):
        for name, value in row.items():
            shown = f"{value:.3f}" if isinstance(value, float) else str(value)
            columns.setdefault(name.replace("_", " "), []).append(shown)
    print_columns(
        {"system": columns.pop("system")} | columns,
        f"Ranking of {len(ranking.standings):,} systems",
    )
    if len(ranking.standings) <= SYSTEMS_SHOWN:
        names = [one.system for one in ranking.standings]
        rates = [
            [f"{rate:.2f}" if rate == rate else "–" for rate in column]
            for column in ranking.win_rates.T
        ]
        print_columns(
            {"system": names} | dict(zip(names, rates, strict=True)),
            "Share of verdicts that the row wins against the column",
        )
    for note in ranking.notes:
        warn(note)
