from __future__ import annotations

import numpy as np
import pytest

from finegold.errors import InputError
from finegold.results import metrics

CERTAIN = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
NONE = np.array([-1, -1], dtype=np.int32)


def codes(*truth: int) -> np.ndarray:
    return np.array(truth, dtype=np.int32)


def test_accuracy_is_the_share_of_right_labels() -> None:
    assert metrics.accuracy(CERTAIN, codes(0, 1, 2, 1)) == 0.75


def test_a_truth_that_shares_the_maximum_with_others_earns_its_share() -> None:
    posterior = np.array([[0.5, 0.5, 0.0], [0.3, 0.3, 0.4], [1 / 3, 1 / 3, 1 / 3]])
    assert metrics.accuracy(posterior, codes(0, 2, 1)) == pytest.approx((1 / 2 + 1 + 1 / 3) / 3)
    assert metrics.accuracy(posterior[:1], codes(2)) == 0


def test_tasks_without_a_known_truth_do_not_count() -> None:
    truth = codes(0, -1, -1, 1)
    for metric in (metrics.accuracy, metrics.macro_f1, metrics.log_loss, metrics.calibration_error):
        assert metric(CERTAIN, truth) == metric(CERTAIN[[0, 3]], truth[[0, 3]])


def test_macro_f1_is_the_mean_over_the_classes_of_the_truth() -> None:
    # Class 0: 1 right, 2 predicted, 1 true: 2/3. Class 1: 1, 1, 2: 2/3. Class 2 is predicted, but never true.
    assert metrics.macro_f1(CERTAIN, codes(0, 1, 1, 1)) == pytest.approx((2 / 3 + 2 / 4) / 2)
    assert metrics.macro_f1(CERTAIN[[0, 1, 3]], codes(0, 1, 1)) == pytest.approx(2 / 3)


def test_macro_f1_splits_a_tie_among_its_classes() -> None:
    posterior = np.array([[0.5, 0.5], [1.0, 0.0]])
    # Class 0: 1.5 right of 1.5 predicted and 2 true.
    assert metrics.macro_f1(posterior, codes(0, 0)) == pytest.approx(2 * 1.5 / (1.5 + 2))


def test_log_loss_is_the_mean_of_minus_the_natural_logarithm() -> None:
    posterior = np.array([[0.5, 0.5], [0.9, 0.1]])
    assert metrics.log_loss(posterior, codes(0, 1)) == pytest.approx(
        -(np.log(0.5) + np.log(0.1)) / 2
    )


def test_log_loss_of_a_certain_mistake_is_finite() -> None:
    assert metrics.log_loss(CERTAIN[:1], codes(1)) == pytest.approx(-np.log(1e-15))


def test_the_calibration_error_is_the_gap_between_confidence_and_accuracy() -> None:
    posterior = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.6, 0.4]])
    # Of the two at 0.9 one is right, of the two at 0.6 both are.
    assert metrics.calibration_error(posterior, codes(0, 1, 0, 0)) == pytest.approx((0.4 + 0.4) / 2)
    assert metrics.calibration_error(CERTAIN[:3], codes(0, 1, 2)) == 0


def test_without_any_truth_there_is_nothing_to_judge_by() -> None:
    with pytest.raises(InputError, match="no task has a known truth"):
        metrics.accuracy(CERTAIN[:2], NONE)
