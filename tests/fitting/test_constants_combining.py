"""Constants of the combination with predictions and of sets of labels: each test fails when one is doubled or halved.

Expected values are written from the equations of `fitting/combining.py` and `fitting/multi_label.py`, with the numbers
themselves: LEAST_PROBABILITY, PRIOR_TASKS, OTHER_FREQUENCIES, TRUSTED, VARIANCE, PULL, ROUNDS, METHOD_SHARE, OWN_SHARE,
PRIOR_VOTES, PSEUDO_VOTES; PRIOR_ANSWERS, PRIOR_TASKS, LEAST, TOLERANCE,
MAX_ITERATIONS; QUALITY_ANSWERS.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax

import finegold
from finegold.fitting import combining, multi_label
from finegold.results.sets import Answers, quality_of
from tests.support.sets import simulated_sets

Floats = NDArray[np.float64]


@pytest.mark.parametrize(("share", "is_trusted"), [(0.71, True), (0.69, False)])
def test_a_model_with_other_frequencies_of_classes_loses_its_mean_with_ten_further_tasks(
    share: float, is_trusted: bool
) -> None:
    p = np.array([[0.7, 0.3], [1.0, 0.0], [0.0, 0.0], [0.6, 0.4]])
    logs = np.log([[0.7, 0.3], [1.0, 1e-3], [0.6, 0.4]])
    found = combining._logs(p, np.full((4, 2), [share, 1 - share]))
    assert found[[0, 1, 3]] == pytest.approx(logs if is_trusted else logs - logs.sum(axis=0) / 13)
    assert (found[2] == 0).all()


def small_votes() -> tuple[finegold.Annotations, Floats]:
    """Return votes and a posterior. The first annotator is always right."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 12)
    rows = [
        (i, w, truth[i] if w == 0 or rng.random() < 0.7 else rng.integers(3))
        for i in range(12)
        for w in range(4)
    ]
    rows = [row for row in rows if row[1] == 0 or rng.random() < 0.8]
    posterior = np.eye(3)[truth] * 0.8 + rng.dirichlet(np.ones(3), 12) * 0.2
    posterior[:6] = np.eye(3)[truth[:6]]
    kept = [row for row in rows if row[1] or row[0] < 6]
    return finegold.Annotations.from_arrays(*zip(*kept, strict=True), classes=[0, 1, 2]), posterior


def correlation_of(cast: list[tuple[int, int, int]], posterior: Floats) -> float:
    right = [posterior[i, label] for i, _, label in cast]
    accuracy = {
        j: np.mean([r for r, (_, who, _) in zip(right, cast, strict=True) if who == j])
        for j in range(4)
    }
    assert accuracy[0] == 1
    found = most = 0.0
    for one, other in combinations(range(len(cast)), 2):
        if cast[one][0] == cast[other][0]:
            a, b = accuracy[cast[one][1]], accuracy[cast[other][1]]
            found += (right[one] - a) * (right[other] - b)
            most += float(np.sqrt(a * (1 - a) * b * (1 - b)))
    return found / most


def test_the_likelihood_of_votes_is_that_of_the_equations() -> None:
    votes, posterior = small_votes()
    cast = list(zip(*(codes.tolist() for codes in votes.votes()), strict=True))
    counts = np.zeros((4, 3, 3))
    for i, j, label in cast:
        counts[j, :, label] += posterior[i]
    everybody = counts.sum(axis=0) + 1 / 2
    everybody /= everybody.sum(axis=1, keepdims=True)
    own = counts + 2 * everybody
    own /= own.sum(axis=2, keepdims=True)
    expected = np.zeros((12, 3))
    for i, j, label in cast:
        expected[i] += (np.log(own[j, :, label]) + np.log(everybody[:, label])) / 2
    rho = correlation_of(cast, posterior)
    assert 0 < rho < 1
    n_votes = np.bincount([i for i, _, _ in cast])
    expected /= (1 + (n_votes - 1) * rho)[:, None]
    assert combining._likelihood(votes.votes(), posterior, 4) == pytest.approx(expected)


def test_weights_without_truths_are_those_of_the_equations_after_three_rounds() -> None:
    votes, q = small_votes()
    x = np.log(np.random.default_rng(1).dirichlet(np.ones(3), (2, 12)))
    x[1, 8:] = 0
    r = q
    for _ in range(3):
        likelihood = combining._likelihood(votes.votes(), r, 4) + np.log(r.mean(axis=0) + 1e-3)
        evidence = log_softmax(np.log(np.maximum(q, 1e-3)) / 4 + 3 * likelihood / 4, axis=1)

        def loss(w: Floats, evidence: Floats = evidence) -> float:
            c = softmax(np.tensordot(w, x, 1), axis=1)
            prior = 2.2 * (w[0] - 0.5) ** 2 + 1.8 * (w[1] - 0.5) ** 2
            return float(prior / 2 - np.log((c * np.exp(evidence)).sum(axis=1)).sum())

        best = minimize(loss, [0.5, 0.5], bounds=[(0.01, None)] * 2).x
        r = softmax(evidence + np.tensordot(best, x, 1), axis=1)
    weights, posterior = combining._from_votes(q, x, votes)
    assert weights == pytest.approx(best, abs=1e-3)
    assert posterior == pytest.approx(r, abs=1e-3)


