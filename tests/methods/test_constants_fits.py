"""Constants of fits, updates, results and simulated votes; the table is in test_constants."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from finegold.fitting.checkpoint import Checkpoint
from finegold.methods.anchored import small_data_caution, typical_accuracy
from finegold.results import metrics
from finegold.results.matrices import evidence
from finegold.votes import simulation


def test_calibration_is_judged_in_fifteen_bins() -> None:
    def error(wrong: float, right: float) -> float:
        rows = np.array([[wrong, 1 - wrong], [right, 1 - right]])
        return metrics.calibration_error(rows, np.array([1, 0], np.int32))

    assert error(0.65, 0.68) == pytest.approx((0.65 + 0.32) / 2)  # 2/3 is an edge
    assert error(0.61, 0.66) == pytest.approx((0.61 + 0.66 - 1) / 2)  # no edge between them


def test_a_certain_mistake_costs_34_5_nats() -> None:
    assert metrics.log_loss(np.array([[1.0, 0.0]]), np.array([1], np.int32)) == pytest.approx(15 * np.log(10))


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


def test_a_typical_vote_starts_from_one_pair_that_agrees_and_one_that_does_not() -> None:
    """a^2 + (1 - a)^2 / 2 is 2/3 after one more pair that agrees, with three classes."""
    assert typical_accuracy(np.array([1.0, 1.0]), 3) == pytest.approx((1 + 2 * np.sqrt(0.5)) / 3)
    assert typical_accuracy(np.array([1e9, 1e9]), 3) == 0.98
    assert typical_accuracy(np.array([0.0, 1e9]), 3) == pytest.approx(1 / 3 + 0.02)


def test_confidences_of_fewer_than_a_hundred_tasks_are_called_rough() -> None:
    assert small_data_caution(99).startswith("Only 99 tasks")
    assert small_data_caution(100) == ""


def test_simulated_classes_are_about_as_frequent_as_asked_for() -> None:
    """As if a thousand tasks were drawn with the shares that were asked for."""
    shares = np.array([simulation.draw_process(6, 2, imbalance=3.0, seed=seed).tau for seed in range(2000)])
    assert shares.mean(axis=0) == pytest.approx([0.75, 0.25], abs=0.005)
    assert shares[:, 0].std() == pytest.approx(np.sqrt(0.75 * 0.25 / 1001), rel=0.1)


def test_simulated_prototypes_are_a_skilled_and_a_confused_one() -> None:
    """What 0.85, and 0.3 with 0.5 for the next class, leave is spread over four classes; as if 50 votes were drawn."""
    rng = np.random.default_rng(0)
    drawn = np.array([simulation._draw_prototypes(rng, 2, 4, None) for _ in range(2000)])
    assert drawn.mean(axis=0)[0, 0] == pytest.approx([0.8875, 0.0375, 0.0375, 0.0375], abs=0.01)
    assert drawn.mean(axis=0)[1, 0] == pytest.approx([0.35, 0.55, 0.05, 0.05], abs=0.01)
    assert drawn[:, 1, 0, 1].std() == pytest.approx(np.sqrt(0.55 * 0.45 / 51), rel=0.1)
