"""Votes from databases, and labels into them. A session is one transaction; rows are read in
batches, written in bulk.

SQLite is read through Python's own module. ADBC's driver would read four times faster, but it
brings a SQLite library of its own. Two libraries in one process do not see each other's locks, and
could damage a file that the user's program has open. PostgreSQL and DuckDB are read through ADBC,
which transfers rows as Arrow.
"""

from __future__ import annotations

import datetime
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from finegold.errors import FinegoldError, InputError, OutputError, Placeholder, Remedy, use
from finegold.io import databases
from finegold.io.databases import Database, parse, quoted, table_parts
from finegold.io.source import Source
from finegold.io.tables import Table, without_headers
from finegold.system.files import check_writable

if TYPE_CHECKING:
    from finegold.results.data import ResultData

# in a batch
MOST_ROWS = 2**18
# rows at a time, where they are asked for one lot after the other
FETCHED = 2**16
# by the kind of database, and whether it is only read
BEGIN = {
    ("sqlite", True): "BEGIN",
    ("sqlite", False): "BEGIN IMMEDIATE",
    ("postgresql", True): "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
}


@contextmanager
def connect(
    database: Database, *, read_only: bool, failure: type[FinegoldError] = InputError
) -> Iterator[Session]:
    """Open a session. What was not committed is rolled back at the end."""
    if database.is_file and read_only and not Path(database.target).is_file():
        raise failure(
            f"there is no file {database.target}; check the path (three slashes before a relative"
            " one)"
        )
    session = (Session if database.kind == "sqlite" else ArrowSession)(database, read_only, failure)
    with closing(session.connection):
        if (database.kind, read_only) in BEGIN:
            session.run(BEGIN[database.kind, read_only])
        yield session


class Session:
    """One transaction in SQLite, which has types for values and not for columns, so all columns are
    read as text.
    """

    # what the driver takes for no parameters
    no_values: Any = ()

    def __init__(self, database: Database, read_only: bool, failure: type[FinegoldError]) -> None:
        self.database, self.failure = database, failure
        with self.own_errors():
            self.connection = self.open(read_only)

    def open(self, read_only: bool) -> Any:
        address = (
            f"{Path(self.database.target).absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
        )
        return sqlite3.connect(address, uri=True, timeout=databases.SECONDS, isolation_level=None)

    def errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    def run(self, sql: str, values: Any = ()) -> None:
        with self.cursor(sql, values):
            pass

    def rows(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        with self.cursor(sql, values) as cursor:
            return list(cursor.fetchall())

    @contextmanager
    def cursor(self, sql: str = "", values: Any = ()) -> Iterator[Any]:
        """Yield a cursor, which has executed the statement if one is given."""
        with self.own_errors(), closing(self.connection.cursor()) as cursor:
            if sql:
                cursor.execute(sql, values or self.no_values)
            yield cursor

    @contextmanager
    def own_errors(self) -> Iterator[None]:
        """Raise errors of the driver as a sentence with a remedy, without the original, which may
        hold the address.
        """
        try:
            yield
        except self.errors() as error:
            if isinstance(error, FinegoldError):
                raise
            message = PREFIX.sub("", str(error))
            # what the database says within the driver's
            own, hint = POSTGRESQL.search(message), HINT.search(message)
            text = (own[1] if own else message.strip().partition("\n")[0]).rstrip(".!")
            text += f" ({(hint[1] or hint[2]).rstrip('.')})" if hint else ""
            for secret in self.database.secrets:
                text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
            remedy = next(
                (f"; {remedy}" for words, remedy in REMEDIES.items() if re.search(words, text)), ""
            )
            raise self.failure(f"{self.database.name}: {text}{remedy}") from None

    def columns(self, sql: str, values: Any) -> dict[str, pl.DataType]:
        """Return the columns of a query and their types: text, if they are neither numbers nor
        dates.
        """
        with self.cursor(f"SELECT * FROM ({sql}) LIMIT 0", values) as cursor:
            return {column[0]: pl.String() for column in cursor.description}

    def stream(self, sql: str, values: Any) -> Iterator[pl.DataFrame]:
        """Yield the rows of a query in batches."""
        with self.cursor(sql, values) as cursor:
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
                known = {
                    name: kind for which, kind in kinds for name in piece.select(which).columns
                }
                types = ", ".join(f"{quoted(name)} {known.get(name, 'TEXT')}" for name in columns)
                self.run(f"CREATE TEMPORARY TABLE {quoted(table)} ({types})")
            rows = piece.with_columns((~(cs.numeric() | cs.boolean())).cast(pl.String)).iter_rows()
            with self.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' for _ in columns)})", rows
                )
        return columns


