"""Interrupted work goes on later, to the same bits."""

import os
import signal

import numpy as np
import pytest

import karat
from karat import Annotations, InputError
from karat.checkpoint import Checkpoint
from karat.checks.laws import same, sample_votes
from karat.methods import method_class
from karat.methods.ptbcc import PTBCC
from karat.registry import REGISTRY
from karat.solve import fit

RESUMABLE = [name for name in REGISTRY if method_class(name)().n_restarts == 1 and method_class(name)().resumable]


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
