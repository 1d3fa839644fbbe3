"""Strings of a request are names: none of them is opened as a path, as standard input or as a database."""

import io
import os
import socket
import sys

import pytest

from tests.support.studio_helpers import studio_in_thread

WITH_PIPES = pytest.mark.skipif(
    sys.platform == "win32", reason="folders of Windows hold no pipes and sockets"
)
SECRET = "task,truth\n1,cat\ns3cret,dog\n"
MTURK = "HITId,AssignmentId,WorkerId,Answer.animal,{gold}\n1,a,ann,cat,cat\n1,b,bob,dog,cat\n"
LONG = "task,worker,label,{gold}\n1,ann,cat,cat\n1,bob,dog,cat\n"
WIDE = "task,ann,bob,{gold}\n1,cat,cat,cat\n2,dog,cat,dog\n3,dog,dog,\n"
TRANSPOSED = "respondent,q1,q2,{gold}\nann,cat,dog,dog\nbob,cat,cat,dog\n"
NOT_GOLD = "a column cannot hold the gold"


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A studio in a folder; outside of it are a secret and a pipe."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.csv").write_text(SECRET)
    (outside / "folder").mkdir()
    with studio_in_thread(outside / "folder") as client:
        client.outside = outside
        yield client


def read_with_gold(studio, body, gold, **wishes):
    project = studio.upload("votes.csv", body.format(gold=gold).encode())
    return studio.read(project, **{"gold": gold, **wishes})


@pytest.mark.parametrize(("body", "wishes"), [(TRANSPOSED, {"shape": "transposed"}), (MTURK, {})])
def test_a_column_that_is_called_like_a_file_does_not_open_that_file(
    studio, monkeypatch, body, wishes
):
    read = []

    class Stdin:
        @property
        def buffer(self):
            read.append(True)
            return io.BytesIO(SECRET.encode())

    monkeypatch.setattr("sys.stdin", Stdin())
    names = ["secret.csv", "*.csv", "", "x.db"]
    if sys.platform != "win32":
        os.mkfifo(studio.outside / f"pipe{len(wishes)}.csv")  # which would block the jobs
        names.append(f"pipe{len(wishes)}.csv")
    paths = [f"{studio.outside}/{name}" for name in names]
    for gold in [*paths, "-", f"sqlite:///{paths[-2]}", f"duckdb:///{studio.outside}/x.db"]:
        job = read_with_gold(studio, body, gold, **wishes)["job"]
        assert job["state"] == "failed", gold
        assert NOT_GOLD in job["message"], gold
    assert not read


@pytest.mark.parametrize("body", [LONG, WIDE])
def test_gold_of_a_column_that_is_called_like_a_file_is_that_column(studio, body):
    (studio.outside / "gold.csv").write_text("task,truth\n1,dog\n")
    state = read_with_gold(studio, body, f"{studio.outside}/gold.csv")
    assert state["job"]["state"] == "done", state["job"]
    assert (
        studio.at(state["id"], "GET", "/tasks", params={"sort": "task"})["rows"][0]["gold"] == "cat"
    )


@WITH_PIPES
def test_pipes_devices_sockets_and_folders_are_no_files_and_links_only_within_the_folder(tmp_path):
    with studio_in_thread(tmp_path) as studio:
        os.mkfifo(tmp_path / "pipe.csv")
        (tmp_path / "to_pipe.csv").symlink_to(tmp_path / "pipe.csv")
        (tmp_path / "null.csv").symlink_to("/dev/null")
        (tmp_path / "folder.csv").mkdir()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(tmp_path / "socket.csv"))
            for name in ("pipe.csv", "to_pipe.csv", "socket.csv", "null.csv", "-", "folder.csv"):
                assert studio.post("/api/projects", json={"file": name}).status_code == 404, name
        assert studio.good("GET", "/api/folder")["files"] == []
        votes = tmp_path / "folder.csv" / "votes.csv"
        votes.write_text(LONG.format(gold="gold"))
        (tmp_path / "link.csv").symlink_to(votes)
        project = studio.create("link.csv")
        assert studio.at(project, "GET", "/preview")["rows"]
        (tmp_path / "link.csv").unlink()  # and becomes something else
        for become in (os.mkfifo, lambda path: path.symlink_to("/etc/passwd")):
            become(tmp_path / "link.csv")
            assert studio.get(f"/api/projects/{project}/preview").status_code == 404
            assert studio.put(f"/api/projects/{project}/votes", json={}).status_code == 404
            (tmp_path / "link.csv").unlink()


@pytest.mark.parametrize(
    "value", ["{outside}/secret.csv", "-", "sqlite:///{outside}/x.db", "^.*$", "*"]
)
def test_no_wish_about_the_reading_opens_anything(studio, value):
    project, name = (
        studio.upload("votes.csv", LONG.format(gold="gold").encode()),
        value.format(outside=studio.outside),
    )
    wishes = [{role: name} for role in ("task", "annotator", "label", "question")]
    wishes += [{"columns": [name], "shape": "wide"}, {"include": [name]}, {"missing": [name]}]
    wishes += [
        {"gold": name},
        {"gold": name, "shape": "judges"},
    ]  # `finegold.read` would take it for a path
    for wish in wishes:
        message = studio.read(project, **wish)["job"]["message"]
        assert [words for words in ("s3cret", "unexpected error") if words in message] == [], wish
        assert "there is no column" in message or "gold" not in wish


@pytest.mark.parametrize("name", ["*", "^.*$", "^t.*$", "a,b"])
def test_a_column_called_like_a_pattern_is_that_column(studio, name):
    body = f'task,"{name}",worker,label\n1,purrs,ann,cat\n2,barks,ann,dog\n'
    project = studio.upload("votes.csv", body.encode())
    assert studio.at(project, "GET", "/preview")["columns"][1] == name
    assert studio.read(project)["job"]["state"] == "done"
    found = studio.at(project, "GET", "/tasks/0/content")
    assert [(one["name"], one["text"]) for one in found] == [(name, "purrs")]


def test_the_sheet_of_a_file_is_never_part_of_a_path(studio):
    folder = studio.folder
    (folder / "votes.csv").write_text("task,worker,label\n1,ann,cat\n")
    (folder / "votes.csv#").mkdir()
    (folder / "votes.csv#x").write_text(SECRET)
    project = studio.create("votes.csv")
    for sheet in ("../../secret.csv", "/../secret.csv", "*", "x"):
        found = studio.at(project, "GET", "/preview", params={"sheet": sheet})
        problem = "votes.csv: it is not a workbook, so it has no sheets; leave the sheet out"
        assert (found["problem"], found["rows"]) == (problem, []), sheet
