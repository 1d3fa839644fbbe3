"""Options for exports of annotation tools."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from finegold.api.result import Result
    from finegold.cli.outputs import Write
    from finegold.io.source import Source

    Results = dict[str, Result]

__all__ = ["ALL", "Format", "GoldFromExport", "Include", "Question", "WriteBack", "WriteBackOptions"]

EXPORTS_PANEL = "Exports of annotation tools"
ALL = "all"  # the value of --question that selects all questions

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="TOOL",
        help="The tool that wrote FILE, e.g. label-studio, if it is not recognised. Use table for a plain table, "
        "transposed for a table with one row per annotator.",
        rich_help_panel=EXPORTS_PANEL,
    ),
]
Question = Annotated[
    str | None,
    typer.Option(
        "--question",
        metavar="NAME",
        help="The question to read, if FILE has several. aggregate and convert also accept all.",
        rich_help_panel=EXPORTS_PANEL,
    ),
]
Include = Annotated[
    str | None,
    typer.Option(
        "--include",
        metavar="A,B",
        help="Also read votes that are left out by default, e.g. predictions, rejected.",
        rich_help_panel=EXPORTS_PANEL,
    ),
]
GoldFromExport = Annotated[
    bool,
    typer.Option(
        "--gold-from-export",
        help="Use the annotations that FILE marks as gold as known truths.",
        rich_help_panel=EXPORTS_PANEL,
    ),
]
WriteBack = Annotated[
    str | None,
    typer.Option(
        "--write-back",
        metavar="OUT",
        help="Write FILE with the labels as predictions (Label Studio) or suggestions (Argilla), "
        "as JSON to import into the tool.",
        rich_help_panel=EXPORTS_PANEL,
    ),
]


@dataclass(frozen=True)
class WriteBackOptions:
    """The options of --write-back, which writes labels into a copy of the export that the votes come from."""

    output: str | None
    files_read: list[str]
    format: str | None
    question: str | None
    task: str | None

    def check(self) -> None:
        """Check before the fit that the format of the export can hold labels."""
        if self.output is None:
            return
        from finegold.io.exports import look
        from finegold.io.writeback import writable

        if "-" in self.files_read:
            raise InputError("--write-back reads FILE twice, which standard input cannot do; give its path")
        writable(look(self.sources), self.format)

    @cached_property
    def sources(self) -> list[Source]:
        """The files to read. Each is opened only once to detect its format."""
        from finegold.io.source import sources_of

        return sources_of(self.files_read)

    @property
    def votes(self) -> Any:
        """The paths to read the votes from, or the sources if they were opened already."""
        return self.files_read if self.output is None else self.sources

    def files(self, result: Result | Results) -> dict[str, Write]:
        """Return the function that writes each output file."""
        if self.output is None:
            return {}

        def write(path: Path) -> None:
            from finegold.io.writeback import write_back

            question = None if self.question == ALL else self.question
            write_back(result, self.sources, path, format=self.format, question=question, task=self.task)

        return {self.output: write}
