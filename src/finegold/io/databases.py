"""Votes from PostgreSQL, SQLite and DuckDB, and labels into them, through Polars.

No message shows a password: `Database.name` is what is shown of an address, and messages of drivers
are scrubbed.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import polars as pl

from finegold.errors import FinegoldError, InputError, OutputError, Placeholder, use
from finegold.votes.encoding import listed

if TYPE_CHECKING:
    from finegold.results.data import ResultData

KINDS = {"postgres": "postgresql"} | {name: name for name in ("postgresql", "sqlite", "duckdb")}
FOREIGN = ("mysql", "mariadb", "mssql", "oracle", "snowflake", "bigquery", "clickhouse", "mongodb")
SHAPES = "postgresql://USER@HOST/DATABASE, sqlite:///FILE and duckdb:///FILE"
# postgresql+psycopg:// is SQLAlchemy's way to write it
ADDRESS = re.compile(r"(\w+)(?:\+\w+)?://(.*)", re.DOTALL)
# seconds to wait for a server, or for another writer
MAX_WAIT = 10
# what drivers say, and what to do
REMEDIES = {
    "password authentication failed|no password": "check the user and the password",
    "refused|timeout expired|could not translate|No such file|not known|unreachable": (
        "check that the server runs there and the address is right"
    ),
    "read-?only|[Pp]ermission denied|unable to open": "ask for the permission",
    "lock on file|database is locked": "another program is using the file; try again later",
    "not a database|not a valid DuckDB": "check the file, and whether it is SQLite or DuckDB",
    "does not exist|no such|not found": "check the name, its schema and its capitals",
}
_SCHEMA = (
    "FROM information_schema.tables WHERE table_schema NOT IN ('information_schema', 'pg_catalog')"
)
LISTS_OF_TABLES = {
    "postgresql": f"SELECT format('%I.%I', table_schema, table_name) {_SCHEMA} ORDER BY 1",
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1",
    "duckdb": f"SELECT table_name {_SCHEMA} ORDER BY 1",
}
# columns of a table of labels
LABELS = {"task", "label", "confidence", "n_votes", "tied"}


@dataclass(frozen=True)
class Database:
    kind: str
    # for people: without user, password and options
    name: str
    # for the driver: an address, or the path of a file
    target: str = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_file(self) -> bool:
        return self.kind != "postgresql"


def is_database(votes: object) -> bool:
    """Return whether this is an address such as postgresql://..."""
    if isinstance(votes, list | tuple) and len(votes) == 1:
        votes = votes[0]
    address = ADDRESS.match(votes) if isinstance(votes, str) else None
    return address is not None and address[1].lower() in [*KINDS, *FOREIGN]


def parse(address: Any) -> Database:
    parts = ADDRESS.match(address) if isinstance(address, str) else None
    if not parts or parts[1].lower() not in KINDS:
        scheme = parts[1] + "://" if parts else repr(address)
        problem = f"{scheme} is not a database that Finegold knows; it knows {SHAPES}"
        raise InputError(f"{problem}. From any other, write the votes to a CSV or Parquet file")
    kind, rest = KINDS[parts[1].lower()], parts[2]
    if kind != "postgresql":
        path = rest[1:]
        if rest[:1] != "/" or not path:
            raise InputError(f"{kind}://{rest} names no file; write {kind}:///votes.db")
        return Database(kind, f"{kind}:///{path}", str(Path(path).expanduser()))
    user, _, place = rest.rpartition("@")
    target = f"postgresql://{rest}"
    if "connect_timeout=" not in rest and "PGCONNECT_TIMEOUT" not in os.environ:
        # libpq would wait for a silent server for ever.
        target += f"{'&' if '?' in rest else '?'}connect_timeout={MAX_WAIT}"
    # whatever could be a password or a part of one, quoted and unquoted, longest first
    password = user.partition(":")[2]
    secrets = [address, rest, user, password, *re.split("[/:@?#]", password)]
    secrets += re.findall(r"password=([^&]*)", rest)
    texts = {text for secret in secrets for text in (secret, unquote(secret)) if text}
    shown = "postgresql://" + re.split("[?&#]", place)[0]
    return Database(kind, shown, target, tuple(sorted(texts, key=len, reverse=True)))


@contextmanager
def connect(
    database: Database, failure: type[FinegoldError], is_read: bool = True
) -> Iterator[Any]:
    """Open a connection, whose errors become a sentence with a remedy. Nothing is committed."""
    path = Path(database.target).absolute()
    if database.is_file and is_read and not path.is_file():
        where = "check the path (three slashes before a relative one)"
        raise failure(f"there is no file {database.target}; {where}")
    try:
        with closing(_open(database, path, is_read)) as connection:
            yield connection
    except FinegoldError:
        raise
    except Exception as error:
        # drivers raise what they like, and the original may hold the address
        own = re.search(r"(?:ERROR|FATAL): +([^\n]+)", str(error))
        text = (own[1] if own else str(error).strip().partition("\n")[0]).rstrip(".!")
        for secret in database.secrets:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
        remedies = (f"; {each}" for words, each in REMEDIES.items() if re.search(words, text))
        raise failure(f"{database.name}: {text}{next(remedies, '')}") from None


