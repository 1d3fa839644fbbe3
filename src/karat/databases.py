"""PostgreSQL, SQLite and DuckDB through ADBC: votes come as Arrow batches, labels go in bulk, memory stays small.

Passwords: what is shown of an address is `Database.name`, and every message of a driver passes through `_scrubbed`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from karat.errors import InputError, KaratError

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["Database", "Session", "connect", "is_database", "parse", "quoted", "table_parts"]

KINDS = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite", "duckdb": "duckdb"}
FOREIGN = ("mysql", "mariadb", "mssql", "oracle", "snowflake", "bigquery", "clickhouse", "mongodb")
SHAPES = "postgresql://USER@HOST/DATABASE, sqlite:///FILE and duckdb:///FILE"
ADDRESS = re.compile(r"(\w+)(?:\+\w+)?://(.*)", re.DOTALL)  # postgresql+psycopg:// is SQLAlchemy's way to write it
NAME = re.compile(r'"(?:[^"]|"")+"|[^."]+')

SECONDS = 10  # to wait for a server, or for somebody else who is writing
MOST_ROWS = 2**18  # in a batch
FETCHED = 2**16  # rows at a time of a PostgreSQL cursor

REMEDIES = {  # by what drivers say
    "password authentication failed|no password supplied": "check the user and the password; PGPASSWORD and "
    "~/.pgpass are read too, and keep the password out of the address",
    "refused|timeout expired|could not translate|No such file|not known|unreachable": "check that the server runs "
    "there and the address is right",
    "read-only|readonly|permission denied|Permission denied": "ask for the permission, or name another place",
    "lock on file|database is locked": "another program is using the file; try again when it is done",
    "not a database|not a valid DuckDB": "check the file, and whether it is sqlite:/// or duckdb:///",
    "does not exist|no such table|no such column|not found": "check the name, its schema and its capitals",
}


@dataclass(frozen=True)
class Database:
    """Which database this is."""

    kind: str
    name: str  # for people: without user, password and options
    place: str = field(repr=False)  # for the driver: an address, or the path of a file
    secrets: tuple[str, ...] = field(repr=False)

    @property
    def is_file(self) -> bool:
        return self.kind != "postgresql"


def is_database(votes: object) -> bool:
    """Whether this is an address such as postgresql://..."""
    if isinstance(votes, list | tuple) and len(votes) == 1:
        votes = votes[0]
    found = ADDRESS.match(votes) if isinstance(votes, str) else None
    return found is not None and found[1].lower() in [*KINDS, *FOREIGN]


