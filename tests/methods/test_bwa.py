"""BWA against its slow twin, which solves class by class."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.job import fit
from finegold.checks import sample_votes
from finegold.methods.bwa import BWA
from tests.methods.reference import bwa as twin
from tests.methods.reference import sample


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("with_gold", [False, True])
@pytest.mark.parametrize("settings", [{}, {"a_v": 2.0, "lam": 3.0, "tolerance": 1e-2}])
def test_all_classes_at_once_equal_the_twin_that_takes_one_by_one(n_classes, with_gold, settings):
    votes, annotations, known = sample(n_classes, with_gold)
    result = fit(BWA(**settings), annotations, threads=1)
    phi, w, iterations = twin.fit(*votes, n_classes, gold=known, **settings)
    assert result.iterations == iterations
    assert np.allclose(result.posterior, phi, atol=1e-12)
    assert np.allclose(result.learned.statistics["class_weight"], w)
    assert np.allclose(result.learned.statistics["weight"], w.mean(axis=1))


@pytest.mark.parametrize(
    ("name", "iterations"), [("val5", 7), ("ms", 22), ("aircr", 21), ("web", 20)]
)
def test_a_data_set_gives_the_posterior_of_the_twin(name, iterations, data_set):
    data = data_set(name)
    result = fit(BWA(), data.annotations, threads=1)
    phi, _, slowest = twin.fit(*data.votes.T, data.annotations.n_classes)
    assert result.converged
    assert result.iterations == slowest == iterations
    assert np.abs(result.posterior - phi).max() < 1e-12


def test_unanimous_votes_give_finite_weights_and_sure_labels():
    result = fit(
        BWA(),
        Annotations.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1], classes=[0, 1, 2]),
        threads=1,
    )
    assert np.isfinite(result.learned.statistics["weight"]).all()
    assert (result.confidence > 0.999).all()


def test_a_class_that_nobody_voted_for_does_not_enter_the_weight():
    votes = sample_votes()
    plain = fit(BWA(), Annotations.from_arrays(*votes), threads=1).learned.statistics["weight"]
    wider = fit(
        BWA(), Annotations.from_arrays(*votes, classes=[0, 1, 2, 9]), threads=1
    ).learned.statistics["weight"]
    assert wider.max() < 10 * plain.max()
