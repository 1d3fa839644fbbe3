"""karat compare: all methods on one file, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli import database as d
from karat.cli import exports as e
from karat.cli import options as o

if TYPE_CHECKING:
    from karat.api.result import Result
    from karat.insight.comparison import Comparison
    from karat.methods import Method
    from karat.votes.annotations import Annotations

__all__ = ["compare"]

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


def compare(
    files: o.Files,
    truth: Annotated[
        str | None, typer.Option("--truth", metavar="FILE", help="Known truths: a table of task and truth.")
    ] = None,
    methods: o.Methods = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUT", help="Write the table to a file as well.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="OUT", help="Write every task with the label of each method.")
    ] = None,
    settings: o.Setting = None,
    task: o.TaskColumn = None,
    annotator: o.AnnotatorColumn = None,
    label: o.LabelColumn = None,
    wide: o.Wide = False,
    classes: o.Classes = None,
    missing: o.Missing = None,
    repeated: o.Repeated = "first",
    threads: o.Threads = None,
    seed: o.Seed = None,
    json: o.Json = False,
    query: d.Query = None,
    table: d.Table = None,
    param: d.Param = None,
    format: e.Format = None,
    question: e.Question = None,
    include: e.Include = None,
    raw: o.Raw = False,
) -> None:
    """Run several methods on the same votes: where they agree, where each flips the majority vote, what they cost.

    All methods, unless some are named. "flips" counts the tasks with a clear majority that a method decides
    otherwise; with truths, "right" and "wrong" say how many of these flips helped and how many harmed.
    """
    from karat.cli.evaluate import make_methods, read_key
    from karat.cli.outputs import check_outputs
    from karat.cli.summary import tell_left_out
    from karat.insight.comparison import compare as side_by_side
    from karat.methods import method_names

    outputs = [path for path in (output, labels) if path is not None]
    check_outputs(outputs, [], [*files, *([truth] if truth else [])])
    chosen = make_methods(o.several(methods) or method_names(), settings, seed)
    selection = {**d.selection(query, table, param), **e.selection(format, question, include)}
    votes = o.Reading(files, task, annotator, label, wide, classes, missing, repeated, selection).read()
    tell_left_out(votes)
    codes = None if truth is None else read_key(votes, truth, None, None).codes
    found = side_by_side(votes, chosen, truth=codes, run=_runner(threads))
    _write(found, output, labels)
    _show(found, json)


def _runner(threads: int | None) -> Any:
    from karat.api.fit import fit
    from karat.cli.words import progress

    def run(method: Method, votes: Annotations) -> Result:
        with progress(method.name) as watch:
            return fit(method, votes, threads=threads, watch=watch)

    return run


def _write(found: Comparison, output: str | None, labels: str | None) -> None:
    import polars as pl

    from karat.cli.outputs import write_all
    from karat.io.writers import write_frame

    files = {}
    if output is not None:
        files[output] = lambda path: write_frame(pl.DataFrame(found.rows()), path)
    if labels is not None:
        files[labels] = lambda path: write_frame(found.labels(), path)
    write_all(files)


def _show(found: Comparison, as_json: bool) -> None:
    if as_json:
        from karat.cli.summary import print_json

        agreement = {
            one: dict(zip(found.methods, row, strict=True))
            for one, row in zip(found.methods, found.agreement.tolist(), strict=True)
        }
        print_json({"methods": found.rows(), "agreement": agreement})
        return
    from karat.cli.show import console

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

    table = Table(box=SIMPLE, title="Tasks that two methods label alike, in %", title_justify="left")
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
