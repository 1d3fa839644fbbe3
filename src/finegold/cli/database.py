"""Options for reading votes from a database and writing labels to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from finegold.errors import InputError
from finegold.io.databases import is_database, parse, table_parts

if TYPE_CHECKING:
    from finegold.api.result import Result

__all__ = ["Destination", "Param", "Query", "Table", "ToDatabase", "ToTable", "destination", "parameters"]

DATABASES_PANEL = "Databases"

Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        metavar="SQL",
        help="The query that returns the votes, e.g. 'SELECT task, annotator, label FROM votes'.",
        rich_help_panel=DATABASES_PANEL,
    ),
]
Table = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="The table that holds the votes.", rich_help_panel=DATABASES_PANEL),
]
Param = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="The value of :NAME in --query. Can be repeated.",
        rich_help_panel=DATABASES_PANEL,
    ),
]
ToTable = Annotated[
    str | None,
    typer.Option(
        "--to-table",
        metavar="NAME",
        help="Write the labels to this table. Its rows are replaced in one transaction.",
        rich_help_panel=DATABASES_PANEL,
    ),
]
ToDatabase = Annotated[
    str | None,
    typer.Option(
        "--to-database",
        metavar="ADDRESS",
        help="The database of --to-table, by default the one with the votes.",
        rich_help_panel=DATABASES_PANEL,
    ),
]


@dataclass(frozen=True)
class Destination:
    """The database table to write the labels to."""

    address: str
    table: str

    @property
    def name(self) -> str:
        return f"{self.table} in {parse(self.address).name}"

    def check(self) -> None:
        from finegold.io.database_tables import check_database_table

        check_database_table(self.address, self.table)

    def write(self, result: Result, probabilities: bool) -> None:
        result.to_table(self.address, self.table, probabilities=probabilities)


def parameters(given: list[str] | None) -> dict[str, str]:
    """Return the query parameters by name."""
    return dict(_pair(text) for text in given or [])


def destination(files: list[str], source: str | None, table: str | None, address: str | None) -> Destination | None:
    """Return the table for the labels, or None. It must not be the table with the votes."""
    if table is None:
        if address is not None:
            raise InputError("--to-database needs --to-table NAME, the table to write the labels to")
        return None
    if address is None and not is_database(files):
        raise InputError("--to-table needs a database: add --to-database ADDRESS, e.g. sqlite:///labels.db")
    if source is not None and table_parts(source) == table_parts(table) and address in (None, files[0]):
        raise InputError(f"{table} is read here and would be overwritten; name another table")
    return Destination(address or files[0], table)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"--param takes NAME=VALUE, e.g. --param since=2026-11-15, not {text!r}")
    return name.strip().removeprefix(":"), value
