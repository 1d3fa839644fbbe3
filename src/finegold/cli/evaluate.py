"""`finegold evaluate`: compare labels with known truths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli import source as s
from finegold.methods.registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from finegold.insight import Agreement
    from finegold.insight.comparison import Comparison

__all__ = ["agreement", "compare", "evaluate"]


METRICS = (
    *("exact_match", "micro_f1"),  # of sets of labels
    *("accuracy", "macro_f1", "log_loss", "calibration_error"),
    *("mean_absolute_error", "quadratic_kappa"),  # of ordered classes
)


@o.with_groups
def evaluate(
    files: o.Files,
    truth: Annotated[
        str, typer.Option("--truth", metavar="FILE", help="Known truths: a table with a task and a truth column.")
    ],
    methods: o.Methods = None,
    fitting: o.Fitting = o.FITTING,
    reading: o.Reading = o.READING,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    json: o.Json = False,
) -> None:
    """Evaluate the labels of one or more methods against known truths. The default is that of finegold aggregate.

    If m classes share the highest probability and one of them is the truth, the task adds 1/m to the accuracy.
    Macro-F1 is the mean over the classes of the truths. For the log loss, probabilities are clipped at 1e-15. The
    calibration error is the expected calibration error with 15 bins.

    With --multi, the metrics are the share of tasks whose set is right as a whole, and F1 over all labels (micro) and
    over the options (macro). With --ordered, the mean absolute error of the labels and quadratic kappa are added.
    """
    from finegold.api.evaluate import evaluate_run
    from finegold.cli.outputs import check_outputs, print_left_out
    from finegold.cli.settings import methods_from_options, split_values
    from finegold.cli.source import inputs_of, outputs_of

    check_outputs([], outputs_of(fitting), inputs_of(files, truth, reading=reading, fitting=fitting))
    chosen = methods_from_options(
        split_values(methods) or [DEFAULT_METHOD], fitting.settings, fitting.seed, fitting.paper
    )
    wanted = reading.run(files, on_read=print_left_out, **fitting.run_fields())
    columns = {"truth_task": truth_task, "truth_label": truth_label}
    scores = evaluate_run(wanted, truth, chosen, ordered=reading.ordered is not None, **columns)
    _show(scores, json, many=len(chosen) > 1)


def _show(scores: list[dict[str, Any]], as_json: bool, many: bool) -> None:
    from finegold.cli.outputs import print_json

    if as_json:
        print_json(scores if many else scores[0])
        return
    from rich.box import SIMPLE
    from rich.table import Table

    from finegold.cli.outputs import console

    table = Table(box=SIMPLE, caption=f"{scores[0]['n_truths']:,} truths, {scores[0]['n_tasks']:,} tasks")
    table.add_column("method")
    metrics = [name for name in METRICS if name in scores[0]]
    for name in (*metrics, "iterations", "seconds"):
        table.add_column(name.replace("_f1", "-F1").replace("_", " "), justify="right")
    for score in scores:
        table.add_row(*_row(score, metrics))
    console().print(table)


def _row(score: dict[str, Any], metrics: list[str]) -> list[str]:
    figures = [f"{score[name]:.4f}" for name in metrics]
    stopped = "" if score["converged"] else " (not converged)"
    return [score["method"], *figures, f"{score['iterations']}{stopped}", f"{score['seconds']:.3f}"]


FIGURES = {
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "flips": "flips",
    "flips_right": "right",
    "flips_wrong": "wrong",
    "ties": "ties",
    "mean_confidence": "confidence",
    "bound": "bound",
    "iterations": "iterations",
    "seconds": "seconds",
}


@o.with_groups
def compare(
    files: o.Files,
    truth: Annotated[
        str | None,
        typer.Option("--truth", metavar="FILE", help="Known truths: a table with a task and a truth column."),
    ] = None,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    methods: o.Methods = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUT", help="Write the table to a file as well.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option("--labels", metavar="OUT", help="Write one row per task, with the label of each method."),
    ] = None,
    fitting: o.Fitting = o.FITTING,
    reading: o.Reading = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Run several methods on the same votes and compare their labels, their accuracy and their cost.

    By default, all methods run. "flips" counts the tasks whose label has fewer votes than another class, as
    finegold aggregate and finegold trust do. With truths, "right" counts the flips whose label is right, and "wrong"
    those where the label of the majority vote is right.
    """
    from finegold.api.evaluate import compare_run
    from finegold.cli.outputs import check_outputs, print_left_out
    from finegold.cli.settings import methods_from_options, split_values
    from finegold.cli.source import inputs_of, outputs_of, truths_of
    from finegold.methods.lookup import method_names

    tables = [path for path in (output, labels) if path is not None]
    check_outputs(tables, outputs_of(fitting), inputs_of(files, truth, reading=reading, fitting=fitting))
    chosen = methods_from_options(
        split_values(methods) or method_names(), fitting.settings, fitting.seed, fitting.paper
    )
    wanted = reading.run(files, on_read=print_left_out, **fitting.run_fields())
    truths = truths_of(truth, truth_task, truth_label) if truth_task or truth_label else truth
    found = compare_run(wanted, chosen, truths)
    _write(found, output, labels)
    _show_compare(found, json)


