"""GLAD against its slow twin, a numerical gradient and data it was simulated from."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from finegold import Annotations, InputError
from finegold.api.job import fit
from finegold.checks import LAWS, sample_votes
from finegold.engines.local import LocalEngine
from finegold.methods import glad
from finegold.methods.glad import GLAD
from tests.methods.reference import glad as twin


class Priors(GLAD):
    """Converges, so rounding stays small."""

    rounding = 2e-3

    def __init__(self, **settings):
        super().__init__(priors=True, **settings)


class Short(GLAD):
    """Ends before conjugate gradients magnify rounding."""

    rounding = 1e-6

    def __init__(self, **settings):
        super().__init__(max_iterations=2, **settings)


def scattered(votes, fewest_votes=10**9, **keywords):
    engine = LocalEngine(1, fewest_votes=fewest_votes)
    engine.scatter(Annotations.from_arrays(*votes, **keywords))
    return engine


def begun(method, engine):
    return method.begin(engine.sum(method.start, 0))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 10])
@pytest.mark.parametrize("fewest_votes", [50, 10**9])
@pytest.mark.parametrize("priors", [False, True])
def test_objective_and_gradient_equal_the_slow_twin(n_classes, fewest_votes, priors):
    votes = sample_votes(n_tasks=80, n_annotators=7, n_classes=n_classes)
    engine, method = scattered(votes, fewest_votes, classes=range(n_classes)), GLAD(priors=priors)
    parameters = begun(method, engine)
    rng = np.random.default_rng(0)
    for spread in (0.5, 3.0, 30.0):  # negative abilities and saturated votes as well
        alpha, beta = rng.normal(1, spread, 7), rng.normal(0, np.sqrt(spread), 80)
        q, gradient = method._objective(engine, parameters, np.append(alpha, beta))
        expected, *slopes = twin.objective(*votes, engine.posterior, alpha, beta, priors)
        assert q + glad._constant(alpha, beta, n_classes) == pytest.approx(expected, rel=1e-11)
        assert np.allclose(gradient, np.concatenate(slopes), rtol=1e-9, atol=1e-9)


def test_the_gradient_is_that_of_the_objective():
    engine, method = scattered(sample_votes(n_tasks=30, n_annotators=5)), GLAD(priors=True)
    parameters = begun(method, engine)
    point = np.random.default_rng(1).normal(0.5, 0.7, 35)
    numerical = approx_fprime(point, lambda both: method._objective(engine, parameters, both)[0], 1e-7)
    assert np.allclose(method._objective(engine, parameters, point)[1], numerical, atol=2e-4)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("with_gold", [False, True])
def test_the_first_iterations_equal_the_slow_twin(n_classes, priors, with_gold):
    task, annotator, label = sample_votes(n_tasks=80, n_annotators=12, n_classes=n_classes)
    gold = {i: int(i % n_classes) for i in range(0, 80, 9)} if with_gold else {}
    known = np.array([gold.get(i, -1) for i in range(80)])
    votes = Annotations.from_arrays(task, annotator, label, gold=gold)
    one, two = (fit(GLAD(priors=priors, max_iterations=n, tolerance=0), votes, threads=1) for n in (1, 2))
    phi, alpha, beta, trace = twin.fit(task, annotator, label, n_classes, priors, iterations=1, gold=known)
    assert np.allclose(one.posterior, phi, atol=1e-12)
    assert np.allclose(two.bound, trace, rtol=1e-9)
    assert np.allclose(one.learned.statistics["ability"], alpha, atol=1e-4)
    assert np.allclose(one.learned.statistics["difficulty"], np.exp(-beta), atol=1e-4)
    after = twin.posterior(task, annotator, label, alpha, beta, n_classes, known)
    assert np.allclose(two.posterior, after, atol=1e-5)


def test_it_ends_where_the_twin_ends_with_the_truth_before_the_last_m_step():
    task, annotator, label = sample_votes(n_tasks=80, n_annotators=12)
    result = fit(GLAD(priors=True), Annotations.from_arrays(task, annotator, label), threads=1)
    phi, alpha, beta, trace = twin.fit(task, annotator, label, 3, priors=True)
    assert result.converged
    assert np.allclose(result.bound, trace, rtol=1e-7)  # the last sweep only sees that nothing is left to do
    assert np.allclose(result.posterior, phi, atol=1e-5)
    assert not np.allclose(result.posterior, twin.posterior(task, annotator, label, alpha, beta, 3), atol=1e-5)


@pytest.mark.parametrize("make", [Priors, Short])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_where_rounding_stays_small_the_laws_hold_tightly(law, make):
    law(make)


def test_simulated_abilities_and_difficulties_are_recovered():
    rng = np.random.default_rng(3)
    alpha, beta = rng.normal(1.2, 0.6, 40), rng.normal(0.5, 0.8, 600)
    task, annotator = np.divmod(np.arange(600 * 40), 40)
    truth = rng.integers(3, size=600)
    right = rng.random(len(task)) < 1 / (1 + np.exp(-alpha[annotator] * np.exp(beta[task])))
    label = np.where(right, truth[task], (truth[task] + rng.integers(1, 3, size=len(task))) % 3)
    result = fit(GLAD(priors=True), Annotations.from_arrays(task, annotator, label))
    assert (result.label == truth).mean() > 0.97
    assert np.corrcoef(result.learned.statistics["ability"], alpha)[0, 1] > 0.95
    assert np.corrcoef(-np.log(result.learned.statistics["difficulty"]), beta)[0, 1] > 0.6


def test_difficulties_are_in_the_order_of_the_tasks_whatever_the_blocks():
    votes = Annotations.from_arrays(*sample_votes(n_tasks=400, n_annotators=5))
    many, one = (
        fit(GLAD(priors=True, max_iterations=1), votes, engine=LocalEngine(1, fewest_votes=n)) for n in (100, 10**9)
    )
    assert np.allclose(many.learned.statistics["difficulty"], one.learned.statistics["difficulty"], atol=1e-6)
    assert np.ptp(one.learned.statistics["difficulty"]) > 0.1


def test_gold_teaches_the_abilities():
    """Two annotators are always wrong and two always right; only gold can tell which."""
    task, annotator = np.divmod(np.arange(400), 4)
    truth = task % 2
    label = np.where(annotator < 2, truth, 1 - truth)
    result = fit(GLAD(priors=True), Annotations.from_arrays(task, annotator, label, gold={i: i % 2 for i in range(50)}))
    assert (result.label == np.arange(100) % 2).all()
    assert (result.learned.statistics["ability"][:2] > 0).all()
    assert (result.learned.statistics["ability"][2:] < 0).all()


def test_a_task_with_more_votes_than_a_run_agrees_with_the_twin():
    rng = np.random.default_rng(0)
    task = np.concatenate([np.zeros(3000, int), 1 + np.arange(6000) // 2])
    annotator = np.concatenate([np.arange(3000), rng.integers(3000, size=6000)])
    votes = task, annotator, rng.integers(2, size=9000)
    engine, method = scattered(votes, repeated="all"), GLAD()
    parameters = begun(method, engine)
    alpha, beta = rng.normal(1, 1, 3000), rng.normal(0, 1, 3001)
    q, gradient = method._objective(engine, parameters, np.append(alpha, beta))
    expected, *slopes = twin.objective(*votes, engine.posterior, alpha, beta)
    assert q + glad._constant(alpha, beta, 2) == pytest.approx(expected, rel=1e-11)
    assert np.allclose(gradient, np.concatenate(slopes), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cg_iterations": 0}, "cg_iterations"),
        ({"cg_tolerance": 0.0}, "cg_tolerance"),
        ({"tolerance": -1}, "tolerance"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        GLAD(**settings)
