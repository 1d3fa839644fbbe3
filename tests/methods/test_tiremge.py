"""TiReMGE against its plain twin and numerical gradients."""

import numpy as np
import pytest

from finegold import Annotations, InputError
from finegold.api.job import fit
from finegold.checks import sample_votes
from finegold.engines.local import LocalEngine
from finegold.methods import tiremge
from finegold.methods.tiremge import TiReMGE
from tests.methods.reference import tiremge as twin


def first_weights(method, n_classes):
    return method.begin(
        tiremge.Statistics(0.0, np.zeros(n_classes), np.zeros(1), 0.0, None)
    ).weights


def block_of(votes):
    engine = LocalEngine(1)
    engine.scatter(Annotations.from_arrays(*votes), divisible=False)
    return engine.blocks[0]


def some_weights(n_classes, seed=0):
    """Biases as well: at the start they are zero."""
    rng = np.random.default_rng(seed)
    weights = first_weights(TiReMGE(units=12, view_units=5, seed=seed), n_classes)
    return tiremge.Weights(*(w + rng.normal(0, 0.1, w.shape) for w in weights))


def as_twin(weights):
    return [*weights[:6], weights.w4.T, weights.b4]


@pytest.fixture
def case():
    votes = sample_votes(n_tasks=40, n_annotators=7)
    reliability = np.random.default_rng(2).random(7)
    return votes, block_of(votes), reliability


def test_features_and_the_view_of_the_graph_equal_the_twin(case):
    votes, block, reliability = case
    graph = twin.Graph(*votes)
    x = tiremge.features(block, reliability)
    assert np.allclose(x, twin.features(graph, reliability))
    near, far, ones = tiremge.network_inputs(block, x)
    assert np.allclose(near, graph.a1 @ x)
    assert np.allclose(far, graph.a2 @ (graph.a2 @ x))
    assert np.allclose(ones, graph.a2 @ np.ones(47))


def test_one_step_equals_the_twin(case):
    votes, block, reliability = case
    weights, graph = some_weights(3), twin.Graph(*votes)
    x = tiremge.features(block, reliability)
    loss, r, gradient, e = tiremge.learn(
        block, weights, tiremge.network_inputs(block, x), reliability
    )
    expected_loss, expected_r, expected_gradient, expected_e = twin.step(
        graph, as_twin(weights), x, reliability
    )
    assert loss == pytest.approx(expected_loss)
    assert np.allclose(r, expected_r)
    assert np.allclose(e, expected_e)
    for ours, theirs in zip(as_twin(gradient), expected_gradient, strict=True):
        assert np.allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("name", tiremge.Weights._fields)
def test_the_gradient_is_that_of_the_loss(name, case):
    _, block, reliability = case
    weights = some_weights(3)
    inputs = tiremge.network_inputs(block, tiremge.features(block, reliability))
    gradient = getattr(tiremge.learn(block, weights, inputs, reliability)[2], name)
    array = getattr(weights, name)
    for entry in np.random.default_rng(4).choice(array.size, min(array.size, 12), replace=False):
        losses = []
        for step in (1e-6, -1e-6):
            moved = array.copy()
            moved.flat[entry] += step
            losses.append(
                tiremge.learn(block, weights._replace(**{name: moved}), inputs, reliability)[0]
            )
        assert gradient.flat[entry] == pytest.approx(
            (losses[0] - losses[1]) / 2e-6, rel=1e-5, abs=1e-9
        )


def test_gradients_of_many_nodes_are_added_in_parts(case, monkeypatch):
    _, block, reliability = case
    weights = some_weights(3)
    inputs = tiremge.network_inputs(block, tiremge.features(block, reliability))
    whole = tiremge.learn(block, weights, inputs, reliability)[2]
    monkeypatch.setattr(tiremge, "NODES_PER_BATCH", 10)
    for one, other in zip(
        whole, tiremge.learn(block, weights, inputs, reliability)[2], strict=True
    ):
        assert np.allclose(one, other, atol=1e-14)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_the_first_steps_equal_the_twin(n_classes):
    votes = sample_votes(n_tasks=80, n_annotators=12, n_classes=n_classes)
    method = TiReMGE(max_iterations=8)
    result = fit(method, Annotations.from_arrays(*votes), threads=1)
    scores, r = twin.fit(twin.Graph(*votes), as_twin(first_weights(method, n_classes)), steps=8)
    assert np.allclose(result.posterior, twin.softmax(scores), atol=1e-8)
    assert np.allclose(result.learned.statistics["reliability"], r, atol=1e-8)
    assert result.bound[-1] > result.bound[0]  # the loss falls


def test_seeds_differ():
    votes = Annotations.from_arrays(*sample_votes())
    one, other = (fit(TiReMGE(seed=seed, max_iterations=5), votes) for seed in (0, 1))
    assert not np.allclose(one.posterior, other.posterior, atol=1e-3)


def test_reliabilities_are_shared_means_of_what_is_between_exp_minus_one_and_one():
    result = fit(TiReMGE(), Annotations.from_arrays(*sample_votes()))
    reliability = result.learned.statistics["reliability"]
    assert reliability.shape == (9,)
    assert (reliability > np.exp(-1)).all()
    assert (reliability < 1).all()


def test_gold_is_refused():
    with pytest.raises(InputError, match="gold"):
        fit(TiReMGE(), Annotations.from_arrays([0, 0], [0, 1], [0, 1], gold={0: 1}))
