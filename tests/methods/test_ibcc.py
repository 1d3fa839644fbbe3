"""IBCC: variational sweeps against a slow twin, and what both inferences must do."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.fit import fit
from finegold.methods.ibcc import IBCC
from tests.methods.reference import ibcc as twin
from tests.methods.reference import sample


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("with_gold", [False, True])
def test_variational_sweeps_equal_those_of_the_twin(n_classes, with_gold):
    votes, annotations, known = sample(n_classes, with_gold)
    result = fit(IBCC(inference="vb", max_iterations=25, tolerance=0), annotations, threads=1)
    phi, bounds, nu, mu = twin.vb(*votes, n_classes, 25, gold=known)
    assert np.allclose(result.posterior, phi, atol=1e-9)
    assert np.allclose(result.objective, bounds, rtol=1e-10)
    assert np.allclose(result.learned.statistics["g"], nu)
    assert np.allclose(result.learned.statistics["a"], mu)
    assert (np.diff(result.objective) >= -1e-9 * np.abs(result.objective[1:])).all()


def test_a_task_with_very_many_votes_does_not_underflow():
    n = 5000
    votes = Annotations.from_arrays(
        np.zeros(n, int), np.arange(n), np.arange(n) % 3 // 2
    )  # 2 : 1 for class 0
    result = fit(IBCC(inference="ep"), votes, threads=1)
    assert result.label.tolist() == [0]
    assert np.isfinite(result.posterior).all()


def test_the_prior_follows_the_inference():
    assert IBCC().prior(2).tolist() == [[4, 1], [1, 4]]
    assert np.allclose(IBCC(inference="ep").prior(4).diagonal(), 7)
