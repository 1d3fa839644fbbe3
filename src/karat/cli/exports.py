"""Options for exports of annotation tools."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from karat.errors import InputError

__all__ = ["ALL", "Format", "GoldFromExport", "Include", "Question", "gold_of", "selection"]

EXPORTS = "Exports of annotation tools"
ALL = "all"  # questions

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="TOOL",
        help="The tool that wrote FILE, e.g. label-studio, where it is not recognised; table for none.",
        rich_help_panel=EXPORTS,
    ),
]
Question = Annotated[
    str | None,
    typer.Option(
        "--question", metavar="NAME", help="Which one, where FILE asks several questions.", rich_help_panel=EXPORTS
    ),
]
Include = Annotated[
    str | None,
    typer.Option(
        "--include",
        metavar="A,B",
        help="What is left out otherwise, e.g. predictions, rejected.",
        rich_help_panel=EXPORTS,
    ),
]
GoldFromExport = Annotated[
    bool,
    typer.Option("--gold-from-export", help="Take the gold marks in FILE for known truths.", rich_help_panel=EXPORTS),
]


def selection(format: str | None, question: str | None, include: str | None) -> dict[str, Any]:
    """What to read of an export, as `karat.read` calls it."""
    from karat.cli.options import listed

    chosen = {"format": format, "question": question, "include": listed(include)}
    return {name: value for name, value in chosen.items() if value is not None}


def gold_of(gold: str | None, from_export: bool) -> str | bool | None:
    if gold is not None and from_export:
        raise InputError("--gold and --gold-from-export both say where known truths are; leave one of them out")
    return True if from_export else gold
