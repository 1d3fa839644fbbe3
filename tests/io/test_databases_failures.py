"""What goes wrong with a database is one message with a remedy, in time, and without a password."""

from __future__ import annotations

import socket
import sys
import threading
from pathlib import Path

import pytest

import finegold
from tests.io.database_places import Place, on
from tests.io.postgres import PASSWORD, Server, find_programs
from tests.support.cli_helpers import CSV, run, write

# What is wrong: the arguments behind the address, and words of the message.
QUERIES = {
    "neither query nor table": ([], ["--query", "--table", "it has", "votes"]),
    "both query and table": (["--query", "SELECT 1", "--table", "votes"], ["not both"]),
    "bad SQL": (["--query", "SELEKT * FROM votes"], ["yntax error"]),
    "no such table": (["--table", "vote"], ["vote", "check the name"]),
    "no such column in SQL": (["--query", "SELECT tusk FROM votes"], ["tusk", "check the name"]),
    "no annotator": (
        ["--query", "SELECT task, label FROM votes"],
        ["no annotator column", '"task" (', '"label" ('],
    ),
    "no rows": (["--query", "SELECT * FROM votes WHERE task = 'none'"], ["no rows"]),
    "a parameter without a value": (["--query", "SELECT :x"], ["has :x", "--param x=VALUE"]),
    "a value without a parameter": (["--query", "SELECT 1", "--param", "x=1"], ["has no :x"]),
    "a parameter that is no pair": (["--query", "SELECT 1", "--param", "x"], ["NAME=VALUE"]),
    "an odd name of a table": (["--table", "a.b.c"], ["'a.b.c'", "SCHEMA.NAME"]),
}


def failed(*arguments: object) -> str:
    done = run("aggregate", *arguments)
    assert done.exit_code == 2, done.stderr or done.stdout
    assert done.stdout == ""
    assert done.stderr.count("error: ") == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert PASSWORD not in done.stderr
    return done.stderr


@on()
def test_a_wrong_query(place: Place) -> None:
    place.put_votes()
    for arguments, words in QUERIES.values():
        message = failed(place.address, *arguments)
        assert [word for word in words if word not in message] == [], message
    if place.kind != "postgresql":
        message = failed(place.address.partition(":///")[2])
        assert f"read it as {place.address}; use --table NAME, or use --query" in message


@on("postgresql")
def test_a_row_that_fails_in_the_midst_of_the_stream(place: Place) -> None:
    place.put_votes()
    query = "SELECT 1 / (random() * 0)::int AS task, annotator, label FROM votes"
    of_one = ("SELECT * FROM votes WHERE 1 = :n", "--param", "n=one")
    assert "division by zero" in failed(place.address, "--query", query)
    assert "division by zero" in failed(
        place.address, "--query", f"{query} WHERE task <> :t", "--param", "t=1"
    )
    assert "invalid input syntax" in failed(place.address, "--query", *of_one)


def test_a_wrong_password_and_a_wrong_database(server: Server) -> None:
    wrong = failed(server.through_network(password=PASSWORD[::-1]), "--table", "votes")
    assert "password authentication failed" in wrong
    assert "check the user and the password" in wrong
    assert PASSWORD[::-1] not in wrong
    assert 'database "nowhere" does not exist' in failed(
        server.through_network("nowhere"), "--table", "votes"
    )


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"postgresql://me:{PASSWORD}@127.0.0.1:{taken.getsockname()[1]}/work"
        for more in (["--table", "v"], ["--table", "v", "--to-table", "w"]):
            message = failed(address, *more)
            assert "Connection refused" in message
            assert "check that the server runs" in message


def test_a_silent_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finegold.io.databases.SECONDS", 2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        end = threading.Timer(
            20, silent.close
        )  # without a time limit of ours the test would last for ever
        end.start()
        message = failed(
            f"postgresql://me:{PASSWORD}@127.0.0.1:{silent.getsockname()[1]}/work", "--table", "v"
        )
        end.cancel()
    assert "timeout expired" in message
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
    votes, table = write(tmp_path / "v.csv", CSV), ("--table", "votes")
    for arguments in (
        (address, *table),
        (votes, address, *table),
        (address, votes, *table),
        (votes, address),
    ):
        failed(*arguments)
    failed(votes, "--to-table", "labels", "--to-database", address)
    failed(votes, "--gold", address)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_files_that_are_no_database(kind: str, tmp_path: Path) -> None:
    assert "there is no file" in failed(f"{kind}:///{tmp_path}/none.db", "--table", "votes")
    assert not (tmp_path / "none.db").exists()
    write(tmp_path / "junk.db", "no database\n" * 500)
    assert "check the file" in failed(f"{kind}:///{tmp_path}/junk.db", "--table", "votes")
    assert "names no file" in failed(f"{kind}://junk.db", "--table", "votes")
    assert "no folder" in failed(
        write(tmp_path / "v.csv", CSV),
        "--to-table",
        "t",
        "--to-database",
        f"{kind}:///{tmp_path}/no/x.db",
    )


@on("sqlite")
def test_a_file_that_somebody_else_is_writing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.put_votes()
    monkeypatch.setattr("finegold.io.databases.SECONDS", 0.1)
    with place.connected() as run_there:
        run_there("BEGIN EXCLUSIVE")
        assert "another program is using the file" in failed(
            place.address, "--table", "votes", "--to-table", "labels"
        )


@on("postgresql")
def test_a_missing_permission_is_found_before_the_work(
    place: Place, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.put_votes()
    place.run("CREATE ROLE guest LOGIN", "GRANT SELECT ON votes TO guest")
    guest = server.through_socket(user="guest")
    assert finegold.read(guest, table="votes").n_tasks == 3
    assert "permission denied for schema public" in failed(
        guest, "--table", "votes", "--to-table", "labels"
    )
    place.run(
        "CREATE TABLE labels (task text, label text, confidence real, n_votes int, tied bool)"
    )
    assert "permission denied for table labels" in failed(
        guest, "--table", "votes", "--to-table", "labels"
    )
    place.run("DROP OWNED BY guest", "DROP ROLE guest")
    place.run("ALTER DATABASE postgres SET default_transaction_read_only = on")
    monkeypatch.setattr("finegold.io.read.read", lambda *_, **__: pytest.fail("the work began"))
    message = failed(place.address, "--table", "votes", "--to-table", "labels")
    assert "read-only transaction; ask for the permission" in message


@on("postgresql", "duckdb")
def test_a_missing_extra_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put_votes()
    module = {"postgresql": "adbc_driver_postgresql.dbapi", "duckdb": "adbc_driver_duckdb"}
    monkeypatch.setitem(sys.modules, module[place.kind], None)
    message = failed(place.address, "--table", "votes")
    assert "pip install 'finegold[databases]'" in message


@pytest.mark.parametrize(("in_ci", "outcome"), [("", pytest.skip), ("1", pytest.fail)])
def test_where_no_server_is_installed_tests_are_skipped_but_fail_in_ci(
    tmp_path, monkeypatch, in_ci, outcome
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FINEGOLD_CI", in_ci)
    with pytest.raises(outcome.Exception, match="apt-get install postgresql"):
        find_programs(tmp_path)


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    votes = write(tmp_path / "v.csv", CSV)
    assert "is not a database" in failed(votes, "--query", "SELECT 1")
    assert "--to-database" in failed(votes, "--to-table", "labels")
    assert "--to-table" in failed(votes, "--to-database", "sqlite:///x.db")
