"""Votes from databases: the same as from a file, with parameters that are bound, and nothing that leaks."""

from __future__ import annotations

import datetime
from pathlib import Path

import polars as pl
import pytest

import finegold
from finegold.io.database_tables import parameters_of, with_marks
from finegold.io.databases import parse, table_parts
from finegold.io.tables import Progress
from tests.io.database_places import VOTES, Place, on
from tests.io.postgres import PASSWORD, Server
from tests.support.cli_helpers import succeed


def has_votes(found: finegold.Annotations, rows: list[tuple[str, str, str]] = VOTES) -> None:
    expected = finegold.read(
        pl.DataFrame(rows, schema=["task", "annotator", "label"], orient="row")
    )
    names = [f"{kind}_names" for kind in ("task", "annotator", "class")]
    for name in ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold", *names):
        assert list(getattr(found, name)) == list(getattr(expected, name)), name


# Reading


@on()
def test_votes_of_a_table_and_of_a_query_equal_those_by_hand(place: Place) -> None:
    place.put_votes()
    has_votes(finegold.read(place.address, table="votes"))
    query = (
        "SELECT label AS vote, task AS item, annotator AS judge FROM votes -- in another order\n;"
    )
    has_votes(finegold.read(place.address, query=query))
    assert finegold.aggregate(place.address, "mv", table="votes").labels()["label"].to_list() == [
        "x",
        "y",
        "z",
    ]
    place.run(
        "CREATE TABLE panel (task TEXT, ann TEXT, bob TEXT)",
        "INSERT INTO panel VALUES ('t1', 'x', 'y')",
    )
    wide = finegold.read(place.address, table="panel", layout="wide")
    has_votes(wide, [("t1", "ann", "x"), ("t1", "bob", "y")])


@on()
def test_parameters_are_bound_never_pasted_and_no_query_can_write(place: Place) -> None:
    place.put_votes()
    query = "SELECT task, annotator, label, ':no' AS a /* :no */ FROM votes WHERE annotator = :who OR annotator = :who"
    found = finegold.read(place.address, query=query, params={"who": "x'; DROP TABLE votes; --"})
    has_votes(found, [VOTES[3]])
    for query in (
        "DELETE FROM votes RETURNING task, annotator, label",
        "SELECT 1) AS v; DELETE FROM votes; --",
    ):
        with pytest.raises(finegold.InputError):
            finegold.read(place.address, query=query)
    if place.kind == "postgresql":
        place.run(
            "CREATE FUNCTION steal() RETURNS SETOF votes LANGUAGE sql AS 'DELETE FROM votes RETURNING *'"
        )
        with pytest.raises(finegold.InputError, match="read-only transaction"):
            finegold.read(place.address, query="SELECT * FROM steal()")
    assert len(place.rows("SELECT * FROM votes")) == len(VOTES)


def test_what_looks_like_a_parameter_but_is_none() -> None:
    query = "SELECT ':a', \":b\", c::int, E'\\':d', $$:e$$, $t$:f$t$ -- :g\n, x[1 : 2] WHERE i=:i AND j=:j OR k=:i"
    assert parameters_of(query) == ["i", "j"]
    assert with_marks(query, lambda n: f"${n}").endswith("WHERE i=$1 AND j=$2 OR k=$1")
    assert with_marks(query, lambda n: f":{'ij'[n - 1]}") == query


@on("postgresql")
def test_postgresql_says_which_type_a_parameter_has(place: Place) -> None:
    place.run(
        "CREATE TYPE kind AS ENUM ('usual', 'rare')",
        "CREATE TABLE votes (task int, annotator text, label text, day date, number int, is_good bool, share numeric, "
        "kind kind)",
        "INSERT INTO votes VALUES (1, 'a', 'x', '2026-11-13', 1, true, 0.1, 'usual'), "
        "(1, 'b', 'x', '2026-11-14', 2, true, 0.5, 'usual'), (2, 'a', 'y', '2026-11-15', 3, false, 0.9, 'rare')",
    )
    for condition, value, n_votes in (
        *(("day >= :v", "2026-11-14", 2), ("day >= :v", datetime.date(2026, 11, 14), 2)),
        *(
            ("number < :v", "2", 1),
            ("number < :v", 3, 2),
            ("number::text = :v", "2", 1),
            ("number::text = :v", 2, 1),
        ),
        *(
            ("is_good = :v", "yes", 2),
            ("is_good = :v", False, 1),
            ("share > :v", 0.25, 2),
            ("kind = :v", "rare", 1),
        ),
        ("(:v::text IS NULL OR label = :v)", None, 3),
    ):
        query = f"SELECT task, annotator, label FROM votes WHERE {condition}"
        found = finegold.read(place.address, query=query, params={"v": value})
        assert (condition, value, found.n_votes) == (condition, value, n_votes)


