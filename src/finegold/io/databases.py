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

if TYPE_CHECKING:
    from finegold.results.data import ResultData

KINDS = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
}
FOREIGN = ("mysql", "mariadb", "mssql", "oracle", "snowflake", "bigquery", "clickhouse", "mongodb")
SHAPES = "postgresql://USER@HOST/DATABASE, sqlite:///FILE and duckdb:///FILE"
# postgresql+psycopg:// is SQLAlchemy's way to write it
ADDRESS = re.compile(r"(\w+)(?:\+\w+)?://(.*)", re.DOTALL)
NAME_OF_TABLE = re.compile(r'"(?:[^"]|"")+"|[^."]+')
# seconds to wait for a server, or for another writer
MAX_WAIT = 10

LISTS_OF_TABLES = {
    "postgresql": (
        "SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables "
        "WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1"
    ),
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1",
    "duckdb": "SELECT table_name FROM information_schema.tables ORDER BY 1",
}
# what drivers say, and what to do
REMEDIES = {
    "password authentication failed|no password supplied": (
        "check the user and the password; PGPASSWORD and "
        "~/.pgpass are read too, and keep the password out of the address"
    ),
    "refused|timeout expired|could not translate|No such file|not known|unreachable": (
        "check that the server runs there and the address is right"
    ),
    "read-only|readonly|[Pp]ermission denied|unable to open": (
        "ask for the permission, or name another place"
    ),
    "lock on file|database is locked": (
        "another program is using the file; try again when it is done"
    ),
    "not a database|not a valid DuckDB": (
        "check the file, and whether it is sqlite:/// or duckdb:///"
    ),
    "does not exist|no such table|no such column|not found": (
        "check the name, its schema and its capitals"
    ),
}
PREFIX = re.compile(r"^[A-Z_]+: (\[\w+\] )?(Failed to (connect|(prepare|execute|step) query): )?")
POSTGRESQL = re.compile(r"(?:ERROR|FATAL): +([^\n]+)")
HINT = re.compile(r"HINT: +([^\n]+)|^(Did you mean [^\n]+|Candidate bindings[^\n]+)", re.MULTILINE)

# columns of a table of labels
LABELS = {"task", "label", "confidence", "n_votes", "tied"}


# Addresses.


@dataclass(frozen=True)
class Database:
    kind: str
    # for people: without user, password and options
    name: str
    # for the driver: an address, or the path of a file
    target: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

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
    kind = KINDS.get(parts[1].lower(), "") if parts else ""
    if not parts or not kind:
        scheme = parts[1] + "://" if parts else repr(address)
        remedy = "From any other, write the votes to a CSV or Parquet file"
        raise InputError(
            f"{scheme} is not a database that Finegold knows; it knows {SHAPES}. {remedy}"
        )
    rest = parts[2]
    if kind != "postgresql":
        path = rest.removeprefix("/")
        if not rest.startswith("/") or not path:
            raise InputError(
                f"{kind}://{rest} names no file; write {kind}:///votes.db, or {kind}:////home/me/votes.db"
            )
        return Database(kind, f"{kind}:///{path}", str(Path(path).expanduser()), ())
    shown = re.split("[?&#]", rest.rpartition("@")[2])[0]
    target = f"postgresql://{rest}"
    if "connect_timeout=" not in rest and "PGCONNECT_TIMEOUT" not in os.environ:
        # libpq would wait for a silent server for ever.
        target += f"{'&' if '?' in rest else '?'}connect_timeout={MAX_WAIT}"
    # Whatever could be a password or a part of one, quoted and unquoted, longest first.
    user = rest.rpartition("@")[0]
    password = user.partition(":")[2]
    secrets = {
        address,
        rest,
        user,
        password,
        *re.split("[/:@?#]", password),
        *re.findall(r"password=([^&]*)", rest),
    }
    texts = {text for secret in secrets for text in (secret, unquote(secret)) if text}
    return Database(
        kind, f"postgresql://{shown}", target, tuple(sorted(texts, key=len, reverse=True))
    )


def quoted_table(text: str) -> str:
    """Quote the name of a table: work.votes -> "work"."votes". Quotes in it protect a point."""
    parts = NAME_OF_TABLE.findall(text)
    if not parts or ".".join(parts) != text or len(parts) > 2:
        raise InputError(f"{text!r} is not the name of a table; expected NAME or SCHEMA.NAME")
    return ".".join(part if part.startswith('"') else f'"{part}"' for part in parts)


# Connections.


