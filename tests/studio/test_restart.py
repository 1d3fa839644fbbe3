"""What a studio finds when it starts: everything that was confirmed, damaged files, and files that ended it."""

import shutil
import sqlite3
import threading

import httpx
import pytest

import finegold
from tests.support.studio_helpers import copy_sample, refused, running, studio_in_thread, wait_until


def project_file(folder):
    with studio_in_thread(folder) as studio:
        studio.read_sample(folder)
    return folder / "test.studio"


def execute(path, sql):
    with sqlite3.connect(path) as connection:
        connection.execute(sql)
    connection.close()


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_damaged_project_file_is_called_damaged_and_stays_as_it_is(tmp_path, is_cut):
    path = project_file(tmp_path)
    content = path.read_bytes()
    damaged = content[: 4096 * 10]
    if not is_cut:
        damaged = content[: 4096 * 3] + b"\xa5" * (4096 * 6) + content[4096 * 9 :]
    path.write_bytes(damaged)
    with (
        pytest.raises(finegold.InputError, match=r"test\.studio is damaged.*; restore it"),
        studio_in_thread(tmp_path),
    ):
        pass
    assert path.read_bytes() == damaged


def test_a_result_whose_bytes_changed_is_refused_and_so_is_damage_while_the_studio_runs(
    tmp_path, monkeypatch
):
    execute(project_file(tmp_path), "UPDATE blob SET bytes = zeroblob(length(bytes))")
    with studio_in_thread(tmp_path) as studio:
        answer = refused(studio.get("/api/projects/1/tasks"), 422)
        assert "--" not in answer["detail"]
        assert studio.at(1, "GET")["id"] == 1

        def broken(*_):
            raise sqlite3.DatabaseError("database disk image is malformed")

        monkeypatch.setattr(studio.services.store, "project", broken)
        refused(studio.get("/api/projects/1"), 507, "The project file is damaged")


def test_a_project_file_that_is_none_of_another_version_or_open_elsewhere_is_refused(tmp_path):
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
    execute(path, "PRAGMA user_version = 3")
    is_refused("file format 3; this version reads 4")


def test_a_project_whose_loading_ended_the_studio_is_loaded_only_if_somebody_asks_for_it(tmp_path):
    killed = tmp_path / "killed"
    with studio_in_thread(tmp_path) as studio:
        studio.read_sample(tmp_path)
        studio.create("at rest")
        with studio.services.loaded.loading(1):
            killed.mkdir()
            for path in tmp_path.glob("test.studio*"):
                shutil.copy(path, killed)
    for asks in (False, True):
        with studio_in_thread(killed) as studio:
            studio.services.load_newest()
            assert studio.at(1, "GET")["crashed"] is True
            assert studio.at(2, "GET")["crashed"] is False
            answer = studio.get("/api/projects/1/tasks")
            refused(answer, 409, "The studio ended while it loaded this project", "may be damaged")
            if asks:
                studio.at(1, "PATCH", json={"crashed": False})
                assert studio.at(1, "GET", "/tasks")["total"]
    with studio_in_thread(killed) as studio:
        assert studio.at(1, "GET")["crashed"] is False


def test_copies_of_files_go_when_a_studio_ends_or_the_next_one_starts(tmp_path):
    with studio_in_thread(tmp_path) as studio:
        studio.read_sample(tmp_path)
        folder = studio.services.files.scratch
        # a studio that ends while it reads has not crashed
        studio.services.loaded.loading(1).__enter__()
        assert folder.stat().st_mode & 0o077 == 0
        assert "test.studio" in folder.name
    assert not folder.exists()
    folder.mkdir()
    (folder / "left by a killed one").touch()
    with studio_in_thread(tmp_path) as studio:
        assert list(folder.iterdir()) == []
        assert studio.at(1, "GET")["crashed"] is False


def test_a_kill_during_a_fit_loses_nothing_that_was_confirmed(tmp_path):
    copy_sample(tmp_path)
    confirmed, lock = {}, threading.Lock()

    def judge(client, who):
        """Until nobody answers any more."""
        for task in range(who, 300, 2):
            try:
                if client.judge(1, task, "cat", who=str(who)).status_code == 200:
                    with lock:
                        confirmed[task] = "cat"
            except httpx.TransportError:
                return

    with running(tmp_path, "votes.csv") as studio, studio.client() as client:
        assert httpx.get(studio.link).headers["location"] == "/#/p/1"
        source = client.at(1, "GET", "/sources")[0]
        assert source["state"] == "draft"
        client.take(1, source["id"])
        endless = {"method": "ptbcc", "settings": {"tolerance": 0.0, "max_iterations": 10_000_000}}
        client.at(1, "POST", "/fits", json=endless)
        wait_until(lambda: client.at(1, "GET")["job"]["step"])
        threads = [threading.Thread(target=judge, args=(client, who)) for who in (0, 1)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(confirmed) > 30)
        studio.kill()
        for thread in threads:
            thread.join()
    assert len(confirmed) < 300, "the kill came too late to show anything"
    with running(tmp_path, "votes.csv") as studio, studio.client() as client:
        assert [fit["state"] for fit in client.at(1, "GET", "/fits")] == ["done", "interrupted"]
        kept = client.truths(1)
        assert confirmed.items() <= kept.items()
        # two may have been kept and not yet confirmed
        assert len(kept) <= len(confirmed) + 2
        assert client.fit(1)["fit"]["facts"]["truths"] == len(kept)
