"""Options for text files that are not plain UTF-8 with a header in the first line."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Encoding", "HeaderLine", "NoHeader", "Separator"]

PANEL = "Text files"

Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="The encoding of a text file that is not UTF-8, e.g. latin-1 or cp1252.",
        rich_help_panel=PANEL,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="CHARACTER",
        help="The character between the columns of a text file, or tab, if it is not found.",
        rich_help_panel=PANEL,
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The columns have no names: name them by number, e.g. --task 1 --annotator 2 --label 3.",
        rich_help_panel=PANEL,
    ),
]
HeaderLine = Annotated[
    int,
    typer.Option(
        "--header-line",
        metavar="N",
        min=1,
        help="The line with the names of the columns, if a title is above it.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
