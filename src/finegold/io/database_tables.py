"""Votes from databases, and labels into them."""

from __future__ import annotations

import datetime
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from finegold.errors import InputError, OutputError, Placeholder, Remedy, use
from finegold.io.database_sessions import Session, connect
from finegold.io.databases import Database, parse, quoted, table_parts
from finegold.io.source import Source
from finegold.io.tables import Table
from finegold.system.files import check_writable

if TYPE_CHECKING:
    from finegold.results.data import ResultData

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

    def with_marks(self, mark: Callable[[int], str]) -> str:
        """Return the query with mark(number) instead of each :name; numbers begin with one."""
        names = self.names
        return PARAMETER.sub(lambda part: mark(names.index(part["name"]) + 1) if part["name"] else part[0], self.sql)


@dataclass(frozen=True, kw_only=True)
class Selected(Table):
    """An opened query: its columns are known, and its rows are fetched on demand."""

    database: Database
    query: Query

    @property
    def is_text(self) -> bool:  # SQLite's columns have no types
        return self.database.kind == "sqlite"

    def _batches(self, schema: pl.Schema) -> Iterator[tuple[int, pl.DataFrame]]:
        with connect(self.database, read_only=True) as session:
            sql, values = _bind(session, self.query)
            known = self.scans[0].collect_schema()  # text if it is neither a number nor a date
            names = {quoted(name): known[name] == pl.String for name in schema}
            columns = ", ".join(f"CAST({name} AS TEXT) AS {name}" if cast else name for name, cast in names.items())
            for batch in session.stream(f"SELECT {columns} FROM (\n{sql}\n) AS votes", values):
                yield 0, batch.cast(schema)


def open_database(address: Any, query: str | None, table: str | None, params: Mapping[str, Any] | None) -> Selected:
    """Find the columns of a query or a table."""
    if isinstance(address, list | tuple):
        if len(address) != 1:
            raise InputError("a database is read alone; leave out the other files, or the query and the table")
        address = address[0]
    database = parse(address)
    with connect(database, read_only=True) as session:
        if query is not None and table is not None:
            raise InputError("give a query or a table, not both", database.name)
        if query is None and table is None:
            names = [row[0] for row in session.rows(LISTS[database.kind])]
            more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
            holds = f"it has {', '.join(names[:10])}{more}" if names else "it has no table yet"
            remedies = [use(query=Placeholder("SELECT ...")), use(table=Placeholder("NAME"))]
            remedies.append(Remedy(text="where neither is an option, read what convert makes of it"))
            raise InputError(f"nothing says what to read from the database; {holds}", database.name, remedies)
        sql = query.strip().rstrip(";") if query is not None else f"SELECT * FROM {quoted(*table_parts(str(table)))}"
        wanted = Query(sql, params or {})
        if lost := [name for name in wanted.names if name not in wanted.params]:
            remedy = use(params=Placeholder(f"{lost[0]}=VALUE"))
            raise InputError(f"the query has :{lost[0]} but no value for it", remedies=[remedy])
        if unused := [name for name in wanted.params if name not in wanted.names]:
            known = ", ".join(f":{name}" for name in wanted.names) or "none"
            raise InputError(f"the query has no :{unused[0]}; it has {known}")
        for name, value in wanted.params.items():
            if not isinstance(value, KINDS_OF_VALUES):
                what = "expected text, a number, a truth value or a date"
                raise InputError(f":{name} is a {type(value).__name__}; {what}")
        sql, values = _bind(session, wanted)
        columns = session.columns(f"\n{sql}\n", values)
    return Selected(
        columns=list(columns),
        sources=[Source(database.name, b"", "database")],
        scans=[pl.LazyFrame(schema=columns)],
        database=database,
        query=wanted,
    )


def _bind(session: Session, query: Query) -> tuple[str, Any]:
    """Return the query with the placeholders of the database, and the values to bind to them.

    PostgreSQL needs the type of each parameter. It reports which type the query expects, and each value is sent as
    text. So a date may be written as 2026-11-15, and 7 works as a number and as a text.
    """
    if session.database.kind == "sqlite":
        dates = {name: value.isoformat() for name, value in query.params.items() if isinstance(value, datetime.date)}
        return query.sql, {**query.params, **dates}
    marked, values = query.with_marks(lambda number: f"${number}"), [query.params[name] for name in query.names]
    if session.database.kind == "duckdb" or not values:
        return marked, values
    session.run(f"PREPARE finegold_types AS {marked}")
    types = session.rows("SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'finegold_types'")
    session.run("DEALLOCATE finegold_types")  # a pool may reuse this connection
    texts = [None if value is None else str(value) for value in values]
    return query.with_marks(lambda number: f"CAST(${number} AS {types[0][0][number - 1]})"), texts


PASSING = {"sqlite": r"temp", "duckdb": r"temp", "postgresql": r"pg_temp.*"}  # schemas of one connection only
LABELS = ("task", "label", "confidence", "n_votes", "tied")
COLUMNS = {  # name and type of each column of a table; nothing where it is not there
    "postgresql": "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute "
    "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
    "sqlite": "SELECT name, type FROM pragma_table_info(?, ?)",
    "duckdb": "SELECT column_name, data_type FROM duckdb_columns() "
    "WHERE table_name = $1 AND schema_name = coalesce($2, current_schema())",
}


