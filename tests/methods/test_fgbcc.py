"""FGBCC: its equations are solved, its start, and data it was simulated from."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.fit import fit
from finegold.methods import fgbcc
from finegold.methods.common import ConfusionSums
from finegold.methods.fgbcc import FGBCC, solve_variances


def entries(seed=0, size=60):
    """Expected votes, rates, prior means and variances of some scores; a few of an annotator without votes."""
    rng = np.random.default_rng(seed)
    n, rate = rng.gamma(0.5, 10, size), rng.gamma(1, 2, size)
    n[:5] = rate[:5] = 0
    return n, rate, rng.normal(0, 2, size), rng.gamma(2, 3, size)


def test_variances_solve_their_equation():
    _, rate, _, sig = entries()
    eta = solve_variances(rate, sig)
    assert np.abs(-rate * np.exp(eta / 2) / 2 - 1 / (2 * sig) + 1 / (2 * eta)).max() < 1e-5
    assert np.array_equal(eta[:5], sig[:5])
    assert (eta[5:] < sig[5:]).all()


@pytest.mark.parametrize(
    ("n_tasks", "votes", "expected"),
    [
        (2000, np.full(99, 20.0), (2, 6, 30)),
        (999, np.full(99, 20.0), (0, 2, 4)),
        (700, np.full(150, 20.0), (0, 0, 15)),
        (700, np.full(149, 20.0), (0, 2, 4)),
        (499, np.full(150, 20.0), (0, 2, 4)),
        (1000, np.r_[np.full(51, 31.0), np.full(49, 30.0)], (0, 0, 15)),
        (1000, np.r_[np.full(50, 31.0), np.full(50, 30.0)], (0, 2, 4)),
    ],
)
def test_the_start_depends_on_the_size_of_the_data(n_tasks, votes, expected):
    n = np.tile(votes[:, None, None] / 9, (1, 3, 3))
    mu, sig = fgbcc.first_scores(ConfusionSums(0.0, np.full(3, n_tasks / 3), n, 0.0))
    assert (mu[0, 0, 1], mu[0, 0, 0], sig[0, 0, 0]) == expected
    assert np.array_equal(np.diagonal(mu, axis1=1, axis2=2), np.full((len(votes), 3), expected[1]))


def test_simulated_confusions_are_recovered():
    rng = np.random.default_rng(5)
    v = rng.dirichlet(np.ones(3), size=(20, 3)) * 0.5 + 0.5 * np.eye(3)
    truth = rng.integers(3, size=1500)
    task, annotator = np.divmod(np.arange(1500 * 20), 20)
    label = (rng.random((len(task), 1)) > v[annotator, truth[task]].cumsum(axis=1)).sum(axis=1)
    result = fit(FGBCC(), Annotations.from_arrays(task, annotator, label))
    assert (result.label == truth).mean() > 0.98
    assert np.allclose(result.learned.confusion.sum(axis=2), 1)
    assert np.abs(result.learned.confusion - v).max() < 0.1
