"""`finegold compare`: compare methods on the same votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o

if TYPE_CHECKING:
    from finegold.insight.comparison import Comparison

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
    from finegold.api.evaluate import compare_job
    from finegold.cli.outputs import check_outputs
    from finegold.cli.settings import methods_from_options, split_values
    from finegold.cli.source import inputs_of, outputs_of, truths_of
    from finegold.cli.summary import print_left_out
    from finegold.methods.lookup import method_names

    tables = [path for path in (output, labels) if path is not None]
    check_outputs(tables, outputs_of(fitting), inputs_of(files, truth, reading=reading, fitting=fitting))
    chosen = methods_from_options(
        split_values(methods) or method_names(), fitting.settings, fitting.seed, fitting.paper
    )
    wanted = reading.run(files, on_read=print_left_out, **fitting.run_fields())
    truths = truths_of(truth, truth_task, truth_label) if truth_task or truth_label else truth
    found = compare_job(wanted, chosen, truths)
    _write(found, output, labels)
    _show(found, json)


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


def _show(found: Comparison, as_json: bool) -> None:
    if as_json:
        from finegold.cli.summary import print_json

        agreement = {
            one: dict(zip(found.methods, row, strict=True))
            for one, row in zip(found.methods, found.agreement.tolist(), strict=True)
        }
        print_json({"methods": found.rows(), "agreement": agreement})
        return
    from finegold.cli.show import console

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
