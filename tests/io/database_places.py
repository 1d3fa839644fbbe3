"""Databases for tests, reached by clients that are not Finegold's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import adbc_driver_postgresql.dbapi
import duckdb
import pytest

# Three tasks, four annotators; one name is an attempt to break out of a query.
VOTES = [
    ("t1", "ann", "x"), ("t1", "bob", "x"), ("t1", "eve", "y"), ("t1", "x'; DROP TABLE votes; --", "x"),
    ("t2", "ann", "y"), ("t2", "bob", "y"), ("t2", "eve", "y"),
    ("t3", "ann", "z"), ("t3", "bob", "x"), ("t3", "eve", "z"),
]  # fmt: skip


def on(*kinds: str) -> pytest.MarkDecorator:
    """The test's `place` is a database of each of these kinds in turn, by default of every kind."""
    return pytest.mark.parametrize(
        "place", kinds or ["postgresql", "sqlite", "duckdb"], indirect=True
    )


@dataclass(frozen=True)
class Place:
    """One empty database."""

    kind: str
    address: str

    def run(self, *statements: str) -> None:
        with self.connected() as run:
            for statement in statements:
                run(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.connected() as run:
            return list(run(query).fetchall())

    def put_votes(self, rows: list[tuple[str, str, str]] = VOTES) -> None:
        values = ", ".join(
            "('" + "', '".join(value.replace("'", "''") for value in row) + "')" for row in rows
        )
        self.run(
            "CREATE TABLE votes (task TEXT, annotator TEXT, label TEXT, comment TEXT)",
            f"INSERT INTO votes (task, annotator, label) VALUES {values}",
        )

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """What runs a statement and returns a cursor; the end commits."""
        if self.kind == "postgresql":
            with (
                adbc_driver_postgresql.dbapi.connect(self.address) as connection,
                connection.cursor() as cursor,
            ):
                yield lambda sql: (cursor.execute(sql), cursor)[1]
                connection.commit()
            return
        path = self.address.partition(":///")[2]
        client = sqlite3.connect(path) if self.kind == "sqlite" else duckdb.connect(path)
        with closing(client):
            yield client.execute
            client.commit()
