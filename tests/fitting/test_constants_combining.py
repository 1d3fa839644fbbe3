"""Constants of the combination with predictions and of sets of labels: each test fails when one is doubled or halved.

Expected values are written from the equations of `fitting/combining.py` and `fitting/multi_label.py`, with the numbers
themselves: LEAST_PROBABILITY, PRIOR_TASKS, WEIGHT_PENALTY, CONFUSION_PENALTY, ROUNDS, METHOD_SHARE, OWN_SHARE,
PRIOR_VOTES, PSEUDO_VOTES, IMPOSSIBLE; PRIOR_ANSWERS, PRIOR_TASKS, LEAST, TOLERANCE,
MAX_ITERATIONS; QUALITY_ANSWERS.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import approx_fprime
from scipy.special import expit, logit, softmax

import finegold
from finegold.fitting import combining, multi_label
from finegold.results.sets import Answers, quality_of
from tests.support.sets import simulated_sets

Floats = NDArray[np.float64]


def test_the_mean_of_a_model_has_ten_further_tasks_and_no_probability_is_below_a_ten_thousandth() -> None:
    p = np.array([[0.7, 0.3], [1.0, 0.0], [0.0, 0.0], [0.2, 0.8]])
    logs = np.log([[0.7, 0.3], [1.0, 1e-4], [0.2, 0.8]])
    assert combining._centred(p)[[0, 1, 3]] == pytest.approx(logs - logs.sum(axis=0) / 13)
    assert (combining._centred(p)[2] == 0).all()


def small_votes() -> tuple[finegold.Annotations, Floats]:
    """Return votes and a posterior. The first annotator is always right."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 12)
    rows = [(i, w, truth[i] if w == 0 or rng.random() < 0.7 else rng.integers(3)) for i in range(12) for w in range(4)]
    rows = [row for row in rows if row[1] == 0 or rng.random() < 0.8]
    posterior = np.eye(3)[truth] * 0.8 + rng.dirichlet(np.ones(3), 12) * 0.2
    posterior[:6] = np.eye(3)[truth[:6]]
    kept = [row for row in rows if row[1] or row[0] < 6]
    return finegold.Annotations.from_arrays(*zip(*kept, strict=True), classes=[0, 1, 2]), posterior


def correlation_of(cast: list[tuple[int, int, int]], posterior: Floats) -> float:
    right = [posterior[i, label] for i, _, label in cast]
    accuracy = {j: np.mean([r for r, (_, who, _) in zip(right, cast, strict=True) if who == j]) for j in range(4)}
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


def test_in_three_rounds_a_quarter_of_the_evidence_is_that_of_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, posterior = small_votes()
    seen: list[tuple[Floats, Floats]] = []
    calibrated = combining._calibrate

    def watched(x: Floats, likelihood: Floats) -> tuple[Floats, Floats, Floats]:
        made = calibrated(x, likelihood)
        seen.append((likelihood, made[2]))
        return made

    monkeypatch.setattr(combining, "_calibrate", watched)
    p = np.random.default_rng(1).dirichlet(np.ones(3), 12)
    *_, last = combining._fit(votes, posterior, combining._centred(p)[None])
    assert len(seen) == 3
    assert last is seen[-1][1]
    of_method = np.log(np.maximum(posterior, 1e-9)) - np.log(posterior.mean(axis=0))
    for (likelihood, _), before in zip(seen, [posterior, seen[0][1], seen[1][1]], strict=True):
        of_annotators = combining._likelihood(votes.votes(), before, 4)
        assert likelihood == pytest.approx(of_method / 4 + 3 * of_annotators / 4)


def test_a_known_truth_replaces_the_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, posterior = small_votes()
    known = replace(votes, gold=np.array([2, *[-1] * 11], dtype=votes.gold.dtype))
    seen: list[Floats] = []
    monkeypatch.setattr(combining, "ROUNDS", 1)
    monkeypatch.setattr(combining, "_calibrate", lambda x, likelihood: seen.append(likelihood) or (x, x, posterior))
    for each in (known, votes):
        combining._fit(each, posterior, np.zeros((1, 12, 3)))
    assert seen[0][0].tolist() == [-50, -50, 0]
    assert np.array_equal(seen[0][1:], seen[1][1:])


def test_matrices_and_biases_maximise_the_penalised_likelihood() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 80)
    p = np.stack([softmax(3 * np.eye(3)[truth] + rng.normal(size=(80, 3)), axis=1) for _ in range(2)])
    p[1, 50:] = 0
    x = np.stack([combining._centred(one) for one in p])
    likelihood = 1.5 * np.eye(3)[truth] + rng.normal(size=(80, 3))
    matrices, bias, posterior = combining._calibrate(x, likelihood)

    def loss(parameters: Floats) -> float:
        found, b = parameters[:18].reshape(2, 3, 3), parameters[18:]
        c = softmax(b + np.einsum("mkl,mil->ik", found, x), axis=1)
        off = (found - np.eye(3) / 2) ** 2
        own = sum((n + 10) * 0.03 * np.trace(one) for n, one in zip((80, 50), off, strict=True))
        others = sum((n + 10) * 0.5 * (one.sum() - np.trace(one)) for n, one in zip((80, 50), off, strict=True))
        return float((own + others + (b**2).sum()) / 2 - np.log((c * np.exp(likelihood)).sum(axis=1)).sum())

    assert (np.diagonal(matrices, axis1=1, axis2=2) > 0.01).all()  # else a bound is active
    slope = approx_fprime(np.append(matrices, bias), loss, 1e-6)
    assert slope == pytest.approx(np.zeros(21), abs=0.01)
    c = softmax(bias + np.einsum("mkl,mil->ik", matrices, x), axis=1)
    expected = c * np.exp(likelihood)
    assert posterior == pytest.approx(expected / expected.sum(axis=1, keepdims=True))


def test_the_weight_of_a_model_is_that_of_a_multiple_of_the_identity() -> None:
    matrices = np.stack([0.7 * np.eye(3), 0.7 * np.eye(3) + [0.1, 0.5, 0.2], np.zeros((3, 3))])
    assert combining._weights(matrices) == pytest.approx([0.7, 0.7, 0])


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
    ("changes", "iterations", "converged"), [([1.1e-4, 0.9e-4, 0.0], 2, True), ([1.0] * 999, 300, False)]
)
def test_a_fit_of_sets_ends_when_nothing_moves_by_a_ten_thousandth_or_after_300_sweeps(
    changes: list[float], iterations: int, converged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter(changes)
    monkeypatch.setattr(multi_label, "_change", lambda before, now: next(values))
    votes: dict[str, list[Any]] = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["x;y", "x", "y", "y"]}
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
