"""`finegold evaluate`, `compare` and `agreement`: labels against truths, methods and annotators side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli.messages import count, warn
from finegold.cli.outputs import (
    check_outputs,
    console,
    figures_table,
    frame_table,
    frame_writer,
    print_json,
    print_left_out,
    write_all,
)
from finegold.cli.source import job_of, truths_of, votes_or_saved
from finegold.io.options import ReadOptions
from finegold.methods.registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from finegold.insight import Agreement
    from finegold.insight.comparison import Comparison

METRICS = (
    *("exact_match", "micro_f1"),  # of sets of labels
    *("accuracy", "macro_f1", "log_loss", "calibration_error"),
    *("mean_absolute_error", "quadratic_kappa"),  # of ordered classes
)


@o.with_groups
def evaluate(
    files: o.Files,
    truth: Annotated[
        str, o.value("--truth", metavar="FILE", help="Known truths: a table with a task and a truth column.")
    ],
    methods: o.Methods = None,
    fit: o.Fit = o.FIT_SEVERAL,
    reading: ReadOptions = o.READING,
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
    from finegold.api.evaluate import evaluate_job

    check_outputs([], [], [*files, truth], reading, fit)
    chosen = o.chosen_methods(methods, fit, [DEFAULT_METHOD])
    job = job_of(files, reading, fit, method=chosen[0], on_read=print_left_out)
    scores = evaluate_job(job, truth, chosen, truth_task=truth_task, truth_label=truth_label)
    if json:
        print_json(scores if len(chosen) > 1 else scores[0])
        return
    metrics = [name for name in METRICS if name in scores[0]]
    headings = [name.replace("_f1", "-F1").replace("_", " ") for name in (*metrics, "iterations", "seconds")]
    rows = [
        [
            score["method"],
            *(f"{score[name]:.4f}" for name in metrics),
            f"{score['iterations']}{'' if score['converged'] else ' (not converged)'}",
            f"{score['seconds']:.3f}",
        ]
        for score in scores
    ]
    caption = f"{scores[0]['n_truths']:,} truths, {scores[0]['n_tasks']:,} tasks"
    console().print(figures_table(None, rows, ["method", *headings], caption=caption))


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
        o.value("--truth", metavar="FILE", help="Known truths: a table with a task and a truth column."),
    ] = None,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    methods: o.Methods = None,
    output: Annotated[str | None, o.value("-o", "--output", help="Write the table to a file as well.")] = None,
    labels: Annotated[
        str | None, o.value("--labels", help="Write one row per task, with the label of each method.")
    ] = None,
    fit: o.Fit = o.FIT_SEVERAL,
    reading: ReadOptions = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Run several methods on the same votes and compare their labels, their accuracy and their cost.

    By default, all methods run. "flips" counts the tasks whose label has fewer votes than another class, as
    finegold aggregate and finegold trust do. With truths, "right" counts the flips whose label is right, and "wrong"
    those where the label of the majority vote is right.
    """
    from finegold.api.evaluate import compare_job
    from finegold.methods.lookup import method_names

    check_outputs([output, labels], [], [*files, truth], reading, fit)
    chosen = o.chosen_methods(methods, fit, method_names())
    job = job_of(files, reading, fit, method=chosen[0], on_read=print_left_out)
    truths = truths_of(truth, truth_task, truth_label) if truth_task or truth_label else truth
    comparison = compare_job(job, chosen, truths)
    write_all(
        {output: frame_writer(lambda: _rows_frame(comparison), raw), labels: frame_writer(comparison.labels, raw)}
    )
    names, agreeing = comparison.methods, comparison.agreement.tolist()
    if json:
        agreement = {name: dict(zip(names, row, strict=True)) for name, row in zip(names, agreeing, strict=True)}
        print_json({"methods": comparison.rows(), "agreement": agreement})
        return
    rows = comparison.rows()
    shown = {name: title for name, title in FIGURES.items() if name in rows[0]}
    figures = [[row["method"], *(_figure(row[name]) for name in shown)] for row in rows]
    shares = [[name, *(f"{100 * share:.1f}" for share in row)] for name, row in zip(names, agreeing, strict=True)]
    title = f"{len(comparison.majority.label_codes):,} tasks"
    screen = console()
    screen.print(figures_table(title, figures, ["method", *shown.values()]))
    screen.print(figures_table("Tasks that two methods give the same label, in %", shares, ["", *names]))


def _rows_frame(comparison: Comparison) -> Any:
    import polars as pl

    return pl.DataFrame(comparison.rows())


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
    annotators: Annotated[str | None, o.value("--annotators", help="Write the agreement of each annotator.")] = None,
    pairs: Annotated[str | None, o.value("--pairs", help="Write the agreement of each pair of annotators.")] = None,
    reading: ReadOptions = o.EVERY_VOTE,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Measure how far annotators agree: Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's AC1.

    If an annotator voted on a task more than once, their most frequent vote counts. How often such repeated votes
    agree is shown as well.
    """
    from finegold.api.evaluate import agreement as measure
    from finegold.results.metrics import level_of_order
    from finegold.votes.frames import to_polars

    check_outputs([annotators, pairs], [], files)
    votes = votes_or_saved(files, reading)
    if reading.ordered and level == "nominal":
        level = level_of_order(votes.class_names)
    measured = measure(votes, level=level)  # type: ignore[arg-type]  # checked there
    write_all({annotators: frame_writer(measured.annotators, raw), pairs: frame_writer(measured.pairs, raw)})
    by_class, by_annotator = to_polars(measured.classes()), to_polars(measured.annotators())
    if json:
        figures: dict[str, Any] = {"level": measured.level, **measured.figures()}
        figures |= {"intervals": {name: measured.interval(name) for name in measured.errors}, "notes": measured.notes}
        print_json(figures | {"classes": by_class.to_dicts(), "annotators": by_annotator.to_dicts()})
        return
    title = f"{count(measured.n_annotators, 'annotator')}, {count(measured.n_tasks, 'task')} with two or more votes"
    screen = console()
    screen.print(figures_table(title, _measures(measured)))
    screen.print(frame_table("By class, against all others", by_class, ROWS_SHOWN))
    screen.print(frame_table("Annotators who agree least", by_annotator.sort("kappa", nulls_last=True), ROWS_SHOWN))
    for note in measured.notes:
        warn(note)


def _measures(measured: Agreement) -> list[tuple[str, str]]:
    """Return the title and the figure of each measure, with its interval."""
    rows = []
    for name, title in MEASURES.items():
        value: float = getattr(measured, name)
        is_defined = value == value  # NaN differs from itself
        text = f"{value:.3f}" if is_defined else "undefined"
        if is_defined and name in measured.errors:
            low, high = measured.interval(name)
            text = f"{text}  ({low:.3f} to {high:.3f})"
        if name == "alpha" and measured.level != "nominal":
            title = f"{title}, {measured.level}"
        if is_defined or name != "self_agreement":  # undefined without repeated votes
            rows.append((title, text))
    return rows
