"""Whether labels are as often right as they are sure, and the temperature that makes them so."""

from dataclasses import replace

import numpy as np
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.insight.calibration import calibration
from finegold.votes.frames import to_polars
from tests.support.trust_helpers import panel


def oversure(n=4000, seed=0):
    """A result that says 0.98 where it is right in 80 % of the cases: odds of 49 instead of 4."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    answer = np.where(rng.random(n) < 0.8, truth, 1 - truth)
    result = finegold.aggregate(
        Annotations.from_arrays(np.arange(n), np.zeros(n, int), answer), "mv"
    )
    posterior = np.full((n, 2), 0.02)
    posterior[np.arange(n), answer] = 0.98
    return replace(result, posterior=posterior), truth


def test_the_temperature_makes_probabilities_as_sure_as_they_are_right():
    result, truth = oversure()
    found = calibration(result, truth)
    assert found.temperature == pytest.approx(np.log(49) / np.log(4), rel=0.05)
    assert found.ece == pytest.approx(0.18, abs=0.01)
    assert found.ece_after < 0.02
    assert found.log_loss_after < found.log_loss
    better = found.apply(result)
    assert better.confidence.mean() == pytest.approx(0.8, abs=0.01)
    assert (better.label_codes == result.label_codes).all()
    assert "fitted to 4,000 known truths" in better.notes[-1]


def test_a_few_truths_move_the_temperature_little():
    """Twenty labels that all are right are no proof that every label is."""
    result = finegold.aggregate(
        Annotations.from_arrays(np.arange(20), np.zeros(20, int), np.arange(20) % 2), "mv"
    )
    posterior = np.where(result.posterior > 0.5, 0.9, 0.1)
    for n in (2, 20):
        found = calibration(
            replace(result, posterior=posterior), {task: task % 2 for task in range(n)}
        )
        assert 0.25 < found.temperature < 1
        assert found.log_loss_after < found.log_loss


def test_the_curve_holds_every_truth_once_with_an_interval():
    result, truth = oversure(n=400)
    (row,) = to_polars(calibration(result, truth).curve()).iter_rows(named=True)
    assert row["n"] == 400
    assert row["low"] < row["confidence"] <= row["high"]
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]
    assert row["accuracy"] == pytest.approx((result.label_codes == truth).mean())


def test_truths_that_taught_the_method_do_not_judge_it():
    votes, truth = panel(skills=(0.6, 0.6, 0.6))
    gold = {task: int(truth[task]) for task in range(100)}
    result = finegold.aggregate(votes, gold=gold)
    everything = {task: int(truth[task]) for task in range(200)}
    assert calibration(result, everything).n == 100
    with pytest.raises(InputError, match="taught the method"):
        calibration(result, gold)
    assert (calibration(result, everything).apply(result).posterior[:100].max(axis=1) == 1).all()


def test_a_truth_that_nobody_voted_for_counts_as_wrong():
    result = finegold.aggregate(
        Annotations.from_arrays([1, 1, 2, 2], list("abab"), list("xxxx")), "mv"
    )
    assert calibration(result, {1: "x", 2: "z"}).accuracy == 0.5
