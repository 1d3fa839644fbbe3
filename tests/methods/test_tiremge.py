"""TiReMGE: its graph, its gradient, and what it learns."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.engines.local import LocalEngine
from finegold.methods import tiremge
from finegold.methods.common import ballots
from finegold.methods.tiremge import TiReMGE


def first_weights(method, n_classes):
    return method.begin(tiremge.Statistics(0.0, np.zeros(n_classes), np.zeros(1), 0.0, [])).weights


def block_of(votes):
    engine = LocalEngine(1)
    engine.scatter(Annotations.from_arrays(*votes), divisible=False)
    return engine.blocks[0]


def some_weights(n_classes, seed=0):
    """Biases as well: at the start they are zero."""
    rng = np.random.default_rng(seed)
    weights = first_weights(TiReMGE(seed=seed), n_classes)
    return [w + rng.normal(0, 0.1, w.shape) for w in weights]


@pytest.fixture
def case():
    votes = sample_votes(n_tasks=40, n_annotators=7)
    reliability = np.random.default_rng(2).random(7)
    return votes, ballots(block_of(votes)), reliability


def test_what_the_network_reads_are_products_with_normalised_adjacencies(case):
    (task, annotator, label), votes, r = case
    A = np.zeros((47, 47))
    A[task, 40 + annotator] = A[40 + annotator, task] = 1

    def hat(self_loops):
        root = np.diag(1 / np.sqrt(A.sum(axis=1) + self_loops))
        return root @ (A + self_loops * np.eye(47)) @ root

    score = np.zeros((47, 3))
    np.add.at(score, (task, label), r[annotator])
    score[40 + annotator, label] = r[annotator]
    X = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    near, far, ones = tiremge.network_inputs(votes, r)
    assert np.allclose(near, hat(2) @ X)
    assert np.allclose(far, hat(1) @ hat(1) @ X)
    assert np.allclose(ones, hat(1) @ np.ones((47, 1)))


@pytest.mark.parametrize("layer", range(8))
def test_the_gradient_is_that_of_the_loss(layer, case, monkeypatch):
    _, votes, reliability = case
    monkeypatch.setattr(tiremge, "UNITS", 12)
    monkeypatch.setattr(tiremge, "VIEW_UNITS", 5)
    monkeypatch.setattr(tiremge, "ROWS", 10)
    weights, inputs = some_weights(3), tiremge.network_inputs(votes, reliability)
    gradient, array = (
        tiremge.learn(votes, weights, inputs, reliability)[2][layer],
        weights[layer].copy(),
    )
    for entry in np.random.default_rng(4).choice(array.size, min(array.size, 12), replace=False):
        losses = []
        for step in (1e-6, -1e-6):
            weights[layer] = array.copy()
            weights[layer].flat[entry] += step
            losses.append(tiremge.learn(votes, weights, inputs, reliability)[0])
        assert gradient.flat[entry] == pytest.approx(
            (losses[0] - losses[1]) / 2e-6, rel=1e-5, abs=1e-9
        )


def test_seeds_differ():
    votes = Annotations.from_arrays(*sample_votes())
    one, other = (fit(TiReMGE(seed=seed, max_iterations=5), votes) for seed in (0, 1))
    assert not np.allclose(one.posterior, other.posterior, atol=1e-3)