class ArrowSession(Session):
    """One transaction in PostgreSQL or DuckDB, through ADBC."""

    no_values = None

    # inside a stream they are OSError or errors of Arrow
    def errors(self) -> tuple[type[Exception], ...]:
        return _driver("adbc_driver_manager").Error, _driver("pyarrow").ArrowException, OSError

    def open(self, read_only: bool) -> Any:
        # which says what has to be installed
        self.errors()
        if self.database.kind == "postgresql":
            return _driver("adbc_driver_postgresql.dbapi").connect(self.database.target)
        return _driver("adbc_driver_manager.dbapi").connect(
            driver=_driver("adbc_driver_duckdb").driver_path(),
            entrypoint="duckdb_adbc_init",
            db_kwargs={
                "path": self.database.target,
                "access_mode": "READ_ONLY" if read_only else "READ_WRITE",
            },
        )

    def columns(self, sql: str, values: Any) -> dict[str, pl.DataType]:
        import pyarrow as pa

        with self.cursor(f"SELECT * FROM ({sql}) AS all_of_it LIMIT 0", values) as cursor:
            schema = cursor.fetch_record_batch().schema
        if repeated := [name for name in schema.names if schema.names.count(name) > 1]:
            problem = f'the query has more than one column "{repeated[0]}"; name them apart with AS'
            raise InputError(problem, self.database.name)
        is_kept = [
            getattr(pa.types, f"is_{kind}")
            for kind in ("integer", "floating", "boolean", "date", "timestamp")
        ]
        kept = {
            column.name: column.type
            for column in schema
            if any(is_one(column.type) for is_one in is_kept)
        }
        empty = {name: pl.Series(pa.array([], dtype)) for name, dtype in kept.items()}
        return {name: empty[name].dtype if name in empty else pl.String() for name in schema.names}

    def stream(self, sql: str, values: Any) -> Iterator[pl.DataFrame]:
        """Yield rows. DuckDB returns 2,048 at a time, too few to process efficiently, so batches
        are joined.
        """
        import pyarrow as pa

        waiting: list[Any] = []
        for batch in chain(self._batches(sql, values), [None]):
            waiting += [] if batch is None else [batch]
            if waiting and (batch is None or sum(map(len, waiting)) >= MOST_ROWS):
                yield pl.DataFrame(pa.Table.from_batches(waiting))
                waiting = []

    def _batches(self, sql: str, values: Any) -> Iterator[Any]:
        """Yield rows as the driver does, which streams PostgreSQL queries without parameters only."""
        if self.database.kind != "postgresql" or not values:
            with self.cursor(sql, values) as cursor:
                yield from cursor.fetch_record_batch()
            return
        self.run(f"DECLARE finegold NO SCROLL CURSOR FOR {sql}", values)
        n_rows = 1
        while n_rows:
            with self.cursor() as cursor:
                # FETCH is not a SELECT, so that COPY cannot be used.
                cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
                cursor.execute(f"FETCH {FETCHED} FROM finegold")
                table = cursor.fetch_arrow_table()
            n_rows = table.num_rows
            yield from table.to_batches()

    def ingest(self, table: str, pieces: Iterable[pl.DataFrame]) -> list[str]:
        """Send the pieces in types that every database has. Each is made when the one before was
        sent.
        """
        import pyarrow as pa

        as_text = cs.by_dtype(pl.Categorical, pl.Enum, pl.Null, pl.Object)
        rest = (
            piece.with_columns(as_text.cast(pl.String), cs.unsigned_integer().cast(pl.Int64))
            for piece in pieces
        )
        first = next(rest)
        batches = (
            batch
            for piece in chain([first], rest)
            for batch in piece.cast(first.schema).to_arrow().to_batches()
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
        raise InputError(
            f"databases need {missing}; install it with: pip install 'finegold[databases]'"
        ) from None


# What drivers say, and what to do.

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


# Votes from a database.

# What is not searched for parameters: strings, quoted names, comments and casts (::).
PARAMETER = re.compile(
    r"""[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | (\$\w*\$).*?\1 | ::
    | (?<!\w):(?P<name>[A-Za-z_]\w*)""",
    re.VERBOSE | re.DOTALL,
)
LISTS = {
    "postgresql": (
        "SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables "
        "WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1"
    ),
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1",
    "duckdb": "SELECT table_name FROM information_schema.tables ORDER BY 1",
}
KINDS_OF_VALUES = str | int | float | bool | datetime.date | datetime.datetime | None


def parameters_of(sql: str) -> list[str]:
    """Return the names of the parameters, whose values are bound and never inserted as text."""
    return list(dict.fromkeys(part["name"] for part in PARAMETER.finditer(sql) if part["name"]))


def with_marks(sql: str, mark: Callable[[int], str]) -> str:
    """Return the query with mark(number) instead of each :name; numbers begin with one."""
    names = parameters_of(sql)
    return PARAMETER.sub(
        lambda part: mark(names.index(part["name"]) + 1) if part["name"] else part[0], sql
    )


@dataclass(frozen=True, kw_only=True)
class Selected(Table):
    """An opened query: its columns are known, and its rows are fetched on demand."""

    database: Database
    sql: str
    params: Mapping[str, Any]

    def _batches(self, schema: pl.Schema) -> Iterator[tuple[int, pl.DataFrame, int]]:
        with connect(self.database, read_only=True) as session:
            sql, values = _bind(session, self.sql, self.params)
            # text if it is neither a number nor a date
            known = self.scans[0].collect_schema()
            names = {quoted(name): known[name] == pl.String for name in schema}
            columns = ", ".join(
                f"CAST({name} AS TEXT) AS {name}" if cast else name for name, cast in names.items()
            )
            for batch in session.stream(f"SELECT {columns} FROM (\n{sql}\n) AS votes", values):
                batch = batch.cast(schema)
                yield 0, *(without_headers(batch) if self.is_text else (batch, 0))


def open_database(
    address: Any, query: str | None, table: str | None, params: Mapping[str, Any] | None
) -> Selected:
    """Find the columns of a query or a table."""
    if isinstance(address, list | tuple):
        if len(address) != 1:
            raise InputError(
                "a database is read alone; leave out the other files, or the query and the table"
            )
        address = address[0]
    database = parse(address)
    with connect(database, read_only=True) as session:
        if query is not None and table is not None:
            raise InputError("give a query or a table, not both", database.name)
        if query is None and table is None:
            tables = [row[0] for row in session.rows(LISTS[database.kind])]
            more = f" and {len(tables) - 10:,} more" if len(tables) > 10 else ""
            holds = f"it has {', '.join(tables[:10])}{more}" if tables else "it has no table yet"
            remedies = [use(query=Placeholder("SELECT ...")), use(table=Placeholder("NAME"))]
            remedies.append(
                Remedy(text="where neither is an option, read what convert makes of it")
            )
            raise InputError(
                f"nothing says what to read from the database; {holds}", database.name, remedies
            )
        sql = (
            query.strip().rstrip(";")
            if query is not None
            else f"SELECT * FROM {quoted(*table_parts(str(table)))}"
        )
        params, names = params or {}, parameters_of(sql)
        if lost := [name for name in names if name not in params]:
            remedy = use(params=Placeholder(f"{lost[0]}=VALUE"))
            raise InputError(f"the query has :{lost[0]} but no value for it", remedies=[remedy])
        if unused := [name for name in params if name not in names]:
            known = ", ".join(f":{name}" for name in names) or "none"
            raise InputError(f"the query has no :{unused[0]}; it has {known}")
        for name, value in params.items():
            if not isinstance(value, KINDS_OF_VALUES):
                kind = type(value).__name__
                raise InputError(
                    f":{name} is a {kind}; expected text, a number, a truth value or a date"
                )
        bound, values = _bind(session, sql, params)
        columns = session.columns(f"\n{bound}\n", values)
    source, scans = Source(database.name, b"", "database"), [pl.LazyFrame(schema=columns)]
    # whose columns have no types
    is_text = database.kind == "sqlite"
    asked: dict[str, Any] = {"database": database, "sql": sql, "params": params}
    return Selected(columns=list(columns), sources=[source], scans=scans, is_text=is_text, **asked)


def _bind(session: Session, sql: str, params: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the query with the placeholders of the database, and the values to bind to them."""
    if session.database.kind == "sqlite":
        dates = {
            name: value.isoformat()
            for name, value in params.items()
            if isinstance(value, datetime.date)
        }
        return sql, {**params, **dates}
    marked, values = (
        with_marks(sql, lambda number: f"${number}"),
        [params[name] for name in parameters_of(sql)],
    )
    if session.database.kind == "duckdb" or not values:
        return marked, values
    # PostgreSQL reports which types the query expects, and each value is sent as text: 2026-11-15
    # may be a date.
    session.run(f"PREPARE finegold_types AS {marked}")
    types = session.rows(
        "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'finegold_types'"
    )
    # a pool may reuse this connection
    session.run("DEALLOCATE finegold_types")
    texts = [None if value is None else str(value) for value in values]
    return with_marks(sql, lambda number: f"CAST(${number} AS {types[0][0][number - 1]})"), texts


# schemas of one connection only
PASSING = {"sqlite": r"temp", "duckdb": r"temp", "postgresql": r"pg_temp.*"}
LABELS = ("task", "label", "confidence", "n_votes", "tied")
# name and type of each column of a table; nothing where it is not there
COLUMNS = {
    "postgresql": (
        "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute "
        "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped"
    ),
    "sqlite": "SELECT name, type FROM pragma_table_info(?, ?)",
    "duckdb": (
        "SELECT column_name, data_type FROM duckdb_columns() "
        "WHERE table_name = $1 AND schema_name = coalesce($2, current_schema())"
    ),
}


def write_labels_to_table(
    result: ResultData, address: str, table: str, *, probabilities: bool = False
) -> None:
    """Write the table of `Result.labels` into a table of a database.

    Args:
        result (Result): The labels.
        address: postgresql://..., sqlite:///FILE or duckdb:///FILE.
        table: The table. The rows of an existing table are replaced in one transaction.
        probabilities: Add a column per class with its probability.

    Raises:
        OutputError: If the table cannot be written. Its old rows are then unchanged.
    """
    from finegold.results.tables import labels_pieces

    _replace(labels_pieces(result, probabilities=probabilities), address, table)


def write_frame_to_table(frame: Any, address: str, table: str) -> None:
    """Write a data frame of any library into a table of a database.

    Args:
        frame (DataFrame): The rows.
        address: postgresql://..., sqlite:///FILE or duckdb:///FILE.
        table: The table. The rows of an existing table are replaced in one transaction.

    Raises:
        OutputError: If the table cannot be written. Its old rows are then unchanged.
    """
    from finegold.votes.frames import to_polars

    _replace([to_polars(frame)], address, table)


def check_database_table(address: str, table: str) -> None:
    """Refuse, before the long work, a table that cannot be written. Leave nothing behind."""
    database, parts = parse(address), table_parts(table)
    if database.is_file and not Path(database.target).exists() and database.target != ":memory:":
        check_writable(database.target)
        return
    with connect(database, read_only=False, failure=OutputError) as session:
        _refuse_passing(session, parts)
        if _columns_of(session, parts, LABELS):
            session.run(f"DELETE FROM {quoted(*parts)} WHERE 1 = 0")
        else:
            # not committed
            session.run(f"CREATE TABLE {quoted(*parts)} (task TEXT)")


def _refuse_passing(session: Session, parts: list[str]) -> None:
    """Refuse a table in memory, which would be lost when the connection closes."""
    database = session.database
    if len(parts) == 2 and re.fullmatch(PASSING[database.kind], parts[0], re.IGNORECASE):
        raise OutputError(
            f"{database.name}: nothing is kept in the schema {parts[0]}; name another"
        )
    where = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    if database.kind == "duckdb" and session.rows(where)[0][0] is None:
        raise OutputError(
            f"{database.name} is not a database file, so nothing would be kept there; name another"
        )


def _columns_of(session: Session, parts: list[str], wanted: Sequence[str]) -> dict[str, str]:
    """Return the types of the columns of a table, if there is one, which must have the columns that
    Finegold writes.
    """
    kind = session.database.kind
    schema = parts[0] if len(parts) == 2 else {"sqlite": "main"}.get(kind)
    columns = dict(
        session.rows(
            COLUMNS[kind], [quoted(*parts)] if kind == "postgresql" else [parts[-1], schema]
        )
    )
    if columns and (lost := [name for name in wanted if name not in columns]):
        problem = (
            f"the table {'.'.join(parts)} is there but has no column {', '.join(lost)}, so that it"
            " is not"
        )
        raise OutputError(
            f"{session.database.name}: {problem} replaced; name another, or drop it first"
        )
    return columns


def _replace(pieces: Iterable[pl.DataFrame], address: str, table: str) -> None:
    database, parts = parse(address), table_parts(table)
    is_new = database.is_file and not Path(database.target).exists()
    try:
        with connect(database, read_only=False, failure=OutputError) as session:
            _refuse_passing(session, parts)
            # a table of this name in the database would be hidden by it
            stage = f"finegold_{secrets.token_hex(8)}"
            names = session.ingest(stage, (_storable(piece, database) for piece in pieces))
            target, columns = quoted(*parts), _columns_of(session, parts, names)
            if not columns:
                session.run(f"CREATE TABLE {target} AS SELECT * FROM {stage}")
            else:
                if database.kind == "postgresql":
                    # Two of us at once would each delete what they see, and add their rows to the
                    # other's. Readers do not wait.
                    session.run(f"LOCK TABLE {target} IN SHARE ROW EXCLUSIVE MODE")
                session.run(f"DELETE FROM {target}")
                written = values = ", ".join(quoted(name) for name in names)
                # which has no types to cast to
                if database.kind != "sqlite":
                    values = ", ".join(
                        f"CAST({quoted(name)} AS {columns[name] or 'TEXT'})" for name in names
                    )
                session.run(f"INSERT INTO {target} ({written}) SELECT {values} FROM {stage}")
            session.run(f"DROP TABLE {stage}")
            with session.own_errors():
                session.connection.commit()
    except BaseException:
        # the driver made a file
        if is_new:
            Path(database.target).unlink(missing_ok=True)
        raise


def _storable(piece: pl.DataFrame, database: Database) -> pl.DataFrame:
    """Return 64-bit integers and names without NUL: drivers crash on others, or round them."""
    if odd := next((name for name in piece.columns if "\0" in name), None):
        problem = (
            f"{database.name}: the class {odd!r} has a NUL character, which no column's name may"
            " have"
        )
        raise OutputError(f"{problem}; rename the class, or leave out the probabilities")
    wide = [
        name
        for name, dtype in piece.schema.items()
        if str(dtype) in ("UInt64", "Int128", "UInt128")
    ]
    for name in wide:
        ends: list[Any] = [piece.get_column(name).min() or 0, piece.get_column(name).max() or 0]
        if not -(2**63) <= ends[0] <= ends[1] < 2**63:
            problem = (
                f"column {name} holds {max(ends, key=abs)}, but integers of databases end at"
                " 2^63 - 1"
            )
            remedy = "make the ids text, or write a file such as labels.parquet"
            raise OutputError(f"{database.name}: {problem}; {remedy}")
    return piece.cast({name: pl.Int64() for name in wide})