def write_labels_to_table(result: ResultData, address: str, table: str, *, probabilities: bool = False) -> None:
    """Write the table of `Result.labels` into a table of a database.

    Parameters
    ----------
    result : Result
        The labels.
    address : str
        postgresql://..., sqlite:///FILE or duckdb:///FILE.
    table : str
        The table. The rows of an existing table are replaced in one transaction.
    probabilities : bool, default False
        Add a column per class with its probability.

    Raises
    ------
    OutputError
        If the table cannot be written. Its old rows are then unchanged.
    """
    from finegold.results.tables import labels_pieces

    _replace(labels_pieces(result, probabilities=probabilities), address, table)


def write_frame_to_table(frame: Any, address: str, table: str) -> None:
    """Write a data frame of any library into a table of a database.

    Parameters
    ----------
    frame : DataFrame
        The rows.
    address : str
        postgresql://..., sqlite:///FILE or duckdb:///FILE.
    table : str
        The table. The rows of an existing table are replaced in one transaction.

    Raises
    ------
    OutputError
        If the table cannot be written. Its old rows are then unchanged.
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
            session.run(f"CREATE TABLE {quoted(*parts)} (task TEXT)")  # not committed


def _refuse_passing(session: Session, parts: list[str]) -> None:
    """Refuse a table in memory, which would be lost when the connection closes."""
    database = session.database
    if len(parts) == 2 and re.fullmatch(PASSING[database.kind], parts[0], re.IGNORECASE):
        raise OutputError(f"{database.name}: nothing is kept in the schema {parts[0]}; name another")
    where = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    if database.kind == "duckdb" and session.rows(where)[0][0] is None:
        raise OutputError(f"{database.name} is not a database file, so nothing would be kept there; name another")


def _columns_of(session: Session, parts: list[str], wanted: Sequence[str]) -> dict[str, str]:
    """Return the types of the columns of a table; nothing where it is not there.

    A table without the wanted columns was not written by Finegold, and its rows must not be deleted.
    """
    kind = session.database.kind
    schema = parts[0] if len(parts) == 2 else {"sqlite": "main"}.get(kind)
    columns = dict(session.rows(COLUMNS[kind], [quoted(*parts)] if kind == "postgresql" else [parts[-1], schema]))
    if columns and (lost := [name for name in wanted if name not in columns]):
        raise OutputError(
            f"{session.database.name}: the table {'.'.join(parts)} is there but has no column {', '.join(lost)}, "
            "so that it is not replaced; name another, or drop it first"
        )
    return columns


def _replace(pieces: Iterable[pl.DataFrame], address: str, table: str) -> None:
    database, parts = parse(address), table_parts(table)
    is_new = database.is_file and not Path(database.target).exists()
    try:
        with connect(database, read_only=False, failure=OutputError) as session:
            _refuse_passing(session, parts)
            stage = f"finegold_{secrets.token_hex(8)}"  # a table of this name in the database would be hidden by it
            names = session.ingest(stage, (_storable(piece, database) for piece in pieces))
            target, columns = quoted(*parts), _columns_of(session, parts, names)
            if not columns:
                session.run(f"CREATE TABLE {target} AS SELECT * FROM {stage}")
            else:
                if database.kind == "postgresql":
                    # Two of us at once would each delete what they see, and add their rows to the other's. Readers do
                    # not wait.
                    session.run(f"LOCK TABLE {target} IN SHARE ROW EXCLUSIVE MODE")
                session.run(f"DELETE FROM {target}")
                listed = ", ".join(quoted(name) for name in names)
                values = ", ".join(f"CAST({quoted(name)} AS {columns[name] or 'TEXT'})" for name in names)
                values = listed if database.kind == "sqlite" else values  # which has no types to cast to
                session.run(f"INSERT INTO {target} ({listed}) SELECT {values} FROM {stage}")
            session.run(f"DROP TABLE {stage}")
            session.commit()
    except BaseException:
        if is_new:  # the driver made a file
            Path(database.target).unlink(missing_ok=True)
        raise


def _storable(piece: pl.DataFrame, database: Database) -> pl.DataFrame:
    """Return 64-bit integers and names without NUL: drivers crash on others, or round them."""
    if odd := next((name for name in piece.columns if "\0" in name), None):
        raise OutputError(
            f"{database.name}: the class {odd!r} has a NUL character, which no column's name may have; rename "
            "the class, or leave out the probabilities"
        )
    wide = [name for name, dtype in piece.schema.items() if str(dtype) in ("UInt64", "Int128", "UInt128")]
    for name in wide:
        ends: list[Any] = [piece.get_column(name).min() or 0, piece.get_column(name).max() or 0]
        if not -(2**63) <= ends[0] <= ends[1] < 2**63:
            raise OutputError(
                f"{database.name}: column {name} holds {max(ends, key=abs)}, but integers of databases end at "
                "2^63 - 1; make the ids text, or write a file such as labels.parquet"
            )
    return piece.cast({name: pl.Int64() for name in wide})
