"""`finegold next`: find the tasks for which further votes are worth most."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli import source as s

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from finegold.insight.next_votes import Plan

__all__ = ["coverage", "next_votes"]


ROWS_SHOWN = 20  # rows of a table on the terminal


@o.with_groups
def next_votes(
    files: o.Source,
    budget: Annotated[
        int | None,
        typer.Option("--budget", min=1, metavar="N", help="The largest number of votes to plan; by default no limit."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="The file for the tasks: .csv, .tsv, .jsonl or .parquet."),
    ] = None,
    safe_tasks: Annotated[
        str | None, typer.Option("--safe-tasks", metavar="OUT", help="Write the tasks that need no further vote.")
    ] = None,
    annotators: Annotated[
        str | None, typer.Option("--annotators", metavar="OUT", help="Write the annotators to retrain or drop.")
    ] = None,
    available: Annotated[
        str | None,
        typer.Option(
            "--available",
            metavar="A,B",
            help="The annotators who may vote next; by default all, in proportion to their votes so far.",
        ),
    ] = None,
    safe: Annotated[
        float, typer.Option("--safe", metavar="P", help="A label with at least this probability needs no further vote.")
    ] = 0.95,
    method: o.Method = None,
    fitting: o.Fitting = o.FITTING,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Rank tasks by the expected gain of one more vote, and list annotators to retrain or drop."""
    from finegold.api.next_votes import next_votes as plan_next
    from finegold.cli.outputs import check_outputs, print_json, write_all

    outputs = {"tasks": output, "safe_tasks": safe_tasks, "annotators": annotators}
    tables = [path for path in outputs.values() if path is not None]
    check_outputs(
        tables,
        s.outputs_of(fitting),
        s.inputs_of(files, known.gold, reading=reading, fitting=fitting),
    )
    result = s.result_of(files, reading, fitting, method, known)
    plan = plan_next(result, budget, annotators=_available_annotators(available, result.annotator_names), safe=safe)
    write_all({path: partial(_write, plan, name) for name, path in outputs.items() if path is not None})
    if json:
        print_json(_summary(plan))
    elif output is None:
        _show(plan)
    _print_summary(plan, budget)


def _write(plan: Plan, table: str, path: Path) -> None:
    from finegold.io.writers import write_frame

    write_frame(getattr(plan, table)(), path)


def _available_annotators(available: str | None, names: Any) -> list[Any] | None:
    """Return the names with the types that they have in the model; option values are always text."""
    from finegold.votes.frames import to_list

    if available is None:
        return None
    known = {str(name): name for name in to_list(names)}
    return [known.get(name, name) for name in o.split_commas(available) or []]


def _summary(plan: Plan) -> dict[str, Any]:
    from finegold.votes.frames import to_polars

    frames = {"ask": plan.tasks(), "annotators": plan.annotators()}
    return {
        **{name: to_polars(frame).to_dicts() for name, frame in frames.items()},
        "safe": int(plan.safe.sum()),
        "exhausted": int(plan.exhausted.sum()),
    }


def _print_summary(plan: Plan, budget: int | None) -> None:
    from finegold.cli.messages import count, say

    say(f"{count(len(plan.ask), 'task')} to ask about, {plan.safe.sum():,} safe")
    if budget is not None and 0 < len(plan.ask) < budget:
        say(f"a budget of {budget:,} is more than is needed now: collect these votes, run finegold update, plan again")
    if plan.exhausted.any():
        say(
            f"{count(int(plan.exhausted.sum()), 'task')} not safe, but everybody has voted on them: find new annotators"
        )
    if plan.advice:
        drop = sum(one.action == "drop" for one in plan.advice)
        say(f"annotators: {drop:,} to drop, {len(plan.advice) - drop:,} to retrain (--annotators OUT lists all)")


def _show(plan: Plan) -> None:
    from finegold.cli.outputs import console, frame_table

    screen = console()
    for title, frame in (("Ask about", plan.tasks()), ("Look after", plan.annotators())):
        if len(frame):
            screen.print(frame_table(f"{title} ({len(frame):,})", frame, ROWS_SHOWN))


SHARES = {
    "coverage": "tasks with votes",
    "overlaps": "tasks with votes by two or more annotators",
    "conflicts": "tasks on which votes differ",
}
ROWS_SHOWN_COVERAGE = 30  # rows of the table
CLASSES_SHOWN = 5  # classes shown per annotator in the terminal


@o.with_groups
def coverage(
    files: o.Source,
    truth: Annotated[
        str | None, typer.Option("--truth", metavar="FILE", help="Known truths: adds the share of right votes.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUT", help="Write the table: CSV, TSV, JSONL or Parquet.")
    ] = None,
    reading: o.Reading = o.READING,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    json: o.Json = False,
) -> None:
    """Measure what each annotator or labelling function covers: coverage, polarity, overlaps, conflicts.

    Shares refer to all tasks, including those without votes. For a saved model (finegold aggregate --save), the table
    also has the expected accuracies; with --truth, it has the share of right votes.
    """
    from finegold.cli.outputs import check_outputs, write_all
    from finegold.insight import coverage as measure
    from finegold.insight.coverage_table import coverage_figures
    from finegold.insight.votes import votes_of
    from finegold.io.read import match_truth
    from finegold.votes.frames import to_polars

    check_outputs([output] if output else [], [], [*files, *([truth] if truth else [])])
    given = s.votes_or_saved(files, reading)
    votes = votes_of(given)
    key = None if truth is None else match_truth(votes, truth, task=truth_task, label=truth_label)
    found = to_polars(measure(given, key))
    if output is not None:
        write_all({output: lambda path: _write_coverage(found, path)})
    _show_coverage(coverage_figures(votes), found, json)


def _write_coverage(found: pl.DataFrame, path: Path) -> None:
    """Write the table. CSV and TSV have no lists, so the classes of an annotator are joined with commas."""
    from finegold.io.writers import check_table_path, write_frame

    kind, _ = check_table_path(path)
    write_frame(_with_text(found) if kind in ("csv", "tsv") else found, path)


def _with_text(found: pl.DataFrame, most: int | None = None) -> pl.DataFrame:
    import polars as pl

    texts = []
    for classes in found["polarity"].to_list():
        more = f" and {len(classes) - most:,} more" if most is not None and len(classes) > most else ""
        texts.append(", ".join(map(str, classes[:most])) + more)
    return found.with_columns(pl.Series("polarity", texts, dtype=pl.String))


def _show_coverage(figures: dict[str, Any], found: pl.DataFrame, as_json: bool) -> None:
    if as_json:
        from finegold.cli.outputs import print_json

        print_json({**figures, "annotators": found.to_dicts()})
        return
    from finegold.cli.messages import count
    from finegold.cli.outputs import console, figures_table, frame_table

    sizes = ((figures["n_annotators"], "annotator", "s"), (len(figures["classes"]), "class", "es"))
    title = ", ".join([count(figures["n_tasks"], "task"), *(count(*size) for size in sizes)])
    screen = console()
    rows = [(words, f"{figures[name]:.1%}") for name, words in SHARES.items()]
    rows.append(("annotators who vote for one class only", f"{figures['n_one_class']:,}"))
    rows.append(("annotators without any vote", f"{len(figures['never_voted']):,}"))
    screen.print(figures_table(title, rows))
    widest = found.sort("coverage", descending=True, maintain_order=True)
    screen.print(frame_table("By coverage", _with_text(widest, CLASSES_SHOWN), ROWS_SHOWN_COVERAGE))
