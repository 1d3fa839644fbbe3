"""Constants that carry a statistical meaning: each test fails when its constant, or its formula, changes.

Mutation (constant or formula)                    Test that fails
------------------------------------------------  ------------------------------------------------------------
prior of an accuracy: 2 votes -> 1                the_prior_of_an_accuracy_is_worth_two_votes
prior left out of a checkpoint's identity         the_prior_is_part_of_what_a_checkpoint_belongs_to
a family errs alike: 2 standard errors -> 1       a_family_errs_alike_beyond_two_standard_errors...
error of a mean without the square (agreement)    the_error_of_an_agreement_halves...
smallest group of correlated pairs: 20 -> 2       a_group_is_confirmed_by_twenty_pairs...
multiple-testing correction removed               the_more_pairs_are_looked_at_the_more_a_suspicion_needs
largest -> smallest part of a blend               (no blend is left: the method auto is gone)
an update: one sweep, not up to five              an_update_sweeps_until_little_moves...
an update: intervals never redone                 intervals_are_worked_out_anew...
headline interval of a report: 1.96 -> 0.5        the_headline_of_a_report...
rule against useless votes in `next` removed      who_says_something_but_a_tenth_of_what_is_usual_is_dropped

In test_constants_insight: correlated pairs (MIN_STANDARD_ERRORS, PRIOR_VOTES, MIN_BASELINE_RHO, Kish's discount),
correlated annotators (COPYING_EXCESS, DOMINANT_FAMILY_SHARE), spam (PRIOR_VOTES, MIN_LOG_ODDS, ONE_CLASS_SHARE, tasks
with two votes), agreement (CONFIDENCE_STANDARD_ERRORS), calibration (N_FOLDS, the prior of a temperature,
MAX_LOG_TEMPERATURE, Jeffreys' interval), expected accuracy (STANDARD_ERRORS), next votes (square root, N_GROUPS,
MIN_SEEN_VOTES, safe, the added vote, ties), overview (OVERCONFIDENT_TEMPERATURE), the words of a report (BANDS).
In test_constants_fits: spread of an accuracy, MIN_VOTES, bins of calibration, LEAST_PROBABILITY (twice), ties,
SECONDS_BETWEEN_SAVES, anchored vote (added pairs, ACCURACY_MARGIN, FEW_TASKS),
simulation (CLASS_STRENGTH, PROTOTYPE_STRENGTH, SKILLED, MISTAKEN).
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import betaincinv, ndtri

import finegold
from finegold import Annotations
from finegold.fitting.checkpoint import Checkpoint
from finegold.fitting.updating import _has_converged
from finegold.insight import contested, correlated_pairs, correlation, overview
from finegold.insight.correlated_pairs import annotator_pairs
from finegold.insight.next_votes import _may_be_independent
from finegold.methods.ds import DS
from finegold.results.data import Step, accuracies, suggested_accuracies
from tests.support.vote_pairs import pairs_of


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
    assert np.isnan(finegold.aggregate(Annotations.from_arrays(task, who, task % 2), "mv").accuracy_low).all()


def test_the_prior_is_part_of_what_a_checkpoint_belongs_to(tmp_path: Path) -> None:
    manifests = []
    for earlier in (None, np.ones((2, 2, 2)), np.full((2, 2, 2), 2.0)):
        checkpoint = Checkpoint(tmp_path / "x")
        checkpoint.bind(DS() if earlier is None else DS().with_prior(earlier), Annotations.from_arrays([1], [1], [1]))
        manifests.append(checkpoint.manifest["prior"])
    assert len(set(manifests)) == 3


@pytest.mark.parametrize(
    ("n", "agreed", "found"),
    [(100, 58, False), (100, 61, True), (10_000, 5300, False), (10_000, 5600, True)],
    ids=["1.6 standard errors", "2.2 standard errors", "excess 0.06", "excess 0.12"],
)
def test_a_family_errs_alike_beyond_two_standard_errors_and_an_excess_of_a_tenth(
    n: int, agreed: int, found: bool
) -> None:
    (family,) = correlation._families(np.array(["gpt-4", "gpt-5"]), pairs_of((n, agreed)))
    assert family.errs_alike is found


@pytest.mark.parametrize(("n", "found"), [(19, False), (20, True)])
def test_a_group_is_confirmed_by_twenty_pairs_of_votes_at_least(n: int, found: bool) -> None:
    group, _ = correlated_pairs._confirm(pairs_of((n, n)), np.zeros(2, np.int64), baseline=0.0)
    assert (group >= 0).all() == found


@pytest.mark.parametrize(("agreed", "found"), [(219_600, False), (224_000, True)])
def test_a_group_is_confirmed_by_a_rho_above_a_tenth(agreed: int, found: bool) -> None:
    group, _ = correlated_pairs._confirm(pairs_of((400_000, agreed)), np.zeros(2, np.int64), baseline=0.0)
    assert (group >= 0).all() == found


def test_the_more_pairs_are_looked_at_the_more_a_suspicion_needs() -> None:
    alone = correlation._evidence(pairs_of((100, 65)), 2)
    among_many = correlation._evidence(pairs_of((100, 65), *[(100, 50)] * 99), 200)
    assert alone.z[0] == among_many.z[0] == pytest.approx(3.0)
    assert -ndtri(0.01) < 3.0 < -ndtri(0.01 / 100)
    assert alone.suspicious.tolist() == [True]
    assert not among_many.suspicious.any()
    assert not correlation._evidence(
        pairs_of((100, 61)), 2
    ).suspicious.any()  # 2.2 standard errors: one of 70 by chance


def test_two_annotators_are_compared_by_twenty_tasks_and_their_kappa_by_ten() -> None:
    assert correlation._evidence(pairs_of((19, 19), (20, 20)), 4).one.tolist() == [2]
    task, who = np.repeat(np.arange(10), 2), np.tile([0, 1], 10)
    assert len(annotator_pairs(Annotations.from_arrays(task, who, task % 2)).one) == 1
    assert len(annotator_pairs(Annotations.from_arrays(task[2:], who[2:], task[2:] % 2)).one) == 0


def test_an_update_sweeps_until_little_moves_five_times_at_most() -> None:
    def steps(*changes: float) -> list[Step]:
        return [Step(0, number + 1, change, 0.0) for number, change in enumerate(changes)]

    assert not _has_converged([])
    assert not _has_converged(steps(0.9, 0.5, 0.3, 0.1))
    assert _has_converged(steps(0.9, 0.5, 0.3, 0.1, 0.1))
    assert _has_converged(steps(0.019))
    assert not _has_converged(steps(0.021))


def test_votes_that_chance_explains_as_well_as_one_in_twenty_are_no_help() -> None:
    def table(right: float) -> np.ndarray:
        return np.array([[right, 50 - right], [50 - right, right]])

    # chi-squared of these: (2 right - 50)^2 / 25; 3.84 is the limit
    assert _may_be_independent(np.array([table(29.8), table(30.0), table(25.0), table(45.0)])).tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(("skill", "action"), [(0.56, "drop"), (0.75, "retrain")])
def test_who_says_something_but_a_tenth_of_what_is_usual_is_dropped(skill: float, action: str) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=1500)
    right = np.column_stack([rng.random((1500, 6)) < 0.95, rng.random(1500) < skill])
    task, who = np.indices(right.shape).reshape(2, -1)
    votes = Annotations.from_arrays(task, who, np.where(right, truth[:, None], 1 - truth[:, None]).ravel())
    result = finegold.aggregate(votes, "ds")
    (advice,) = [one for one in result.next().advice if one.annotator == 6]
    assert advice.action == action


@pytest.mark.parametrize(("n", "judged"), [(19, False), (20, True)])
def test_nobody_is_judged_by_fewer_than_twenty_votes(n: int, judged: bool) -> None:
    task, who = np.indices((60, 6)).reshape(2, -1)
    label = np.where(who == 5, 1 - task % 2, task % 2)
    kept = (who != 5) | (task < n)
    advice = finegold.aggregate(Annotations.from_arrays(task[kept], who[kept], label[kept]), "ds").next().advice
    assert (5 in [one.annotator for one in advice]) == judged


@pytest.mark.parametrize(
    ("alpha", "n", "words"), [(0.19, 3, "little more than by chance"), (0.21, 3, ""), (0.5, 2, "fewer than three")]
)
def test_agreement_is_called_low_below_0_2_and_votes_few_below_three_a_task(
    alpha: float, n: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, who = np.indices((30, n)).reshape(2, -1)
    result = finegold.aggregate(Annotations.from_arrays(task, who, task % 2), "ds")
    agreed = overview.agreement(result.annotations)
    monkeypatch.setattr(overview, "agreement", lambda votes: SimpleNamespace(alpha=alpha, figures=agreed.figures))
    said = [warning for warning in result.trust().warnings if "by chance" in warning or "fewer than" in warning]
    assert len(said) == bool(words)
    assert all(words in warning for warning in said)


def test_a_label_is_contested_if_it_leads_by_less_than_a_fifth() -> None:
    shares = {"a": 59, "b": 61}  # of a hundred votes: the lead is 0.18 and 0.22
    rows = [(task, who, "x" if who < n else "y") for task, n in shares.items() for who in range(100)]
    result = finegold.aggregate(Annotations.from_arrays(*zip(*rows, strict=True)), "mv")
    assert [row[0] for row in result.contested().rows()] == ["a"]
    assert [row[0] for row in contested(result).rows()] == ["a"]
