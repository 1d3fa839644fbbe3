"""Labels into tables: replaced in one transaction, or left as they were."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import finegold
from finegold.errors import OutputError
from finegold.io.database_tables import (
    check_database_table,
    write_frame_to_table,
    write_labels_to_table,
)
from tests.io.database_places import VOTES, Place, on
from tests.support.cli_helpers import CSV, refusal_of, succeed, write

LABELS = [("t1", "x", 4), ("t2", "y", 3), ("t3", "z", 3)]
OLD = [("old", "x", 1)]
TABLE = "CREATE TABLE labels (task TEXT, label TEXT, confidence REAL, n_votes INTEGER, tied BOOLEAN{more})"


ROWS = "task,worker,label\n" + "".join(
    f"{task},{annotator},{label}\n" for task, annotator, label in VOTES
)


@pytest.fixture
def result(tmp_path: Path) -> finegold.Result:
    return finegold.aggregate(write(tmp_path / "v.csv", ROWS), "mv")


def put_old(place: Place, more: str = "") -> None:
    place.run(
        TABLE.format(more=more), "INSERT INTO labels (task, label, n_votes) VALUES ('old', 'x', 1)"
    )


def labels_in(place: Place, table: str = "labels") -> list[tuple[object, ...]]:
    return place.rows(f"SELECT task, label, n_votes FROM {table} ORDER BY task")


@on()
def test_a_new_table_and_the_same_again(place: Place, result: finegold.Result) -> None:
    for probabilities in (True, False):
        result.to_table(place.address, "labels", probabilities=probabilities)
        assert labels_in(place) == LABELS
    assert place.rows("SELECT confidence, tied FROM labels WHERE task = 't1'") == [(0.75, False)]
    write_frame_to_table(result.annotators(), place.address, "who is; who")
    assert place.rows('SELECT count(*) FROM "who is; who"') == [(4,)]
    for _ in range(2):  # no name of a table is one that Finegold uses itself
        result.to_table(place.address, "finegold_new_rows")
        assert labels_in(place, "finegold_new_rows") == LABELS


@on()
def test_from_the_command_line_votes_come_from_a_database_or_a_file(
    place: Place, tmp_path: Path
) -> None:
    place.put_votes()
    query = "SELECT task, annotator, label FROM votes WHERE task <> :no"
    done = succeed(
        "aggregate", place.address, "--query", query, "--param", "no=t3", "--to-table", "labels"
    )
    assert done.stdout == ""
    assert f"labels written to labels in {place.kind}:///" in done.stderr
    assert labels_in(place) == LABELS[:2]
    votes, out = write(tmp_path / "v.csv", CSV), tmp_path / "labels.csv"
    succeed("aggregate", votes, "--to-table", "labels", "--to-database", place.address, "-o", out)
    assert len(labels_in(place)) == len(out.read_text().splitlines()) - 1 == 4


@on()
def test_the_table_keeps_its_own_columns_types_index_and_views(
    place: Place, result: finegold.Result
) -> None:
    put_old(place, ", note TEXT DEFAULT 'new', UNIQUE (task)")
    place.run("CREATE VIEW sure AS SELECT task FROM labels WHERE confidence > 0.9")
    result.to_table(place.address, "labels")
    assert labels_in(place) == LABELS
    assert place.rows("SELECT DISTINCT note FROM labels") == [("new",)]
    assert place.rows("SELECT task FROM sure") == [("t2",)]
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        place.run("INSERT INTO labels (task) VALUES ('t1')")


@on("postgresql")
def test_text_becomes_what_the_table_of_postgresql_holds(place: Place, tmp_path: Path) -> None:
    place.run(
        "CREATE TYPE verdict AS ENUM ('x', 'y')",
        "CREATE TABLE labels (task uuid, label verdict, confidence real, n_votes smallint, tied bool)",
        "CREATE ROLE reader",
        "GRANT SELECT ON labels TO reader",
    )
    task = "00000000-0000-0000-0000-00000000000a"
    votes = write(tmp_path / "v.csv", f"task,worker,label\n{task},ann,x\n{task},bob,x\n")
    finegold.aggregate(votes, "mv").to_table(place.address, "labels")
    assert place.rows("SELECT task::text, label::text, n_votes FROM labels") == [(task, "x", 2)]
    assert place.rows("SELECT has_table_privilege('reader', 'labels', 'SELECT')") == [(True,)]
    place.run("DROP OWNED BY reader", "DROP ROLE reader")


@on()
def test_a_failure_leaves_the_old_rows_and_no_file(
    place: Place, result: finegold.Result, tmp_path: Path
) -> None:
    put_old(place, ", CHECK (label <> 'z')")
    with pytest.raises(OutputError, match=r"(?i)check"):
        result.to_table(place.address, "labels")
    assert labels_in(place) == OLD
    votes, out = write(tmp_path / "v.csv", CSV), write(tmp_path / "out.csv", "old")
    refusal_of(
        "aggregate", votes, "--to-table", "labels", "--to-database", place.address, "-o", out
    )
    assert out.read_text() == "old"
    assert labels_in(place) == OLD


@on()
def test_a_table_of_somebody_else_is_not_replaced(
    place: Place, result: finegold.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.put_votes()
    with pytest.raises(OutputError, match="has no column confidence, n_votes, tied"):
        result.to_table(place.address, "votes")
    monkeypatch.setattr("finegold.io.read.read", lambda *_, **__: pytest.fail("the work began"))
    query = ["aggregate", place.address, "--query", "SELECT * FROM votes", "--to-table", "votes"]
    assert "has no column" in refusal_of(*query)
    assert "would be overwritten" in refusal_of(
        "aggregate", place.address, "--table", "votes", *query[-2:]
    )
    assert len(place.rows("SELECT * FROM votes")) == len(VOTES)


@on("sqlite", "duckdb")
def test_a_new_file_is_made_only_by_success(
    place: Place, result: finegold.Result, tmp_path: Path
) -> None:
    check_database_table(place.address, "labels")
    with pytest.raises(OutputError):
        write_labels_to_table(result, place.address, "nowhere.labels")
    assert [path.name for path in tmp_path.iterdir()] == ["v.csv"]


@on("postgresql")
def test_two_at_once_do_not_mix_their_rows(place: Place, result: finegold.Result) -> None:
    put_old(place)
    sleep_on_insert(place, 0.3)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda _: result.to_table(place.address, "labels"), range(2)))
    assert labels_in(place) == LABELS


@on("postgresql")
def test_readers_see_the_old_rows_until_the_end_and_sigkill_keeps_them(
    place: Place, tmp_path: Path
) -> None:
    put_old(place)
    sleep_on_insert(place, 60)
    writer = start_writer(place, tmp_path)
    inserting = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'INSERT INTO%'"
    wait_for(lambda: bool(place.rows(inserting)), writer)
    assert labels_in(place) == OLD
    kill(writer)
    assert labels_in(place) == OLD
    place.rows(f"SELECT pg_terminate_backend(pid) FROM ({inserting}) AS left_behind")
    wait_for(lambda: not place.rows(inserting))
    assert labels_in(place) == OLD


@on("sqlite")
def test_sigkill_keeps_the_old_rows_of_sqlite(place: Place, tmp_path: Path) -> None:
    put_old(place)
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000) SELECT max(i) FROM n"
    place.run(
        f"CREATE TRIGGER slow AFTER INSERT ON labels BEGIN UPDATE labels SET n_votes = ({slow}); END"
    )
    writer = start_writer(place, tmp_path)
    wait_for(Path(f"{tmp_path}/my.sqlite-journal").exists, writer)  # the old rows are being deleted
    kill(writer)
    assert labels_in(place) == OLD


def sleep_on_insert(place: Place, seconds: float) -> None:
    place.run(
        "CREATE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN PERFORM pg_sleep({seconds}); RETURN NULL; END $$",
        "CREATE TRIGGER rest BEFORE INSERT ON labels FOR EACH STATEMENT EXECUTE FUNCTION rest()",
    )


def start_writer(place: Place, folder: Path) -> subprocess.Popen[str]:
    votes = write(folder / "votes.csv", ROWS)
    options = ["--method", "mv", "--to-table", "labels", "--to-database", place.address]
    command = [sys.executable, "-m", "finegold", "aggregate", str(votes), *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for(happened: Callable[[], bool], writer: subprocess.Popen[str] | None = None) -> None:
    for _ in range(1200):
        if happened():
            return
        if writer is not None and writer.poll() is not None:
            pytest.fail(f"the writer ended too early: {writer.communicate()[1]}")
        time.sleep(0.05)
    pytest.fail("it did not happen within a minute")


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    assert process.wait() != 0
    process.communicate()


@pytest.mark.parametrize("name", ["x.csv", ":memory:"])
def test_a_file_that_duckdb_takes_for_data_takes_no_labels(
    tmp_path: Path, name: str, result: finegold.Result
) -> None:
    votes = write(tmp_path / "x.csv", CSV)
    address = f"duckdb:///{tmp_path / name if name == 'x.csv' else name}"
    words = refusal_of(
        "aggregate", votes, "--method", "mv", "--to-table", "labels", "--to-database", address
    )
    assert "is not a database file, so nothing would be kept there" in words
    with pytest.raises(OutputError, match="nothing would be kept there"):
        result.to_table(address, "labels")
    assert votes.read_text() == CSV


@pytest.mark.parametrize(
    ("place", "schema"),
    [("sqlite", "temp"), ("duckdb", "TEMP"), ("postgresql", "pg_temp")],
    indirect=["place"],
)
def test_a_schema_that_lasts_as_long_as_the_connection_takes_no_labels(
    place: Place, schema: str, result: finegold.Result
) -> None:
    place.put_votes()
    with pytest.raises(OutputError, match=f"nothing is kept in the schema {schema}"):
        result.to_table(place.address, f"{schema}.labels")
    words = [
        "aggregate",
        place.address,
        "--table",
        "votes",
        "--method",
        "mv",
        "--to-table",
        f"{schema}.labels",
    ]
    assert f"nothing is kept in the schema {schema}" in refusal_of(*words)
