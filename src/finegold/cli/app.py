"""The application: its commands, which are imported when they are run or when their help is shown."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

import finegold
from finegold.system.memory import did_you_mean

# By heading of the help: the commands, and the module of each.
PANELS = {
    "Start here": {
        "demo": "show",
        "look": "look",
        "aggregate": "aggregate",
        "report": "show",
        "studio": "show",
    },
    "How accurate labels are": {
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
        "next-votes": "trust",
        "judges": "judges",
        "rate": "judges",
        "rank": "judges",
        "numbers": "numbers",
        "spans": "spans",
    },
    "Data": {"update": "aggregate", "convert": "data", "export": "data"},
    "Research": {"methods": "show", "simulate": "data"},
}
HOMES = {name: home for commands in PANELS.values() for name, home in commands.items()}


class Commands(click.Group):
    """Commands that are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(HOMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Any:
        if cmd_name not in HOMES:
            return None
        module = vars(import_module(f"finegold.cli.{HOMES[cmd_name]}"))
        return module.get(cmd_name.title().replace("-", "")) or module[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for panel, names in PANELS.items():
            with formatter.section(panel):
                formatter.write_dl(
                    [(name, self.get_command(ctx, name).get_short_help_str(200)) for name in names]
                )

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        # the words that were typed
        ctx.obj = ctx.obj or tuple(args)
        if args[0] not in HOMES and args[0].isidentifier():
            ctx.fail(f"there is no command {args[0]!r}{did_you_mean(args[0], HOMES)}")
        return super().resolve_command(ctx, args)


@click.group(
    "finegold",
    cls=Commands,
    epilog="To start, run: finegold demo",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(finegold.__version__, message="finegold %(version)s")
@click.option(
    "--traceback",
    is_flag=True,
    expose_value=False,
    help="Show the traceback of an error (or set FINEGOLD_DEBUG=1).",
)
def app() -> None:
    """Turn noisy annotations into labels that you can trust."""


def every_command() -> dict[str, Any]:
    """Return all commands by name, for the pages and the tests."""
    context = click.Context(app)
    return {name: app.get_command(context, name) for name in HOMES}
