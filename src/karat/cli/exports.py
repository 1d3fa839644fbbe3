"""Options for exports of annotation tools."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from karat.api.result import Result
    from karat.cli.outputs import Write
    from karat.io.readers.source import Source

    Results = dict[str, Result]

__all__ = ["ALL", "Back", "Format", "GoldFromExport", "Include", "Question", "WriteBack"]

EXPORTS = "Exports of annotation tools"
ALL = "all"  # questions

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="TOOL",
        help="The tool that wrote FILE, e.g. label-studio, where it is not recognised; table for none, "
        "transposed for a table with a row per annotator.",
        rich_help_panel=EXPORTS,
    ),
]
Question = Annotated[
    str | None,
    typer.Option(
        "--question",
        metavar="NAME",
        help="Which one, where FILE asks several; aggregate and convert take all.",
        rich_help_panel=EXPORTS,
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
WriteBack = Annotated[
    str | None,
    typer.Option(
        "--write-back",
        metavar="OUT",
        help="FILE with the labels as predictions (Label Studio) or suggestions (Argilla): JSON to import there.",
        rich_help_panel=EXPORTS,
    ),
]


@dataclass(frozen=True)
class Back:
    """The labels on their way back to where the votes come from."""

    output: str | None
    files_read: list[str]
    format: str | None
    question: str | None
    task: str | None

    def check(self) -> None:
        """Before the work: the tool can take labels."""
        if self.output is None:
            return
        from karat.io.readers.exports import look
        from karat.io.writeback import writable

        if "-" in self.files_read:
            raise InputError("--write-back reads FILE twice, which standard input cannot do; give its path")
        writable(look(self.sources), self.format)

    @cached_property
    def sources(self) -> list[Source]:
        """The files to read, which are opened once to see what they are."""
        from karat.io.readers.files import sources_of

        return sources_of(self.files_read)

    @property
    def votes(self) -> Any:
        """What to read the votes from: paths, or sources that were looked at already."""
        return self.files_read if self.output is None else self.sources

    def files(self, result: Result | Results) -> dict[str, Write]:
        """What is to be written where."""
        if self.output is None:
            return {}

        def write(path: Path) -> None:
            from karat.io.writeback import write_back

            question = None if self.question == ALL else self.question
            write_back(result, self.sources, path, format=self.format, question=question, task=self.task)

        return {self.output: write}
