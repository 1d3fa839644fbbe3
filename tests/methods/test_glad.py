"""GLAD: its gradient, its maximum, and data it was simulated from."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from finegold import Annotations
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.engines.local import LocalEngine
from finegold.methods.common import ballots
from finegold.methods.glad import GLAD
from paper import variants


def objective(method, votes):
    """The objective and its gradient as a function of (alpha, beta), after `start`."""
    engine = LocalEngine(1)
    engine.scatter(votes, divisible=False)
    engine.sum(method.start, 0)
    (block,) = engine.blocks
    n = votes.n_annotators
    return lambda both: method.log_posterior(block, ballots(block), both[:n], both[n:])


def test_the_fit_ends_at_a_maximum_of_the_posterior_where_no_ability_is_negative():
    method, votes = GLAD(), Annotations.from_arrays(*sample_votes())
    result = fit(method, votes, threads=1)
    ability, difficulty = (result.learned.statistics[name] for name in ("ability", "difficulty"))
    point = np.append(ability, -np.log(difficulty))
    best, gradient = objective(method, votes)(point)
    assert result.converged
    assert (ability >= 0).all()
    assert np.abs(gradient[: len(ability)][ability > 0]).max() < 1e-4
    assert np.abs(gradient[len(ability) :]).max() < 1e-4
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = point + rng.normal(0, 0.05, len(point))
        moved[: len(ability)] = np.maximum(moved[: len(ability)], 0)
        assert objective(method, votes)(moved)[0] < best


@pytest.mark.parametrize(
    ("name", "accuracy"), [("val7", 0.22), ("aircr", 0.8094), ("ms", 0.7855), ("web", 0.8059)]
)
def test_accuracy_at_the_maximum(name, accuracy, data_set):
    """Eight kinds of processors agree on all labels of these data (bench/accuracy/processors.py)."""
    data = data_set(name)
    assert data.accuracy(fit(GLAD(), data.annotations).posterior) == pytest.approx(
        accuracy, abs=1e-3
    )


def test_a_vote_never_counts_against_its_class_unless_truths_are_known():
    """Labelling functions vote for one class each; with negative abilities, votes for one class counted against it."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=600)
    task, annotator = np.nonzero(
        rng.random((600, 6)) < np.where(truth[:, None] == np.arange(6) % 2, 0.3, 0.1)
    )
    result = fit(GLAD(), Annotations.from_arrays(task, annotator, annotator % 2))
    of_one = np.bincount(task, annotator % 2)[np.unique(task)] == 0
    assert (result.posterior[of_one, 0] >= 0.5).all()


@pytest.mark.parametrize("method", [GLAD, variants.GLAD])
def test_the_gradient_is_that_of_the_objective(method):
    votes = Annotations.from_arrays(*sample_votes(n_tasks=30, n_annotators=5))
    found, point = (
        objective(method(), votes),
        np.random.default_rng(1).normal(0.5, 0.7, 35),
    )
    numerical = approx_fprime(point, lambda both: found(both)[0], 1e-7)
    assert np.allclose(found(point)[1], numerical, atol=2e-4)


def test_simulated_abilities_and_difficulties_are_recovered():
    rng = np.random.default_rng(3)
    alpha, beta = rng.normal(1.2, 0.6, 40), rng.normal(0.5, 0.8, 600)
    task, annotator = np.divmod(np.arange(600 * 40), 40)
    truth = rng.integers(3, size=600)
    right = rng.random(len(task)) < 1 / (1 + np.exp(-alpha[annotator] * np.exp(beta[task])))
    label = np.where(right, truth[task], (truth[task] + rng.integers(1, 3, size=len(task))) % 3)
    result = fit(GLAD(), Annotations.from_arrays(task, annotator, label))
    assert (result.label == truth).mean() > 0.97
    assert np.corrcoef(result.learned.statistics["ability"], alpha)[0, 1] > 0.95
    assert np.corrcoef(-np.log(result.learned.statistics["difficulty"]), beta)[0, 1] > 0.6
