"""MACE: its sweep by the book, spammers, and restarts that differ."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.fit import fit
from finegold.engines.local import LocalEngine
from finegold.methods.mace import MACE
from tests.methods.reference import sample


@pytest.mark.parametrize("with_gold", [False, True])
def test_a_sweep_is_that_of_the_equations(with_gold):
    """Vote by vote, without a logarithm."""
    (task, annotator, label), annotations, known = sample(3, with_gold)
    engine, method = LocalEngine(1), MACE()
    engine.scatter(annotations)
    p = method.begin(engine.sum(method.start, 0))
    sums = engine.sum(method.sweep, p)
    knows, guess = np.exp(p.log_knows), np.exp(p.log_guess)
    phi = np.full((len(known), 3), 1 / 3)
    for i, j, y in zip(task, annotator, label, strict=True):
        phi[i] *= knows[j] * (np.arange(3) == y) + guess[j, y]
    size = phi.sum(axis=1)
    size[known >= 0] = phi[known >= 0, known[known >= 0]]
    phi /= phi.sum(axis=1, keepdims=True)
    phi[known >= 0] = np.eye(3)[known[known >= 0]]
    assert np.allclose(engine.gather(), phi)
    assert np.isclose(sums.log_norm, np.log(size).sum())
    guesses = np.zeros_like(guess)
    for i, j, y in zip(task, annotator, label, strict=True):
        guesses[j, y] += 1 - phi[i, y] * knows[j] / (knows[j] + guess[j, y])
    assert np.allclose(sums.guesses, guesses)
    assert np.allclose(sums.right + guesses.sum(axis=1), np.bincount(annotator))


def test_who_guesses_is_found_and_how():
    rng = np.random.default_rng(0)
    task, annotator = np.divmod(np.arange(2000), 10)
    truth = rng.integers(3, size=200)
    knows = rng.random(2000) < np.where(annotator < 6, 0.9, 0.0)
    label = np.where(knows, truth[task], np.where(annotator < 8, rng.integers(3, size=2000), 2))
    result = fit(MACE(), Annotations.from_arrays(task, annotator, label))
    competence, guesses = (result.learned.statistics[name] for name in ("competence", "guesses"))
    assert (result.label == truth).mean() > 0.97
    assert competence[:6].min() > 0.8
    assert competence[6:].max() < 0.2
    assert guesses[8:, 2].min() > 0.85


def test_restarts_differ_and_the_best_bound_wins(data_set):
    steps = []
    result = fit(MACE(n_restarts=4), data_set("web").annotations, on_step=steps.append)
    last = {step.restart: step.objective for step in steps}
    assert len({step.objective for step in steps if step.iteration == 1}) == 4
    assert result.steps[-1].objective == max(last.values())