@on()
@pytest.mark.parametrize("condition", ["", "WHERE task >= :least"])
def test_rows_come_in_batches_and_in_their_order(
    place: Place, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finegold.io.database_tables.FETCHED", 1000)
    monkeypatch.setattr("finegold.io.database_tables.MOST_ROWS", 1500)
    rows = [(f"t{i % 500:03}", f"a{i // 500}", "xyz"[i % 3]) for i in range(5000)]
    place.put_votes(
        [*rows, *(("t000", f"a{i}", "zz") for i in range(10))]
    )  # which of two votes counts tells the order
    heard: list[Progress] = []
    found = finegold.read(
        place.address,
        query=f"SELECT task, annotator, label FROM votes {condition} ORDER BY label DESC, task",
        params={"least": "t000"} if condition else None,
        watch=heard.append,
    )
    assert heard[-1].rows == 5010
    assert len(heard) > 1 or (
        place.kind == "postgresql" and not condition
    )  # of which COPY makes batches of 16 MB
    changed = [
        (task, annotator, "zz" if task == "t000" else label) for task, annotator, label in rows
    ]
    has_votes(found, changed)


@on("postgresql")
def test_types_of_postgresql_become_names(place: Place) -> None:
    place.run(
        "CREATE TYPE verdict AS ENUM ('good', 'bad')",
        "CREATE TABLE votes (task uuid, annotator char(5), label verdict, gold numeric(3, 1), extra interval)",
        "INSERT INTO votes VALUES ('00000000-0000-0000-0000-00000000000a', 'ann', 'good', 1.5, '1 day'), "
        "('00000000-0000-0000-0000-00000000000b', 'bob', 'bad', NULL, NULL)",
    )
    found = finegold.read(place.address, table="votes")
    assert [name[-1] for name in found.task_names] == ["a", "b"]
    assert list(found.annotator_names) == ["ann", "bob"]
    assert list(found.class_names) == ["bad", "good"]
    numbers = finegold.read(place.address, query="SELECT task, annotator, gold AS label FROM votes")
    assert list(numbers.class_names) == ["1.5"]
    assert numbers.counts.missing == 1


@on("sqlite")
def test_a_column_of_sqlite_may_hold_nulls_first_and_any_type(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finegold.io.database_tables.FETCHED", 2)
    place.run(
        "CREATE TABLE votes (task, annotator, label, gold)",
        "INSERT INTO votes VALUES (1, 'a', 'x', NULL), (1, 'b', 'x', NULL), (2, 'a', NULL, NULL), ('3', 7, 5, 'x')",
    )
    found = finegold.read(place.address, table="votes", gold="gold")
    assert list(found.task_names) == [1, 3]
    assert list(found.unlabelled) == [2]
    assert list(found.annotator_names) == ["7", "a", "b"]
    assert list(found.class_names) == ["5", "x"]
    assert found.counts.missing == 1
    assert [found.class_names[code] for code in found.gold if code >= 0] == ["x"]


@on("postgresql", "duckdb")
def test_tables_in_schemas_and_with_odd_names(place: Place) -> None:
    place.run(
        'CREATE SCHEMA "work"',
        'CREATE TABLE "work"."of ""today.1" (task int, annotator text, label text)',
    )
    place.run("""INSERT INTO "work"."of ""today.1" VALUES (7, 'ann', 'x')""")
    assert list(finegold.read(place.address, table='work."of ""today.1"').task_names) == [7]


def test_names_of_tables() -> None:
    assert table_parts("votes") == ["votes"]
    assert table_parts('a."b.c"') == ["a", "b.c"]
    for odd in ("", "a..b", "a.b.c", 'a"b', "."):
        with pytest.raises(finegold.InputError, match="not the name of a table"):
            table_parts(odd)


# Addresses and passwords


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (
            "postgresql://me:secret@db.example.org:5433/work?sslmode=require",
            "postgresql://db.example.org:5433/work",
        ),
        ("postgres://me:se@cr/e?t@host/work", "postgresql://host/work"),
        ("postgresql+psycopg://host/work?user=me&password=secret", "postgresql://host/work"),
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
        ("duckdb:////a/b.db", "duckdb:////a/b.db"),
    ],
)
def test_the_name_of_a_database_holds_no_password(address: str, name: str) -> None:
    database = parse(address)
    assert database.name == name
    assert "secret" not in repr(database)


@on("postgresql")
def test_no_password_in_what_is_said_written_or_kept(
    place: Place, server: Server, tmp_path: Path
) -> None:
    place.put_votes()
    address, model = server.through_network(), tmp_path / "model.finegold"
    done = succeed(
        "aggregate", address, "--table", "votes", "--to-table", "labels", "--save", model, "--json"
    )
    assert place.rows("SELECT count(*) FROM labels") == [(3,)]
    assert PASSWORD not in done.stdout + done.stderr
    assert PASSWORD.encode() not in model.read_bytes()
