"""Makes docs/reference/cli.md from the commands: python tools/make_cli.py"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from typer.core import TyperArgument

from finegold.cli.app import PANELS, every_command

HEAD = """# Commands

`finegold COMMAND --help` shows the same on a terminal. `finegold --version` shows the version, and
`finegold --traceback COMMAND ...` the traceback of an error. Commands end with 0 if they succeed, with 2 if the input,
the options or an output are wrong, with 130 after Ctrl-C, and with 1 after any other error. Results go to standard
output, messages to standard error.

`finegold --install-completion` lets the shell complete commands, options, methods and charts.
"""
SHARED = """
## Options of several commands

Commands that read votes or fit a method share these options.
"""
FOOT = "\nThis page is made from the commands by `python tools/make_cli.py`.\n"
TABLE = "| option | |\n|---|---|\n"
Options = dict[str, tuple[Any, list[str]]]  # by name: the option and the commands that have it
FEW = 3  # an option of at most so many commands names them


def page() -> str:
    commands = every_command()
    shared = _shared(commands)
    parts = [
        f"\n## {panel}\n"
        + "".join(_section(name, one, set(shared)) for name, one in commands.items() if name.split()[0] in names)
        for panel, names in PANELS.items()
    ]
    return HEAD + "".join(parts) + SHARED + "".join(_panel(name, options) for name, options in shared.items()) + FOOT


def _section(name: str, command: Any, shared: set[str]) -> str:
    arguments = [param for param in command.params if isinstance(param, TyperArgument)]
    panels = {param.rich_help_panel for param in command.params if param.rich_help_panel in shared}
    own = [param for param in command.params if param.rich_help_panel not in shared and param not in arguments]
    usage = " ".join(["finegold", name, *map(_usage, arguments), "[OPTIONS]"])
    words = re.sub(r"\[bold\](.+?)\[/bold\]", r"`\1`", inspect.cleandoc(command.help or ""))
    rows = "".join(map(_row, [*arguments, *own]))
    links = ", ".join(f"[{panel}](#{_anchor(panel)})" for panel in sorted(panels))
    also = f"\nAlso the options of {links}.\n" if links else ""
    return f"\n### `finegold {name}`\n\n    {usage}\n\n{words}\n" + (f"\n{TABLE}{rows}" if rows else "") + also


def _shared(commands: dict[str, Any]) -> dict[str, Options]:
    """The panels of options that several commands have, with the commands of each option."""
    panels: dict[str, Options] = {}
    for name, command in commands.items():
        for param in command.params:
            if param.rich_help_panel:
                panels.setdefault(param.rich_help_panel, {}).setdefault(param.opts[0], (param, []))[1].append(name)
    return {panel: panels[panel] for panel in sorted(panels) if _most(panels[panel]) > 1}


def _panel(name: str, options: Options) -> str:
    rare = _most(options) > FEW
    rows = [_row(param, users if rare and len(users) <= FEW else []) for param, users in options.values()]
    return f"\n### {name}\n\n{TABLE}{''.join(rows)}"


def _most(options: Options) -> int:
    return max(len(users) for _, users in options.values())


def _usage(param: Any) -> str:
    name = (param.metavar or param.name.upper()).strip("[]") + ("..." if param.nargs != 1 else "")
    return name if param.required else f"[{name}]"


def _row(param: Any, users: list[str] | None = None) -> str:
    names = _usage(param) if isinstance(param, TyperArgument) else ", ".join([*param.opts, *param.secondary_opts])
    metavar = "" if isinstance(param, TyperArgument) or param.is_flag else f" {param.metavar}"
    words = [param.help or "", *_default(param)]
    words += [f"Only of {', '.join(f'`{name}`' for name in users)}."] if users else []
    return f"| `{_cell(names + metavar)}` | {_cell(' '.join(words))} |\n"


def _default(param: Any) -> list[str]:
    value = getattr(param.default, "value", param.default)
    if param.required and not isinstance(param, TyperArgument):
        return ["Required."]
    says_it = re.search(r"by default", param.help or "", re.IGNORECASE)
    return (
        []
        if value is None or isinstance(value, bool) or says_it or not isinstance(value, int | float | str)
        else [f"Default: {value}."]
    )


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def _anchor(panel: str) -> str:
    return panel.lower().replace(" ", "-")


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "reference" / "cli.md").write_text(page(), encoding="utf-8")
