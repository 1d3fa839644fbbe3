"""The application: its commands, the options that all of them share, and their help.

A command is imported, and its options are made, when it is run or when its help is shown.
"""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

import finegold
from finegold.cli.options import CommandLine
from finegold.cli.outputs import report_error, warn
from finegold.errors import FinegoldError, FinegoldWarning
from finegold.system.memory import did_you_mean

# By panel of the help: the commands, the module of each, and its function if that has another name.
PANELS = {
    "Start here": {"demo": "show", "aggregate": "aggregate", "report": "show", "studio": "show"},
    "How accurate are my labels?": {
        "sample": "trust",
        "certify": "trust",
        "trust": "trust",
        "evaluate": "evaluate",
        "compare": "evaluate",
        "audit": "trust",
    },
    "Look closer": {
        "agreement": "evaluate",
        "coverage": "evaluate",
        "next": "trust:next_votes",
        "judges": "judges",
        "rank": "judges",
        "plot": "show",
    },
    "Data": {"update": "aggregate", "convert": "data", "export": "data"},
    "Research": {"methods": "show", "simulate": "data"},
}


class PlainValues:
    """Takes texts and defaults as they are. Only other values need Pydantic, whose import takes 40
    ms.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        kind = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if type(value) is kind:
            return value
        if kind == list[str] and not isinstance(value, str):
            return list(value)
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


class PlainHelp:
    """A command or a group of commands whose help says what a user types, and nothing about
    Python's types.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            # not all versions of Typer have it
            if getattr(param, "_runtime_param", self) is None:
                param._runtime_param = PlainValues()
            if isinstance(param, TyperArgument):
                param.display_type_rich = lambda ctx: ""  # type: ignore[method-assign]
            elif getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Command(PlainHelp, TyperCommand):
    """A command whose errors and warnings are worded for the command line that was typed."""

    def invoke(self, ctx: Any) -> Any:
        takes_value = {
            flag: not getattr(param, "is_flag", False)
            for param in self.params
            for flag in (*param.opts, *param.secondary_opts)
        }
        line, others = CommandLine(ctx.obj, takes_value), warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, FinegoldWarning):
                warn(
                    message.worded(line.word)
                    if isinstance(message, FinegoldWarning)
                    else str(message)
                )
            else:
                others(message, category, *where, **more)

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", FinegoldWarning)
                warnings.showwarning = show
                return super().invoke(ctx)
        except (FinegoldError, KeyboardInterrupt, OSError, EOFError, MemoryError) as error:
            # Typer would print other messages
            raise typer.Exit(report_error(error, line)) from error


class Commands(PlainHelp, TyperGroup):
    """Commands that are made when they are needed."""

    homes = {name: home for commands in PANELS.values() for name, home in commands.items()}  # noqa: RUF012

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.homes)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in self.homes and cmd_name not in self.commands:
            panel = next(
                (panel for panel, commands in PANELS.items() if cmd_name in commands), None
            )
            module, _, function = self.homes[cmd_name].partition(":")
            callback = getattr(import_module(f"finegold.cli.{module}"), function or cmd_name)
            # Typer joins the lines of the first paragraph only
            help = "\n\n".join(
                part.replace("\n", " ") for part in (inspect.getdoc(callback) or "").split("\n\n")
            )
            info = CommandInfo(
                cmd_name, cls=Command, callback=callback, help=help, rich_help_panel=panel
            )
            made: Any = get_command_from_info(
                info, pretty_exceptions_short=True, rich_markup_mode="rich"
            )
            self.commands[cmd_name] = made
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # the words that were typed
        ctx.obj = ctx.obj or tuple(args)
        if args[0] not in self.homes and args[0].isidentifier():
            ctx.fail(f"there is no command {args[0]!r}{did_you_mean(args[0], self.homes)}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    name="finegold",
    help="Turn noisy annotations into labels that you can trust.",
    epilog="To start, run: finegold demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version."),
    traceback: bool = typer.Option(
        False, "--traceback", help="Show the traceback of an error (or set FINEGOLD_DEBUG=1)."
    ),
) -> None:
    """Turn noisy annotations into labels that you can trust."""
    if version:
        typer.echo(f"finegold {finegold.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("Missing command.")


def every_command() -> dict[str, Any]:
    """Return all commands by name, for the pages and the tests."""
    root: Any = typer.main.get_command(app)
    return {name: root.get_command(None, name) for name in Commands.homes}