def _write(found: Comparison, output: str | None, labels: str | None) -> None:
    import polars as pl

    from finegold.cli.outputs import write_all
    from finegold.io.writers import write_frame

    files = {}
    if output is not None:
        files[output] = lambda path: write_frame(pl.DataFrame(found.rows()), path)
    if labels is not None:
        files[labels] = lambda path: write_frame(found.labels(), path)
    write_all(files)


def _show_compare(found: Comparison, as_json: bool) -> None:
    if as_json:
        from finegold.cli.outputs import print_json

        agreement = {
            one: dict(zip(found.methods, row, strict=True))
            for one, row in zip(found.methods, found.agreement.tolist(), strict=True)
        }
        print_json({"methods": found.rows(), "agreement": agreement})
        return
    from finegold.cli.outputs import console

    screen = console()
    screen.print(_figures_table(found))
    screen.print(_agreement_table(found))


def _figures_table(found: Comparison) -> Any:
    from rich.box import SIMPLE
    from rich.table import Table

    rows = found.rows()
    table = Table(box=SIMPLE, title=f"{len(found.majority.label_codes):,} tasks", title_justify="left")
    table.add_column("method")
    shown = {name: title for name, title in FIGURES.items() if name in rows[0]}
    for title in shown.values():
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(row["method"], *(_figure(row[name]) for name in shown))
    return table


def _agreement_table(found: Comparison) -> Any:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, title="Tasks that two methods give the same label, in %", title_justify="left")
    table.add_column("")
    for name in found.methods:
        table.add_column(name, justify="right")
    for name, row in zip(found.methods, found.agreement, strict=True):
        table.add_row(name, *(f"{100 * share:.1f}" for share in row))
    return table


def _figure(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}" if abs(value) < 1000 else f"{value:,.1f}"


MEASURES = {
    "alpha": "Krippendorff's alpha",
    "fleiss": "Fleiss' kappa",
    "cohen": "Cohen's kappa, mean of pairs",
    "ac1": "Gwet's AC1",
    "observed": "pairs of votes that agree",
    "self_agreement": "repeated votes that agree",
}
ROWS_SHOWN = 10  # rows of a table
EVERY_VOTE = o.Reading(repeated="all")


@o.with_groups
def agreement(
    files: o.Source,
    level: Annotated[
        str,
        typer.Option(
            "--level",
            metavar="nominal|ordinal|interval",
            help="How alpha treats classes: as names, as ordered categories, or as numbers.",
        ),
    ] = "nominal",
    annotators: Annotated[
        str | None, typer.Option("--annotators", metavar="OUT", help="Write the agreement of each annotator.")
    ] = None,
    pairs: Annotated[
        str | None, typer.Option("--pairs", metavar="OUT", help="Write the agreement of each pair of annotators.")
    ] = None,
    reading: o.Reading = EVERY_VOTE,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Measure how far annotators agree: Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's AC1.

    If an annotator voted on a task more than once, their most frequent vote counts. How often such repeated votes
    agree is shown as well.
    """
    from finegold.api.evaluate import agreement as measure
    from finegold.cli.outputs import check_outputs, frame_writer, write_all
    from finegold.results.tables import level_of_order

    outputs = [path for path in (annotators, pairs) if path is not None]
    check_outputs(outputs, [], files)
    votes = s.votes_or_saved(files, reading)
    if reading.ordered and level == "nominal":
        level = level_of_order(votes.class_names)
    found = measure(votes, level=level)  # type: ignore[arg-type]  # checked there
    tables = ((annotators, found.annotators), (pairs, found.pairs))
    write_all({path: frame_writer(frame) for path, frame in tables if path is not None})
    _show_agreement(found, json)


def _show_agreement(found: Agreement, as_json: bool) -> None:
    from finegold.votes.frames import to_polars

    by_class, by_annotator = to_polars(found.classes()), to_polars(found.annotators())
    if as_json:
        from finegold.cli.outputs import print_json

        intervals = {name: found.interval(name) for name in found.errors}
        tables = {"classes": by_class.to_dicts(), "annotators": by_annotator.to_dicts()}
        print_json({"level": found.level, **found.figures(), "intervals": intervals, "notes": found.notes, **tables})
        return
    from finegold.cli.messages import count, warn
    from finegold.cli.outputs import console, figures_table, frame_table

    title = f"{count(found.n_annotators, 'annotator')}, {count(found.n_tasks, 'task')} with two or more votes"
    screen = console()
    screen.print(
        figures_table(title, [(_title(found, name), _figure_agreement(found, name)) for name in _measures_shown(found)])
    )
    screen.print(frame_table("By class, against all others", by_class, ROWS_SHOWN))
    screen.print(frame_table("Annotators who agree least", by_annotator.sort("kappa", nulls_last=True), ROWS_SHOWN))
    for note in found.notes:
        warn(note)


def _measures_shown(found: Agreement) -> list[str]:
    repeats = found.self_agreement == found.self_agreement  # not NaN
    return [name for name in MEASURES if name != "self_agreement" or repeats]


def _title(found: Agreement, name: str) -> str:
    return MEASURES[name] + (f", {found.level}" if name == "alpha" and found.level != "nominal" else "")


def _figure_agreement(found: Agreement, name: str) -> str:
    value: Any = getattr(found, name)
    if value != value:
        return "undefined"
    if name not in found.errors:
        return f"{value:.3f}"
    low, high = found.interval(name)
    return f"{value:.3f}  ({low:.3f} to {high:.3f})"
