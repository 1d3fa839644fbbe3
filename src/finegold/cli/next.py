"""`finegold next` and `coverage`: where further votes are worth most, and what each annotator covers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli.messages import count, say
from finegold.cli.outputs import (
    check_outputs,
    console,
    figures_table,
    frame_table,
    frame_writer,
    print_json,
    write_all,
)
from finegold.cli.source import result_of, votes_or_saved
from finegold.io.options import ReadOptions

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from finegold.insight.next_votes import Plan

TASKS_SHOWN = 20
ANNOTATORS_SHOWN = 30
CLASSES_SHOWN = 5  # classes per annotator


@o.with_groups
def next_votes(
    files: o.Source,
    budget: Annotated[
        int | None,
        typer.Option("--budget", min=1, metavar="N", help="The largest number of votes to plan; by default no limit."),
    ] = None,
    output: Annotated[
        str | None, o.value("--output", "-o", help="The file for the tasks: .csv, .tsv, .jsonl or .parquet.")
    ] = None,
    safe_tasks: Annotated[
        str | None, o.value("--safe-tasks", help="Write the tasks that need no further vote.")
    ] = None,
    annotators: Annotated[str | None, o.value("--annotators", help="Write the annotators to retrain or drop.")] = None,
    available: Annotated[
        str | None,
        o.value(
            "--available",
            metavar="A,B",
            help="The annotators who may vote next; by default all, in proportion to their votes so far.",
        ),
    ] = None,
    safe: Annotated[
        float, typer.Option("--safe", metavar="P", help="A label with at least this probability needs no further vote.")
    ] = 0.95,
    fit: o.Fit = o.FIT_ONE,
    reading: ReadOptions = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Rank tasks by the expected gain of one more vote, and list annotators to retrain or drop."""
    from finegold.api.aggregate import next_votes as plan_next
    from finegold.votes.encoding import to_list
    from finegold.votes.frames import to_polars

    check_outputs([output, safe_tasks, annotators], [], files, reading, fit)
    result = result_of(files, reading, fit)
    voters = None
    if available is not None:  # with the types that the names have in the model; values of options are text
        known = {str(name): name for name in to_list(result.annotator_names)}
        voters = [known.get(name, name) for name in o.split_commas(available) or []]
    plan = plan_next(result, budget, annotators=voters, safe=safe)
    tables = {output: plan.tasks, safe_tasks: plan.safe_tasks, annotators: plan.annotators}
    write_all({path: frame_writer(make, raw) for path, make in tables.items()})
    if json:
        frames = {"ask": plan.tasks(), "annotators": plan.annotators()}
        rows: dict[str, Any] = {name: to_polars(frame).to_dicts() for name, frame in frames.items()}
        print_json(rows | {"safe": int(plan.safe.sum()), "exhausted": int(plan.exhausted.sum())})
    elif output is None:
        screen = console()
        for title, frame in (("Ask about", plan.tasks()), ("Look after", plan.annotators())):
            if len(frame):
                screen.print(frame_table(f"{title} ({len(frame):,})", frame, TASKS_SHOWN))
    _print_summary(plan, budget)


def _print_summary(plan: Plan, budget: int | None) -> None:
    say(f"{count(len(plan.ask), 'task')} to ask about, {plan.safe.sum():,} safe")
    if budget is not None and 0 < len(plan.ask) < budget:
        say(f"a budget of {budget:,} is more than is needed now: collect these votes, run finegold update, plan again")
    if plan.exhausted.any():
        say(
            f"{count(int(plan.exhausted.sum()), 'task')} not safe, but everybody has voted on them: find new annotators"
        )
    if plan.advice:
        drop = sum(advice.action == "drop" for advice in plan.advice)
        say(f"annotators: {drop:,} to drop, {len(plan.advice) - drop:,} to retrain (--annotators OUT lists all)")


SHARES = {
    "coverage": "tasks with votes",
    "overlaps": "tasks with votes by two or more annotators",
    "conflicts": "tasks on which votes differ",
}


@o.with_groups
def coverage(
    files: o.Source,
    truth: Annotated[
        str | None,
        o.value("--truth", metavar="FILE", help="Known truths: adds the share of right votes."),
    ] = None,
    output: Annotated[
        str | None, o.value("-o", "--output", help="Write the table: CSV, TSV, JSONL or Parquet.")
    ] = None,
    reading: ReadOptions = o.READING,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    json: o.Json = False,
) -> None:
    """Measure what each annotator or labelling function covers: coverage, polarity, overlaps, conflicts.

    Shares refer to all tasks, including those without votes. For a saved model (finegold aggregate --save), the table
    also has the expected accuracies; with --truth, it has the share of right votes.
    """
    from finegold.insight import coverage as measure
    from finegold.insight.coverage_table import coverage_figures
    from finegold.insight.votes import votes_of
    from finegold.io.truth import match_truth
    from finegold.io.writers import check_table_path, write_frame
    from finegold.votes.frames import to_polars

    check_outputs([output], [], [*files, truth])
    given = votes_or_saved(files, reading)
    votes = votes_of(given)
    key = None if truth is None else match_truth(votes, truth, task=truth_task, label=truth_label)
    table, figures = to_polars(measure(given, key)), coverage_figures(votes)

    def write(path: Path) -> None:  # CSV and TSV have no lists
        write_frame(_with_text(table) if check_table_path(path)[0] in ("csv", "tsv") else table, path)

    write_all({output: write})
    if json:
        print_json({**figures, "annotators": table.to_dicts()})
        return
    sizes = ((figures["n_annotators"], "annotator", "s"), (len(figures["classes"]), "class", "es"))
    title = ", ".join([count(figures["n_tasks"], "task"), *(count(*size) for size in sizes)])
    rows = [(words, f"{figures[name]:.1%}") for name, words in SHARES.items()]
    rows.append(("annotators who vote for one class only", f"{figures['n_one_class']:,}"))
    rows.append(("annotators without any vote", f"{len(figures['never_voted']):,}"))
    widest = table.sort("coverage", descending=True, maintain_order=True)
    screen = console()
    screen.print(figures_table(title, rows))
    screen.print(frame_table("By coverage", _with_text(widest, CLASSES_SHOWN), ANNOTATORS_SHOWN))


def _with_text(table: pl.DataFrame, most: int | None = None) -> pl.DataFrame:
    """Join the classes of each annotator with commas."""
    import polars as pl

    texts = []
    for classes in table["polarity"].to_list():
        more = f" and {len(classes) - most:,} more" if most is not None and len(classes) > most else ""
        texts.append(", ".join(map(str, classes[:most])) + more)
    return table.with_columns(pl.Series("polarity", texts, dtype=pl.String))
