"""Strings of a request are names: none of them is opened as a path, as standard input or as a database."""

import io
import os
import sys

import pytest

from tests.support.studio_helpers import studio_in_thread

WITH_PIPES = pytest.mark.skipif(sys.platform == "win32", reason="folders of Windows hold no pipes and sockets")
SECRET = "task,truth\n1,cat\ns3cret,dog\n"
MTURK = "HITId,AssignmentId,WorkerId,Answer.animal,{gold}\n1,a,ann,cat,cat\n1,b,bob,dog,cat\n"
LONG = "task,worker,label,{gold}\n1,ann,cat,cat\n1,bob,dog,cat\n"
WIDE = "task,ann,bob,{gold}\n1,cat,cat,cat\n2,dog,cat,dog\n3,dog,dog,\n"
TRANSPOSED = "respondent,q1,q2,{gold}\nann,cat,dog,dog\nbob,cat,cat,dog\n"


@pytest.fixture
def studio(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with studio_in_thread(folder) as client:
        yield client


def read_with_gold(studio, body, gold, **wishes):
    project = studio.upload("votes.csv", body.format(gold=gold).encode())
    return studio.read(project, **{"gold": gold, **wishes})


SHAPES = [(TRANSPOSED, {"shape": "transposed"}), (MTURK, {})]


@pytest.mark.parametrize(("body", "wishes"), SHAPES)
def test_a_column_that_is_called_like_a_file_does_not_open_that_file(studio, tmp_path, body, wishes):
    secret = tmp_path / "secret.csv"
    secret.write_text(SECRET)
    job = read_with_gold(studio, body, str(secret), **wishes)["job"]
    assert job["state"] == "failed"
    assert "a column cannot hold the gold" in job["message"]


@pytest.mark.parametrize("body", [LONG, WIDE])
def test_gold_of_a_column_that_is_called_like_a_file_is_that_column(studio, tmp_path, body):
    secret = tmp_path / "secret.csv"
    secret.write_text("task,truth\n1,dog\n")
    state = read_with_gold(studio, body, str(secret))
    assert state["job"]["state"] == "done", state["job"]
    assert studio.at(state["id"], "GET", "/tasks", params={"sort": "task"})["rows"][0]["gold"] == "cat"


@pytest.mark.parametrize(("body", "wishes"), SHAPES)
def test_a_column_called_like_standard_input_does_not_read_it(studio, monkeypatch, body, wishes):
    read = []

    class Stdin:
        @property
        def buffer(self):
            read.append(True)
            return io.BytesIO(SECRET.encode())

    monkeypatch.setattr("sys.stdin", Stdin())
    assert read_with_gold(studio, body, "-", **wishes)["job"]["state"] == "failed"
    assert not read


@WITH_PIPES
def test_a_column_called_like_a_pipe_does_not_block_the_jobs(studio, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    state = read_with_gold(studio, TRANSPOSED, str(tmp_path / "pipe.csv"), shape="transposed")
    assert state["job"]["state"] == "failed"


@pytest.mark.parametrize("gold", ["sqlite:///{tmp}/x.db", "duckdb:///{tmp}/x.db", "{tmp}/*.csv", "{tmp}"])
def test_a_column_called_like_a_database_or_a_pattern_is_none(studio, tmp_path, gold):
    (tmp_path / "secret.csv").write_text(SECRET)
    job = read_with_gold(studio, TRANSPOSED, gold.format(tmp=tmp_path), shape="transposed")["job"]
    assert "a column cannot hold the gold" in job["message"]


@WITH_PIPES
@pytest.mark.parametrize("name", ["pipe.csv", "to_pipe.csv", "socket.csv", "null.csv", "-", "folder.csv"])
def test_pipes_devices_sockets_and_folders_are_no_files(studio, tmp_path, name):
    import socket

    folder = studio.folder
    os.mkfifo(folder / "pipe.csv")
    (folder / "to_pipe.csv").symlink_to(folder / "pipe.csv")
    (folder / "null.csv").symlink_to("/dev/null")
    (folder / "folder.csv").mkdir()
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "socket.csv"))
        assert studio.post("/api/projects", json={"file": name}).status_code == 404
    assert studio.good("GET", "/api/folder")["files"] == []


@WITH_PIPES
def test_a_file_that_became_a_pipe_or_a_link_is_not_opened(studio, tmp_path):
    folder = studio.folder
    (folder / "votes.csv").write_text(LONG.format(gold="gold"))
    project = studio.create("votes.csv")
    (folder / "votes.csv").unlink()
    os.mkfifo(folder / "votes.csv")
    assert studio.get(f"/api/projects/{project}/preview").status_code == 404
    assert studio.put(f"/api/projects/{project}/votes", json={}).status_code == 404
    (folder / "votes.csv").unlink()
    (folder / "votes.csv").symlink_to("/etc/passwd")
    assert studio.get(f"/api/projects/{project}/preview").status_code == 404


@pytest.mark.parametrize("role", ["task", "annotator", "label", "question", "columns", "include", "missing"])
@pytest.mark.parametrize("value", ["{tmp}/secret.csv", "-", "sqlite:///{tmp}/x.db", "^.*$", "*"])
def test_no_wish_about_the_reading_opens_anything(studio, tmp_path, role, value):
    (tmp_path / "secret.csv").write_text(SECRET)
    said = value.format(tmp=tmp_path)
    wishes = {role: [said] if role in ("columns", "include", "missing") else said}
    if role == "columns":
        wishes["shape"] = "wide"
    project = studio.upload("votes.csv", LONG.format(gold="gold").encode())
    message = studio.read(project, **wishes)["job"]["message"]
    assert [words for words in ("s3cret", "unexpected error") if words in message] == []


@pytest.mark.parametrize("name", ["*", "^.*$", "^t.*$", "a,b"])
def test_a_column_called_like_a_pattern_is_that_column(studio, name):
    body = f'task,"{name}",worker,label\n1,purrs,ann,cat\n2,barks,ann,dog\n'
    project = studio.upload("votes.csv", body.encode())
    assert studio.at(project, "GET", "/preview")["columns"][1] == name
    assert studio.read(project)["job"]["state"] == "done"
    found = studio.at(project, "GET", "/tasks/0/content")
    assert [(one["name"], one["text"]) for one in found] == [(name, "purrs")]


@pytest.mark.parametrize("sheet", ["../../secret.csv", "/../secret.csv", "*", "x"])
def test_the_sheet_of_a_file_is_never_part_of_a_path(studio, sheet):
    folder = studio.folder
    (folder / "votes.csv").write_text("task,worker,label\n1,ann,cat\n")
    (folder / "votes.csv#").mkdir()
    for name in ("secret.csv", "votes.csv#x"):
        (folder / name).write_text(SECRET)
    project = studio.create("votes.csv")
    found = studio.at(project, "GET", "/preview", params={"sheet": sheet})
    said = "votes.csv: it is not a workbook, so it has no sheets; leave the sheet out"
    assert (found["problem"], found["rows"]) == (said, [])


def test_a_link_that_stays_in_the_folder_is_a_file_of_it(studio):
    folder = studio.folder
    (folder / "sub").mkdir()
    (folder / "sub" / "votes.csv").write_text(LONG.format(gold="gold"))
    (folder / "link.csv").symlink_to(folder / "sub" / "votes.csv")
    project = studio.create("link.csv")
    assert studio.at(project, "GET", "/preview")["rows"]
