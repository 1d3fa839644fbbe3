"""`finegold trust`: check how far labels can be trusted."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli import source as s
from finegold.errors import InputError

if TYPE_CHECKING:
    from finegold.api.result import Result
    from finegold.insight import Trust

__all__ = ["audit", "trust"]


ROWS_SHOWN = 5  # rows of a table
TABLES_PANEL = "Tables to write"


def table_option(name: str, help_text: str) -> Any:
    return typer.Option(name, metavar="OUT", help=help_text, rich_help_panel=TABLES_PANEL)


@o.with_groups
def trust(
    files: o.Source,
    truth: Annotated[
        str | None,
        typer.Option("--truth", metavar="FILE", help="Known truths: measure the calibration and fit a temperature."),
    ] = None,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    flips: Annotated[
        str | None, table_option("--flips", "Write the labels that differ from the majority vote, with the reasons.")
    ] = None,
    contested: Annotated[
        str | None, table_option("--contested", "Write the labels that are hardly more probable than the next class.")
    ] = None,
    spammers: Annotated[
        str | None, table_option("--spammers", "Write how much the votes of each annotator depend on the truth.")
    ] = None,
    pairs: Annotated[
        str | None, table_option("--pairs", "Write all pairs of annotators, those with correlated errors first.")
    ] = None,
    calibration: Annotated[
        str | None, table_option("--calibration", "Write the reliability curve (needs --truth).")
    ] = None,
    method: o.Method = None,
    fitting: o.Fitting = o.FITTING,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Show how far labels can be trusted: flips of the majority, spammers, correlated annotators, calibration."""
    from finegold.cli.outputs import check_outputs

    if calibration is not None and truth is None:
        raise InputError("--calibration needs --truth FILE, to compare the probabilities with")
    wanted = {"flips": flips, "contested": contested, "spammers": spammers, "pairs": pairs, "calibration": calibration}
    paths = {name: path for name, path in wanted.items() if path is not None}
    check_outputs(
        paths.values(),
        s.outputs_of(fitting),
        s.inputs_of(files, truth, known.gold, reading=reading, fitting=fitting),
    )
    result = s.result_of(files, reading, fitting, method, known)
    found = result.trust(s.truths_of(truth, truth_task, truth_label) if truth_task or truth_label else truth)
    _write(result, found, paths)
    _show(result, found, json)


def _write(result: Result, found: Trust, paths: dict[str, str]) -> None:
    from finegold.cli.outputs import frame_writer, write_all

    makers = {
        "flips": result.flips,
        "contested": result.contested,
        "spammers": result.spammers,
        "pairs": found.correlated.pairs,
    }
    if found.calibration is not None:
        makers["calibration"] = found.calibration.curve
    write_all({path: frame_writer(makers[name]) for name, path in paths.items()})


def _show(result: Result, found: Trust, as_json: bool) -> None:
    if as_json:
        from finegold.cli.outputs import print_json

        print_json(found.figures())
        return
    from finegold.cli.messages import count, say, warn
    from finegold.cli.outputs import console, figures_table, frame_table
    from finegold.insight.expected import caution, in_words

    screen = console()
    title = f"{found.method}: {count(found.n_tasks, 'task')}, {count(found.agreement.n_annotators, 'annotator')}"
    screen.print(figures_table(title, _figures(found)))
    if found.n_flips:
        screen.print(
            frame_table("Labels against the majority vote, the most probable first", result.flips(), ROWS_SHOWN)
        )
    if found.n_spammers:
        screen.print(frame_table("Votes that do not depend on the truth", result.spammers(), found.n_spammers))
    if found.correlated.n_groups:
        screen.print(frame_table("Annotators with correlated errors", found.correlated.groups(), ROWS_SHOWN))
    for warning in found.warnings:
        warn(warning)
    if found.expected is not None:
        say(in_words(found.expected))
    if words := caution(result):
        warn(words)


def _figures(found: Trust) -> list[tuple[str, str]]:
    panel = found.correlated
    alpha = f"{found.agreement.alpha:.3f}" if isfinite(found.agreement.alpha) else "undefined"
    rows = [
        ("agreement beyond chance (alpha)", alpha),
        ("labels against the majority vote", f"{found.n_flips:,}"),
        ("labels hardly more probable than the next class", f"{found.n_contested:,}"),
        ("ties", f"{found.n_tied:,}"),
        ("annotators whose votes do not depend on the truth", f"{found.n_spammers:,}"),
        ("effective number of independent annotators", f"{panel.effective:,.1f} of {panel.n_annotators:,}"),
    ]
    judged = found.calibration
    if judged is not None:
        rows += [
            (f"accuracy on {judged.n:,} truths", f"{judged.accuracy:.1%}"),
            ("mean confidence", f"{judged.confidence:.1%}"),
            ("calibration error (ECE)", f"{judged.ece:.4f}"),
            ("log loss", f"{judged.log_loss:.4f}"),
            ("best temperature", f"{judged.temperature:.2f}"),
            ("calibration error at this temperature", f"{judged.ece_after:.4f}"),
            ("log loss at this temperature", f"{judged.log_loss_after:.4f}"),
        ]
    return rows


@o.with_groups
def audit(
    files: o.Source,
    labels: Annotated[
        str, typer.Option("--labels", metavar="FILE", help="The labels in use: a table with a task and a label column.")
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The table: .csv, .tsv, .jsonl or .parquet. By default, CSV is printed.",
        ),
    ] = None,
    labels_task: Annotated[
        str | None, typer.Option("--labels-task", metavar="NAME", help="The column of the tasks in --labels.")
    ] = None,
    labels_label: Annotated[
        str | None, typer.Option("--labels-label", metavar="NAME", help="The column of the labels in --labels.")
    ] = None,
    method: o.Method = None,
    fitting: o.Fitting = o.FITTING,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """List how likely each label in use is wrong, judged by votes and predictions; the worst labels come first."""
    from finegold.api.evaluate import audit_result
    from finegold.cli.messages import count, say
    from finegold.cli.outputs import check_outputs, frame_writer, print_json, write_all
    from finegold.io.writers import write_frame
    from finegold.votes.frames import to_polars

    output = None if output == "-" else output
    inputs = s.inputs_of(files, labels, known.gold, reading=reading, fitting=fitting)
    check_outputs([] if output is None else [output], s.outputs_of(fitting), inputs)
    current = s.truths_of(labels, labels_task, labels_label)
    found = audit_result(s.result_of(files, reading, fitting, method, known), current)
    table = to_polars(found)
    if output is not None:
        write_all({output: frame_writer(lambda: found)})
    if json:
        print_json({"n_labels": len(table), "expected_wrong": table["p_wrong"].sum(), "labels": table.to_dicts()})
    elif output is None:
        write_frame(found, "-")
    judges = "votes and predictions" if "predicted" in table.columns else "votes"
    say(f"{count(len(table), 'label')} audited; about {table['p_wrong'].sum():.0f} are wrong, judged by {judges}")
