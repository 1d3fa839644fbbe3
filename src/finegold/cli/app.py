"""The application: its commands, the options that all of them share, and their help."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

import finegold
from finegold.cli.aggregate import aggregate
from finegold.cli.certify import certify, sample
from finegold.cli.convert import convert, export
from finegold.cli.datasets import data_set_info, demo, fetch, list_data_sets, reproduce, verify
from finegold.cli.evaluate import agreement, compare, evaluate
from finegold.cli.judges import judges, rank
from finegold.cli.messages import CommandLine, guarded
from finegold.cli.next import coverage, next_votes
from finegold.cli.report import methods, plot, report
from finegold.cli.simulate import simulate
from finegold.cli.studio import studio
from finegold.cli.trust import audit, trust
from finegold.cli.update import update


class PlainHelp:
    """A command or a group of commands whose help says what a user types, and nothing about Python's types."""

    def __init__(self, *args: Any, help: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, help=help and unwrapped(help), **kwargs)  # type: ignore[call-arg]

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if isinstance(param, TyperArgument):
                param.display_type_rich = lambda ctx: ""  # type: ignore[method-assign]
            elif getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Command(PlainHelp, TyperCommand):
    pass


class Group(PlainHelp, TyperGroup):
    pass


class Guarded(Group):
    """A group of commands that share one error handler."""

    def invoke(self, ctx: Any) -> Any:
        words = (*ctx._protected_args, *ctx.args)
        command: Any = self
        for word in words:
            command = getattr(command, "commands", {}).get(word, command)
        takes_value = {
            flag: not getattr(param, "is_flag", False)
            for param in command.params
            for flag in (*param.opts, *param.secondary_opts)
        }
        with guarded(CommandLine(words, takes_value)):
            return super().invoke(ctx)


def unwrapped(text: str) -> str:
    """Join the lines of each paragraph. Typer does this for the first one only."""
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in inspect.cleandoc(text).split("\n\n"))


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
    "How right are my labels?": (sample, certify, trust, evaluate, compare, audit),
    "Look closer": (agreement, coverage, next_votes, judges, rank, plot),
    "Data": (update, convert, export),
    "Research": (methods, simulate, reproduce),
}
for panel, commands in PANELS.items():
    for command in commands:
        name = "next" if command is next_votes else None
        app.command(name, cls=Command, rich_help_panel=panel)(command)
datasets = typer.Typer(
    cls=Group, help="List, fetch and verify the public data sets of the paper.", no_args_is_help=True
)
datasets.command("list", cls=Command)(list_data_sets)
datasets.command("info", cls=Command)(data_set_info)
datasets.command("fetch", cls=Command)(fetch)
datasets.command("verify", cls=Command)(verify)
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
