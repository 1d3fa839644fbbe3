"""Interrupted work goes on later, to the same bits."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import karat
from karat import Annotations, InputError
from karat.checkpoint import Checkpoint
from karat.checks.laws import same, sample_votes
from karat.knowledge import CHOOSING
from karat.methods import method_class
from karat.methods.auto import Auto
from karat.methods.ebcc import EBCC
from karat.methods.hpt import HPT
from karat.methods.ptbcc import PTBCC
from karat.registry import REGISTRY
from karat.solve import fit
from tests.test_auto import unlike_crowd

RESUMABLE = [name for name in REGISTRY if method_class(name)().n_restarts == 1]


def interrupt_at(iteration):
    """Ctrl-C during the given iteration."""

    def watch(step):
        if step.iteration == iteration:
            os.kill(os.getpid(), signal.SIGINT)

    return watch


@pytest.mark.parametrize("name", RESUMABLE)
def test_a_resumed_fit_equals_an_uninterrupted_one(name, tmp_path):
    votes = Annotations.from_arrays(*sample_votes())
    make = method_class(name)
    whole = fit(make(), votes)
    if whole.iterations < 3:
        return  # nothing to interrupt
    path = tmp_path / "half"
    with pytest.raises(KeyboardInterrupt):
        fit(make(), votes, watch=interrupt_at(2), checkpoint=Checkpoint(path))
    assert path.exists()
    seen = []
    resumed = fit(make(), votes, watch=seen.append, checkpoint=Checkpoint(path, resume=True))
    assert seen[0].iteration == 3
    assert same(make, whole, resumed)
    assert not make().exact_bits or np.array_equal(whole.bound, resumed.bound, equal_nan=True)
    assert not path.exists()


def test_without_a_checkpoint_ctrl_c_just_stops(tmp_path):
    votes = Annotations.from_arrays(*sample_votes())
    with pytest.raises(KeyboardInterrupt):
        fit(PTBCC(), votes, watch=interrupt_at(2))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_resuming_where_there_is_nothing_starts_afresh(tmp_path):
    votes = Annotations.from_arrays(*sample_votes())
    result = karat.aggregate(votes, checkpoint=tmp_path / "none", resume=True)
    assert result.converged


def test_a_checkpoint_of_other_votes_or_settings_is_refused(tmp_path):
    path = tmp_path / "half"
    with pytest.raises(KeyboardInterrupt):
        fit(PTBCC(), Annotations.from_arrays(*sample_votes()), watch=interrupt_at(1), checkpoint=Checkpoint(path))
    with pytest.raises(InputError, match="votes differs"):
        fit(PTBCC(), Annotations.from_arrays(*sample_votes(seed=9)), checkpoint=Checkpoint(path, resume=True))
    with pytest.raises(InputError, match="settings differs"):
        fit(PTBCC(f=4.0), Annotations.from_arrays(*sample_votes()), checkpoint=Checkpoint(path, resume=True))
    path.write_bytes(b"rubbish")
    with pytest.raises(InputError, match="damaged"):
        fit(PTBCC(), Annotations.from_arrays(*sample_votes()), checkpoint=Checkpoint(path, resume=True))


def test_long_work_is_kept_from_time_to_time(tmp_path, monkeypatch):
    monkeypatch.setattr("karat.checkpoint.SECONDS_BETWEEN", 0.0)
    path = tmp_path / "half"
    there = []
    fit(
        PTBCC(),
        Annotations.from_arrays(*sample_votes()),
        watch=lambda step: there.append(path.exists()),
        checkpoint=Checkpoint(path),
    )
    assert there == [False, *[True] * (len(there) - 1)]
    assert not path.exists()


@pytest.fixture(scope="module")
def unlike():
    """Few annotators who differ, with many votes each: auto blends several methods."""
    return unlike_crowd()[0]


@pytest.fixture(scope="module")
def whole(unlike):
    """Results at one go, and the stage of every step on the way."""
    made = {}
    for method in (HPT(), Auto()):
        stages = []
        made[method.name] = fit(method, unlike, watch=lambda step, to=stages: to.append(step.stage)), stages
    return made


class Killed(Exception):
    """As after SIGKILL, nothing is saved any more."""


def kill_at(number):
    """In the sweep of this number, whatever it belongs to."""
    seen = []

    def watch(step):
        seen.append(step)
        if len(seen) == number:
            raise Killed

    return watch


def press_at(number, leave_out=()):
    """Ctrl-C there; sweeps of some stages do not count."""
    seen = []

    def watch(step):
        seen.extend([step] if step.stage not in leave_out else [])
        if len(seen) == number:
            os.kill(os.getpid(), signal.SIGINT)

    return watch


def moments(stages):
    """Sweeps to stop at: one in the middle of each stage, and the very last."""
    places = {stage: [i for i, one in enumerate(stages, 1) if one == stage] for stage in stages}
    return [*(found[len(found) // 2] for found in places.values()), len(stages)]


@pytest.mark.parametrize("method", [HPT(), Auto()], ids=["hpt", "auto"])
@pytest.mark.parametrize("stop", [kill_at, press_at], ids=["kill", "interrupt"])
def test_work_of_several_stages_is_resumed_in_any_of_them(method, stop, unlike, whole, tmp_path, monkeypatch):
    if stop is kill_at:
        monkeypatch.setattr("karat.checkpoint.SECONDS_BETWEEN", 0.0)  # else a kill loses a minute
    expected, stages = whole[method.name]
    for number in moments(stages)[:: 2 if stop is kill_at else 1]:
        path = tmp_path / f"at-{number}"
        with pytest.raises((Killed, KeyboardInterrupt)):
            fit(method, unlike, watch=stop(number), checkpoint=Checkpoint(path))
        assert path.exists()
        seen = []
        resumed = fit(method, unlike, watch=seen.append, checkpoint=Checkpoint(path, resume=True))
        assert np.array_equal(resumed.posterior, expected.posterior)
        assert resumed.steps == expected.steps or np.isnan(expected.bound).any()
        assert resumed.settings == expected.settings
        again = [step for step in seen if step.stage != CHOOSING]
        assert len(again) == len([stage for stage in stages[number - (stop is kill_at) :] if stage != CHOOSING])
        assert list(tmp_path.iterdir()) == []


def test_a_stage_that_has_ended_is_not_swept_again(unlike, whole, tmp_path):
    _, stages = whole["auto"]
    last = stages[-1]
    assert last not in ("ptbcc", CHOOSING)
    with pytest.raises(Killed):
        fit(Auto(), unlike, watch=kill_at(stages.index(last) + 1), checkpoint=Checkpoint(tmp_path / "half"))
    seen = []
    fit(Auto(), unlike, watch=seen.append, checkpoint=Checkpoint(tmp_path / "half", resume=True))
    assert {step.stage for step in seen} == {CHOOSING, last}


def test_work_can_be_interrupted_again_and_again(unlike, whole, tmp_path):
    expected, stages = whole["auto"]
    n_sweeps = sum(stage != CHOOSING for stage in stages)
    for already in range(0, n_sweeps - 30, 30):
        stop = press_at(30, leave_out=[CHOOSING])
        with pytest.raises(KeyboardInterrupt):
            fit(Auto(), unlike, watch=stop, checkpoint=Checkpoint(tmp_path / "half", resume=already > 0))
    resumed = fit(Auto(), unlike, checkpoint=Checkpoint(tmp_path / "half", resume=True))
    assert np.array_equal(resumed.posterior, expected.posterior)


def test_a_real_sigkill_in_the_last_stage(unlike, whole, tmp_path):
    expected, stages = whole["auto"]
    np.savez(tmp_path / "votes.npz", *unlike.votes())
    script = f"""
