"""What a studio finds when it starts: damaged files, what killed ones left behind, and files that killed it."""

import shutil
import sqlite3

import pytest

import finegold
from finegold.studio.files import LOCK
from tests.support.studio_helpers import Process, copy_sample, refused, running, studio_in_thread


def project_file(folder):
    with studio_in_thread(folder) as studio:
        studio.fit(studio.read_sample(folder))
    return folder / "test.studio"


def execute(path, sql):
    with sqlite3.connect(path) as connection:
        connection.execute(sql)
    connection.close()


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_damaged_project_file_is_called_damaged_and_stays_as_it_is(tmp_path, is_cut):
    path = project_file(tmp_path)
    content = path.read_bytes()
    damaged = (
        content[: 4096 * 10]
        if is_cut
        else content[: 4096 * 3] + b"\xa5" * (4096 * 6) + content[4096 * 9 :]
    )
    path.write_bytes(damaged)
    with (
        pytest.raises(finegold.InputError, match=r"test\.studio is damaged.*; restore it"),
        studio_in_thread(tmp_path),
    ):
        pass
    assert path.read_bytes() == damaged


def test_a_result_whose_bytes_changed_is_called_damaged_and_so_is_damage_while_the_studio_runs(
    tmp_path, monkeypatch
):
    execute(project_file(tmp_path), "UPDATE piece SET bytes = zeroblob(length(bytes))")
    with studio_in_thread(tmp_path) as studio:
        answer = refused(
            studio.get("/api/projects/1/tasks"), 422, detail="test.studio is damaged; restore it"
        )
        assert "--" not in answer["detail"]
        assert studio.at(1, "GET")["id"] == 1

        def broken(*_):
            raise sqlite3.DatabaseError("database disk image is malformed")

        monkeypatch.setattr(studio.services.store, "project", broken)
        refused(studio.get("/api/projects/1"), 507, "The project file is damaged")


def test_a_project_file_that_is_none_of_another_version_or_open_elsewhere_is_refused_and_an_empty_one_begun(
    tmp_path,
):
    def is_refused(words):
        with pytest.raises(finegold.InputError, match=words), studio_in_thread(tmp_path):
            pass

    path = tmp_path / "test.studio"
    path.write_bytes(b"no database")
    is_refused("not a project of the studio")
    assert path.read_bytes() == b"no database"
    path.write_bytes(b"")
    with studio_in_thread(tmp_path) as studio:
        assert studio.good("GET", "/api/projects") == []
        is_refused("open in another studio")
    execute(path, "PRAGMA user_version = 99")
    is_refused("file format 99; this version reads 3")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files of its own."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def test_the_scratch_folders_of_killed_studios_are_removed_and_no_others(tmp_path, temporary):
    (temporary / "finegold-studio-of-somebody").mkdir()
    killed, alive, target = (tmp_path / name for name in ("killed", "alive", "target"))
    for folder in (killed, alive, target):
        folder.mkdir()
    (target / LOCK).touch()
    (temporary / "finegold-studio-link").symlink_to(target)
    others = set(temporary.iterdir())
    studio = Process(killed)
    left = set(temporary.iterdir())
    studio.kill()
    assert len(left) == 3
    assert left == set(temporary.iterdir())
    with running(alive):
        mine = set(temporary.iterdir()) - left
        with studio_in_thread(tmp_path) as other:
            assert set(temporary.iterdir()) == {*others, *mine, other.services.files.scratch}
    assert set(temporary.iterdir()) == others
    assert (target / LOCK).exists()


def as_if_killed(studio, folder):
    """The project file and the data as they are on the disk now, in another folder."""
    folder.mkdir()
    for path in studio.folder.iterdir():
        if path.is_file():
            shutil.copy(path, folder)


@pytest.fixture
def crashed(tmp_path):
    """A folder whose studio was killed while it read votes.csv of project 1; project 2 was at rest."""
    with studio_in_thread(tmp_path) as studio:
        copy_sample(tmp_path)
        for _ in range(2):
            studio.create("votes.csv")
        studio.good("GET", "/api/projects/2/preview")
        with studio.services.files.of(studio.services.store.project(1)):
            as_if_killed(studio, tmp_path / "killed")
    return tmp_path / "killed"


