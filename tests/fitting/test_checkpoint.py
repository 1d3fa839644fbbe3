"""Interrupted work goes on later, to the same bits. Files of others stay, and processes do not share a checkpoint."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.api.job import fit
from finegold.checks import same_bits, sample_votes
from finegold.errors import OutputError
from finegold.fitting.checkpoint import Checkpoint
from finegold.methods.ebcc import EBCC
from finegold.methods.lookup import method_class
from finegold.methods.ptbcc import PTBCC
from finegold.methods.registry import REGISTRY
from tests.support.cli_helpers import CSV, refusal_of, run, write
from tests.support.signals import KILL, interrupt_at, press_ctrl_c

FINEGOLD = [sys.executable, "-c", "from finegold.cli import main; main()"]
HOLD = """
import sys, time
from pathlib import Path
from finegold.system.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""

RESUMABLE = [name for name in REGISTRY if method_class(name)().n_restarts == 1]


@pytest.mark.parametrize("name", RESUMABLE)
def test_a_resumed_fit_equals_an_uninterrupted_one(name, tmp_path):
    votes = Annotations.from_arrays(*sample_votes())
    make = method_class(name)
    whole = fit(make(), votes)
    if whole.iterations < 3:
        return  # nothing to interrupt
    path = tmp_path / "half"
    with pytest.raises(KeyboardInterrupt):
        fit(make(), votes, on_step=interrupt_at(2), checkpoint=Checkpoint(path))
    assert path.exists()
    seen = []
    resumed = fit(make(), votes, on_step=seen.append, checkpoint=Checkpoint(path, resume=True))
    assert seen[0].iteration == 3
    assert same_bits(whole, resumed)
    assert np.array_equal(whole.bound, resumed.bound, equal_nan=True)
    assert not path.exists()


def test_without_a_checkpoint_ctrl_c_just_stops(tmp_path):
    votes = Annotations.from_arrays(*sample_votes())
    with pytest.raises(KeyboardInterrupt):
        fit(PTBCC(), votes, on_step=interrupt_at(2))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_job_that_ignores_ctrl_c_keeps_ignoring_it(tmp_path):
    """A shell starts jobs in the background so."""
    votes = Annotations.from_arrays(*sample_votes())
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result = fit(
            PTBCC(), votes, on_step=interrupt_at(2), checkpoint=Checkpoint(tmp_path / "half")
        )
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.converged
    assert list(tmp_path.iterdir()) == []


def test_the_tests_of_ctrl_c_pass_in_a_job_that_ignores_it():
    one = f"{__file__}::{test_without_a_checkpoint_ctrl_c_just_stops.__name__}"
    ignoring = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", {one!r}])
"""
    done = subprocess.run(
        [sys.executable, "-c", ignoring], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_long_work_is_kept_from_time_to_time(tmp_path, monkeypatch):
    monkeypatch.setattr("finegold.fitting.checkpoint.SECONDS_BETWEEN_SAVES", 0.0)
    path = tmp_path / "half"
    there, votes = [], Annotations.from_arrays(*sample_votes())
    fit(
        PTBCC(),
        votes,
        on_step=lambda step: there.append(path.exists()),
        checkpoint=Checkpoint(path),
    )
    assert there == [False, *[True] * (len(there) - 1)]
    assert not path.exists()


@pytest.fixture(scope="module")
def votes():
    return Annotations.from_arrays(*sample_votes(n_tasks=300))


@pytest.fixture(scope="module")
def whole(votes):
    return fit(PTBCC(), votes)


class Killed(Exception):
    """As after SIGKILL, nothing is saved any more."""


def kill_at(number):
    """In the sweep of this number."""

    def watch(step):
        if step.iteration == number:
            raise Killed

    return watch


def moments(whole):
    """Sweeps to stop at: an early one, one in the middle, and the very last."""
    last = whole.iterations
    assert last > 6
    return [2, last // 2, last]


@pytest.mark.parametrize("stop", [kill_at, interrupt_at], ids=["kill", "interrupt"])
def test_work_is_resumed_wherever_it_stopped(stop, votes, whole, tmp_path, monkeypatch):
    if stop is kill_at:
        monkeypatch.setattr(
            "finegold.fitting.checkpoint.SECONDS_BETWEEN_SAVES", 0.0
        )  # else a kill loses a minute
    for number in moments(whole):
        path = tmp_path / f"at-{number}"
        with pytest.raises((Killed, KeyboardInterrupt)):
            fit(PTBCC(), votes, on_step=stop(number), checkpoint=Checkpoint(path))
        assert path.exists()
        seen = []
        resumed = fit(PTBCC(), votes, on_step=seen.append, checkpoint=Checkpoint(path, resume=True))
        assert np.array_equal(resumed.posterior, whole.posterior)
        assert np.array_equal(resumed.bound, whole.bound, equal_nan=True)
        assert len(seen) == whole.iterations - number + (stop is kill_at)
        assert list(tmp_path.iterdir()) == []


def test_work_can_be_interrupted_again_and_again(votes, whole, tmp_path):
    for number in range(3, whole.iterations, 3):
        checkpoint = Checkpoint(tmp_path / "half", resume=number > 3)
        with pytest.raises(KeyboardInterrupt):
            fit(PTBCC(), votes, on_step=interrupt_at(number), checkpoint=checkpoint)
    resumed = fit(PTBCC(), votes, checkpoint=Checkpoint(tmp_path / "half", resume=True))
    assert np.array_equal(resumed.posterior, whole.posterior)


def test_a_real_sigkill_in_the_last_sweeps(votes, whole, tmp_path):
    np.savez(tmp_path / "votes.npz", *votes.votes())
    script = f"""
