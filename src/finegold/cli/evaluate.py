"""`finegold evaluate`, `compare`, `agreement` and `coverage`: labels, methods and annotators
measured side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.outputs import count, warn
from finegold.methods.lookup import DEFAULT_METHOD, REGISTRY
from finegold.options import option

if TYPE_CHECKING:
    from finegold.insight.agreement import Level


@dataclass(frozen=True)
class Methods(o.Truths):
    """What is compared, and with what."""

    methods: list[str] | None = option(
        None,
        f"Some of {', '.join(REGISTRY)}.",
        kind="list",
        flag="--method --methods",
        metavar="A,B,C",
        choices=tuple(REGISTRY),
    )
    json: bool = o.json_flag()


@o.on_votes(model=False, fit=o.OF_FITS)
class Evaluate(Methods):
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

    truth: str = o.path("Known truths: a table of tasks and truths.", required=True)

    def run(self, votes: o.Votes) -> None:
        import polars as pl

        from finegold.api.evaluate import METRICS, figures_of

        self.read_truth()
        known, is_ordered = (
            (self.truth, self.truth_task, self.truth_label),
            votes.reading.ordered is not None,
        )
        results = votes.results(self.methods or [DEFAULT_METHOD])
        scores = [figures_of(result, *known, is_ordered=is_ordered) for result in results]
        if self.json:
            out.print_json(scores if len(scores) > 1 else scores[0])
            return
        metrics = [name for name in METRICS if scores[0][name] is not None]
        slow = [] if all(score["converged"] for score in scores) else ["converged"]
        shown = ["method", *metrics, "iterations", *slow, "seconds"]
        caption = f"{scores[0]['n_truths']:,} truths, {scores[0]['n_tasks']:,} tasks"
        out.print_frame("", pl.DataFrame(scores).select(shown), caption=caption, digits=4)


@o.on_votes(model=False, fit=o.OF_FITS)
class Compare(Methods):
    """Run several methods on the same votes and compare their labels, their accuracy and their
    cost.

    By default, all methods run. "flips" counts the tasks whose label has fewer votes than another
    class, as finegold aggregate and finegold trust do. With truths, "flips right" counts those whose
    label is right, and "flips wrong" those where the label of the majority vote is right.
    """

    output: str | None = o.table("Write the table to a file as well.", flag=o.OUTPUT)
    labels: str | None = o.table("Write one row per task, with the label of each method.")

    def run(self, votes: o.Votes) -> None:
        import polars as pl

        from finegold.api.evaluate import comparison_of
        from finegold.methods.lookup import method_names

        known = self.read_truth()
        comparison = comparison_of(votes.results(self.methods or method_names()), known)
        rows, agreeing = comparison.rows(), comparison.agreement
        names = [row["method"] for row in rows]
        out.write_tables({self.output: comparison.table, self.labels: comparison.labels})
        if self.json:
            shares = [dict(zip(names, row, strict=True)) for row in agreeing.tolist()]
            out.print_json({"methods": rows, "agreement": dict(zip(names, shares, strict=True))})
            return
        out.print_frame(f"{len(comparison.majority.label_codes):,} tasks", pl.DataFrame(rows))
        table = pl.DataFrame({"": names, **dict(zip(names, 100 * agreeing.T, strict=True))})
        out.print_frame("Tasks that two methods give the same label, in %", table, digits=1)


# rows of a table of finegold agreement, and of finegold coverage
ROWS_SHOWN, ANNOTATORS_SHOWN = 10, 30


@o.on_votes(fit=(), repeated="all")
class Agreement:
    """Measure how much annotators agree: Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's
    AC1.

    With --level, kappas and AC2 count how far votes are apart, and the intraclass correlation is
    shown. If an annotator voted on a task more than once, their most frequent vote counts. How often such
    repeated votes agree is shown as well.
    """

    level: Level = o.choice(
        "nominal",
        "How alpha treats classes: as names, as ordered categories, or as numbers.",
        choices=("nominal", "ordinal", "interval"),
    )
    group: str | None = option(
        None, "The column with the group of each annotator, to compare groups.", metavar="NAME"
    )
    minus: str | None = o.path("Other votes on the same tasks, for the difference from them.")
    annotators: str | None = o.table("Write the agreement of each annotator.")
    pairs: str | None = o.table("Write the agreement of each pair of annotators.")
    json: bool = o.json_flag()

    def run(self, votes: o.Votes) -> None:
        from finegold.api.evaluate import agreement as measure
        from finegold.api.evaluate import groups_in
        from finegold.results.metrics import level_of_order
        from finegold.votes.frames import to_polars

        found, level, reading = votes.read(), self.level, votes.reading
        if reading.ordered and level == "nominal":
            level = level_of_order(found.class_names)
        group = None
        if self.group is not None:
            group = groups_in(list(votes.files), self.group, reading.annotator)
        measured = measure(found, level=level, group=group)
        tables = {"Within and between groups": to_polars(measured.groups())} if group else {}
        if self.minus is not None:
            other = measure(o.Votes((self.minus,), votes.fit, reading).read(), level=level)
            tables["Less the agreement of the other votes"] = to_polars(measured.minus(other))
        out.write_tables({self.annotators: measured.annotators, self.pairs: measured.pairs})
        by_class, by_annotator = to_polars(measured.classes()), to_polars(measured.annotators())
        if self.json:
            keys = [*(["groups"] if group else []), *(["difference"] if self.minus else [])]
            figures: dict[str, Any] = {"level": measured.level, **measured.figures()}
            figures |= {
                "intervals": {name: measured.interval(name) for name in measured.estimates},
                "notes": measured.notes,
                "classes": by_class.to_dicts(),
                "annotators": by_annotator.to_dicts(),
            }
            rows = [table.to_dicts() for table in tables.values()]
            out.print_json(figures | dict(zip(keys, rows, strict=True)))
            return
        sizes = f"{count(measured.n_annotators, 'annotator')}, {count(measured.n_tasks, 'task')}"
        out.print_figures(f"{sizes} with two or more votes", measured.rows().items())
        tables["By class, against all others"] = by_class
        tables["Annotators who agree least"] = by_annotator.sort("kappa", nulls_last=True)
        for title, table in tables.items():
            out.print_frame(title, table, ROWS_SHOWN)
        for note in measured.notes:
            warn(note)


@o.on_votes(fit=())
class Coverage(o.Truths):
    """Measure what each annotator or labelling function covers: coverage, polarity, overlaps,
    conflicts.

    Shares refer to all tasks, including those without votes. For a saved model (finegold aggregate
    --save), the table also has the expected accuracies; with --truth, it has the share of right
    votes.
    """

    output: str | None = o.table("Write the table: CSV, TSV, JSONL or Parquet.", flag=o.OUTPUT)
    json: bool = o.json_flag()

    def run(self, votes: o.Votes) -> None:
        import polars as pl

        from finegold.insight.coverage_table import coverage as measure
        from finegold.insight.coverage_table import coverage_figures
        from finegold.votes.frames import to_polars

        found = votes.read()
        table, figures = to_polars(measure(found, self.read_truth())), coverage_figures(found)
        # CSV has no lists
        polarity = pl.col("polarity").cast(pl.List(pl.String)).list.join(", ")
        as_text = table.with_columns(polarity)
        out.write_tables({self.output: lambda: as_text})
        if self.json:
            out.print_json({**figures, "annotators": table.to_dicts()})
            return
        n_classes = count(len(figures["classes"]), "class", "es")
        tasks, annotators = (count(figures[f"n_{name}s"], name) for name in ("task", "annotator"))
        rows = {
            "tasks with votes": f"{figures['coverage']:.1%}",
            "tasks with votes by two or more annotators": f"{figures['overlaps']:.1%}",
            "tasks on which votes differ": f"{figures['conflicts']:.1%}",
            "annotators who vote for one class only": f"{figures['n_one_class']:,}",
            "annotators without any vote": f"{len(figures['never_voted']):,}",
        }
        out.print_figures(f"{tasks}, {annotators}, {n_classes}", rows.items())
        out.print_frame("By coverage", as_text.sort("coverage", descending=True), ANNOTATORS_SHOWN)
