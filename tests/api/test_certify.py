"""`finegold.sample` and `certify`, and what the plan and the certificate hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import finegold
from finegold.api.sample import Sample
from finegold.insight.certify import Recalibration
from finegold.results.data import exact_intervals, suggested_accuracies

N_TASKS = 200


def votes_of(seed: int = 0, n: int = N_TASKS, **more: object) -> finegold.Annotations:
    generator = np.random.default_rng(seed)
    task, who = np.indices((n, 4)).reshape(2, -1)
    label = np.where(generator.random(len(task)) < 0.8, task % 2, 1 - task % 2)
    return finegold.Annotations.from_arrays(task, who, label, **more)  # type: ignore[arg-type]


def truths(n: int = N_TASKS) -> dict[int, int]:
    return {task: task % 2 for task in range(n)}


def checked(drawn: Sample) -> dict[str, int]:
    return {task: int(task) % 2 for task, *_ in drawn.plan.rows}


def test_a_result_draws_and_certifies_without_files() -> None:
    result = finegold.aggregate(votes_of())
    drawn = finegold.sample(result, 60, seed=3)
    found = finegold.certify(result, checked(drawn), plan=drawn)
    assert found.accuracy is not None
    assert found.accuracy.checked == 60
    assert (
        found.accuracy.low
        <= (result.label_codes == np.arange(N_TASKS) % 2).mean()
        <= found.accuracy.high
    )
    again = finegold.certify(
        votes_of(), checked(finegold.sample(votes_of(), 60, seed=3)), plan=drawn
    )
    assert again.to_dict() == found.to_dict()
    width = found.accuracy.high - found.accuracy.low
    assert found.width_with_50_more == pytest.approx(
        width * (60 / 110) ** 0.5
    )  # fewer points than now, never more


def test_known_truths_are_not_drawn_and_not_counted() -> None:
    result = finegold.aggregate(votes_of(gold={task: task % 2 for task in range(100)}))
    drawn = finegold.sample(result, 50)
    assert drawn.plan.n_tasks == 100
    assert all(int(task) >= 100 for task, *_ in drawn.plan.rows)
    labels = finegold.certify(result, checked(drawn), plan=drawn).labels(result)
    assert labels.filter(pl.col("is_gold"))["accepted"].all()


def test_the_most_confident_labels_are_the_accepted_ones() -> None:
    result = finegold.aggregate(votes_of(n=1000))
    drawn = finegold.sample(result, 300, risk=0.1)
    found = finegold.certify(result, checked(drawn), plan=drawn)
    labels = found.labels(result)
    assert 0 < labels["accepted"].sum() == found.accepted < 1000
    confidence = result.confidence
    is_accepted = labels["accepted"].to_numpy()
    assert confidence[is_accepted].min() >= confidence[~is_accepted].max() - 1e-6


def test_recalibrated_labels_stay_and_their_probabilities_sum_to_one() -> None:
    result = finegold.aggregate(votes_of(gold={0: 0}))
    drawn = finegold.sample(result, 60)
    found = replace(
        finegold.certify(result, checked(drawn), plan=drawn), recalibration=Recalibration(-1.0, 0.5)
    )
    after = found.apply(result)
    assert after.label_codes.tolist() == result.label_codes.tolist()
    assert after.posterior.sum(axis=1) == pytest.approx(np.ones(N_TASKS))
    assert after.confidence[0] == result.confidence[0] == 1.0
    odds = np.log(result.confidence[1:] / (1 - result.confidence[1:]))
    assert after.confidence[1:] == pytest.approx(1 / (1 + np.exp(1 - 0.5 * odds)))


def test_the_certificate_escapes_names() -> None:
    votes = finegold.Annotations.from_arrays(
        np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60), ["<b>"] * 180
    )
    result = finegold.aggregate(votes)
    drawn = finegold.sample(result, 60)
    checks = {task: "<b>" for task, *_ in drawn.plan.rows}
    page = finegold.certify(result, checks, plan=drawn)._repr_html_()
    assert "labelled <b>" not in page
    assert "labelled &lt;b&gt;" in page


def test_sets_of_labels_and_wrong_numbers_are_refused() -> None:
    sets = finegold.aggregate(
        pl.DataFrame({"task": [1, 1], "worker": ["a", "b"], "label": ["x;y", "x"]}), multi=True
    )
    with pytest.raises(finegold.InputError, match="no sample of checks"):
        finegold.sample(sets, 1)
    result = finegold.aggregate(votes_of())
    for options in ({"looks": 0}, {"risk": 0.7}, {"seed": -1}):
        with pytest.raises(finegold.InputError):
            finegold.sample(result, 10, **options)
    with pytest.raises(finegold.InputError, match="need the plan"):
        finegold.certify(result, {"1": 1})


def test_the_intervals_of_annotators_are_exact() -> None:
    votes = votes_of(gold=truths(40))
    task, who, label = votes.votes()
    hits = np.array([((label == task % 2) & (task < 40) & (who == j)).sum() for j in range(4)])
    low, high = exact_intervals(votes, np.full(4, 0.8))
    for j, k in enumerate(hits.tolist()):
        assert low[j] == pytest.approx(min(_quantile(0.025, k, 41 - k), 0.8))
        assert high[j] == pytest.approx(max(_quantile(0.975, k + 1, 40 - k), 0.8))


def _quantile(tail: float, a: float, b: float) -> float:
    from scipy.stats import beta

    return float(beta.ppf(tail, a, b))


def test_what_votes_suggest_is_a_range_around_the_expected_accuracy() -> None:
    result = finegold.aggregate(votes_of())
    low, high = suggested_accuracies(result)
    assert ((low < result.annotator_accuracy) & (result.annotator_accuracy < high)).all()


def test_from_25_truths_on_gold_sets_the_temperature_of_the_default_only() -> None:
    few, enough = (finegold.aggregate(votes_of(gold=truths(n))) for n in (24, 25))
    assert few.temperature == 1.0
    assert enough.temperature != 1.0
    assert any("fitted to 25 known truths" in note for note in enough.notes)
    assert finegold.aggregate(votes_of(gold=truths(25)), "ds").temperature == 1.0
