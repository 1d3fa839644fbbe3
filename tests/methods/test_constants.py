"""Constants of fits, updates, results and simulations: each test fails when its constant, or its formula, changes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import betaincinv

import finegold
from finegold import Annotations
from finegold.fitting.checkpoint import Checkpoint
from finegold.fitting.updating import _has_converged
from finegold.methods.ds import DS
from finegold.results import metrics
from finegold.results.data import Step, accuracies, suggested_accuracies
from finegold.results.matrices import evidence
from finegold.votes import simulation
from tests.mutants import kills


def test_the_prior_of_an_accuracy_is_worth_two_votes() -> None:
    mean = accuracies(np.array([8, 2]), np.array([6.0, 0.5]))
    assert mean == pytest.approx([(6 + 2 * 0.65) / 10, (0.5 + 2 * 0.65) / 4])


def test_the_range_behind_advice_has_2_5_percent_on_each_side_and_the_prior_of_two_votes() -> None:
    task, who = np.indices((30, 4)).reshape(2, -1)
    label = np.where((who == 3) & (task % 3 == 0), 1 - task % 2, task % 2)
    result = finegold.aggregate(Annotations.from_arrays(task, who, label), "mv")
    low, high = suggested_accuracies(result)
    right = result.accuracy * 32
    assert low == pytest.approx(betaincinv(right, 32 - right, 0.025))
    assert high == pytest.approx(betaincinv(right, 32 - right, 0.975))


def test_an_interval_by_known_truths_holds_95_percent_as_clopper_and_pearson_do() -> None:
    task, who = np.indices((40, 3)).reshape(2, -1)
    wrong = (who == 2) & (task % 4 == 0)  # 10 of 40
    votes = Annotations.from_arrays(
        task, who, np.where(wrong, 1 - task % 2, task % 2), gold={i: i % 2 for i in range(40)}
    )
    result = finegold.aggregate(votes, "mv")
    assert result.accuracy_low[2] == pytest.approx(betaincinv(30, 11, 0.025))
    assert result.accuracy_high[2] == pytest.approx(betaincinv(31, 10, 0.975))
    assert np.isnan(
        finegold.aggregate(Annotations.from_arrays(task, who, task % 2), "mv").accuracy_low
    ).all()


def test_the_prior_is_part_of_what_a_checkpoint_belongs_to(tmp_path: Path) -> None:
    manifests = []
    for earlier in (None, np.ones((2, 2, 2)), np.full((2, 2, 2), 2.0)):
        checkpoint = Checkpoint(tmp_path / "x")
        checkpoint.bind(
            DS() if earlier is None else DS().with_prior(earlier),
            Annotations.from_arrays([1], [1], [1]),
        )
        manifests.append(checkpoint.manifest["prior"])
    assert len(set(manifests)) == 3


@kills("fitting/updating.py", "steps[-1].change < MAX_CHANGE", "steps[-1].change <= MAX_CHANGE")
def test_an_update_sweeps_until_little_moves_five_times_at_most() -> None:
    def steps(*changes: float) -> list[Step]:
        return [Step(0, number + 1, change, 0.0) for number, change in enumerate(changes)]

    assert not _has_converged([])
    assert not _has_converged(steps(0.9, 0.5, 0.3, 0.1))
    assert _has_converged(steps(0.9, 0.5, 0.3, 0.1, 0.1))
    assert _has_converged(steps(0.019))
    assert not _has_converged(steps(0.02))


def test_calibration_is_judged_in_fifteen_bins() -> None:
    def error(wrong: float, right: float) -> float:
        rows = np.array([[wrong, 1 - wrong], [right, 1 - right]])
        return metrics.calibration_error(rows, np.array([1, 0], np.int32))

    assert error(0.65, 0.68) == pytest.approx((0.65 + 0.32) / 2)  # 2/3 is an edge
    assert error(0.61, 0.66) == pytest.approx((0.61 + 0.66 - 1) / 2)  # no edge between them


def test_a_certain_mistake_costs_34_5_nats() -> None:
    assert metrics.log_loss(np.array([[1.0, 0.0]]), np.array([1], np.int32)) == pytest.approx(
        15 * np.log(10)
    )


def test_a_vote_that_was_thought_impossible_weighs_a_billion_to_one() -> None:
    known = SimpleNamespace(confusion=np.array([[[1.0, 0.0], [0.0, 1.0]]]))
    sure: Any = SimpleNamespace(learned=known, settings={})
    zero, one = np.array([0]), np.array([1])
    assert evidence(sure, zero, zero, zero, one) == pytest.approx(9 * np.log(10))


def test_classes_tie_if_they_differ_by_rounding_only() -> None:
    def error(gap: float) -> float:
        return metrics.accuracy(np.array([[0.5 + gap, 0.5 - gap]]), np.array([1], np.int32))

    assert (error(1e-11), error(1e-7)) == (0.5, 0.0)


@pytest.mark.parametrize(("seconds", "due"), [(59, False), (61, True)])
def test_a_kill_loses_a_minute_of_work_at_most(tmp_path: Path, seconds: float, due: bool) -> None:
    checkpoint = Checkpoint(tmp_path / "half")
    checkpoint.last -= seconds
    assert checkpoint.due() == due


def test_simulated_classes_are_about_as_frequent_as_asked_for() -> None:
    """As if a thousand tasks were drawn with the shares that were asked for."""
    shares = np.array(
        [simulation.draw_process(6, 2, imbalance=3.0, seed=seed).tau for seed in range(2000)]
    )
    assert shares.mean(axis=0) == pytest.approx([0.75, 0.25], abs=0.005)
    assert shares[:, 0].std() == pytest.approx(np.sqrt(0.75 * 0.25 / 1001), rel=0.1)


def test_simulated_prototypes_are_a_skilled_and_a_confused_one() -> None:
    """What 0.85, and 0.3 with 0.5 for the next class, leave is spread over four classes; as if 50 votes were drawn."""
    rng = np.random.default_rng(0)
    drawn = np.array([simulation._draw_prototypes(rng, 2, 4, None) for _ in range(2000)])
    assert drawn.mean(axis=0)[0, 0] == pytest.approx([0.8875, 0.0375, 0.0375, 0.0375], abs=0.01)
    assert drawn.mean(axis=0)[1, 0] == pytest.approx([0.35, 0.55, 0.05, 0.05], abs=0.01)
    assert drawn[:, 1, 0, 1].std() == pytest.approx(np.sqrt(0.55 * 0.45 / 51), rel=0.1)