def _open(database: Database, path: Path, is_read: bool) -> Any:
    if database.kind == "sqlite":
        # Not by ADBC, which brings a SQLite library of its own: two of them in one process do not
        # see each other's locks, and could damage a file that the user's program has open.
        mode = "ro" if is_read else "rwc"
        return sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=MAX_WAIT)
    driver = "duckdb" if database.is_file else "adbc_driver_postgresql.dbapi"
    try:
        import_module("pyarrow")
        module = import_module(driver)
    except ImportError as error:
        install = "install it with: pip install 'finegold[databases]'"
        raise InputError(f"databases need {error.name or driver}; {install}") from None
    if database.is_file:
        return module.connect(str(path), read_only=is_read)
    connection = module.connect(database.target)
    if is_read:
        with closing(connection.cursor()) as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
    return connection


def read_query(address: Any, query: str | None) -> tuple[str, pl.DataFrame]:
    """Return the name of a database and the rows of a query. No query can change the database."""
    if isinstance(address, list | tuple):
        if len(address) != 1:
            raise InputError("a database is read alone; leave out the other files, or the query")
        address = address[0]
    database = parse(address)
    with connect(database, InputError) as connection:
        query = "" if query is None else query.strip().rstrip(";")
        # a single word, such as the name of a table, is no query
        if len(query.split()) < 2:
            tables = pl.read_database(LISTS_OF_TABLES[database.kind], connection).to_series()
            what = (
                f"{query!r} is not a query"
                if query
                else "nothing says what to read from the database"
            )
            has = f"its tables are {listed(tables, 10)}" if len(tables) else "it has no table yet"
            name = query if query in tables else [*tables, "NAME"][0]
            remedy = use(query=Placeholder(f'"SELECT * FROM {name}"'))
            raise InputError(f"{what}; {has}", database.name, [remedy])
        if not database.is_file:
            query = _as_plain_types(connection, query)
        return database.name, pl.read_database(query, connection, infer_schema_length=None)


def _as_plain_types(connection: Any, query: str) -> str:
    """Return the query with text for all but numbers, truth values and dates, such as uuid."""
    import pyarrow as pa

    kinds = ("integer", "floating", "boolean", "date", "timestamp")
    with closing(connection.cursor()) as cursor:
        cursor.execute(f"SELECT * FROM (\n{query}\n) AS votes LIMIT 0")
        columns = []
        for name, dtype, *_ in cursor.description:
            quoted = _quoted(name)
            is_plain = any(getattr(pa.types, f"is_{kind}")(dtype) for kind in kinds)
            columns.append(quoted if is_plain else f"CAST({quoted} AS TEXT) AS {quoted}")
    return f"SELECT {', '.join(columns)} FROM (\n{query}\n) AS votes"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def write_labels_to_table(
    result: ResultData, address: str, table: str, *, probabilities: bool = False
) -> None:
    """Write the table of `Result.labels` into a table of a database.

    Args:
        result (Result): The labels.
        address: postgresql://..., sqlite:///FILE or duckdb:///FILE.
        table: The table. An existing table of labels is replaced.
        probabilities: Add a column per class with its probability.

    Raises:
        OutputError: If the table cannot be written. An old one is then unchanged.
    """
    from finegold.results.tables import labels_pieces

    check_table_of_labels(address, table)
    frame = pl.concat(labels_pieces(result, probabilities=probabilities))
    database, name = parse(address), _name_of_table(table)
    with connect(database, OutputError, is_read=False) as connection:
        if database.kind == "postgresql":
            frame.write_database(table, connection, engine="adbc", if_table_exists="replace")
        elif database.kind == "duckdb":
            connection.register("labels_of_finegold", frame)
            connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM labels_of_finegold")
        else:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            connection.execute(f"CREATE TABLE {name} ({', '.join(map(_quoted, frame.columns))})")
            marks = ", ".join("?" * frame.width)
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", frame.iter_rows())
            connection.commit()


def check_table_of_labels(address: str, table: str) -> None:
    """Refuse a table that holds something else than labels."""
    database, name = parse(address), _name_of_table(table)
    if database.is_file and not Path(database.target).exists():
        if not Path(database.target).parent.is_dir():
            raise OutputError(f"{database.name}: there is no folder for it; create it first")
        return
    columns = LABELS
    # an error is that there is no such table yet
    with connect(database, OutputError) as connection, suppress(Exception):
        cursor = connection.cursor()
        cursor.execute(f"SELECT * FROM {name} LIMIT 0")
        columns = {column[0] for column in cursor.description}
    if lost := sorted(LABELS - columns):
        problem = f"the table {table} has no column {', '.join(lost)}, so it holds no labels"
        raise OutputError(f"{database.name}: {problem}; name another, or drop it first")


def _name_of_table(table: str) -> str:
    """Return the name of a table in quotes: work.votes -> "work"."votes"."""
    if not re.fullmatch(r'[^."]+(\.[^."]+)?', table):
        raise InputError(f"{table!r} is not the name of a table; expected NAME or SCHEMA.NAME")
    return ".".join(map(_quoted, table.split(".")))
