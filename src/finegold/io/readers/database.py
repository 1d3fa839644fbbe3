"""Votes from a database: the rows of a query or a table, in batches.

The user's query is a subquery of Finegold's, so that only the columns that are needed are transferred. Every connection
is read-only.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from finegold.errors import InputError
from finegold.io.databases import Database, Session, connect, parse, quoted, table_parts
from finegold.io.readers.source import Source
from finegold.io.readers.table import Opened

__all__ = ["open_database"]

# What is not searched for parameters: strings, quoted names, comments and casts (::).
PARAMETER = re.compile(
    r"""[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | (\$\w*\$).*?\1 | ::
    | (?<!\w):(?P<name>[A-Za-z_]\w*)""",
    re.VERBOSE | re.DOTALL,
)
LISTS = {
    "postgresql": "SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables "
    "WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1",
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1",
    "duckdb": "SELECT table_name FROM information_schema.tables ORDER BY 1",
}
KINDS_OF_VALUES = str | int | float | bool | datetime.date | datetime.datetime | None


@dataclass(frozen=True)
class Query:
    """A query of the user and the values of its parameters, which are bound and never inserted as text."""

    sql: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The parameters, in the order of their first use."""
        return list(dict.fromkeys(found["name"] for found in PARAMETER.finditer(self.sql) if found["name"]))

    def written(self, mark: Callable[[int], str]) -> str:
        """Return the query with mark(number) instead of each :name; numbers begin with one."""
        names = self.names
        return PARAMETER.sub(
            lambda found: mark(names.index(found["name"]) + 1) if found["name"] else found[0], self.sql
        )

    def values(self) -> list[Any]:
        return [self.params[name] for name in self.names]


@dataclass(frozen=True, kw_only=True)
class Selected(Opened):
    """An opened query: its columns are known, and its rows are fetched on demand."""

    database: Database
    query: Query

    @property
    def is_text(self) -> bool:
        """Whether columns are read as text: SQLite's columns have no types."""
        return self.database.kind == "sqlite"

    def _batches(self, schema: pl.Schema) -> Iterator[tuple[int, pl.DataFrame]]:
        with connect(self.database, read_only=True) as session:
            written, values = _bound(session, self.query)
            known = self.scans[0].collect_schema()
            columns = ", ".join(self._expression(name, known[name]) for name in schema)
            for batch in session.stream(f"SELECT {columns} FROM (\n{written}\n) AS votes", values):
                yield 0, batch.cast(schema)

    def _expression(self, name: str, dtype: pl.DataType) -> str:
        """Return a column, cast to text if it is neither a number nor a date."""
        column = quoted(name)
        return f"CAST({column} AS TEXT) AS {column}" if dtype == pl.String else column


def open_database(address: Any, query: str | None, table: str | None, params: Mapping[str, Any] | None) -> Selected:
    """Find the columns of a query or a table."""
    database = parse(_the_only(address))
    with connect(database, read_only=True) as session:
        wanted = _wanted(session, query, table, params or {})
        written, values = _bound(session, wanted)
        columns = session.columns(f"\n{written}\n", values)
    return Selected(
        columns=list(columns),
        sources=[Source(database.name, b"", "database")],
        scans=[pl.LazyFrame(schema=columns)],
        database=database,
        query=wanted,
    )


def _the_only(address: Any) -> Any:
    if not isinstance(address, list | tuple):
        return address
    if len(address) != 1:
        raise InputError("a database is read alone; leave out the other files, or --query and --table")
    return address[0]


def _wanted(session: Session, query: str | None, table: str | None, params: Mapping[str, Any]) -> Query:
    name = session.database.name
    if query is not None and table is not None:
        raise InputError(f"{name}: give --query or --table, not both")
    if query is None and table is None:
        raise InputError(
            f'{name}: say what to read with --query "SELECT ..." or --table NAME (query= or table= in Python; commands '
            f"without these options take what finegold convert makes of it); {_tables(session)}"
        )
    sql = query.strip().rstrip(";") if query is not None else f"SELECT * FROM {quoted(*table_parts(str(table)))}"
    wanted = Query(sql, params)
    _check_parameters(wanted)
    return wanted


def _check_parameters(query: Query) -> None:
    names = query.names
    if lost := [name for name in names if name not in query.params]:
        raise InputError(
            f"the query has :{lost[0]} but no value for it; add --param {lost[0]}=VALUE (params= in Python)"
        )
    if unused := [name for name in query.params if name not in names]:
        raise InputError(f"the query has no :{unused[0]}; it has {', '.join(f':{name}' for name in names) or 'none'}")
    for name, value in query.params.items():
        if not isinstance(value, KINDS_OF_VALUES):
            raise InputError(f":{name} is a {type(value).__name__}; expected text, a number, a truth value or a date")


def _tables(session: Session) -> str:
    names = [row[0] for row in session.rows(LISTS[session.database.kind])]
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    return f"it has {', '.join(names[:10])}{more}" if names else "it has no table yet"


def _bound(session: Session, query: Query) -> tuple[str, Any]:
    """Return the query with the placeholders of the database, and the values to bind to them.

    PostgreSQL needs the type of each parameter. It reports which type the query expects, and each value is sent as
    text. So a date may be written as 2026-11-15, and 7 works as a number and as a text.
    """
    if session.database.kind == "sqlite":
        dates = {name: value.isoformat() for name, value in query.params.items() if isinstance(value, datetime.date)}
        return query.sql, {**query.params, **dates}
    marked, values = query.written(lambda number: f"${number}"), query.values()
    if session.database.kind == "duckdb" or not values:
        return marked, values
    session.run(f"PREPARE finegold_types AS {marked}")
    found = session.rows("SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'finegold_types'")
    session.run("DEALLOCATE finegold_types")  # a pool may reuse this connection
    types: list[str] = found[0][0]
    return query.written(lambda number: f"CAST(${number} AS {types[number - 1]})"), [
        _as_text(value) for value in values
    ]


def _as_text(value: Any) -> str | None:
    return None if value is None else str(value)
