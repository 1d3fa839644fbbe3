"""FGBCC against its plain twin, numerical gradients and data it was simulated from."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from finegold import Annotations
from finegold.api.job import fit
from finegold.kernels.fgbcc import score_loss, search_means, solve_means, solve_variances
from finegold.methods import fgbcc
from finegold.methods.common import ConfusionSums
from finegold.methods.fgbcc import FGBCC
from tests.methods.reference import fgbcc as twin
from tests.methods.reference import sample


def entries(seed=0, size=60):
    """Expected votes, rates, prior means and variances of some scores; a few of an annotator without votes."""
    rng = np.random.default_rng(seed)
    n, rate = rng.gamma(0.5, 10, size), rng.gamma(1, 2, size)
    n[:5] = rate[:5] = 0
    return n, rate, rng.normal(0, 2, size), rng.gamma(2, 3, size)


def exact_means(n, rate, mu, sig):
    lam = np.empty_like(mu)
    solve_means(n, rate, mu, sig, lam)
    return lam


def test_the_gradient_of_the_scores_is_that_of_their_objective():
    n, rate, mu, sig = entries()
    lam = np.random.default_rng(1).normal(0, 1.5, len(n))
    gradient = np.empty_like(lam)
    assert score_loss(lam, n, rate, mu, sig, gradient) == pytest.approx(
        -twin.objective(lam, n, rate, mu, sig)[0]
    )
    numerical = approx_fprime(lam, lambda x: -twin.objective(x, n, rate, mu, sig)[0], 1e-7)
    assert np.allclose(gradient, numerical, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("iterations", [1, 2, 5, 35])
def test_the_search_ends_where_that_of_scipy_ends(seed, iterations):
    n, rate, mu, sig = entries(seed, size=200)
    lam = np.empty_like(mu)
    search_means(n, rate, mu, sig, 1e-5, iterations, lam)
    assert np.allclose(lam, twin.search(n, rate, mu, sig, iterations), atol=1e-6)
    assert not np.allclose(lam, exact_means(n, rate, mu, sig), atol=1e-6)


def test_exact_means_are_the_optimum():
    n, rate, mu, sig = entries()
    lam = exact_means(n, rate, mu, sig)
    assert np.abs(twin.objective(lam, n, rate, mu, sig)[1]).max() < 1e-9
    assert np.array_equal(lam[:5], mu[:5])  # no votes, nothing learned
    assert np.allclose(lam, twin.newton(n, rate, mu, sig))


def test_variances_solve_their_equation():
    _, rate, _, sig = entries()
    eta = sig.copy()
    solve_variances(rate, sig, fgbcc.NEWTON_TOLERANCE, eta)
    assert np.abs(-rate * np.exp(eta / 2) / 2 - 1 / (2 * sig) + 1 / (2 * eta)).max() < 1e-5
    assert np.array_equal(eta[:5], sig[:5])
    assert (eta[5:] < sig[5:]).all()


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("with_gold", [False, True])
def test_it_equals_the_plain_twin(n_classes, exact, with_gold):
    votes, annotations, known = sample(n_classes, with_gold)
    result = fit(FGBCC(exact=exact, max_iterations=25, tolerance=0), annotations, threads=1)
    mu = np.tile(2 * np.eye(n_classes), (12, 1, 1))
    phi, trace, _ = twin.fit(*votes, mu, np.full_like(mu, 4.0), 25, exact, known)
    assert np.allclose(result.posterior, phi, atol=1e-7)
    assert np.allclose(result.bound, trace, rtol=1e-9)


def test_it_stops_where_the_twin_stops():
    votes, annotations, _ = sample(3, with_gold=False)
    result = fit(FGBCC(), annotations, threads=1)
    mu = np.tile(2 * np.eye(3), (12, 1, 1))
    _, trace, _ = twin.fit(*votes, mu, np.full_like(mu, 4.0), 1000, tolerance=1e-6)
    assert result.converged
    assert result.iterations == len(trace)


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
    result = fit(FGBCC(exact=True), Annotations.from_arrays(task, annotator, label))
    assert (result.label == truth).mean() > 0.98
    assert np.allclose(result.learned.confusion.sum(axis=2), 1)
    assert np.abs(result.learned.confusion - v).max() < 0.1
