"""SQLite through Python's own module.

ADBC's driver would read four times faster, but it brings a SQLite library of its own. Two libraries in one process do
not see each other's locks, and could damage a file that the user's program has open.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from finegold.errors import FinegoldError
from finegold.io import databases
from finegold.io.databases import Database, quoted
from finegold.io.databases.diagnosis import explained

__all__ = ["SQLiteSession", "opened"]


@contextmanager
def opened(database: Database, read_only: bool, failure: type[FinegoldError]) -> Iterator[SQLiteSession]:
    address = f"{Path(database.place).absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    with explained(database, failure, sqlite3.Error):
        connection = sqlite3.connect(address, uri=True, timeout=databases.SECONDS, isolation_level=None)
    with closing(connection):
        session = SQLiteSession(database, connection, failure)
        session.run("BEGIN" if read_only else "BEGIN IMMEDIATE")
        yield session


class SQLiteSession(databases.Session):
    """A transaction. SQLite has types for values, not for columns, so all columns are read as text."""

    def columns(self, sql: str, values: Any) -> dict[str, pl.DataType]:
        with self._executed(f"SELECT * FROM ({sql}) LIMIT 0", values) as cursor:
            return {column[0]: pl.String() for column in cursor.description}

    def stream(self, sql: str, values: Any) -> Iterator[pl.DataFrame]:
        with self._executed(sql, values) as cursor:
            schema = {column[0]: pl.String() for column in cursor.description}
            while rows := cursor.fetchmany(databases.FETCHED):
                yield pl.DataFrame(rows, schema=schema, orient="row")

    def ingest(self, table: str, pieces: Iterable[pl.DataFrame]) -> list[str]:
        rest = iter(pieces)
        first = next(rest)
        columns = ", ".join(f"{quoted(name)} {_affinity(dtype)}" for name, dtype in first.schema.items())
        self.run(f"CREATE TEMPORARY TABLE {quoted(table)} ({columns})")
        self._insert(table, first)
        for piece in rest:
            self._insert(table, piece)
        return first.columns

    def commit(self) -> None:
        self.run("COMMIT")

    def _insert(self, table: str, piece: pl.DataFrame) -> None:
        marks = ", ".join("?" for _ in piece.columns)
        with explained(self.database, self._failure, sqlite3.Error):
            self._connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", _plain(piece).iter_rows())

    @contextmanager
    def _executed(self, sql: str, values: Any) -> Iterator[sqlite3.Cursor]:
        with explained(self.database, self._failure, sqlite3.Error):
            cursor = self._connection.execute(sql, values)
            with closing(cursor):
                yield cursor


def _affinity(dtype: pl.DataType) -> str:
    if dtype.is_float():
        return "REAL"
    if dtype == pl.Boolean:
        return "BOOLEAN"
    return "INTEGER" if dtype.is_integer() else "TEXT"


def _plain(piece: pl.DataFrame) -> pl.DataFrame:
    """Convert dates and the like to text, as SQLite stores them."""
    others = [name for name, dtype in piece.schema.items() if not (dtype.is_numeric() or dtype == pl.Boolean)]
    return piece.with_columns(pl.col(others).cast(pl.String)) if others else piece