@contextmanager
def connect(
    database: Database, failure: type[FinegoldError], *, read_only: bool = True
) -> Iterator[Any]:
    """Open a connection, whose errors become a sentence with a remedy. Nothing is committed."""
    path = Path(database.target).absolute()
    if database.is_file and read_only and not path.is_file():
        where = "check the path (three slashes before a relative one)"
        raise failure(f"there is no file {database.target}; {where}")
    try:
        with closing(_open(database, path, read_only)) as connection:
            yield connection
    except FinegoldError:
        raise
    except Exception as error:
        # drivers raise what they like, and the original may hold the address
        raise failure(f"{database.name}: {_in_words(database, error)}") from None


def _open(database: Database, path: Path, read_only: bool) -> Any:
    if database.kind == "sqlite":
        # Not by ADBC, which brings a SQLite library of its own: two of them in one process do not
        # see each other's locks, and could damage a file that the user's program has open.
        mode = "ro" if read_only else "rwc"
        return sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=MAX_WAIT)
    try:
        driver = "duckdb" if database.is_file else "adbc_driver_postgresql.dbapi"
        import_module("pyarrow")
        module = import_module(driver)
    except ImportError as error:
        missing = f"databases need {error.name or driver}"
        install = "install it with: pip install 'finegold[databases]'"
        raise InputError(f"{missing}; {install}") from None
    if database.is_file:
        return module.connect(str(path), read_only=read_only)
    connection = module.connect(database.target)
    if read_only:
        with closing(connection.cursor()) as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
    return connection


def _in_words(database: Database, error: Exception) -> str:
    message = PREFIX.sub("", str(error))
    # what the database says within the driver's
    own, hint = POSTGRESQL.search(message), HINT.search(message)
    text = (own[1] if own else message.strip().partition("\n")[0]).rstrip(".!")
    text += f" ({(hint[1] or hint[2]).rstrip('.')})" if hint else ""
    for secret in database.secrets:
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    remedies = (remedy for words, remedy in REMEDIES.items() if re.search(words, text))
    return f"{text}; {remedy}" if (remedy := next(remedies, "")) else text


# Votes.


def read_query(address: Any, query: str | None) -> tuple[str, pl.DataFrame]:
    """Return the name of a database and the rows of a query. No query can change the database."""
    if isinstance(address, list | tuple):
        if len(address) != 1:
            raise InputError("a database is read alone; leave out the other files, or the query")
        address = address[0]
    database = parse(address)
    with connect(database, InputError) as connection:
        if query is None:
            tables = pl.read_database(LISTS_OF_TABLES[database.kind], connection).to_series()
            more = f" and {len(tables) - 10:,} more" if len(tables) > 10 else ""
            names = f"it has {', '.join(tables[:10])}{more}"
            raise InputError(
                "nothing says what to read from the database;"
                f" {names if len(tables) else 'it has no table yet'}",
                database.name,
                [use(query=Placeholder(f'"SELECT * FROM {(*tables, "NAME")[0]}"'))],
            )
        query = query.strip().rstrip(";")
        if database.kind == "postgresql":
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
            quoted = '"' + name.replace('"', '""') + '"'
            is_plain = any(getattr(pa.types, f"is_{kind}")(dtype) for kind in kinds)
            columns.append(quoted if is_plain else f"CAST({quoted} AS TEXT) AS {quoted}")
    return f"SELECT {', '.join(columns)} FROM (\n{query}\n) AS votes"


# Labels.


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
    database = parse(address)
    is_new = database.is_file and not Path(database.target).exists()
    try:
        with connect(database, OutputError, read_only=False) as connection:
            _replace_table(connection, database.kind, table, frame)
    except BaseException:
        # the driver made a file
        if is_new:
            Path(database.target).unlink(missing_ok=True)
        raise


def _replace_table(connection: Any, kind: str, table: str, frame: pl.DataFrame) -> None:
    name = quoted_table(table)
    if kind == "postgresql":
        frame.write_database(table, connection, engine="adbc", if_table_exists="replace")
    elif kind == "duckdb":
        connection.register("labels_of_finegold", frame)
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM labels_of_finegold")
    else:
        columns = ", ".join('"' + column.replace('"', '""') + '"' for column in frame.columns)
        marks = ", ".join("?" * frame.width)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", frame.iter_rows())
        connection.commit()


def check_table_of_labels(address: str, table: str) -> None:
    """Refuse a table that holds something else than labels."""
    database, name = parse(address), quoted_table(table)
    if database.is_file and not Path(database.target).exists():
        if not Path(database.target).parent.is_dir():
            raise OutputError(f"{database.name}: there is no folder for it; create it first")
        return
    with connect(database, OutputError) as connection, closing(connection.cursor()) as cursor:
        columns = LABELS
        # there is no such table yet
        with suppress(Exception):
            cursor.execute(f"SELECT * FROM {name} LIMIT 0")
            columns = {column[0] for column in cursor.description}
    if lost := sorted(LABELS - columns):
        problem = f"the table {table} has no column {', '.join(lost)}, so it holds no labels"
        raise OutputError(f"{database.name}: {problem}; name another, or drop it first")
