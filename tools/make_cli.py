"""Makes docs/reference/cli.md from the commands: python tools/make_cli.py"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Any

from typer.core import TyperArgument

from finegold.api.options import FitOptions
from finegold.cli.app import PANELS, every_command
from finegold.cli.options import as_flag
from finegold.io.options import ReadOptions
from finegold.options import options_of

HEAD = """# Commands

`finegold COMMAND --help` shows the same on a terminal. `finegold --version` shows the version, and
`finegold --traceback COMMAND ...` the traceback of an error. Commands end with 0 if they succeed, with 2 if the input,
the options or an output are wrong, with 130 after Ctrl-C, and with 1 after any other error. Results go to standard
output, messages to standard error.

`finegold --install-completion` lets the shell complete commands, options, methods and charts.
"""
SHARED = """
## Options of several commands

[Options](options.md) lists those for reading votes and for fitting a method. These are the others:
"""
FOOT = "\nThis page is made from the commands by `python tools/make_cli.py`.\n"
TABLE = "| option | |\n|---|---|\n"
GENERAL = "General"  # the panel of options that many commands describe in the same words
MANY = 4
FEW = 3  # an option of at most so many commands names them
READING = {option.group for option in options_of(ReadOptions).values()}
FIT = "Fit"
DECLARED = {
    flag
    for declared in (ReadOptions, FitOptions)
    for name, option in options_of(declared).items()
    for flag in (as_flag(name, None)[0], *option.constants)
} - {"--method", "--gold"}
Options = dict[str, tuple[Any, list[str]]]  # by name: the option and the commands that have it


def page() -> str:
    commands = every_command()
    texts = Counter(
        (param.opts[0], param.help) for command in commands.values() for param in command.params
    )
    shared: dict[str, Options] = {GENERAL: {}}
    for name, command in commands.items():
        for param in command.params:
            panel = GENERAL if texts[param.opts[0], param.help] >= MANY else param.rich_help_panel
            if _is_listed_here(param) and panel and panel not in {*READING, FIT}:
                shared.setdefault(panel, {}).setdefault(param.opts[0], (param, []))[1].append(name)
    shared = {panel: options for panel, options in shared.items() if _most(options) > 1}
    parts = [
        f"\n## {panel}\n"
        + "".join(
            _section(name, one, shared)
            for name, one in commands.items()
            if name.split()[0] in names
        )
        for panel, names in PANELS.items()
    ]
    return (
        HEAD
        + "".join(parts)
        + SHARED
        + "".join(_panel(name, options) for name, options in shared.items())
        + FOOT
    )


def _is_listed_here(param: Any) -> bool:
    return (
        not isinstance(param, TyperArgument) and param.opts[0] not in DECLARED and not param.hidden
    )


def _section(name: str, command: Any, shared: dict[str, Options]) -> str:
    arguments = [param for param in command.params if isinstance(param, TyperArgument)]
    used = {
        panel: [param for param in command.params if _is_in(options, param)]
        for panel, options in shared.items()
    }
    elsewhere = [param for params in used.values() for param in params]
    own = [param for param in command.params if _is_listed_here(param) and param not in elsewhere]
    usage = " ".join(["finegold", name, *map(_usage, arguments), "[OPTIONS]"])
    words = re.sub(r"\[bold\](.+?)\[/bold\]", r"`\1`", inspect.cleandoc(command.help or ""))
    rows = "".join(map(_row, [*arguments, *own]))
    panels = {param.rich_help_panel for param in command.params}
    links = [", ".join(f"`{param.opts[0]}`" for param in used[GENERAL])]
    links += [
        f"[{panel.lower()}](#{_anchor(panel)})"
        for panel, params in used.items()
        if params and panel != GENERAL
    ]
    links += ["[reading votes](options.md#reading-votes)"] if panels & READING else []
    links += ["[fitting](options.md#fitting)"] if FIT in panels else []
    also = f"\nAlso: {', '.join(filter(None, links))}.\n" if any(links) else ""
    return (
        f"\n### `finegold {name}`\n\n    {usage}\n\n{words}\n"
        + (f"\n{TABLE}{rows}" if rows else "")
        + also
    )


def _is_in(options: Options, param: Any) -> bool:
    return param.opts[0] in options and options[param.opts[0]][0].help == param.help


def _panel(name: str, options: Options) -> str:
    rows = [
        _row(param, users if len(users) <= FEW < _most(options) else [])
        for param, users in options.values()
    ]
    return f"\n### {name}\n\n{TABLE}{''.join(rows)}"


def _most(options: Options) -> int:
    return max(len(users) for _, users in options.values())


def _usage(param: Any) -> str:
    name = (param.metavar or param.name.upper()).strip("[]") + ("..." if param.nargs != 1 else "")
    return name if param.required else f"[{name}]"


def _row(param: Any, users: list[str] | None = None) -> str:
    names = (
        _usage(param)
        if isinstance(param, TyperArgument)
        else ", ".join([*param.opts, *param.secondary_opts])
    )
    metavar = "" if isinstance(param, TyperArgument) or param.is_flag else f" {param.metavar}"
    words = [param.help or "", *_default(param)]
    words += [f"Only of {', '.join(f'`{name}`' for name in users)}."] if users else []
    return f"| {code_cell(names + metavar)} | {_cell(' '.join(words))} |\n"


def _default(param: Any) -> list[str]:
    value = getattr(param.default, "value", param.default)
    if param.required and not isinstance(param, TyperArgument):
        return ["Required."]
    says_it = re.search(r"by default", param.help or "", re.IGNORECASE)
    return (
        []
        if value is None
        or isinstance(value, bool)
        or says_it
        or not isinstance(value, int | float | str)
        else [f"Default: {value}."]
    )


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def code_cell(text: str) -> str:
    """Code in a table, in which | needs an entity: backquotes would show a backslash on the site."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{_cell(text)}`"


def _anchor(panel: str) -> str:
    return panel.lower().replace(" ", "-")


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "reference" / "cli.md").write_text(
        page(), encoding="utf-8"
    )