def test_weights_by_truths_are_those_of_the_equations() -> None:
    votes, q = small_votes()
    x = np.log(np.random.default_rng(1).dirichlet(np.ones(3), (2, 12)))
    known, truth = np.arange(5), np.array([0, 1, 2, 1, 0], dtype=votes.gold.dtype)
    evidence = np.concatenate([np.log(np.maximum(q, 1e-3))[None], x])

    def loss(w: Floats) -> float:
        scores = log_softmax(np.tensordot(w, evidence[:, :5], 1), axis=1)
        return float(2 * ((w - [0.8, 0.3, 0.3]) ** 2).sum() - scores[known, truth].sum())

    best = minimize(loss, [0.8, 0.3, 0.3], bounds=[(0.01, None)] * 3).x
    weights, posterior = combining._from_truths(q, x, known, truth)
    assert weights == pytest.approx(best[1:], abs=1e-3)
    assert posterior == pytest.approx(softmax(np.tensordot(best, evidence, 1), axis=1), abs=1e-3)


def test_shares_of_choices_have_a_prior_of_twenty_answers() -> None:
    chosen, asked = np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([[5.0, 4.0], [2.0, 6.0]])
    mean = 5 / 19
    by_annotator = (np.array([4, 0]) + 20 * mean) / (np.array([9, 8]) + 20)
    by_option = (np.array([3, 1]) + 20 * mean) / (np.array([7, 10]) + 20)
    expected = expit(logit(by_annotator)[:, None] + logit(by_option) - logit(mean))
    assert multi_label._shares(chosen, asked) == pytest.approx(expected)
    sure = np.full((2, 2), 1e9)
    assert multi_label._shares(sure, sure) == pytest.approx(np.full((2, 2), 1 - 1e-4), abs=1e-9)
    assert multi_label._shares(0 * sure, sure) == pytest.approx(np.full((2, 2), 1e-4), abs=1e-9)


def test_the_prevalence_of_an_option_has_a_prior_of_two_tasks() -> None:
    answers = Answers(finegold.read(simulated_sets(2, n_tasks=30).table(), multi=True))
    total = np.concatenate([answers.shares(block) for block in answers.blocks()]).sum(axis=0)
    expected = (total + 2 * total.mean() / 30) / 32
    assert multi_label._learned(answers, answers.shares).prevalence == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "iterations", "converged"),
    [([1.1e-4, 0.9e-4, 0.0], 2, True), ([0.5] * 999, 300, False)],
)
def test_a_fit_of_sets_ends_when_nothing_moves_by_a_ten_thousandth_or_after_300_sweeps(
    changes: list[float], iterations: int, converged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = 0.2 + np.cumsum(
        [0.0, *np.array(changes) * np.tile([1, -1], len(changes))[: len(changes)]]
    )
    models = (
        multi_label.OptionModel(np.full(2, p), np.full((2, 2), 0.8), np.full((2, 2), 0.1))
        for p in moved
    )
    monkeypatch.setattr(multi_label, "_learned", lambda answers, posterior_of: next(models))
    votes: dict[str, list[Any]] = {
        "task": [1, 1, 2, 2],
        "worker": list("abab"),
        "label": ["x;y", "x", "y", "y"],
    }
    result = finegold.aggregate(votes, multi=True)
    assert (result.iterations, result.converged) == (iterations, converged)


def test_the_quality_for_an_option_has_twenty_answers_of_the_annotator_overall() -> None:
    result = finegold.aggregate(simulated_sets(4, n_tasks=40).table(), multi=True)
    assert result.annotations is not None
    right, chosen, asked, n_answers = quality_of(Answers(result.annotations), result.posterior)
    wrong = n_answers - asked
    pairs = {
        "sensitivity": (right, asked),
        "specificity": (wrong - chosen + right, wrong),
        "precision": (right, chosen),
    }
    overall, by_option = result.annotators(), result.annotators(by_option=True)
    for name, (part, whole) in pairs.items():
        expected = (part.sum(axis=1) + 0.5) / (whole.sum(axis=1) + 1)
        assert overall[name].to_numpy() == pytest.approx(expected)
        drawn = (part + 20 * expected[:, None]) / (whole + 20)
        assert by_option[name].to_numpy() == pytest.approx(drawn.ravel())