@pytest.mark.parametrize("reads", [True, False])
def test_a_file_that_the_studio_did_not_survive_is_read_again_only_if_somebody_asks_for_it(
    crashed, monkeypatch, reads
):
    read = []
    with studio_in_thread(crashed) as studio:
        with monkeypatch.context() as patch:
            patch.setattr("finegold.studio.votes.preview", lambda path: read.append(path))
            state = studio.at(1, "GET")
            assert (state["crashed"], state["job"]["kind"], state["job"]["state"]) == (
                True,
                "read",
                "failed",
            )
            assert "ended while it read this file" in state["job"]["message"]
            refused(
                studio.get("/api/projects/1/preview"),
                409,
                "The studio ended while it read this file",
            )
            assert not read
            other = studio.at(2, "GET")
            assert (other["crashed"], other["job"]) == (False, None)
        if reads:
            studio.good("PUT", "/api/projects/1/votes", json={})
            assert studio.settled(1)["job"]["state"] == "done"
        else:
            assert studio.good("GET", "/api/projects/1/preview?again=true")["rows"]
        assert studio.at(1, "GET")["crashed"] is False
        assert studio.good("GET", "/api/projects/1/preview")["rows"]


@pytest.fixture
def killed_by_a_result(tmp_path):
    """A folder whose studio was killed while it warmed up with the result of project 1."""
    project_file(tmp_path)
    with studio_in_thread(tmp_path) as studio, pytest.MonkeyPatch.context() as patch:
        killed = tmp_path / "killed"
        patch.setattr("finegold.studio.workspace.doubts", lambda _: as_if_killed(studio, killed))
        studio.services.load_newest()
    return killed


def test_a_result_that_the_studio_did_not_survive_is_opened_only_if_somebody_asks_for_it(
    killed_by_a_result,
):
    for asks in (False, True):
        with studio_in_thread(killed_by_a_result) as studio:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(
                    "finegold.studio.workspace.load", lambda path: pytest.fail("it was opened")
                )
                studio.services.load_newest()
                answer = studio.get("/api/projects/1/tasks")
                refused(
                    answer, 409, "The studio ended while it opened this result", "may be damaged"
                )
                assert studio.at(1, "GET")["damaged"] is True
            if asks:
                studio.good("POST", f"/api/projects/1/fits/{answer.json()['fit']}/open")
                assert studio.good("GET", "/api/projects/1/tasks")["total"]
                assert studio.at(1, "GET")["damaged"] is False
    with studio_in_thread(killed_by_a_result) as studio:
        studio.services.load_newest()
        assert studio.at(1, "GET")["damaged"] is False


def test_a_file_that_is_wrong_does_not_count_as_a_crash_and_is_named_by_its_name(tmp_path):
    (tmp_path / "bad.csv").write_text("task,worker,label\n1,x,cat\n,y,dog\n")
    with studio_in_thread(tmp_path) as studio:
        job = studio.read(studio.create("bad.csv"))["job"]
        assert job["state"] == "failed"
        assert job["message"].startswith("bad.csv, row 2 (line 3)")
        assert str(tmp_path) not in job["message"]
    with studio_in_thread(tmp_path) as studio:
        assert studio.at(1, "GET")["crashed"] is False


def test_a_studio_that_was_ended_while_it_read_a_file_has_not_crashed(tmp_path):
    copy_sample(tmp_path)
    with studio_in_thread(tmp_path) as studio:
        studio.good("POST", "/api/projects", json={"file": "votes.csv"})
        reading = studio.services.files.of(studio.services.store.project(1))
        reading.__enter__()
    with pytest.raises(finegold.InputError):
        reading.__exit__(finegold.InputError, finegold.InputError("cancelled"), None)
    with studio_in_thread(tmp_path) as studio:
        assert studio.at(1, "GET")["crashed"] is False
