"""The application: its commands and the options that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import finegold
from finegold.cli.aggregate import aggregate
from finegold.cli.convert import convert, export
from finegold.cli.datasets import datasets, demo, reproduce
from finegold.cli.evaluate import agreement, compare, evaluate
from finegold.cli.guard import Guarded
from finegold.cli.help import Command
from finegold.cli.judges import judges, rank
from finegold.cli.next import coverage, next_votes
from finegold.cli.report import methods, plot, report
from finegold.cli.simulate import simulate
from finegold.cli.studio import studio
from finegold.cli.trust import audit, trust
from finegold.cli.update import update

__all__ = ["app"]

app = typer.Typer(
    cls=Guarded,
    name="finegold",
    help="Turn noisy annotations into labels that you can trust.",
    epilog="To start, run: finegold demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Start here": (demo, aggregate, report, studio),
    "Look closer": (trust, agreement, evaluate, compare, coverage, audit, next_votes, judges, rank, plot),
    "Data": (update, convert, export),
    "Research": (methods, simulate, reproduce),
}
for panel, commands in PANELS.items():
    for command in commands:
        name = "next" if command is next_votes else None
        app.command(name, cls=Command, rich_help_panel=panel)(command)
app.add_typer(datasets, name="datasets", rich_help_panel="Research")


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"finegold {finegold.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show the traceback of an error (or set FINEGOLD_DEBUG=1).")
    ] = False,
) -> None:
    """Turn noisy annotations into labels that you can trust."""
