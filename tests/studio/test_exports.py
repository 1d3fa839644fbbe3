"""What leaves the studio: tables in every format, the user's file with labels, a database."""

import sqlite3

import polars as pl
import pytest

from tests.support.studio_helpers import studio_in_thread

TABLE = "unit,worker,label,text\n7,x,cat,It purrs\n7,y,cat,It purrs\n8,x,dog,a BARKING one\n8,y,cat,a BARKING one\n"


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    with studio_in_thread(folder) as client:
        (folder / "mine.csv").write_text(TABLE)
        client.project = client.open("mine.csv", task="unit")
        yield client


def taken(studio, name):
    answer = studio.get(f"/api/projects/{studio.project}/export/{name}")
    assert answer.status_code == 200, answer.text
    path = studio.folder / f"taken.{name.rpartition('.')[2]}"
    path.write_bytes(answer.content)
    read = {"csv": pl.read_csv, "xlsx": pl.read_excel, "parquet": pl.read_parquet}[path.suffix[1:]]
    return read(path)


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_tables_are_opened_again(studio, kind):
    assert taken(studio, f"labels.{kind}")["label"].to_list()[0] == "cat"
    assert taken(studio, f"annotators.{kind}").height == 2
    studio.judge(studio.project, 7, "cat")
    judged = taken(studio, f"judgements.{kind}")
    assert judged.select("unit", "truth").rows()[0] in [(7, "cat"), ("7", "cat")]
    mine = taken(studio, f"with_labels.{kind}")
    added = ["finegold_label", "finegold_confidence", "finegold_is_gold"]
    assert mine.columns == ["unit", "worker", "label", "text", *added]
    assert mine["finegold_label"].to_list()[:2] == ["cat", "cat"]
    assert mine["worker"].to_list() == ["x", "y", "x", "y"]


def test_labels_go_to_a_database_of_the_folder_and_to_no_other_file(studio):
    address = f"/api/projects/{studio.project}/database"
    done = studio.good("POST", address, json={"address": "sqlite:///out.db", "table": "labels"})
    assert done == {"table": "labels", "rows": 2}
    connection = sqlite3.connect(studio.folder / "out.db")
    assert connection.execute("SELECT count(*) FROM labels").fetchone() == (2,)
    connection.close()
    outside = studio.folder.parent / "evil.db"
    for place in (
        f"sqlite:////{outside}",
        "sqlite:///../evil.db",
        "sqlite:///test.studio",
        "sqlite:///mine.csv",
    ):
        answer = studio.post(address, json={"address": place, "table": "labels"})
        assert answer.status_code == 409, place
    assert not outside.exists()
    assert studio.post(address, json={"address": "mysql://x", "table": "labels"}).status_code == 422


def test_texts_are_searched_and_shown_in_the_rows(studio):
    found = studio.at(studio.project, "GET", "/tasks", params={"search": "barking"})
    assert [(row["task"], row["text"]) for row in found["rows"]] == [("8", "a BARKING one")]
    assert studio.at(studio.project, "GET", "/tasks", params={"search": "7"})["total"] == 1
