"""The application: its commands and the options that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import karat
from karat.cli.aggregate import aggregate
from karat.cli.agreement import agreement
from karat.cli.audit import audit
from karat.cli.compare import compare
from karat.cli.convert import convert
from karat.cli.coverage import coverage
from karat.cli.datasets import datasets
from karat.cli.demo import demo
from karat.cli.evaluate import evaluate
from karat.cli.export import export
from karat.cli.guard import Guarded
from karat.cli.help import Command
from karat.cli.judges import judges
from karat.cli.methods import methods
from karat.cli.next import next_votes
from karat.cli.plot import plot
from karat.cli.rank import rank
from karat.cli.report import report
from karat.cli.reproduce import reproduce
from karat.cli.simulate import simulate
from karat.cli.studio import studio
from karat.cli.trust import trust
from karat.cli.update import update

__all__ = ["app"]

app = typer.Typer(
    cls=Guarded,
    name="karat",
    help="Turn noisy annotations into labels that you can trust.",
    epilog="To start, run: karat demo",
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
        typer.echo(f"karat {karat.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show the traceback of an error (or set KARAT_DEBUG=1).")
    ] = False,
) -> None:
    """Turn noisy annotations into labels that you can trust."""
