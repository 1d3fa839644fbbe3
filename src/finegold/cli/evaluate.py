"""`finegold evaluate`, `compare`, `agreement` and `coverage`: labels, methods and annotators
measured side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finegold.api.options import FitOptions
from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.options import results_of, votes_or_saved
from finegold.cli.outputs import count, warn
from finegold.io.options import ReadOptions
from finegold.methods.lookup import DEFAULT_METHOD, REGISTRY
from finegold.options import option

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from finegold.insight.agreement import Level

METRICS = (
    # of sets of labels
    *("exact_match", "micro_f1"),
    *("accuracy", "macro_f1", "log_loss", "calibration_error"),
    # of ordered classes
    *("mean_absolute_error", "quadratic_kappa"),
)


@dataclass(frozen=True)
class Methods:
    """What is compared."""

    methods: list[str] | None = option(
        None,
        f"Some of {', '.join(REGISTRY)}.",
        kind="list",
        flag="--method --methods",
        metavar="A,B,C",
        choices=tuple(REGISTRY),
    )
    json: bool = o.json_flag()


@o.command
@o.votes_argument()
@o.declared(o.Truths, "truths", required=("truth",))
@o.declared(Methods, "own")
@o.declared(FitOptions, "fit", but=("method", "gold"))
@o.declared(ReadOptions, "reading")
def evaluate(
    files: tuple[str, ...], truths: o.Truths, own: Methods, fit: FitOptions, reading: ReadOptions
) -> None:
    """Evaluate the labels of one or more methods against known truths. The default is that of
    finegold aggregate.

    If m classes share the highest probability and one of them is the truth, the task adds 1/m to
    the accuracy. Macro-F1 is the mean over the classes of the truths. For the log loss,
    probabilities are clipped at 1e-15. The calibration error is the expected calibration error with
    15 bins.

    With --multi, the metrics are the share of tasks whose set is right as a whole, and F1 over all
    labels (micro) and over the options (macro). With --ordered, the mean absolute error of the
    labels and quadratic kappa are added.
    """
    from finegold.api.evaluate import figures_of

    truths.read()
    known = (truths.truth, truths.truth_task, truths.truth_label)
    chosen = o.chosen_methods(own.methods, fit, [DEFAULT_METHOD])
    scores = [
        figures_of(result, *known, is_ordered=reading.ordered is not None)
        for result in results_of(files, reading, fit, chosen)
    ]
    metrics = [name for name in METRICS if scores[0][name] is not None]
    if own.json:
        out.print_json(scores if len(chosen) > 1 else scores[0])
        return
    headings = [
        name.replace("_f1", "-F1").replace("_", " ") for name in (*metrics, "iterations", "seconds")
    ]
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
    out.print_figures(None, rows, ["method", *headings], caption=caption)


FIGURES = (
    *(
        "accuracy",
        "log_loss",
        "flips",
        "flips_right",
        "flips_wrong",
        "ties",
        "mean_confidence",
        "bound",
    ),
    *("iterations", "seconds"),
)


@dataclass(frozen=True)
class Compare(Methods):
    """What `finegold compare` compares and writes."""

    output: str | None = o.table("Write the table to a file as well.", flag=o.OUTPUT)
    labels: str | None = o.table("Write one row per task, with the label of each method.")


@o.command
@o.votes_argument()
@o.declared(Compare, "own")
@o.declared(o.Truths, "truths")
@o.declared(FitOptions, "fit", but=("method", "gold"))
@o.declared(ReadOptions, "reading")
def compare(
    files: tuple[str, ...], own: Compare, truths: o.Truths, fit: FitOptions, reading: ReadOptions
) -> None:
    """Run several methods on the same votes and compare their labels, their accuracy and their
    cost.

    By default, all methods run. "flips" counts the tasks whose label has fewer votes than another
    class, as finegold aggregate and finegold trust do. With truths, "right" counts the flips whose
    label is right, and "wrong" those where the label of the majority vote is right.
    """
    from finegold.api.evaluate import comparison_of
    from finegold.methods.lookup import method_names

    out.check_outputs(files, own, truths, fit, reading)
    known = truths.read()
    chosen = o.chosen_methods(own.methods, fit, method_names())
    comparison = comparison_of(results_of(files, reading, fit, chosen), known)
    rows, names, agreeing = comparison.rows(), comparison.methods, comparison.agreement.tolist()
    out.write_tables({own.output: comparison.table, own.labels: comparison.labels})
    if own.json:
        agreement = {
            name: dict(zip(names, row, strict=True))
            for name, row in zip(names, agreeing, strict=True)
        }
        out.print_json({"methods": rows, "agreement": agreement})
        return

    def figure(value: Any) -> str:
        if value is None:
            return ""
        return (
            f"{value:,}"
            if isinstance(value, int)
            else f"{value:,.3f}"
            if abs(value) < 1000
            else f"{value:,.1f}"
        )

    shown = [name for name in FIGURES if name in rows[0]]
    headings = [
        name.removeprefix("flips_").removeprefix("mean_").replace("_", " ") for name in shown
    ]
    figures = [[row["method"], *(figure(row[name]) for name in shown)] for row in rows]
    shares = [
        [name, *(f"{100 * share:.1f}" for share in row)]
        for name, row in zip(names, agreeing, strict=True)
    ]
    out.print_figures(
        f"{len(comparison.majority.label_codes):,} tasks", figures, ["method", *headings]
    )
    out.print_figures("Tasks that two methods give the same label, in %", shares, ["", *names])


MEASURES = {
    "alpha": "Krippendorff's alpha",
    "fleiss": "Fleiss' kappa",
    "cohen": "Cohen's kappa, mean of pairs",
    "ac1": "Gwet's AC1",
    "ac2": "Gwet's AC2",
    "icc": "intraclass correlation, ICC(2,1)",
    "observed": "pairs of votes that agree",
    "self_agreement": "repeated votes that agree",
}
MORE_TABLES = {
    "groups": "Within and between groups",
    "difference": "Less the agreement of the other votes",
}
# rows of a table of finegold agreement
ROWS_SHOWN = 10


@dataclass(frozen=True)
class AgreementOptions:
    """How agreement is measured, and what is written."""

    level: Level = o.choice(
        "nominal",
        "How alpha treats classes: as names, as ordered categories, or as numbers.",
        *("nominal", "ordinal", "interval"),
    )
    group: str | None = o.text(
        None,
        "The column with the group of each annotator: agreement within and between groups.",
        "NAME",
    )
    minus: str | None = o.path(
        "Other votes on the same tasks: the difference of both agreements, paired over tasks."
    )
    annotators: str | None = o.table("Write the agreement of each annotator.")
    pairs: str | None = o.table("Write the agreement of each pair of annotators.")
    json: bool = o.json_flag()


@o.command
@o.votes_or_model
@o.declared(AgreementOptions, "own")
@o.declared(ReadOptions, "reading", repeated="all")
def agreement(files: tuple[str, ...], own: AgreementOptions, reading: ReadOptions) -> None:
    """Measure how much annotators agree: Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's
    AC1.

    With --level, kappas and AC2 count how far votes are apart, and the intraclass correlation is
    shown. If an annotator voted on a task more than once, their most frequent vote counts. How often such
    repeated votes agree is shown as well.
    """
    from finegold.api.evaluate import agreement as measure
    from finegold.api.evaluate import groups_in
    from finegold.results.metrics import level_of_order
    from finegold.votes.frames import to_polars

    out.check_outputs(files, own, reading)
    votes, level = votes_or_saved(files, reading), own.level
    if reading.ordered and level == "nominal":
        level = level_of_order(votes.class_names)
    group = None if own.group is None else groups_in(list(files), own.group, reading.annotator)
    measured = measure(votes, level=level, group=group)
    more: dict[str, Any] = {}
    if group is not None:
        more["groups"] = to_polars(measured.groups())
    if own.minus is not None:
        other = measure(votes_or_saved((own.minus,), reading), level=level)
        more["difference"] = to_polars(measured.minus(other))
    out.write_tables({own.annotators: measured.annotators, own.pairs: measured.pairs})
    by_class, by_annotator = to_polars(measured.classes()), to_polars(measured.annotators())
    if own.json:
        figures: dict[str, Any] = {"level": measured.level, **measured.figures()}
        figures |= {
            "intervals": {name: measured.interval(name) for name in measured.errors},
            "notes": measured.notes,
            **{name: table.to_dicts() for name, table in more.items()},
        }
        out.print_json(
            figures | {"classes": by_class.to_dicts(), "annotators": by_annotator.to_dicts()}
        )
        return
    rows = []
    for name, title in MEASURES.items():
        value: float = getattr(measured, name)
        # NaN differs from itself
        is_defined = value == value
        text = f"{value:.3f}" if is_defined else "undefined"
        low, high = measured.interval(name) if name in measured.errors else (value, value)
        if low < high:
            text += f"  ({low:.3f} to {high:.3f})"
        if name == "alpha" and measured.level != "nominal":
            title = f"{title}, {measured.level}"
        # undefined without repeated votes, or at another level
        if is_defined or name in (*measured.errors, "cohen", "observed"):
            rows.append((title, text))
    title = (
        f"{count(measured.n_annotators, 'annotator')}, {count(measured.n_tasks, 'task')} with two"
        " or more votes"
    )
    out.print_figures(title, rows)
    for name, words in MORE_TABLES.items():
        if name in more:
            out.print_frame(words, more[name], ROWS_SHOWN)
    out.print_frame("By class, against all others", by_class, ROWS_SHOWN)
    out.print_frame(
        "Annotators who agree least", by_annotator.sort("kappa", nulls_last=True), ROWS_SHOWN
    )
    for note in measured.notes:
        warn(note)


# rows of the table of finegold coverage
ANNOTATORS_SHOWN = 30
# classes per annotator
CLASSES_SHOWN = 5


@dataclass(frozen=True)
class Coverage:
    """What `finegold coverage` writes."""

    output: str | None = o.table("Write the table: CSV, TSV, JSONL or Parquet.", flag=o.OUTPUT)
    json: bool = o.json_flag()


@o.command
@o.votes_or_model
@o.declared(Coverage, "own")
@o.declared(o.Truths, "truths")
@o.declared(ReadOptions, "reading")
def coverage(files: tuple[str, ...], own: Coverage, truths: o.Truths, reading: ReadOptions) -> None:
    """Measure what each annotator or labelling function covers: coverage, polarity, overlaps,
    conflicts.

    Shares refer to all tasks, including those without votes. For a saved model (finegold aggregate
    --save), the table also has the expected accuracies; with --truth, it has the share of right
    votes.
    """
    from finegold.insight.coverage_table import coverage as measure
    from finegold.insight.coverage_table import coverage_figures
    from finegold.insight.votes import votes_of
    from finegold.io.writers import check_table_path, write_frame
    from finegold.votes.frames import to_polars

    out.check_outputs(files, own, truths, reading)
    given = votes_or_saved(files, reading)
    votes = votes_of(given)
    table, figures = to_polars(measure(given, truths.read())), coverage_figures(votes)

    # CSV and TSV have no lists
    def write(path: Path) -> None:
        write_frame(
            _classes_as_text(table) if check_table_path(path)[0] in ("csv", "tsv") else table, path
        )

    out.write_all({own.output: write})
    if own.json:
        out.print_json({**figures, "annotators": table.to_dicts()})
        return
    sizes = [count(figures["n_tasks"], "task"), count(figures["n_annotators"], "annotator")]
    rows = {
        "tasks with votes": f"{figures['coverage']:.1%}",
        "tasks with votes by two or more annotators": f"{figures['overlaps']:.1%}",
        "tasks on which votes differ": f"{figures['conflicts']:.1%}",
        "annotators who vote for one class only": f"{figures['n_one_class']:,}",
        "annotators without any vote": f"{len(figures['never_voted']):,}",
    }
    out.print_figures(
        ", ".join([*sizes, count(len(figures["classes"]), "class", "es")]), rows.items()
    )
    widest = table.sort("coverage", descending=True, maintain_order=True)
    out.print_frame("By coverage", _classes_as_text(widest, CLASSES_SHOWN), ANNOTATORS_SHOWN)


def _classes_as_text(table: pl.DataFrame, most: int | None = None) -> pl.DataFrame:
    """Join the classes of each annotator with commas."""
    import polars as pl

    texts = []
    for classes in table["polarity"].to_list():
        more = (
            f" and {len(classes) - most:,} more" if most is not None and len(classes) > most else ""
        )
        texts.append(", ".join(map(str, classes[:most])) + more)
    return table.with_columns(pl.Series("polarity", texts, dtype=pl.String))
