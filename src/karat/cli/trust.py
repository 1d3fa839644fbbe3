"""karat trust: what to know before labels are used."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli import options as o
from karat.cli import source as s
from karat.errors import InputError

if TYPE_CHECKING:
    from karat.api.result import Result
    from karat.insight import Trust

__all__ = ["trust"]

SHOWN = 5  # rows of a table
TABLES = "Tables to write"


def table_option(name: str, help_text: str) -> Any:
    return typer.Option(name, metavar="OUT", help=help_text, rich_help_panel=TABLES)


@o.with_groups
def trust(
    files: o.Source,
    truth: Annotated[
        str | None,
        typer.Option("--truth", metavar="FILE", help="Known truths: judge the probabilities, fit a temperature."),
    ] = None,
    flips: Annotated[str | None, table_option("--flips", "Labels against the majority vote, and why.")] = None,
    contested: Annotated[str | None, table_option("--contested", "Labels that hardly lead the next class.")] = None,
    spammers: Annotated[str | None, table_option("--spammers", "How far votes depend on the truth.")] = None,
    pairs: Annotated[str | None, table_option("--pairs", "Annotators two by two, who err alike first.")] = None,
    calibration: Annotated[str | None, table_option("--calibration", "The reliability curve (needs --truth).")] = None,
    method: o.Method = None,
    fitting: o.Fitting = o.FITTING,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Say how far labels can be trusted: flips of the majority, spammers, annotators who err alike, calibration."""
    from karat.cli.outputs import check_outputs

    if calibration is not None and truth is None:
        raise InputError("--calibration needs --truth FILE, to judge the probabilities by")
    wanted = {"flips": flips, "contested": contested, "spammers": spammers, "pairs": pairs, "calibration": calibration}
    paths = {name: path for name, path in wanted.items() if path is not None}
    check_outputs(
        paths.values(), s.outputs_of(fitting), s.inputs_of(files, fitting.prior, truth, known.gold, reading.alias)
    )
    result = s.result_of(files, reading, fitting, method, known)
    found = result.trust(truth)
    _write(result, found, paths)
    _show(result, found, json)


def _write(result: Result, found: Trust, paths: dict[str, str]) -> None:
    from karat.cli.outputs import table, write_all

    makers = {
        "flips": result.flips,
        "contested": result.contested,
        "spammers": result.spammers,
        "pairs": found.correlated.pairs,
    }
    if found.calibration is not None:
        makers["calibration"] = found.calibration.curve
    write_all({path: table(makers[name]) for name, path in paths.items()})


def _show(result: Result, found: Trust, as_json: bool) -> None:
    if as_json:
        from karat.cli.summary import print_json

        print_json(found.figures())
        return
    from karat.cli.show import console, figures_table, frame_table
    from karat.cli.words import count, say, warn
    from karat.insight.expected import caution, in_words

    screen = console()
    title = f"{found.method}: {count(found.n_tasks, 'task')}, {count(found.agreement.n_annotators, 'annotator')}"
    screen.print(figures_table(title, _figures(found)))
    if found.n_flips:
        screen.print(frame_table("Against the majority vote, the surest first", result.flips(), SHOWN))
    if found.n_spammers:
        screen.print(frame_table("Votes that do not depend on the truth", result.spammers(), found.n_spammers))
    if found.correlated.n_groups:
        screen.print(frame_table("Annotators who err alike", found.correlated.groups(), SHOWN))
    for warning in found.warnings:
        warn(warning)
    if found.expected is not None:
        say(in_words(found.expected))
    if words := caution(result):
        warn(words)


def _figures(found: Trust) -> list[tuple[str, str]]:
    panel = found.correlated
    alpha = f"{found.agreement.alpha:.3f}" if isfinite(found.agreement.alpha) else "cannot be told"
    rows = [
        ("agreement beyond chance (alpha)", alpha),
        ("labels against the majority vote", f"{found.n_flips:,}"),
        ("labels that hardly lead the next class", f"{found.n_contested:,}"),
        ("ties", f"{found.n_tied:,}"),
        ("annotators whose votes ignore the truth", f"{found.n_spammers:,}"),
        ("independent annotators that all are worth", f"{panel.effective:,.1f} of {panel.n_annotators:,}"),
    ]
    judged = found.calibration
    if judged is not None:
        rows += [
            (f"right, by {judged.n:,} truths", f"{judged.accuracy:.1%}"),
            ("sure, on average", f"{judged.confidence:.1%}"),
            ("calibration error (ECE)", f"{judged.ece:.4f}"),
            ("log loss", f"{judged.log_loss:.4f}"),
            ("best temperature", f"{judged.temperature:.2f}"),
            ("calibration error with it", f"{judged.ece_after:.4f}"),
            ("log loss with it", f"{judged.log_loss_after:.4f}"),
        ]
    return rows
