"""Makes docs/reference/cli.md from the commands: python tools/make_cli.py"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from finegold.cli.app import PANELS, every_command

HEAD = """# Commands

`finegold COMMAND --help` shows the same on a terminal. `finegold --version` shows the version, and
`finegold --traceback COMMAND ...` the traceback of an error. Results go to standard output, messages to standard error.

| exit code | |
|---|---|
| 0 | success |
| 1 | an error that nobody foresaw |
| 2 | the input, the options or an output are wrong |
| 3 | a gate of `finegold judges` failed |
| 130 | Ctrl-C |

To complete commands and options in a shell, add `eval "$(_FINEGOLD_COMPLETE=bash_source finegold)"` to
`~/.bashrc` (`zsh_source` in `~/.zshrc`; `_FINEGOLD_COMPLETE=fish_source finegold | source` for fish).

Most commands also take the options for [reading votes](options.md#reading-votes) and for
[fitting a method](options.md#fitting), which are not repeated here.
"""
FOOT = "\nThis page is made from the commands by `python tools/make_cli.py`.\n"


def page() -> str:
    commands = every_command()
    return HEAD + "".join(
        f"\n## {panel}\n" + "".join(section(commands[name]) for name in names)
        for panel, names in PANELS.items()
    ) + FOOT  # fmt: skip


def section(command: Any) -> str:
    context = click.Context(command, info_name=f"finegold {command.name}")
    own = [param for param in command.params if not getattr(param, "is_listed", False)]
    rows = "".join(row(param, context) for param in own)
    table = f"\n| option | |\n|---|---|\n{rows}" if rows else ""
    return (
        f"\n### `finegold {command.name}`\n\n    {command.get_usage(context)[7:]}\n\n"
        f"{inspect.cleandoc(command.help)}\n{table}"
    )


def row(param: click.Parameter, context: click.Context) -> str:
    names, words = param.get_help_record(context) or (param.make_metavar(context), "")
    words = (
        " ".join(words.split()).replace("|", "&#124;").replace("<", "&lt;").replace("[", "&#91;")
    )
    return f"| {code_cell(names)} | {words} |\n"


def code_cell(text: str) -> str:
    """Code in a table, in which | needs an entity: backquotes would show a backslash on the site."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"
    path.write_text(page(), encoding="utf-8")
