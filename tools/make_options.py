"""Makes docs/reference/options.md from the declarations of options: python tools/make_options.py"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from make_cli import code_cell

from finegold.api.options import FitOptions
from finegold.cli.options import as_flag
from finegold.io.options import ReadOptions
from finegold.options import Option, options_of

HEAD = """# Options

Each option is declared once and means the same in Python, on the command line and in the studio. What is not given is
found out from the votes.
"""
SECTIONS = {
    "Reading votes": (
        ReadOptions,
        "Keywords of `finegold.read`, `finegold.aggregate` and all functions that read votes; options of all commands "
        "that read votes; in the studio, the form of a file.",
    ),
    "Fitting": (
        FitOptions,
        "Keywords of `finegold.aggregate`; options of all commands that fit a method. [The methods](methods.md) have "
        "settings of their own.",
    ),
}
TABLE = "| Python | command line | studio | |\n|---|---|---|---|\n"
FOOT = (
    "\nThis page is made from `ReadOptions` and `FitOptions` by `python tools/make_options.py`.\n"
)


def page() -> str:
    return HEAD + "".join(_section(title, *about) for title, about in SECTIONS.items()) + FOOT


def _section(title: str, declared: Any, words: str) -> str:
    groups: dict[str, list[str]] = {}
    defaults = {each.name: each.default for each in fields(declared)}
    for name, about in options_of(declared).items():
        groups.setdefault(about.group, []).append(_row(name, about, defaults[name]))
    tables = [
        (f"\n### {group}\n" if group else "") + f"\n{TABLE}{''.join(rows)}"
        for group, rows in groups.items()
    ]
    return f"\n## {title}\n\n{words}\n" + "".join(tables)


def _row(name: str, about: Option, default: Any) -> str:
    flag = as_flag(name, None)[0]
    value = about.metavar or "|".join(about.choices)
    flags = [f"{flag} {value}" if about.kind not in ("flag", "switch") else flag]
    if about.kind == "switch":
        flags.append(as_flag(name, False)[0])
    shown = ", ".join(map(code_cell, flags)) if "cli" in about.surfaces else ""
    words = about.help
    if isinstance(default, str) and "by default" not in words.lower():
        words += f' Default: "{default}".'
    if about.low is not None:
        words += f" From {about.low:g}{'' if about.high is None else f' to {about.high:g}'}."
    cells = (f"`{name}`", shown, "yes" if "studio" in about.surfaces else "", words)
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "reference" / "options.md").write_text(
        page(), encoding="utf-8"
    )
