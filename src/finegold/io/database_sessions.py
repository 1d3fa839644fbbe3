"""Sessions: one transaction in a database. Rows are read in batches and written in bulk, so memory stays small.

SQLite is read through Python's own module. ADBC's driver would read four times faster, but it brings a SQLite library
of its own. Two libraries in one process do not see each other's locks, and could damage a file that the user's program
has open. PostgreSQL and DuckDB are read through ADBC, which transfers rows as Arrow.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from finegold.errors import FinegoldError, InputError
from finegold.io import databases
from finegold.io.databases import Database, quoted

MOST_ROWS = 2**18  # in a batch
FETCHED = 2**16  # rows at a time, where they are asked for one lot after the other


BEGIN = {  # by the kind of database, and whether it is only read
    ("sqlite", True): "BEGIN",
    ("sqlite", False): "BEGIN IMMEDIATE",
    ("postgresql", True): "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
}


@contextmanager
def connect(database: Database, *, read_only: bool, failure: type[FinegoldError] = InputError) -> Iterator[Session]:
    """Open a session. What was not committed is rolled back at the end."""
    if database.is_file and read_only and not Path(database.target).is_file():
        raise failure(f"there is no file {database.target}; check the path (three slashes before a relative one)")
    session = (Session if database.kind == "sqlite" else ArrowSession)(database, read_only, failure)
    with closing(session.connection):
        if (database.kind, read_only) in BEGIN:
            session.run(BEGIN[database.kind, read_only])
        yield session


class Session:
    """One transaction in SQLite, which has types for values and not for columns, so all columns are read as text.

    Errors of drivers are raised as errors of Finegold.
    """

    no_values: Any = ()  # what the driver takes for no parameters

    def __init__(self, database: Database, read_only: bool, failure: type[FinegoldError]) -> None:
        self.database, self.failure = database, failure
        with self.own_errors():
            self.connection = self.open(read_only)

    def open(self, read_only: bool) -> Any:
        address = f"{Path(self.database.target).absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
        return sqlite3.connect(address, uri=True, timeout=databases.SECONDS, isolation_level=None)

    def errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    def run(self, sql: str, values: Any = ()) -> None:
        with self.execute(sql, values):
            pass

    def rows(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        with self.execute(sql, values) as cursor:
            return list(cursor.fetchall())

    def commit(self) -> None:
        with self.own_errors():
            self.connection.commit()

    @contextmanager
    def execute(self, sql: str, values: Any) -> Iterator[Any]:
        with self.cursor() as cursor:
            cursor.execute(sql, values or self.no_values)
            yield cursor

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        with self.own_errors(), closing(self.connection.cursor()) as cursor:
            yield cursor

    @contextmanager
    def own_errors(self) -> Iterator[None]:
        """Raise errors of the driver as a sentence with a remedy, without the original, which may hold the address."""
        try:
            yield
        except self.errors() as error:
            if isinstance(error, FinegoldError):
                raise
            message = PREFIX.sub("", str(error))
            own, hint = POSTGRESQL.search(message), HINT.search(message)  # what the database says within the driver's
            said = (own[1] if own else message.strip().partition("\n")[0]).rstrip(".!")
            said += f" ({(hint[1] or hint[2]).rstrip('.')})" if hint else ""
            for secret in self.database.secrets:
                said = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", said)
            remedy = next((f"; {remedy}" for words, remedy in REMEDIES.items() if re.search(words, said)), "")
            raise self.failure(f"{self.database.name}: {said}{remedy}") from None

    def columns(self, sql: str, values: Any) -> dict[str, pl.DataType]:
        """Return the columns of a query and their types: text, if they are neither numbers nor dates."""
        with self.execute(f"SELECT * FROM ({sql}) LIMIT 0", values) as cursor:
            return {column[0]: pl.String() for column in cursor.description}

    def stream(self, sql: str, values: Any) -> Iterator[pl.DataFrame]:
        """Yield the rows of a query in batches."""
        with self.execute(sql, values) as cursor:
            schema = {column[0]: pl.String() for column in cursor.description}
            while rows := cursor.fetchmany(FETCHED):
                yield pl.DataFrame(rows, schema=schema, orient="row")

    def ingest(self, table: str, pieces: Iterable[pl.DataFrame]) -> list[str]:
        """Create a temporary table of these rows, and return its columns."""
        columns: list[str] = []
        for piece in pieces:
            if not columns:
                columns = piece.columns
                kinds = [(cs.float(), "REAL"), (cs.boolean(), "BOOLEAN"), (cs.integer(), "INTEGER")]
                known = {name: kind for which, kind in kinds for name in piece.select(which).columns}
                types = ", ".join(f"{quoted(name)} {known.get(name, 'TEXT')}" for name in columns)
                self.run(f"CREATE TEMPORARY TABLE {quoted(table)} ({types})")
            rows = piece.with_columns((~(cs.numeric() | cs.boolean())).cast(pl.String)).iter_rows()
            with self.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' for _ in columns)})", rows)
        return columns


class ArrowSession(Session):
    """One transaction in PostgreSQL or DuckDB, through ADBC."""

    no_values = None

    def errors(self) -> tuple[type[Exception], ...]:  # inside a stream they are OSError or errors of Arrow
        return _driver("adbc_driver_manager").Error, _driver("pyarrow").ArrowException, OSError

    def open(self, read_only: bool) -> Any:
        self.errors()  # which says what has to be installed
        if self.database.kind == "postgresql":
            return _driver("adbc_driver_postgresql.dbapi").connect(self.database.target)
        return _driver("adbc_driver_manager.dbapi").connect(
            driver=_driver("adbc_driver_duckdb").driver_path(),
            entrypoint="duckdb_adbc_init",
            db_kwargs={"path": self.database.target, "access_mode": "READ_ONLY" if read_only else "READ_WRITE"},
        )

    def columns(self, sql: str, values: Any) -> dict[str, pl.DataType]:
        import pyarrow as pa

        with self.execute(f"SELECT * FROM ({sql}) AS all_of_it LIMIT 0", values) as cursor:
            schema = cursor.fetch_record_batch().schema
        if repeated := [name for name in schema.names if schema.names.count(name) > 1]:
            problem = f'the query has more than one column "{repeated[0]}"; name them apart with AS'
            raise InputError(problem, self.database.name)
        is_kept = (
            pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_date, pa.types.is_timestamp,
        )  # fmt: skip
        return {
            column.name: pl.Series(pa.array([], column.type)).dtype
            if any(is_one(column.type) for is_one in is_kept)
            else pl.String()
            for column in schema
        }

    def stream(self, sql: str, values: Any) -> Iterator[pl.DataFrame]:
        """Yield rows. The driver streams PostgreSQL queries without parameters only, so others use a cursor."""
        if self.database.kind == "postgresql" and values:
            self.run(f"DECLARE finegold NO SCROLL CURSOR FOR {sql}", values)
            yield from _join_batches(self._fetch())
            return
        with self.execute(sql, values) as cursor:
            yield from _join_batches(cursor.fetch_record_batch())

    def _fetch(self) -> Iterator[Any]:
        while True:
            with self.cursor() as cursor:
                # FETCH is not a SELECT, so that COPY cannot be used.
                cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
                cursor.execute(f"FETCH {FETCHED} FROM finegold")
                table = cursor.fetch_arrow_table()
            if not table.num_rows:
                return
            yield from table.to_batches()

    def ingest(self, table: str, pieces: Iterable[pl.DataFrame]) -> list[str]:
        """Send the pieces in types that every database has. Each is made when the one before was sent."""
        import pyarrow as pa

        as_text = cs.by_dtype(pl.Categorical, pl.Enum, pl.Null, pl.Object)
        rest = (piece.with_columns(as_text.cast(pl.String), cs.unsigned_integer().cast(pl.Int64)) for piece in pieces)
        first = next(rest)
        batches = (
            batch for piece in chain([first], rest) for batch in piece.cast(first.schema).to_arrow().to_batches()
        )
        reader = pa.RecordBatchReader.from_batches(first.to_arrow().schema, batches)
        with self.cursor() as cursor:
            cursor.adbc_ingest(table, reader, mode="create", temporary=True)
        return list(first.columns)


def _driver(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        missing = module.partition(".")[0]
        raise InputError(f"databases need {missing}; install it with: pip install 'finegold[databases]'") from None


def _join_batches(batches: Iterable[Any]) -> Iterator[pl.DataFrame]:
    """Join batches: DuckDB returns 2,048 rows at a time, too few to process efficiently."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= MOST_ROWS:
            yield pl.DataFrame(pa.Table.from_batches(waiting))
            waiting = []
    if waiting:
        yield pl.DataFrame(pa.Table.from_batches(waiting))


# What drivers say, and what to do.

REMEDIES = {
    "password authentication failed|no password supplied": "check the user and the password; PGPASSWORD and "
    "~/.pgpass are read too, and keep the password out of the address",
    "refused|timeout expired|could not translate|No such file|not known|unreachable": "check that the server runs "
    "there and the address is right",
    "read-only|readonly|[Pp]ermission denied|unable to open": "ask for the permission, or name another place",
    "lock on file|database is locked": "another program is using the file; try again when it is done",
    "not a database|not a valid DuckDB": "check the file, and whether it is sqlite:/// or duckdb:///",
    "does not exist|no such table|no such column|not found": "check the name, its schema and its capitals",
}
PREFIX = re.compile(r"^[A-Z_]+: (\[\w+\] )?(Failed to (connect|(prepare|execute|step) query): )?")
POSTGRESQL = re.compile(r"(?:ERROR|FATAL): +([^\n]+)")
HINT = re.compile(r"HINT: +([^\n]+)|^(Did you mean [^\n]+|Candidate bindings[^\n]+)", re.MULTILINE)
