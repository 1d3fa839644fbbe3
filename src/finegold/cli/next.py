"""`finegold next`: find the tasks for which further votes are worth most."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli import source as s

if TYPE_CHECKING:
    from pathlib import Path

    from finegold.insight.next_votes import Plan

__all__ = ["next_votes"]

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
    from finegold.api.aggregate import next_votes as plan_next
    from finegold.cli.outputs import check_outputs, write_all
    from finegold.cli.summary import print_json

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
    from finegold.cli.show import console, frame_table

    screen = console()
    for title, frame in (("Ask about", plan.tasks()), ("Look after", plan.annotators())):
        if len(frame):
            screen.print(frame_table(f"{title} ({len(frame):,})", frame, ROWS_SHOWN))
