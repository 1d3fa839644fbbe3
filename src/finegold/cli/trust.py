"""`finegold trust` and `audit`: how far labels can be trusted, and which labels in use are probably wrong."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

from finegold.cli import options as o
from finegold.cli.messages import count, say, warn
from finegold.cli.outputs import (
    check_outputs,
    console,
    figures_table,
    frame_table,
    frame_writer,
    print_json,
    write_all,
)
from finegold.cli.source import result_of, truths_of
from finegold.errors import InputError
from finegold.io.options import ReadOptions

if TYPE_CHECKING:
    from finegold.insight import Trust

ROWS_SHOWN = 5  # rows of a table


def table_option(flag: str, help: str) -> Any:
    return o.value(flag, help=help, panel="Tables to write")


@o.with_groups
def trust(
    files: o.Source,
    truth: Annotated[
        str | None,
        o.value("--truth", metavar="FILE", help="Known truths: measure the calibration and fit a temperature."),
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
    fit: o.Fit = o.FIT_ONE,
    reading: ReadOptions = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Show how far labels can be trusted: flips of the majority, spammers, correlated annotators, calibration."""
    from finegold.insight.expected import caution, in_words

    if calibration is not None and truth is None:
        raise InputError("--calibration needs --truth FILE, to compare the probabilities with")
    check_outputs([flips, contested, spammers, pairs, calibration], [], [*files, truth], reading, fit)
    result = result_of(files, reading, fit)
    checked = result.trust(truths_of(truth, truth_task, truth_label) if truth_task or truth_label else truth)
    tables = {flips: result.flips, contested: result.contested, spammers: result.spammers}
    tables |= {pairs: checked.correlated.pairs}
    if checked.calibration is not None:
        tables[calibration] = checked.calibration.curve
    write_all({path: frame_writer(make, raw) for path, make in tables.items()})
    if json:
        print_json(checked.figures())
        return
    screen = console()
    title = f"{checked.method}: {count(checked.n_tasks, 'task')}, {count(checked.agreement.n_annotators, 'annotator')}"
    screen.print(figures_table(title, _figures(checked)))
    if checked.n_flips:
        screen.print(
            frame_table("Labels against the majority vote, the most probable first", result.flips(), ROWS_SHOWN)
        )
    if checked.n_spammers:
        screen.print(frame_table("Votes that do not depend on the truth", result.spammers(), checked.n_spammers))
    if checked.correlated.n_groups:
        screen.print(frame_table("Annotators with correlated errors", checked.correlated.groups(), ROWS_SHOWN))
    for warning in checked.warnings:
        warn(warning)
    if checked.expected is not None:
        say(in_words(checked.expected))
    if words := caution(result):
        warn(words)


def _figures(checked: Trust) -> list[tuple[str, str]]:
    panel = checked.correlated
    alpha = f"{checked.agreement.alpha:.3f}" if isfinite(checked.agreement.alpha) else "undefined"
    rows = [
        ("agreement beyond chance (alpha)", alpha),
        ("labels against the majority vote", f"{checked.n_flips:,}"),
        ("labels hardly more probable than the next class", f"{checked.n_contested:,}"),
        ("ties", f"{checked.n_tied:,}"),
        ("annotators whose votes do not depend on the truth", f"{checked.n_spammers:,}"),
        ("effective number of independent annotators", f"{panel.effective:,.1f} of {panel.n_annotators:,}"),
    ]
    measured = checked.calibration
    if measured is not None:
        rows += [
            (f"accuracy on {measured.n:,} truths", f"{measured.accuracy:.1%}"),
            ("mean confidence", f"{measured.confidence:.1%}"),
            ("calibration error (ECE)", f"{measured.ece:.4f}"),
            ("log loss", f"{measured.log_loss:.4f}"),
            ("best temperature", f"{measured.temperature:.2f}"),
            ("calibration error at this temperature", f"{measured.ece_after:.4f}"),
            ("log loss at this temperature", f"{measured.log_loss_after:.4f}"),
        ]
    return rows


@o.with_groups
def audit(
    files: o.Source,
    labels: Annotated[
        str,
        o.value("--labels", metavar="FILE", help="The labels in use: a table with a task and a label column."),
    ],
    output: Annotated[
        str | None,
        o.value("--output", "-o", help="The table: .csv, .tsv, .jsonl or .parquet. By default, CSV is printed."),
    ] = None,
    labels_task: Annotated[
        str | None, o.value("--labels-task", metavar="NAME", help="The column of the tasks in --labels.")
    ] = None,
    labels_label: Annotated[
        str | None, o.value("--labels-label", metavar="NAME", help="The column of the labels in --labels.")
    ] = None,
    fit: o.Fit = o.FIT_ONE,
    reading: ReadOptions = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """List how likely each label in use is wrong, judged by votes and predictions; the worst labels come first."""
    from finegold.api.evaluate import audit_result
    from finegold.io.writers import write_frame
    from finegold.votes.frames import to_polars

    output = None if output == "-" else output
    check_outputs([output], [], [*files, labels], reading, fit)
    current = truths_of(labels, labels_task, labels_label, "labels-")
    audited = audit_result(result_of(files, reading, fit), current)
    table = to_polars(audited)
    write_all({output: frame_writer(lambda: audited, raw)})
    if json:
        print_json({"n_labels": len(table), "expected_wrong": table["p_wrong"].sum(), "labels": table.to_dicts()})
    elif output is None:
        write_frame(audited, "-", escape_formulas=not raw)
    judges = "votes and predictions" if "predicted" in table.columns else "votes"
    say(f"{count(len(table), 'label')} audited; about {table['p_wrong'].sum():.0f} are wrong, judged by {judges}")
