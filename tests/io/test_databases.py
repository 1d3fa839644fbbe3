"""Votes from databases are the same as from a file, labels go into a table, and nothing leaks."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import polars as pl
import pytest

import finegold
from finegold.errors import InputError, OutputError
from tests.io.database_places import VOTES, Place, on
from tests.io.postgres import PASSWORD, Server
from tests.support.cli_helpers import CSV, run, succeed, write

ALL = "SELECT * FROM votes"
LABELS = [("t1", "x", 4), ("t2", "y", 3), ("t3", "z", 3)]


def refused(*arguments: object) -> str:
    done = run("aggregate", *arguments)
    assert done.exit_code == 2, done.stderr or done.stdout
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert PASSWORD not in done.stderr
    return done.stderr


def has_votes(found: finegold.Annotations, rows: list[tuple[str, str, str]] = VOTES) -> None:
    expected = finegold.read(
        pl.DataFrame(rows, schema=["task", "annotator", "label"], orient="row")
    )
    names = [f"{kind}_names" for kind in ("task", "annotator", "class")]
    for name in ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold", *names):
        assert list(getattr(found, name)) == list(getattr(expected, name)), name


# Reading


@on()
def test_votes_of_a_query_equal_those_by_hand(place: Place) -> None:
    place.put_votes()
    query = (
        "SELECT label AS vote, task AS item, annotator AS worker FROM votes -- in another order\n;"
    )
    has_votes(finegold.read(place.address, query=ALL))
    has_votes(finegold.read(place.address, query=query))
    labels = finegold.aggregate(place.address, "mv", query=ALL).labels()
    assert labels["label"].to_list() == ["x", "y", "z"]
    place.run(
        "CREATE TABLE panel (task TEXT, ann TEXT, bob TEXT)",
        "INSERT INTO panel VALUES ('t1', 'x', 'y')",
    )
    wide = finegold.read(place.address, query="SELECT * FROM panel", layout="wide")
    has_votes(wide, [("t1", "ann", "x"), ("t1", "bob", "y")])


@on()
def test_no_query_can_change_the_database(place: Place) -> None:
    place.put_votes()
    queries = [
        "DELETE FROM votes RETURNING task, annotator, label",
        "SELECT 1) AS v; DELETE FROM votes; --",
    ]
    if place.kind == "postgresql":
        body = "LANGUAGE sql AS 'DELETE FROM votes RETURNING *'"
        place.run(f"CREATE FUNCTION steal() RETURNS SETOF votes {body}")
        queries.append("SELECT * FROM steal()")
    for query in queries:
        with pytest.raises(InputError):
            finegold.read(place.address, query=query)
    assert len(place.rows(ALL)) == len(VOTES)


@on("postgresql")
def test_types_of_postgresql_become_names(place: Place) -> None:
    place.run(
        "CREATE TYPE verdict AS ENUM ('good', 'bad')",
        "CREATE TABLE votes (task uuid, annotator char(5), label verdict, gold numeric(3, 1), extra interval)",
        "INSERT INTO votes VALUES ('00000000-0000-0000-0000-00000000000a', 'ann', 'good', 1.5, '1 day'), "
        "('00000000-0000-0000-0000-00000000000b', 'bob', 'bad', NULL, NULL)",
    )
    found = finegold.read(place.address, query=ALL)
    assert [name[-1] for name in found.task_names] == ["a", "b"]
    assert list(found.annotator_names) == ["ann", "bob"]
    assert list(found.class_names) == ["bad", "good"]
    numbers = finegold.read(place.address, query="SELECT task, annotator, gold AS label FROM votes")
    assert list(numbers.class_names) == ["1.5"]
    assert numbers.counts.missing == 1


# Writing


@pytest.fixture
def result() -> finegold.Result:
    rows = pl.DataFrame(VOTES, schema=["task", "annotator", "label"], orient="row")
    return finegold.aggregate(rows, "mv")


@on()
@pytest.mark.parametrize("table", ["labels", "main.of today 1"])
def test_labels_are_written_and_replaced(place: Place, result: finegold.Result, table: str) -> None:
    table = table if place.kind != "postgresql" else table.replace("main", "public")
    quoted = ".".join(f'"{part}"' for part in table.split("."))
    for probabilities in (True, False):
        result.to_table(place.address, table, probabilities=probabilities)
        rows = place.rows(f"SELECT task, label, n_votes FROM {quoted} ORDER BY task")
        assert rows == LABELS
    assert place.rows(f"SELECT confidence, tied FROM {quoted} WHERE task = 't1'") == [(0.75, False)]


@on()
def test_the_command_reads_from_a_database_or_a_file_and_writes_to_a_table(
    place: Place, tmp_path: Path
) -> None:
    place.put_votes()
    table = f"{place.address}#labels"
    done = succeed("aggregate", place.address, "--query", ALL, "-o", table)
    assert done.stdout == ""
    assert place.rows("SELECT task, label, n_votes FROM labels ORDER BY task") == LABELS
    succeed("aggregate", write(tmp_path / "v.csv", CSV), "-o", table)
    assert len(place.rows("SELECT * FROM labels")) == 4


@on()
def test_a_table_of_something_else_is_not_replaced(place: Place, result: finegold.Result) -> None:
    place.put_votes()
    with pytest.raises(OutputError, match="has no column confidence, n_votes, tied"):
        result.to_table(place.address, "votes")
    assert "has no column" in refused(place.address, "--query", ALL, "-o", f"{place.address}#votes")
    assert len(place.rows(ALL)) == len(VOTES)


# What goes wrong is one message with a remedy, in time, and without a password.

QUERIES = {
    "no query": ([], ["its tables are", "votes", "--query", "SELECT * FROM "]),
    "a table": (["--query", "votes"], ["is not a query; its tables are", "SELECT * FROM "]),
    "bad SQL": (["--query", "SELEKT * FROM votes"], ["yntax error"]),
    "no such table": (["--query", "SELECT * FROM vote"], ["vote", "check the name"]),
    "no such column": (["--query", "SELECT tusk FROM votes"], ["tusk", "check the name"]),
    "no annotator": (
        ["--query", "SELECT task, label FROM votes"],
        ["no annotator column", '"task" (', '"label" ('],
    ),
    "no rows": (["--query", f"{ALL} WHERE task = 'none'"], ["no rows"]),
}


@on()
def test_a_wrong_query(place: Place) -> None:
    place.put_votes()
    for arguments, words in QUERIES.values():
        message = refused(place.address, *arguments)
        assert [word for word in words if word not in message] == [], message
    if place.kind != "postgresql":
        message = refused(place.address.partition(":///")[2])
        assert f"read it as {place.address}; use --query" in message


def test_a_wrong_password_and_a_wrong_database(server: Server) -> None:
    wrong = refused(server.through_network(password=PASSWORD[::-1]), "--query", ALL)
    assert "check the user and the password" in wrong
    assert PASSWORD[::-1] not in wrong
    nowhere = refused(server.through_network("nowhere"), "--query", ALL)
    assert 'database "nowhere" does not exist' in nowhere


@pytest.mark.parametrize("listens", [True, False])
def test_a_server_that_does_not_answer_is_given_up(
    listens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finegold.io.databases.MAX_WAIT", 2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if listens:
            silent.listen()
        address = f"postgresql://me:{PASSWORD}@127.0.0.1:{silent.getsockname()[1]}/work"
        message = refused(address, "--query", ALL)
    assert "check that the server runs" in message


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{PASSWORD}%x@127.0.0.1:1/work",
        f"postgresql://me:{PASSWORD}@127.0.0.1:port/work",
        f"postgresql://me:a/{PASSWORD}@127.0.0.1:1/work",
        f"postgresql://127.0.0.1:1/work?user=me&password={PASSWORD}&nonsense=1",
        f"mysql://me:{PASSWORD}@127.0.0.1/work",
    ],
)
def test_no_mistake_in_an_address_shows_the_password(address: str, tmp_path: Path) -> None:
    votes, query = write(tmp_path / "v.csv", CSV), ("--query", ALL)
    for arguments in ((address, *query), (votes, address, *query), (votes, address)):
        refused(*arguments)
    refused(votes, "-o", f"{address}#labels")
    refused(votes, "--gold", address)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_files_that_are_no_database(kind: str, tmp_path: Path) -> None:
    assert "there is no file" in refused(f"{kind}:///{tmp_path}/none.db", "--query", ALL)
    assert not (tmp_path / "none.db").exists()
    write(tmp_path / "junk.db", "no database\n" * 500)
    assert "check the file" in refused(f"{kind}:///{tmp_path}/junk.db", "--query", ALL)
    assert "names no file" in refused(f"{kind}://junk.db", "--query", ALL)


@on("postgresql", "duckdb")
def test_a_missing_extra_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    module = {"postgresql": "adbc_driver_postgresql.dbapi", "duckdb": "duckdb"}
    place.put_votes()
    monkeypatch.setitem(sys.modules, module[place.kind], None)
    message = refused(place.address, "--query", ALL)
    assert "pip install 'finegold[databases]'" in message