def parse(address: Any) -> Database:
    """The database that is meant."""
    found = ADDRESS.match(address) if isinstance(address, str) else None
    kind = KINDS.get(found[1].lower(), "") if found else ""
    if not found or not kind:
        scheme = found[1] + "://" if found else repr(address)
        raise InputError(
            f"{scheme} is no database that Karat knows; it knows {SHAPES}. From any other, write the votes "
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
    """votes -> [votes], work.votes -> [work, votes]; a name with a point in it stands in double quotes."""
    parts = NAME.findall(text)
    if ".".join(parts) != text or len(parts) > 2:
        raise InputError(f"{text!r} is no name of a table; expected NAME or SCHEMA.NAME")
    return [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts]


def quoted(*names: str) -> str:
    """Names as identifiers of SQL, whatever is in them."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


class Session:
    """One transaction in a database. Every error of the driver becomes one of ours."""

    def __init__(self, database: Database, connection: Any, failure: type[KaratError]) -> None:
        self.database, self._connection, self._failure = database, connection, failure

    def run(self, sql: str, values: Sequence[Any] = ()) -> None:
        with self._cursor() as cursor:
            cursor.execute(sql, values or None)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    def schema(self, sql: str, values: Sequence[Any] = ()) -> pa.Schema:
        """The columns of a query that gives no rows."""
        with self._cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetch_record_batch().schema

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[pl.DataFrame]:
        """The rows of a query, batch by batch.

        ADBC's PostgreSQL driver streams what has no parameters; of a query with parameters it would take all rows
        at once, were it not for a cursor.
        """
        if self.database.kind == "postgresql" and values:
            self.run(f"DECLARE karat NO SCROLL CURSOR FOR {sql}", values)
            yield from _gathered(self._fetched())
            return
        with self._cursor() as cursor:
            if self.database.kind == "sqlite":
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(FETCHED)})
            cursor.execute(sql, values or None)
            yield from _gathered(cursor.fetch_record_batch())

    def ingest(self, table: str, batches: pa.RecordBatchReader) -> None:
        """A new temporary table of these rows, in bulk."""
        with self._cursor() as cursor:
            cursor.adbc_ingest(table, batches, mode="create", temporary=True)

    def commit(self) -> None:
        with _explained(self.database, self._failure):
            self._connection.commit()

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        with _explained(self.database, self._failure), closing(self._connection.cursor()) as cursor:
            yield cursor

    def _fetched(self) -> Iterator[pa.RecordBatch]:
        while True:
            with self._cursor() as cursor:
                cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})  # FETCH is no SELECT
                cursor.execute(f"FETCH {FETCHED} FROM karat")
                table = cursor.fetch_arrow_table()
            if not table.num_rows:
                return
            yield from table.to_batches()


@contextmanager
def connect(database: Database, *, read_only: bool, failure: type[KaratError] = InputError) -> Iterator[Session]:
    """A session that is rolled back at the end, but for what was committed."""
    if database.is_file and read_only and not Path(database.place).is_file():
        raise failure(f"there is no file {database.place}; check the path (three slashes before a relative one)")
    with _explained(database, failure):
        connection = _connection(database, read_only)
    with closing(connection):
        session = Session(database, connection, failure)
        if database.kind == "postgresql" and read_only:
            session.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if database.kind == "sqlite":
            session.rows(f"PRAGMA busy_timeout = {SECONDS * 1000}")
        yield session


def _connection(database: Database, read_only: bool) -> Any:
    if database.kind == "postgresql":
        return _driver("adbc_driver_postgresql.dbapi").connect(database.place)
    if database.kind == "sqlite":
        mode = "ro" if read_only else "rwc"
        return _driver("adbc_driver_sqlite.dbapi").connect(f"{Path(database.place).absolute().as_uri()}?mode={mode}")
    return _driver("adbc_driver_manager.dbapi").connect(
        driver=_driver("adbc_driver_duckdb").driver_path(),
        entrypoint="duckdb_adbc_init",
        db_kwargs={"path": database.place, "access_mode": "READ_ONLY" if read_only else "READ_WRITE"},
    )


def _driver(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        missing = module.partition(".")[0]
        raise InputError(f"databases need {missing}; install it with: pip install 'karat[databases]'") from None


@contextmanager
def _explained(database: Database, failure: type[KaratError]) -> Iterator[None]:
    """What the driver says in one sentence. Its own error may hold the address, so it is not passed on."""
    errors = _driver("adbc_driver_manager").Error, _driver("pyarrow").ArrowException
    try:
        yield
    except (*errors, OSError) as error:  # what goes wrong in the midst of a stream comes as an OSError
        if isinstance(error, KaratError):
            raise
        said = _scrubbed(_said(str(error)), database)
        remedy = next((remedy for words, remedy in REMEDIES.items() if re.search(words, said)), "")
        raise failure(f"{database.name}: {said}" + (f"; {remedy}" if remedy else "")) from None


def _said(message: str) -> str:
    """The database's own words among those of the driver, and its hint."""
    message = re.sub(r"^[A-Z_]+: (\[\w+\] )?(Failed to (connect|(prepare|execute|step) query): )?", "", message)
    own = re.search(r"(?:ERROR|FATAL): +([^\n]+)", message)  # PostgreSQL
    hint = re.search(r"HINT: +([^\n]+)|^(Did you mean [^\n]+|Candidate bindings[^\n]+)", message, re.MULTILINE)
    said = (own[1] if own else message.strip().partition("\n")[0]).rstrip(".!")
    return said + (f" ({(hint[1] or hint[2]).rstrip('.')})" if hint else "")


def _scrubbed(said: str, database: Database) -> str:
    for secret in database.secrets:
        said = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", said)
    return said


def _secrets(address: str, rest: str) -> tuple[str, ...]:
    """Whatever could be a password or a part of one, longest first, as it is written and as it is meant."""
    user = rest.rpartition("@")[0]
    password = user.partition(":")[2]
    found = {address, rest, user, password, *re.split("[/:@?#]", password), *re.findall(r"password=([^&]*)", rest)}
    return tuple(sorted({text for secret in found for text in (secret, unquote(secret)) if text}, key=len)[::-1])


def _with_limit(rest: str) -> str:
    """libpq would wait for a silent server for ever."""
    if "connect_timeout=" in rest or "PGCONNECT_TIMEOUT" in os.environ:
        return rest
    return f"{rest}{'&' if '?' in rest else '?'}connect_timeout={SECONDS}"


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
    """DuckDB gives 2,048 rows at a time, too few to be worked on one by one."""
    import polars as pl
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(len(part) for part in waiting) >= MOST_ROWS:
            yield pl.DataFrame(pa.Table.from_batches(waiting))
            waiting = []
    if waiting:
        yield pl.DataFrame(pa.Table.from_batches(waiting))
