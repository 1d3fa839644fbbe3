"""`finegold judges`, `rate` and `rank`: what LLM judges are worth, what would pass if people judged
everything, and how the systems that judges compared rank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from finegold.cli import options as o
from finegold.cli.outputs import (
    check_outputs,
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
from finegold.options import option, options_of

if TYPE_CHECKING:
    from finegold.judges import JudgeReport

GATES_SHOWN, SYSTEMS_SHOWN, DISAGREEMENTS_SHOWN, CLASSES_SHOWN = 5, 12, 12, 6
# the exit code of a gate that fails, and the word for all judges together in a gate
GATE_FAILED, PANEL = 3, "panel"
WIDTH_OF_TEXT = 40
# the judge, the figure, the end of its interval, and the limit
GATE = re.compile(r"(?:(.+):)?([^:.=]+)(?:\.(low|high))?=([+-]?(?:\d+\.?\d*|\.\d+))")
# the figures of judges in the terminal with the ends of their intervals, and without them
WITH_ENDS = ("correlation", "accuracy", "position_bias", "error")
FIGURES_SHOWN = {
    **{name: name for name in ("correlation", "accuracy", "undecided", "kappa")},
    **{"weighted_kappa": "weighted", "error": "error", "bias": "bias"},
    **{"position_bias": "position bias", "swap_consistency": "after swap"},
    **{"repeat_consistency": "in repeats", "failed": "failed", "agreement": "agreement"},
}
texts = partial(option, (), kind="texts", metavar="[JUDGE:]FIGURE=X")
of_logs = o.command_with(
    click.argument(
        "logs",
        nargs=-1,
        required=True,
        metavar="LOG...",
        help="Raw logs of LLM judges: CSV, JSONL, JSON or Parquet files, a pattern, or a folder.",
    ),
    o.declared(LogReading, "reading"),
)


@dataclass(frozen=True)
class OfLogs:
    """What commands on logs have in common."""

    gold: str | None = option(
        None, "Known truths of some items: a file, or the name of a column of LOG.", metavar="FILE"
    )
    output: str | None = o.table("Write the table to a file.", flag=o.OUTPUT)
    json: bool = o.json_flag()

    def reading_of(self, logs: Sequence[str], reading: LogReading) -> dict[str, Any]:
        """Check the outputs, and return how to read the logs."""
        check_outputs([*logs, *([self.gold] if self.gold else [])], self)
        return {name: getattr(reading, name) for name in options_of(reading)} | {"gold": self.gold}


@of_logs
class Judges(OfLogs):
    """Find out what each LLM judge is worth: accuracy, position bias, consistency, failures, cost.

    LOG is a raw log with a row per call. The first line says how it was read. Verdicts are
    understood in the usual forms, the swap of the answers is undone, and failed calls are counted.
    Accuracies need known truths: a column of LOG that is called gold, truth or human_label, or
    --gold. --fail-under and --fail-over make a gate of it.
    """

    compare: list[str] = texts("Compare two judges or panels on the same items.", metavar="A,B:C,D")
    replace: str | None = option(
        None,
        "Test whether a judge may replace the people who voted: the alternative annotator test.",
        metavar="expert|trained|crowd|X",
    )
    panels: bool = o.flag("Show the best panels for the money: accuracy against cost.")
    panel: str | None = option(
        None, "The judges of --labels and --save-panel, if not all.", metavar="A,B"
    )
    price: list[str] = texts(
        "The price of an item; for other judges that of the log, or 1.", metavar="JUDGE=X"
    )
    fail_under: list[str] = texts(
        "End with 3 if a figure is less, such as accuracy.low=.75 or panel:accuracy.low=.8."
    )
    fail_over: list[str] = texts("End with 3 if a figure is more, such as position_bias.high=.1.")
    labels: str | None = o.table("Write the label of every item, by all judges.")
    disagreements: str | None = o.table(
        "Write the answers that differ from the truth, with the texts."
    )
    save_panel: str | None = o.output("Write a panel that finegold.judges.load reads.")
    report: str | None = o.output("Write an HTML report with a section on the judges.")

    def run(self, logs: tuple[str, ...], reading: LogReading) -> None:
        from finegold.insight.judges.answers import plain
        from finegold.judges import assess, fit, read_each

        given = self.reading_of(logs, reading)
        pairs = [_pair(text) for text in self.compare]
        gates = [Gate.of(text, 1) for text in self.fail_under]
        gates += [Gate.of(text, -1) for text in self.fail_over]
        try:
            prices = {
                name: float(x) for name, _, x in (text.rpartition("=") for text in self.price)
            }
        except ValueError:
            raise InputError(f"--price needs JUDGE=NUMBER, not {' '.join(self.price)}") from None
        found = {name: assess(log) for name, log in read_each(list(logs), **given).items()}
        if len(found) > 1 and (self.report or self.save_panel):
            problem = f"a report or a panel is of one criterion; name one of {', '.join(found)}"
            raise InputError(f"{problem}, with --question")
        results, broken = {}, []
        for name, one in found.items():
            more: dict[str, Any] = {"comparisons": [one.compare(*pair) for pair in pairs]}
            if self.panels or prices:
                more["panels"] = one.panels(prices)
            if self.replace:
                is_number = self.replace.replace(".", "", 1).isdigit()
                more["replace"] = one.may_replace(
                    float(self.replace) if is_number else self.replace
                )
            failed = [each for gate in gates for each in gate.failed(one)]
            broken += [f"{name}: {each}" if name else each for each in failed]
            results[name] = more | ({"failed_gates": failed} if gates else {})
        members = self.panel.split(",") if self.panel else None
        first = next(iter(found.values()))
        files: dict[Any, Any] = {
            self.output: frame_writer(lambda: _stacked(found, lambda one: one.table())),
            self.labels: frame_writer(lambda: _stacked(found, lambda one: one.labels(members))),
            self.disagreements: frame_writer(
                lambda: _stacked(found, lambda one: one.disagreements())
            ),
            self.report: first.report,
            self.save_panel: lambda path: fit(first.log, judges=members).save(path),
        }
        write_all(files)
        if self.json:
            every = {name: one.to_dict() | plain(results[name]) for name, one in found.items()}
            print_json(every.get("", {"criteria": every}))
        else:
            for name, one in found.items():
                _show(one, results[name])
        if broken:
            left = f"; and {len(broken) - GATES_SHOWN} more" if len(broken) > GATES_SHOWN else ""
            say(f"gate: {'; '.join(broken[:GATES_SHOWN])}{left}")
            raise click.exceptions.Exit(GATE_FAILED)


def _pair(text: str) -> list[list[str]]:
    sides = [[each.strip() for each in side.split(",") if each.strip()] for side in text.split(":")]
    if len(sides) != 2 or not all(sides):
        problem = "--compare needs two judges or panels such as A:B or A,B:C,D"
        raise InputError(f"{problem}, not {text!r}")
    return sides


class Gate(NamedTuple):
    """A figure that must not be under (sign 1) or over (-1) a limit; of all judges without one."""

    judge: str
    name: str
    end: str
    limit: float
    sign: int

    @classmethod
    def of(cls, text: str, sign: int) -> Gate:
        """Read a gate such as gpt:accuracy.low=.75."""
        from finegold.insight.judges.scores import FIGURES

        if (found := GATE.fullmatch(text.strip())) is None:
            raise InputError(f"a gate needs FIGURE=NUMBER such as accuracy.low=.75, not {text!r}")
        judge, name, end, limit = found.groups()
        if name not in (known := [*FIGURES, "cost"]):
            problem = f"there is no figure {name!r}; a gate takes {', '.join(known)}, and .low or"
            raise InputError(f"{problem} .high for the end of the interval")
        return cls(judge or "", name, end or "value", float(limit), sign)

    def failed(self, one: JudgeReport) -> list[str]:
        """Return why the gate fails. What is not known fails, too."""
        from finegold.insight.judges.scores import AGAINST_GOLD

        rows = {each.judge: getattr(each, self.name) for each in one.scores}
        if self.judge == PANEL:
            rows = {PANEL: one.panels()[-1].accuracy if self.name == "accuracy" else float("nan")}
        elif self.judge:
            if self.judge not in rows:
                problem = f"there is no judge {self.judge!r}; the judges are {', '.join(rows)}"
                raise InputError(problem)
            rows = {self.judge: rows[self.judge]}
        figure, failed = self.name if self.end == "value" else f"{self.name}.{self.end}", []
        for who, share in rows.items():
            value = share if isinstance(share, float) else getattr(share, self.end)
            if value != value:
                why = ": it needs known truths (--gold)" if self.name in AGAINST_GOLD else ""
                failed.append(f"{figure} of {who} is not known{why}")
            elif self.sign * value < self.sign * self.limit:
                side = "under" if self.sign > 0 else "over"
                failed.append(f"{figure} of {who} is {value:.3f}, {side} {self.limit:g}")
        return failed


def _stacked(found: Mapping[str, JudgeReport], make: Callable[[JudgeReport], Any]) -> Any:
    """Return the tables of several criteria as one, with a column that says which."""
    import polars as pl

    from finegold.votes.frames import to_polars

    if [*found] == [""]:
        return make(found[""])
    parts = [
        to_polars(make(one)).select(pl.lit(name).alias("criterion"), "*")
        for name, one in found.items()
    ]
    return pl.concat(parts, how="diagonal_relaxed")


def _show(one: JudgeReport, more: dict[str, Any]) -> None:
    from finegold.insight.judges.scores import places
    from finegold.votes.frames import to_polars

    log, ranks = one.log, places(one.scores)
    click.echo(str(log.reading))
    about = f"{log.criterion}: " if log.criterion else ""
    sizes = f"{count(log.n_verdicts, 'verdict')} of {count(log.n_judges, 'judge')}"
    click.echo(
        f"{about}{sizes} on {count(log.n_items, 'item')}, {log.n_failed:,} failed; the judges are"
        f" worth {one.effective:.1f} independent ones"
    )
    rows = [vars(each) | {"place": list(dict.fromkeys(ranks[each.judge]))} for each in one.scores]
    for row in rows:
        row["place"] = "-".join(map(str, row["place"]))
        row["cost"] = f"{row['cost']:.3g}" if row["cost"] == row["cost"] else "–"
    heads = {"judge": "judge", "place": "place"} | FIGURES_SHOWN | {"cost": "cost"}
    if log.kind == "pointwise" and not any(row["undecided"].value > 0 for row in rows):
        del heads["undecided"]
    print_rows(rows, heads)
    classes = one.classes()
    if classes and len(next(iter(classes.values()))) <= CLASSES_SHOWN and not log.is_ordered:
        rows = [{"judge": judge} | vars(each) for judge, own in classes.items() for each in own]
        heads = {"judge": "judge", "label": "class", "n": "truths"}
        print_rows(
            rows, heads | {each: each for each in ("sensitivity", "specificity", "precision")}
        )
    if "panels" in more:
        rows = [vars(each) | {"cost": f"{each.cost:.3g}"} for each in more["panels"]]
        heads = {"cost": "cost per item", "accuracy": "accuracy", "judges": "judges"}
        print_rows(rows, heads, "Best panels for the money")
    if "replace" in more:
        heads = {"judge": "judge", "winning_rate": "winning rate", "advantage": "advantage"}
        heads |= {"passed": "may replace", "n_people": "people", "n_items": "items"}
        title = "May a judge replace the people who voted? (alternative annotator test)"
        print_rows(map(vars, more["replace"]), heads, title)
    wrong = to_polars(one.disagreements()).head(DISAGREEMENTS_SHOWN)
    rows = [
        {name: " ".join(str(value or "").split())[:WIDTH_OF_TEXT] for name, value in row.items()}
        for row in wrong.to_dicts()
    ]
    title = "Answers that differ from the truth (--disagreements FILE has all)"
    print_rows(rows, {name: name for name in wrong.columns}, title)
    for comparison in more["comparisons"]:
        click.echo(str(comparison))
    for note in one.notes:
        warn(note)


def print_rows(
    rows: Iterable[Mapping[str, Any]], heads: Mapping[str, str], title: str = "", digits: int = 2
) -> None:
    """Print figures under their heads, without those that nothing is known of."""
    from finegold.insight.judges.answers import Share

    def text(name: str, value: Any) -> str:
        if isinstance(value, Share):
            ends = f" [{value.low:z.{digits}f}, {value.high:z.{digits}f}]"
            is_short = name in FIGURES_SHOWN and name not in WITH_ENDS
            shown = f"{value.value:z.{digits}f}" + ("" if is_short else ends)
            return shown if value.value == value.value else "–"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return f"{value:.{digits}f}" if value == value else "–"
        if isinstance(value, tuple):
            return ", ".join(value)
        return f"{value:,}" if isinstance(value, int) else str(value)

    rows = list(rows)
    cells = {head: [text(name, row[name]) for row in rows] for name, head in heads.items()}
    if rows:
        print_columns({head: own for head, own in cells.items() if {*own} != {"–"}}, title)


@of_logs
class Rate(OfLogs):
    """Estimate what would pass if people judged everything: the share, or the mean score.

    The verdicts of the judges on all items are corrected by the truths of the items that people
    checked, which must be a random sample (prediction-powered inference). Beside it stand what the
    verdicts alone say, what the checks alone say, and Rogan and Gladen's correction. With --by, the
    intervals hold for all groups together.
    """

    passes: str | None = option(
        None, "The class that passes, a bound such as '>=4', or a system.", metavar="CLASS"
    )
    by: str | None = option(None, "Groups of items, such as systems or versions.", metavar="COLUMN")
    compare: str | None = option(
        None, "The difference of two groups of --by, paired by item.", metavar="X:Y"
    )

    def run(self, logs: tuple[str, ...], reading: LogReading) -> None:
        import polars as pl

        from finegold.insight.judges.answers import flat, plain
        from finegold.judges import assess

        given, passes = self.reading_of(logs, reading), self.passes
        pair = [part.strip() for part in self.compare.split(":")] if self.compare else []
        if pair and not self.by:
            raise InputError("--compare needs --by, the column that has both groups")
        if pair and len(pair) != 2:
            raise InputError(f"--compare needs two groups such as X:Y, not {self.compare!r}")
        one = assess(list(logs), **given)
        rates = one.rate(passes=passes, by=self.by)
        difference = one.difference(*pair, by=str(self.by), passes=passes) if pair else None
        write_all({self.output: frame_writer(lambda: pl.DataFrame([flat(row) for row in rates]))})
        if self.json:
            found = {"reading": one.log.reading.to_dict(), "rates": plain(rates)}
            print_json(found | {"difference": plain(difference), "notes": one.notes})
            return
        click.echo(str(one.log.reading))
        heads = {"group": self.by} if self.by else {"n_items": "items"}
        heads |= {"rate": "corrected", "raw": "verdicts alone", "checks_alone": "checks alone"}
        heads |= {"rogan_gladen": "Rogan-Gladen", "n_checked": "checks"}
        heads["checks_to_halve"] = "for half the width"
        print_rows(map(vars, rates), heads, digits=3)
        if difference is not None:
            heads = {"difference": f"{pair[0]} minus {pair[1]}, paired by item"}
            print_rows([{"difference": difference}], heads, digits=3)
        for note in one.notes:
            warn(note)


@of_logs
class Rank(OfLogs):
    """Rank the systems that LLM judges compared: Bradley-Terry with ties, intervals and ranges of
    ranks.

    LOG is a raw log of pairwise verdicts that names the two systems. Every judge has a position
    effect, if the log has pairs of systems in both orders, and a tie rate; judges that err alike
    count less. Intervals are from a bootstrap over items.
    """

    seed: int = o.number(0, "The seed of the bootstrap.")

    def run(self, logs: tuple[str, ...], reading: LogReading) -> None:
        from finegold.judges import rank, read

        log = read(list(logs), **self.reading_of(logs, reading))
        ranking = rank(log, seed=self.seed)
        write_all({self.output: frame_writer(ranking.table)})
        if self.json:
            print_json({"reading": log.reading.to_dict()} | ranking.to_dict())
            return
        click.echo(str(log.reading))
        systems = [one.plain() for one in ranking.standings]
        heads = {name: name.replace("_", " ") for name in ["system", *systems[0]]}
        print_rows(systems, heads, f"Ranking of {len(systems):,} systems", digits=3)
        if len(systems) <= SYSTEMS_SHOWN:
            names = [one.system for one in ranking.standings]
            rows = [
                {"system": name} | dict(zip(names, rates, strict=True))
                for name, rates in zip(names, ranking.win_rates.tolist(), strict=True)
            ]
            title = "Share of verdicts that the row wins against the column"
            print_rows(rows, {name: name for name in ["system", *names]}, title)
        for note in ranking.notes:
            warn(note)
