"""Options for votes from databases and labels into them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from karat.errors import InputError
from karat.io.databases import is_database, parse, table_parts

if TYPE_CHECKING:
    from karat.api.result import Result

__all__ = ["Destination", "Param", "Query", "Table", "ToDatabase", "ToTable", "destination", "parameters"]

DATABASES = "Databases"

Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        metavar="SQL",
        help="The votes of a database, e.g. 'SELECT task, annotator, label FROM votes'.",
        rich_help_panel=DATABASES,
    ),
]
Table = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="The table that holds the votes.", rich_help_panel=DATABASES),
]
Param = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="The value of :NAME in --query. Can be repeated.",
        rich_help_panel=DATABASES,
    ),
]
ToTable = Annotated[
    str | None,
    typer.Option(
        "--to-table",
        metavar="NAME",
        help="Labels into this table, whose rows are replaced in one transaction.",
        rich_help_panel=DATABASES,
    ),
]
ToDatabase = Annotated[
    str | None,
    typer.Option(
        "--to-database",
        metavar="ADDRESS",
        help="The database of --to-table, if it is not that of the votes.",
        rich_help_panel=DATABASES,
    ),
]


@dataclass(frozen=True)
class Destination:
    """The table that takes the labels."""

    address: str
    table: str

    @property
    def name(self) -> str:
        return f"{self.table} in {parse(self.address).name}"

    def check(self) -> None:
        from karat.io.writers.database import check_database_table

        check_database_table(self.address, self.table)

    def write(self, result: Result, probabilities: bool) -> None:
        result.to_table(self.address, self.table, probabilities=probabilities)


def parameters(given: list[str] | None) -> dict[str, str]:
    """The values of the parameters of a query."""
    return dict(_pair(text) for text in given or [])


def destination(files: list[str], source: str | None, table: str | None, address: str | None) -> Destination | None:
    """Where the labels go, if a table is asked for; never into the table that the votes are read from."""
    if table is None:
        if address is not None:
            raise InputError("--to-database needs --to-table NAME, to know which table the labels are for")
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
