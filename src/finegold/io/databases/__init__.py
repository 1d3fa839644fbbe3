"""PostgreSQL, SQLite and DuckDB. Votes are read in batches and labels are written in bulk, so memory stays small.

No message shows a password: `Database.name` is what is shown of an address, and messages of drivers pass `diagnosis`.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from finegold.errors import FinegoldError, InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Database", "Session", "connect", "is_database", "parse", "quoted", "table_parts"]

KINDS = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite", "duckdb": "duckdb"}
FOREIGN = ("mysql", "mariadb", "mssql", "oracle", "snowflake", "bigquery", "clickhouse", "mongodb")
SHAPES = "postgresql://USER@HOST/DATABASE, sqlite:///FILE and duckdb:///FILE"
ADDRESS = re.compile(r"(\w+)(?:\+\w+)?://(.*)", re.DOTALL)  # postgresql+psycopg:// is SQLAlchemy's way to write it
NAME = re.compile(r'"(?:[^"]|"")+"|[^."]+')

SECONDS = 10  # to wait for a server, or for another writer
MOST_ROWS = 2**18  # in a batch
FETCHED = 2**16  # rows at a time, where they are asked for one lot after the other


@dataclass(frozen=True)
class Database:
    """The address of a database."""

    kind: str
    name: str  # for people: without user, password and options
    place: str = field(repr=False)  # for the driver: an address, or the path of a file
    secrets: tuple[str, ...] = field(repr=False)

    @property
    def is_file(self) -> bool:
        return self.kind != "postgresql"


class Session(ABC):
    """One transaction in a database. Errors of drivers are raised as errors of Finegold."""

    def __init__(self, database: Database, connection: Any, failure: type[FinegoldError]) -> None:
        self.database, self._connection, self._failure = database, connection, failure

    def run(self, sql: str, values: Any = ()) -> None:
        with self._executed(sql, values):
            pass

    def rows(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        with self._executed(sql, values) as cursor:
            return list(cursor.fetchall())

    @abstractmethod
    def columns(self, sql: str, values: Any) -> dict[str, pl.DataType]:
        """Return the columns of a query and their types: text, if they are neither numbers nor dates."""

    @abstractmethod
    def stream(self, sql: str, values: Any) -> Iterator[pl.DataFrame]:
        """Yield the rows of a query in batches."""

    @abstractmethod
    def ingest(self, table: str, pieces: Iterable[pl.DataFrame]) -> list[str]:
        """Create a temporary table of these rows, and return its columns."""

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def _executed(self, sql: str, values: Any) -> AbstractContextManager[Any]:
        """Execute a query and yield a cursor."""


def is_database(votes: object) -> bool:
    """Return whether this is an address such as postgresql://..."""
    if isinstance(votes, list | tuple) and len(votes) == 1:
        votes = votes[0]
    found = ADDRESS.match(votes) if isinstance(votes, str) else None
    return found is not None and found[1].lower() in [*KINDS, *FOREIGN]


def parse(address: Any) -> Database:
    """Parse the address of a database."""
    found = ADDRESS.match(address) if isinstance(address, str) else None
    kind = KINDS.get(found[1].lower(), "") if found else ""
    if not found or not kind:
        scheme = found[1] + "://" if found else repr(address)
        raise InputError(
            f"{scheme} is no database that Finegold knows; it knows {SHAPES}. From any other, write the votes "
            "to a CSV or Parquet file"
        )
    rest = found[2]
    if kind == "postgresql":
        shown = re.split("[?&#]", rest.rpartition("@")[2])[0]
        return Database(kind, f"postgresql://{shown}", f"postgresql://{_with_limit(rest)}", _secrets(address, rest))
    path = rest.removeprefix("/")
    if not rest.startswith("/") or not path:
        raise InputError(f"{kind}://{rest} names no file; write {kind}:///votes.db, or {kind}:////home/me/votes.db")
    return Database(kind, f"{kind}:///{path}", str(Path(path).expanduser()), ())


def table_parts(text: str) -> list[str]:
    """Split the name of a table: votes -> [votes], work.votes -> [work, votes].

    Names with points need double quotes.
    """
    parts = NAME.findall(text)
    if not parts or ".".join(parts) != text or len(parts) > 2:
        raise InputError(f"{text!r} is no name of a table; expected NAME or SCHEMA.NAME")
    return [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts]


def quoted(*names: str) -> str:
    """Quote names as SQL identifiers."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


@contextmanager
def connect(database: Database, *, read_only: bool, failure: type[FinegoldError] = InputError) -> Iterator[Session]:
    """Open a session. What was not committed is rolled back at the end."""
    if database.is_file and read_only and not Path(database.place).is_file():
        raise failure(f"there is no file {database.place}; check the path (three slashes before a relative one)")
    driver = import_module(f"finegold.io.databases.{'sqlite' if database.kind == 'sqlite' else 'adbc'}")
    with driver.opened(database, read_only, failure) as session:
        yield session


def _secrets(address: str, rest: str) -> tuple[str, ...]:
    """Return whatever could be a password or a part of one, quoted and unquoted, longest first."""
    user = rest.rpartition("@")[0]
    password = user.partition(":")[2]
    found = {address, rest, user, password, *re.split("[/:@?#]", password), *re.findall(r"password=([^&]*)", rest)}
    return tuple(sorted({text for secret in found for text in (secret, unquote(secret)) if text}, key=len)[::-1])


def _with_limit(rest: str) -> str:
    """Add a time limit: libpq would wait for a silent server for ever."""
    if "connect_timeout=" in rest or "PGCONNECT_TIMEOUT" in os.environ:
        return rest
    return f"{rest}{'&' if '?' in rest else '?'}connect_timeout={SECONDS}"
