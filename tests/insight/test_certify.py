"""Checks of some tasks: each constant, each tail and each step of a sequence has a test that fails if it is changed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta

from finegold.insight import certify as c


def population(seed: int = 0, n: int = 4000, shift: float = -0.5) -> tuple[np.ndarray, np.ndarray]:
    """Confidences that are too high, and whether each label is right."""
    generator = np.random.default_rng(seed)
    confidence = np.round(expit(generator.normal(1.8, 1.2, n)), 6)
    return confidence, generator.random(n) < expit(shift + 0.8 * logit(confidence))


def audit(confidence, right, n, generator):
    stratum = c.stratify(confidence, c.strata_for(n))
    sizes = np.bincount(stratum)
    checks = c.allocate(sizes, n)
    chosen = np.concatenate(
        [
            generator.choice(np.flatnonzero(stratum == h), k, replace=False)
            for h, k in enumerate(checks)
        ]
    )
    return stratum, sizes, checks, chosen


def test_there_are_eight_strata_with_two_checks_or_more_in_each() -> None:
    assert [c.strata_for(n) for n in (1, 3, 8, 15, 16, 100)] == [1, 1, 4, 7, 8, 8]
    assert len(np.unique(c.stratify(population()[0]))) == 8


def test_strata_have_equal_sums_of_uncertainty_and_no_confidence_is_believed_beyond_5_and_95_percent() -> (
    None
):
    confidence = np.repeat([0.001, 0.5, 0.999], 1000)
    sizes = np.bincount(c.stratify(confidence, 8))
    edge, middle = np.sqrt(0.05 * 0.95), 0.5
    share = 1000 * (2 * edge + middle) / 8
    assert sizes[0] == pytest.approx(share / edge, abs=1)
    assert sizes[-1] == pytest.approx(share / edge, abs=1)
    assert sizes[3] == pytest.approx(share / middle, abs=1)
    assert (np.diff(c.stratify(confidence, 8)) >= 0).all()  # the surest come last


def test_strata_are_checked_alike_as_far_as_they_go() -> None:
    assert c.allocate(np.array([100, 100, 100, 100]), 40).tolist() == [10, 10, 10, 10]
    assert c.allocate(np.array([3, 100, 100, 100]), 39).tolist() == [3, 12, 12, 12]
    assert c.allocate(np.array([2, 2]), 99).tolist() == [2, 2]
    assert c.allocate(np.array([50, 50, 50]), 7).sum() == 7


@pytest.mark.parametrize(("n", "k"), [(50, 50), (50, 43), (50, 0), (20, 1)])
def test_one_stratum_has_the_exact_interval(n: int, k: int) -> None:
    found = c.accuracy_interval(
        np.array([10_000]), np.array([n]), np.array([float(k)]), np.array([0.8])
    )
    low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    assert found == pytest.approx((k / n, low, high, n))


def test_the_effective_number_of_checks_is_smoothed_by_two_checks_of_the_confidence() -> None:
    sizes, checks = np.array([600, 300, 100]), np.array([10, 10, 10])
    right, confidence = np.array([10.0, 8.0, 3.0]), np.array([0.99, 0.7, 0.4])
    weight = sizes / 1000
    smooth = (right + 2 * np.array([0.95, 0.7, 0.4])) / 12
    mean, estimate = weight @ smooth, weight @ (right / 10)
    m = mean * (1 - mean) / (weight**2 * smooth * (1 - smooth) / 10).sum()
    low, high = (
        beta.ppf(0.025, estimate * m, m - estimate * m + 1),
        beta.ppf(0.975, estimate * m + 1, m - estimate * m),
    )
    assert c.accuracy_interval(sizes, checks, right, confidence) == pytest.approx(
        (estimate, low, high, 30)
    )


def test_intervals_contain_the_accuracy_and_are_narrower_than_those_of_a_uniform_sample() -> None:
    confidence, right = population()
    generator = np.random.default_rng(1)
    covered, width, uniform = [], [], []
    for _ in range(300):
        stratum, sizes, checks, chosen = audit(confidence, right, 100, generator)
        hits = np.bincount(stratum[chosen], right[chosen].astype(float), minlength=len(sizes))
        found = c.accuracy_interval(sizes, checks, hits, np.bincount(stratum, confidence) / sizes)
        covered.append(found.low <= right.mean() <= found.high)
        width.append(found.high - found.low)
        k = int(right[generator.choice(len(right), 100)].sum())
        uniform.append(beta.ppf(0.975, k + 1, 100 - k) - beta.ppf(0.025, k, 101 - k))
    assert np.mean(covered) >= 0.93
    assert np.mean(width) < 0.95 * np.mean(uniform)


def test_labels_accepted_by_strata_keep_the_promise() -> None:
    confidence, right = population(3, shift=0.7)
    generator = np.random.default_rng(2)
    order = c.by_confidence(confidence)
    broken, accepted = [], []
    for _ in range(200):
        stratum, sizes, _, chosen = audit(confidence, right, 300, generator)
        mean = np.bincount(stratum, confidence) / sizes
        found = c.accepted_strata(sizes, stratum[chosen], ~right[chosen], mean, 0.1)
        broken.append(found > 0 and (~right[order[:found]]).mean() > 0.1)
        accepted.append(found)
    assert np.mean(broken) <= 0.05
    assert np.mean(accepted) > 0
    few = audit(confidence, right, 28, generator)
    assert c.accepted_strata(few[1], few[0][few[3]], np.zeros(28, bool), np.ones(8), 0.1) == 0


def test_labels_are_accepted_by_strata_as_by_an_exact_test_of_one_tail() -> None:
    one, stratum = np.array([1000]), np.zeros(100, np.int64)
    for n, n_wrong, expected in ((58, 0, 0), (59, 0, 1000), (92, 1, 0), (93, 1, 1000)):
        wrong = np.arange(n) < n_wrong
        assert c.accepted_strata(one, stratum[:n], wrong, np.array([0.9]), 0.05) == expected


def test_the_first_union_of_strata_has_half_of_the_tasks() -> None:
    sizes, stratum = np.array([300, 300, 200, 200]), np.repeat(np.arange(4), 100)
    for wrong_in, expected in (
        (0, 700),
        (1, 0),
    ):  # the third stratum from above is part of the first union
        wrong = (stratum == wrong_in) & (np.arange(400) % 100 < 30)
        assert c.accepted_strata(sizes, stratum, wrong, np.full(4, 0.9), 0.05) == expected


def test_the_recalibration_is_the_most_probable_one() -> None:
    confidence, right = population(5, 60)
    found = c.recalibrate(confidence, right.astype(float))
    x = np.column_stack([np.ones(60), logit(confidence)])
    # where the gradient is zero
    assert x.T @ (expit(x @ found) - right) == pytest.approx(np.array([0, 1]) - found, abs=1e-5)
    assert c.recalibrate(np.empty(0), np.empty(0)) == pytest.approx((0.0, 1.0))


def test_recalibrated_confidences_are_closer_to_the_truth() -> None:
    confidence, right = population(6)
    found = c.recalibrate(confidence[:100], right[:100].astype(float))
    weight = np.ones(len(confidence))
    after = c.calibration_error(found.apply(confidence), right, weight)
    assert after < 0.6 * c.calibration_error(confidence, right, weight)


def test_the_calibration_error_is_the_mean_gap_of_five_groups() -> None:
    confidence = np.repeat([0.5, 0.6, 0.7, 0.8, 0.9], 10)
    right = np.tile(np.arange(10) < 5, 5)
    assert c.calibration_error(confidence, right, np.ones(50)) == pytest.approx(
        np.mean([0, 0.1, 0.2, 0.3, 0.4])
    )


def test_an_interval_of_checks_with_weights_counts_as_many_as_their_weights_are_worth() -> None:
    right = np.arange(30) < 24
    assert c.weighted_interval(np.ones(30), right).low == pytest.approx(beta.ppf(0.025, 24, 7))
    weight = np.repeat([1.0, 3.0], 15)
    m = weight.sum() ** 2 / (weight**2).sum()
    hits = m * (weight @ right) / weight.sum()
    assert c.weighted_interval(weight, right).high == pytest.approx(
        beta.ppf(0.975, hits + 1, m - hits)
    )
