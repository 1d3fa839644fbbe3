"""Everything around the GPU's kernels, with the CPU's in their place: bench/speed/gpu.py tests the kernels on a GPU."""

from importlib import import_module

import numpy as np
import pytest

import finegold
from finegold.api.job import fit
from finegold.engines.gpu import Device, GPUEngine
from finegold.engines.local import LocalEngine
from finegold.methods.lookup import method_class

METHODS = [
    ("anchored", {}),
    ("mv", {}),
    ("ds", {}),
    ("ibcc", {"inference": "ep"}),
    ("ibcc", {}),
    ("ptbcc", {}),
    ("hds", {}),
    ("hds", {"class_prior": "flat"}),
]


class Host(Device):
    """A device that is this machine, and counts what is sent to it."""

    pointer = np.uint64

    def __init__(self, free=10**9):
        self.free, self.sent = free, 0

    def free_memory(self):
        return self.free

    def zeros(self, shape, dtype=float):
        return np.zeros(shape, dtype)

    def upload(self, array, dtype=None, start=0):
        self.sent += 1
        return array.copy() if dtype is None else (array - np.uint64(start)).astype(dtype)

    def download(self, array):
        return array.copy()

    def kernels(self, name):
        return import_module(f"finegold.kernels.{name}")

    def clear(self):
        pass


@pytest.mark.parametrize(("name", "settings"), METHODS)
@pytest.mark.parametrize("free", [10**9, 10_000])
def test_blocks_on_a_device_give_what_local_blocks_give(name, settings, free):
    votes = _votes()
    votes.gold[:40] = np.arange(40) % 3
    method = method_class(name)(**settings)
    engine = GPUEngine(device=Host(free))
    found = fit(method, votes, engine=engine)
    expected = fit(method, votes, engine=LocalEngine(1))
    assert engine.resident == (free == 10**9)
    assert found.iterations == expected.iterations
    np.testing.assert_allclose(found.posterior, expected.posterior, atol=1e-5)
    np.testing.assert_array_equal(found.label, expected.label)
    np.testing.assert_array_equal(found.tied, expected.tied)
    np.testing.assert_array_equal(found.votes_per_annotator, expected.votes_per_annotator)
    np.testing.assert_allclose(found.agreement, expected.agreement)
    np.testing.assert_allclose(found.accuracy, expected.accuracy, atol=1e-5)


def test_votes_that_fit_travel_once():
    device = Host()
    fit(method_class("ptbcc")(), _votes(), engine=GPUEngine(device=device))
    assert device.sent == 5  # four arrays of votes, and the gold


def test_votes_that_do_not_fit_take_turns_and_the_result_says_so():
    result = fit(method_class("ptbcc")(), _votes(), engine=GPUEngine(device=Host(10_000)))
    assert any("copied to the GPU in" in note for note in result.notes)


def test_the_memory_of_an_earlier_fit_is_free_for_the_next():
    class Counted(Host):
        def free_memory(self):
            return self.free - sum(
                block.votes.annotator.nbytes + block.posterior.nbytes for block in engine.blocks
            )

    engine = GPUEngine(device=Counted(75_000))
    for _ in range(2):
        fit(method_class("ptbcc")(), _votes(), engine=engine)
        assert engine.resident


def test_a_method_without_kernels_for_the_gpu_says_so():
    with pytest.raises(finegold.InputError, match="glad cannot run on the GPU"):
        fit(method_class("glad")(), _votes(), engine=GPUEngine(device=Host()))


@pytest.mark.parametrize("free", [10**9, 10_000])
def test_an_interrupted_fit_goes_on_to_the_same_answer(free):
    engine = GPUEngine(device=Host(free))
    method = method_class("ibcc")(inference="ep")
    engine.accept(method)
    engine.scatter(_votes())
    parameters = method.begin(engine.sum(method.start, 0))
    parameters = method.expect(engine.sum(method.sweep, parameters), parameters)
    kept = engine.state()
    first = engine.sum(method.sweep, parameters)
    engine.restore(kept)
    again = engine.sum(method.sweep, parameters)
    np.testing.assert_array_equal(first.n, again.n)


def _votes():
    return finegold.simulate(400, 30, 3, votes_per_task=5, seed=2).annotations
