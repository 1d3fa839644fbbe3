"""Checkpoints and models as files: nothing of others is replaced or removed, and two processes do not share one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import finegold
from finegold import Annotations, InputError
from finegold.api.job import fit
from finegold.checks import sample_votes
from finegold.errors import OutputError
from finegold.fitting.checkpoint import Checkpoint
from finegold.methods.hpt import HPT
from finegold.methods.ptbcc import PTBCC
from finegold.system.files import locked
from tests.support.cli_helpers import CSV, run, write
from tests.support.signals import press_ctrl_c

FINEGOLD = [sys.executable, "-c", "from finegold.cli import main; main()"]
HOLD = """
import sys, time
from pathlib import Path
from finegold.system.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def votes() -> Annotations:
    return Annotations.from_arrays(*sample_votes())


def interrupted(method: object, votes: Annotations, path: Path) -> bytes:
    with pytest.raises(KeyboardInterrupt):
        fit(method, votes, on_step=press_ctrl_c, checkpoint=Checkpoint(path))  # type: ignore[arg-type]
    return path.read_bytes()


@pytest.mark.parametrize("how", ["", "--resume", "--overwrite"])
@pytest.mark.parametrize("content", ["my thesis", "a model"])
def test_a_file_that_is_no_checkpoint_is_refused_before_the_work(tmp_path: Path, content: str, how: str) -> None:
    source, mine = write(tmp_path / "votes.csv", CSV), write(tmp_path / "mine", content)
    if content == "a model":
        finegold.aggregate(source, "mv").save(mine)
    before = mine.read_bytes()
    given = [source, "--method", "ptbcc", "-o", tmp_path / "out.csv", "--checkpoint", mine, *how.split()]
    done = run("aggregate", *given)
    assert done.exit_code == 2
    assert "mine is not a checkpoint of Finegold, or it is damaged; name another file" in done.stderr
    assert mine.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "votes.csv"]
    with pytest.raises(InputError, match="mine is not a checkpoint"):
        finegold.aggregate(tmp_path / "no such votes", "ptbcc", checkpoint=mine)


def test_unfinished_work_is_given_up_only_on_request(votes: Annotations, tmp_path: Path) -> None:
    path = tmp_path / "half"
    before = interrupted(PTBCC(), votes, path)
    for method in (PTBCC(), PTBCC(f=4.0)):
        with pytest.raises(InputError, match=r"half holds the unfinished work of an earlier run; .*--overwrite"):
            fit(method, votes, checkpoint=Checkpoint(path))
    assert path.read_bytes() == before
    assert fit(PTBCC(f=4.0), votes, checkpoint=Checkpoint(path, overwrite=True)).converged
    assert list(tmp_path.iterdir()) == []


def test_files_named_like_parts_stay(votes: Annotations, tmp_path: Path) -> None:
    notes = write(tmp_path / "half.part-notes.txt", "mine")
    interrupted(HPT(), votes, tmp_path / "half")
    assert (tmp_path / "half.part-ptbcc").exists()
    fit(HPT(), votes, checkpoint=Checkpoint(tmp_path / "half", resume=True))
    assert list(tmp_path.iterdir()) == [notes]


def test_overwrite_without_a_checkpoint_says_what_it_needs(tmp_path: Path) -> None:
    assert "to overwrite unfinished work, name its file" in run("aggregate", "votes.csv", "--overwrite").stderr


def test_a_checkpoint_that_another_process_uses_is_refused(votes: Annotations, tmp_path: Path) -> None:
    path = tmp_path / "half"
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match=f"half is in use by process {other.pid}; wait until it has finished"):
            fit(PTBCC(), votes, checkpoint=Checkpoint(path))
        other.kill()
    assert fit(PTBCC(), votes, checkpoint=Checkpoint(path)).converged  # nobody holds it any more
    assert list(tmp_path.iterdir()) == []


def test_updates_of_one_model_at_the_same_time_keep_all_votes(tmp_path: Path) -> None:
    model = tmp_path / "m.finegold"
    finegold.aggregate(write(tmp_path / "votes.csv", CSV), "mv").save(model)
    before = finegold.load(model).annotations
    assert before is not None
    running = []
    for number in range(4):
        rows = "".join(f"new-{number}-{i},ann,x\n" for i in range(10))
        new = write(tmp_path / f"{number}.csv", "task,worker,label\n" + rows)
        running.append(subprocess.Popen([*FINEGOLD, "update", model, new, "-o", model], stderr=subprocess.DEVNULL))
    assert [process.wait() for process in running] == [0, 0, 0, 0]
    after = finegold.load(model).annotations
    assert after is not None
    assert after.n_votes == before.n_votes + 40
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_who_waits_for_a_lock_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        said: list[str] = []

        def tell(line: str) -> None:
            said.append(line)
            other.kill()

        with locked(path, wait=tell):
            assert said == [f"{path} is in use by process {other.pid}; waiting until it has finished"]
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_locks_is_used_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)
    with locked(tmp_path / "model"):
        finegold.aggregate(write(tmp_path / "votes.csv", CSV), "mv").save(tmp_path / "m.finegold")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.finegold", "votes.csv"]
