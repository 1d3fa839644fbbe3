"""PostgreSQL and DuckDB through ADBC, which transfers rows as Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any

import polars as pl
import polars.selectors as cs

from finegold.errors import FinegoldError, InputError
from finegold.io import databases
from finegold.io.databases import Database
from finegold.io.databases.diagnosis import explained

__all__ = ["ArrowSession", "opened"]


@contextmanager
def opened(database: Database, read_only: bool, failure: type[FinegoldError]) -> Iterator[ArrowSession]:
    errors = _errors()
    with explained(database, failure, *errors):
        connection = _connection(database, read_only)
    with closing(connection):
        session = ArrowSession(database, connection, failure)
        if database.kind == "postgresql" and read_only:
            session.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield session


class ArrowSession(databases.Session):
    """A transaction through ADBC."""

    def columns(self, sql: str, values: Any) -> dict[str, pl.DataType]:
        with self._executed(f"SELECT * FROM ({sql}) AS all_of_it LIMIT 0", values) as cursor:
            schema = cursor.fetch_record_batch().schema
        twice = [name for name in schema.names if schema.names.count(name) > 1]
        if twice:
            name = self.database.name
            raise InputError(f'{name}: the query has more than one column "{twice[0]}"; name them apart with AS')
        return {column.name: _dtype(column.type) for column in schema}

    def stream(self, sql: str, values: Any) -> Iterator[pl.DataFrame]:
        """Yield rows. The driver streams PostgreSQL queries without parameters only, so others use a cursor."""
        if self.database.kind == "postgresql" and values:
            self.run(f"DECLARE finegold NO SCROLL CURSOR FOR {sql}", values)
            yield from _gathered(self._fetched())
            return
        with self._executed(sql, values) as cursor:
            yield from _gathered(cursor.fetch_record_batch())

    def ingest(self, table: str, pieces: Iterable[pl.DataFrame]) -> list[str]:
        batches = _reader(pieces)
        with self._cursor() as cursor:
            cursor.adbc_ingest(table, batches, mode="create", temporary=True)
        return list(batches.schema.names)

    def commit(self) -> None:
        with explained(self.database, self._failure, *_errors()):
            self._connection.commit()

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        with explained(self.database, self._failure, *_errors()), closing(self._connection.cursor()) as cursor:
            yield cursor

    @contextmanager
    def _executed(self, sql: str, values: Any) -> Iterator[Any]:
        with self._cursor() as cursor:
            cursor.execute(sql, values or None)
            yield cursor

    def _fetched(self) -> Iterator[Any]:
        while True:
            with self._cursor() as cursor:
                cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})  # FETCH is no SELECT
                cursor.execute(f"FETCH {databases.FETCHED} FROM finegold")
                table = cursor.fetch_arrow_table()
            if not table.num_rows:
                return
            yield from table.to_batches()


def _connection(database: Database, read_only: bool) -> Any:
    if database.kind == "postgresql":
        return _driver("adbc_driver_postgresql.dbapi").connect(database.place)
    return _driver("adbc_driver_manager.dbapi").connect(
        driver=_driver("adbc_driver_duckdb").driver_path(),
        entrypoint="duckdb_adbc_init",
        db_kwargs={"path": database.place, "access_mode": "READ_ONLY" if read_only else "READ_WRITE"},
    )


def _errors() -> tuple[type[Exception], ...]:
    """Return the errors that drivers raise: inside a stream they are OSError or errors of Arrow."""
    return _driver("adbc_driver_manager").Error, _driver("pyarrow").ArrowException, OSError


def _driver(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        missing = module.partition(".")[0]
        raise InputError(f"databases need {missing}; install it with: pip install 'finegold[databases]'") from None


def _dtype(kind: Any) -> pl.DataType:
    import pyarrow as pa

    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if plain or pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pl.Series(pa.array([], kind)).dtype
    return pl.String()


def _gathered(batches: Iterable[Any]) -> Iterator[pl.DataFrame]:
    """Join batches: DuckDB returns 2,048 rows at a time, too few to process efficiently."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(len(part) for part in waiting) >= databases.MOST_ROWS:
            yield _frame(waiting)
            waiting = []
    if waiting:
        yield _frame(waiting)


def _frame(batches: list[Any]) -> pl.DataFrame:
    import pyarrow as pa

    return pl.DataFrame(pa.Table.from_batches(batches))


def _reader(pieces: Iterable[pl.DataFrame]) -> Any:
    """Return the pieces as a stream of Arrow. Each is made when the one before was sent."""
    import pyarrow as pa

    rest = iter(pieces)
    first = _plain(next(rest))

    def batches() -> Iterator[Any]:
        yield from first.to_arrow().to_batches()
        for piece in rest:
            yield from _plain(piece).cast(first.schema).to_arrow().to_batches()

    return pa.RecordBatchReader.from_batches(first.to_arrow().schema, batches())


def _plain(piece: pl.DataFrame) -> pl.DataFrame:
    """Convert columns to types that every database has."""
    as_text = cs.by_dtype(pl.Categorical, pl.Enum, pl.Null, pl.Object)
    return piece.with_columns(as_text.cast(pl.String), cs.unsigned_integer().cast(pl.Int64))