import os, numpy as np
from finegold import PTBCC, Annotations
from finegold.api.job import fit
from finegold.fitting import checkpoint
from finegold.fitting.checkpoint import Checkpoint
from tests.support.signals import KILL
checkpoint.SECONDS_BETWEEN_SAVES = 0.0
def watch(step):
    if step.iteration == {whole.iterations - 1}:
        os.kill(os.getpid(), KILL)
votes = Annotations.from_arrays(*np.load({str(tmp_path / "votes.npz")!r}).values())
fit(PTBCC(), votes, on_step=watch, checkpoint=Checkpoint({str(tmp_path / "half")!r}))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode in (-KILL, KILL)
    resumed = fit(PTBCC(), votes, checkpoint=Checkpoint(tmp_path / "half", resume=True))
    assert np.array_equal(resumed.posterior, whole.posterior)
    assert [path.name for path in tmp_path.iterdir()] == ["votes.npz"]


def test_work_on_other_votes_or_with_other_settings_is_refused(tmp_path):
    path = tmp_path / "half"
    votes = Annotations.from_arrays(*sample_votes())
    with pytest.raises(KeyboardInterrupt):
        fit(PTBCC(), votes, on_step=interrupt_at(1), checkpoint=Checkpoint(path))
    with pytest.raises(
        InputError, match=r"half belongs to another fit \(votes differs\).*overwrite=True"
    ):
        fit(
            PTBCC(),
            Annotations.from_arrays(*sample_votes(seed=9)),
            checkpoint=Checkpoint(path, resume=True),
        )
    with pytest.raises(InputError, match=r"half belongs to another fit \(settings differs\)"):
        fit(PTBCC(max_iterations=7), votes, checkpoint=Checkpoint(path, resume=True))
    path.write_bytes(b"rubbish")
    with pytest.raises(InputError, match=r"half is not a checkpoint of Finegold, or it is damaged"):
        fit(PTBCC(), votes, checkpoint=Checkpoint(path, resume=True))
    path.unlink()
    assert finegold.aggregate(
        votes, "ptbcc", checkpoint=path, resume=True
    ).converged  # there is nothing: it starts afresh


def test_restarts_cannot_be_resumed(tmp_path):
    with pytest.raises(InputError, match="restarts cannot be resumed"):
        fit(
            EBCC(n_restarts=2),
            Annotations.from_arrays(*sample_votes()),
            checkpoint=Checkpoint(tmp_path / "x"),
        )


def interrupted(method, votes, path):
    with pytest.raises(KeyboardInterrupt):
        fit(method, votes, on_step=press_ctrl_c, checkpoint=Checkpoint(path))
    return path.read_bytes()


@pytest.mark.parametrize("how", ["", "--resume", "--overwrite"])
@pytest.mark.parametrize("content", ["my thesis", "a model"])
def test_a_file_that_is_no_checkpoint_is_refused_before_the_work(tmp_path, content, how):
    source, mine = write(tmp_path / "votes.csv", CSV), write(tmp_path / "mine", content)
    if content == "a model":
        finegold.aggregate(source, "mv").save(mine)
    before = mine.read_bytes()
    given = [
        source,
        "--method",
        "ptbcc",
        "-o",
        tmp_path / "out.csv",
        "--checkpoint",
        mine,
        *how.split(),
    ]
    message = refusal_of("aggregate", *given)
    assert "mine is not a checkpoint of Finegold, or it is damaged; name another file" in message
    assert mine.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "votes.csv"]
    with pytest.raises(InputError, match="mine is not a checkpoint"):
        finegold.aggregate(tmp_path / "no such votes", "ptbcc", checkpoint=mine)


def test_unfinished_work_is_given_up_only_on_request(votes, tmp_path):
    path = tmp_path / "half"
    before = interrupted(PTBCC(), votes, path)
    for method in (PTBCC(), PTBCC(f=4.0)):
        with pytest.raises(
            InputError, match=r"half holds the unfinished work of an earlier run; .*overwrite=True"
        ):
            fit(method, votes, checkpoint=Checkpoint(path))
    assert path.read_bytes() == before
    assert fit(PTBCC(f=4.0), votes, checkpoint=Checkpoint(path, overwrite=True)).converged
    assert list(tmp_path.iterdir()) == []


def test_overwrite_without_a_checkpoint_says_what_it_needs(tmp_path):
    assert (
        "to overwrite unfinished work, name its file"
        in run("aggregate", "votes.csv", "--overwrite").stderr
    )


def test_a_checkpoint_that_another_process_uses_is_refused(votes, tmp_path):
    path = tmp_path / "half"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(
            OutputError, match=f"half is in use by process {other.pid}; wait until it has finished"
        ):
            fit(PTBCC(), votes, checkpoint=Checkpoint(path))
        other.kill()
    assert fit(PTBCC(), votes, checkpoint=Checkpoint(path)).converged  # nobody holds it any more
    assert list(tmp_path.iterdir()) == []
