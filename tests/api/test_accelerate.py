"""Longer strides end where the plain sweeps end, in fewer sweeps."""

import numpy as np
import pytest

from finegold import Annotations, InputError
from finegold.api.job import fit
from finegold.checks import LAWS, sample_votes
from finegold.fitting.checkpoint import Checkpoint
from finegold.methods.ptbcc import PTBCC
from tests.support.data_sets import DATA_SETS


def both(annotations):
    settings = {"tolerance": 1e-6, "max_iterations": 2000}
    return fit(PTBCC(**settings), annotations), fit(PTBCC(accelerate=True, **settings), annotations)


def test_the_answer_is_the_same_on_every_data_set_after_half_of_the_sweeps(data_set):
    sweeps = []
    for name in DATA_SETS:
        plain, strides = both(data_set(name).annotations)
        sweeps.append((plain.iterations, strides.iterations))
        assert strides.converged, name
        assert np.abs(plain.posterior - strides.posterior).max() < 1e-4, name
        assert np.array_equal(plain.label, strides.label), name
        assert (np.diff(strides.bound) >= -1e-9 * np.abs(strides.bound[1:])).all(), name
    of_plain, of_strides = np.sum(sweeps, axis=0)
    assert of_strides <= of_plain / 2


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_laws_hold(law):
    law(lambda: PTBCC(accelerate=True))


def test_parameters_belong_to_the_posterior_when_it_stops_before_a_stride():
    votes = Annotations.from_arrays(*sample_votes())
    for iterations in range(4, 10):
        method = PTBCC(accelerate=True, tolerance=0.0, max_iterations=iterations)
        result = fit(method, votes)
        assert result.learned.statistics["nu"].sum() == pytest.approx(2 * 60, abs=1e-6)


def test_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be resumed"):
        fit(PTBCC(accelerate=True), Annotations.from_arrays(*sample_votes()), checkpoint=Checkpoint(tmp_path / "x"))
