"""The application: its commands, which are imported when they are run or when their help is shown."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

import finegold
from finegold.system.memory import check_address_space, did_you_mean

# the commands by heading of the help
PANELS = {
    "Start here": ["demo", "look", "aggregate", "report", "studio"],
    "How accurate labels are": ["sample", "certify", "trust", "evaluate", "compare", "audit"],
    "Look closer": [
        *("agreement", "coverage", "next-votes", "judges", "rate", "rank", "numbers", "spans")
    ],
    "Data": ["update", "convert", "export"],
    "Research": ["methods", "simulate"],
}
MODULES = {
    "aggregate": ["aggregate", "update"],
    "data": ["convert", "export", "simulate"],
    "evaluate": ["evaluate", "compare", "agreement", "coverage"],
    "judges": ["judges", "rate", "rank"],
    "look": ["look"],
    "numbers": ["numbers"],
    "show": ["demo", "report", "studio", "methods"],
    "spans": ["spans"],
    "trust": ["sample", "certify", "trust", "audit", "next-votes"],
}
HOMES = {name: module for module, names in MODULES.items() for name in names}


class Commands(click.Group):
    """Commands that are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in PANELS.values() for name in names]

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
    check_address_space()


def every_command() -> dict[str, Any]:
    """Return all commands by name, for the pages and the tests."""
    context = click.Context(app)
    return {name: app.get_command(context, name) for name in app.list_commands(context)}