import os, signal, numpy as np
from karat import Annotations
from karat.checkpoint import Checkpoint
from karat.methods.auto import Auto
from karat.solve import fit
from tests.test_auto import unlike_crowd
seen = []
def watch(step):
    seen.append(step)
    if len(seen) == {len(stages) - 1}:
        os.kill(os.getpid(), signal.SIGKILL)
votes = Annotations.from_arrays(*np.load({str(tmp_path / "votes.npz")!r}).values())
fit(Auto(), votes, watch=watch, checkpoint=Checkpoint({str(tmp_path / "half")!r}))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    resumed = fit(Auto(), unlike, checkpoint=Checkpoint(tmp_path / "half", resume=True))
    assert np.array_equal(resumed.posterior, expected.posterior)
    assert [path.name for path in tmp_path.iterdir()] == ["votes.npz"]


def test_parts_of_other_work_do_not_count(unlike, whole, tmp_path):
    _, stages = whole["auto"]
    path = tmp_path / "half"
    with pytest.raises(Killed):
        fit(Auto(), unlike, watch=kill_at(len(stages)), checkpoint=Checkpoint(path))
    old = {file.name for file in tmp_path.iterdir()}
    assert len(old) > 2
    with pytest.raises(Killed):  # too early to have anything to keep
        fit(Auto(max_iterations=9), unlike, watch=kill_at(1), checkpoint=Checkpoint(path, overwrite=True))
    assert {file.name for file in tmp_path.iterdir()} == old
    with pytest.raises(KeyboardInterrupt):
        fit(Auto(max_iterations=9), unlike, watch=press_at(1), checkpoint=Checkpoint(path, overwrite=True))
    assert {file.name for file in tmp_path.iterdir()} == {"half", "half.part-ptbcc"}
    resumed = fit(Auto(max_iterations=9), unlike, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(resumed.posterior, fit(Auto(max_iterations=9), unlike).posterior)


@pytest.mark.parametrize("method", [HPT, Auto])
def test_several_stages_of_other_votes_or_settings_are_refused_by_the_name_of_the_whole(method, tmp_path):
    path = tmp_path / "half"
    votes = Annotations.from_arrays(*sample_votes())
    with pytest.raises(KeyboardInterrupt):
        fit(method(), votes, watch=press_at(1), checkpoint=Checkpoint(path))
    with pytest.raises(InputError, match=r"half belongs to another fit \(votes differs\).*or delete it"):
        fit(method(), Annotations.from_arrays(*sample_votes(seed=9)), checkpoint=Checkpoint(path, resume=True))
    with pytest.raises(InputError, match=r"half belongs to another fit \(settings differs\)"):
        fit(method(max_iterations=7), votes, checkpoint=Checkpoint(path, resume=True))
    (tmp_path / "half.part-ptbcc").write_bytes(b"rubbish")
    with pytest.raises(InputError, match=r"half.part-ptbcc is not a checkpoint of Karat, or it is damaged"):
        fit(method(), votes, checkpoint=Checkpoint(path, resume=True))
    path.unlink()
    with pytest.raises(InputError, match=r"half.part-ptbcc is not a checkpoint of Karat, or it is damaged"):
        fit(method(), votes, checkpoint=Checkpoint(path, resume=True))
    (tmp_path / "half.part-ptbcc").unlink()
    assert fit(method(), votes, checkpoint=Checkpoint(path, resume=True)).converged


@pytest.mark.parametrize("method", [EBCC(n_restarts=2), PTBCC(accelerate=True)])
def test_restarts_and_strides_cannot_be_resumed(method, tmp_path):
    with pytest.raises(InputError, match="restarts or with accelerate"):
        fit(method, Annotations.from_arrays(*sample_votes()), checkpoint=Checkpoint(tmp_path / "x"))
