"""Labels -> a table of a database, replaced in one transaction.

The rows are first copied into a temporary table. If the target exists, its rows are deleted and the new rows inserted,
so that its permissions, indices, triggers and views stay. Other connections see the old rows until the commit, and keep
them if anything fails. A table that does not exist is created.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.errors import OutputError
from finegold.io.databases import Database, Session, connect, parse, quoted, table_parts
from finegold.system.files import check_writable

if TYPE_CHECKING:
    import polars as pl

    from finegold.results.data import ResultData

__all__ = ["check_database_table", "write_frame_to_table", "write_labels_to_table"]

PASSING = {"sqlite": r"temp", "duckdb": r"temp", "postgresql": r"pg_temp.*"}  # schemas of one connection only
LABELS = ("task", "label", "confidence", "n_votes", "tied")
COLUMNS = {  # name and type of each column of a table; nothing where it is not there
    "postgresql": "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute "
    "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
    "sqlite": "SELECT name, type FROM pragma_table_info(?, ?)",
    "duckdb": "SELECT column_name, data_type FROM duckdb_columns() "
    "WHERE table_name = $1 AND schema_name = coalesce($2, current_schema())",
}


@dataclass(frozen=True)
class Target:
    """The table that receives the rows."""

    session: Session
    parts: list[str]

    @property
    def sql(self) -> str:
        return quoted(*self.parts)

    def columns(self) -> dict[str, str]:
        kind = self.session.database.kind
        schema = self.parts[0] if len(self.parts) == 2 else {"sqlite": "main"}.get(kind)
        values = [self.sql] if kind == "postgresql" else [self.parts[-1], schema]
        return dict(self.session.rows(COLUMNS[kind], values))

    def refuse_passing(self) -> None:
        """Refuse a table in memory, which would be lost when the connection closes."""
        database = self.session.database
        if len(self.parts) == 2 and re.fullmatch(PASSING[database.kind], self.parts[0], re.IGNORECASE):
            raise OutputError(f"{database.name}: nothing is kept in the schema {self.parts[0]}; name another")
        where = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
        if database.kind == "duckdb" and self.session.rows(where)[0][0] is None:
            raise OutputError(f"{database.name} is no database file, so nothing would be kept there; name another file")

    def refuse_others(self, columns: dict[str, str], wanted: Iterable[str]) -> None:
        """Refuse a table without these columns: it was not written by Finegold, and its rows must not be deleted."""
        if lost := [name for name in wanted if name not in columns]:
            raise OutputError(
                f"{self.session.database.name}: the table {'.'.join(self.parts)} is there but has no column "
                f"{', '.join(lost)}, so that it is not replaced; name another, or drop it first"
            )


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
    if database.is_file and not Path(database.place).exists() and database.place != ":memory:":
        check_writable(database.place)
        return
    with connect(database, read_only=False, failure=OutputError) as session:
        target = Target(session, parts)
        target.refuse_passing()
        columns = target.columns()
        if columns:
            target.refuse_others(columns, LABELS)
            session.run(f"DELETE FROM {target.sql} WHERE 1 = 0")
        else:
            session.run(f"CREATE TABLE {target.sql} (task TEXT)")  # not committed


def _replace(pieces: Iterable[pl.DataFrame], address: str, table: str) -> None:
    database, parts = parse(address), table_parts(table)
    with _no_new_file_on_failure(database), connect(database, read_only=False, failure=OutputError) as session:
        target = Target(session, parts)
        target.refuse_passing()
        stage = f"finegold_{secrets.token_hex(8)}"  # a table of this name in the database would be hidden by it
        _move(target, stage, session.ingest(stage, (_storable(piece, database) for piece in pieces)))
        session.run(f"DROP TABLE {stage}")
        session.commit()


def _storable(piece: pl.DataFrame, database: Database) -> pl.DataFrame:
    """Return 64-bit integers and names without NUL: drivers crash on others, or round them."""
    import polars as pl

    if odd := next((name for name in piece.columns if "\0" in name), None):
        raise OutputError(
            f"{database.name}: the class {odd!r} has a NUL character, which no column's name may have; rename "
            "the class, or leave out --probabilities"
        )
    wide = [name for name, dtype in piece.schema.items() if str(dtype) in ("UInt64", "Int128", "UInt128")]
    for name in wide:
        ends: list[Any] = [piece.get_column(name).min() or 0, piece.get_column(name).max() or 0]
        if not -(2**63) <= ends[0] <= ends[1] < 2**63:
            raise OutputError(
                f"{database.name}: column {name} holds {max(ends, key=abs)}, but integers of databases end at "
                "2^63 - 1; make the ids text, or write a file (-o labels.parquet)"
            )
    return piece.cast({name: pl.Int64() for name in wide})


def _move(target: Target, stage: str, names: list[str]) -> None:
    session, columns = target.session, target.columns()
    if not columns:
        session.run(f"CREATE TABLE {target.sql} AS SELECT * FROM {stage}")
        return
    target.refuse_others(columns, names)
    if session.database.kind == "postgresql":
        # Two of us at once would each delete what they see, and add their rows to the other's. Readers do not wait.
        session.run(f"LOCK TABLE {target.sql} IN SHARE ROW EXCLUSIVE MODE")
    session.run(f"DELETE FROM {target.sql}")
    listed = ", ".join(quoted(name) for name in names)
    values = ", ".join(f"CAST({quoted(name)} AS {columns[name] or 'TEXT'})" for name in names)
    values = listed if session.database.kind == "sqlite" else values  # which has no types to cast to
    session.run(f"INSERT INTO {target.sql} ({listed}) SELECT {values} FROM {stage}")


@contextmanager
def _no_new_file_on_failure(database: Database) -> Iterator[None]:
    """Remove a database file that the driver created if the block fails."""
    is_new = database.is_file and not Path(database.place).exists()
    try:
        yield
    except BaseException:
        if is_new:
            Path(database.place).unlink(missing_ok=True)
        raise
