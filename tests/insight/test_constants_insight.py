"""Constants of `finegold.insight` and of the report: each test fails when its constant, or its formula, changes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import beta

import finegold
from finegold import Annotations
from finegold.insight import contested, correlation, majority, next_votes, overview
from finegold.insight import expected as reliability
from finegold.insight.correlation import Family
from finegold.insight.measures import annotator_pairs
from finegold.insight.spam import spam
from finegold.report.views.quality import _bands
from finegold.results.data import suggested_accuracies
from tests.support.vote_pairs import pairs_of


def of_one(votes: list[int]) -> finegold.Result:
    """Five annotators who are always right on a hundred tasks of two classes, and a sixth with the given votes."""
    task, who = np.indices((100, 5)).reshape(2, -1)
    task, who, label = (
        np.append(task, np.arange(len(votes))),
        np.append(who, [5] * len(votes)),
        task % 2,
    )
    return finegold.aggregate(Annotations.from_arrays(task, who, np.append(label, votes)), "mv")


def test_spam_is_named_at_odds_of_twenty_to_one() -> None:
    found = [
        spam(of_one([task % 2 if task < n else 0 for task in range(40)])) for n in range(0, 40, 2)
    ]
    odds = np.exp([one.evidence[5] for one in found])
    assert [one.kind[5] != "" for one in found] == (odds > 20).tolist()
    assert ((odds > 3) & (odds < 19)).any()


@pytest.mark.parametrize(("n", "kind"), [(94, "random"), (96, "one class")])
def test_one_class_means_95_percent_of_the_votes(n: int, kind: str) -> None:
    assert spam(of_one([0] * n + [1] * (100 - n))).kind[5] == kind


def test_the_votes_of_a_spammer_begin_with_two_of_everybody() -> None:
    def chance(votes: list[int], mean: float) -> float:
        """Of these votes one after the other, each by those before it and two of everybody's."""
        seen = [2 * (1 - mean), 2 * mean]
        log = 0.0
        for vote in votes:
            log += np.log(seen[vote] / sum(seen))
            seen[vote] += 1
        return log

    votes = [0, 0, 0, 1, 0, 0, 1, 0]
    result = of_one(votes)
    assert result.annotations is not None
    task, _, label = result.annotations.votes()
    seeing = sum(chance(votes[k::2], label[task % 2 == k].mean()) for k in (0, 1))
    assert spam(result).evidence[5] == pytest.approx(chance(votes, label.mean()) - seeing, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "agreed", "found"),
    [
        (100, 69, False),
        (100, 71, True),
        (19, 19, False),
        (20, 20, True),
        (400_000, 219_600, False),
        (400_000, 224_000, True),
    ],
    ids=[
        "rho at 3 standard errors",
        "above them",
        "19 pairs",
        "20 pairs",
        "rho below a tenth",
        "rho above a tenth",
    ],
)
def test_a_group_is_confirmed_by_twenty_pairs_and_a_rho_that_exceeds_a_tenth_by_three_standard_errors(
    n: int, agreed: int, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a hundred pairs the error of rho is 0.1: it has to exceed 0.1 + 3 * 0.1."""
    monkeypatch.setattr(correlation, "_find_groups", lambda pairs, n: (np.zeros(n, np.int64), 0.0))
    assert (correlation.correlated_groups(pairs_of((n, agreed)), 2) >= 0).all() == found


@pytest.mark.parametrize(("agreed", "linked"), [(590, False), (615, True)])
def test_annotators_attract_each_other_above_a_rho_of_a_fifth(agreed: int, linked: bool) -> None:
    pairs = pairs_of((1000, agreed), *[(1000, 500)] * 50)
    group, _ = correlation._find_groups(pairs._replace(half=np.ones(51_000, np.bool_)), 102)
    assert (group[0] == group[1]) == linked


def test_less_agreement_than_expected_is_usual_down_to_a_rho_of_minus_a_fifth() -> None:
    apart, some = (correlation._find_groups(pairs_of((100, n)), 2)[1] for n in (20, 45))
    assert (apart, some) == pytest.approx((-0.2, -0.1))


def test_two_votes_of_everybody_are_added_to_the_matrix_of_an_annotator() -> None:
    """Annotator 4 cast two votes where the truth is 0, both wrong, and none where it is 1."""
    task, who = np.indices((400, 4)).reshape(2, -1)
    task, who, label = np.append(task, [0, 2]), np.append(who, [4, 4]), np.append(task % 2, [1, 1])
    votes = Annotations.from_arrays(task, who, label)
    found = correlation._matrices(votes, np.eye(2)[np.arange(400) % 2])
    assert found[4] == pytest.approx(np.array([[0.5, 0.5], [0.0, 1.0]]), abs=0.01)


def test_copies_are_worth_one_annotator_together() -> None:
    three = SimpleNamespace(one=np.array([0, 0, 1] * 40), other=np.array([1, 2, 2] * 40))
    weights = correlation._weights(three, np.zeros(3, np.int64), np.ones(1), np.full(3, 40.0))  # type: ignore[arg-type]
    assert weights == pytest.approx(1 / 3)


def test_copying_is_spoken_of_above_an_excess_of_0_4() -> None:
    for excess, words in ((0.41, "as if they copied"), (0.39, "by erring alike")):
        said = correlation._warnings(
            np.array(["a", "b"]), np.zeros(2, np.int64), np.array([excess]), np.ones(2), []
        )
        assert words in said[0]


@pytest.mark.parametrize(("n", "warned"), [(3, False), (4, True)])
def test_a_family_of_two_thirds_of_the_annotators_is_warned_of(n: int, warned: bool) -> None:
    kin = [Family("gpt", list(range(n)), [f"gpt-{i}" for i in range(n)], 0.0, False)]
    nobody = np.full(6, -1)
    assert bool(correlation._warnings(np.arange(6), nobody, np.empty(0), np.ones(6), kin)) == warned


def test_the_error_of_an_agreement_halves_with_four_times_the_tasks_and_its_interval_holds_95_percent() -> (
    None
):
    one = finegold.simulate(100, 6, 3, votes_per_task=4, seed=3).annotations
    task, who, label = one.votes()
    copies = (task[None] + 100 * np.arange(4)[:, None]).ravel()
    four = Annotations.from_arrays(copies, np.tile(who, 4), np.tile(label, 4))
    small, large = finegold.agreement(one), finegold.agreement(four)
    low, high = small.interval("alpha")
    for name in ("alpha", "fleiss", "ac1"):
        assert large.errors[name] / small.errors[name] == pytest.approx(np.sqrt(99 / 399), rel=0.01)
    assert (high - low) / (2 * small.errors["alpha"]) == pytest.approx(1.96, abs=0.001)


def test_a_temperature_is_judged_by_truths_of_the_fifth_that_it_did_not_see(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(
        reliability, "_best_temperature", lambda rows, truth: seen.append(len(truth)) or 1.0
    )
    reliability._cross_fitted(
        np.full((100, 2), 0.5), np.zeros(100, np.int32), np.random.default_rng(0)
    )
    assert seen == [80] * 5


@pytest.mark.parametrize("n", [1, 5, 100])
def test_the_log_of_a_temperature_has_a_standard_normal_prior(n: int) -> None:
    """All of n labels of 0.9 are right: the more, the farther from 1 the temperature."""
    logs = np.linspace(-3, 3, 60_001)
    p = 1 / (1 + (0.1 / 0.9) ** np.exp(-logs))
    best = logs[np.argmax(n * np.log(p) - logs**2 / 2)]
    found = reliability._best_temperature(np.tile([0.9, 0.1], (n, 1)), np.zeros(n, np.int32))
    assert np.log(found) == pytest.approx(best, abs=0.005)


def test_temperatures_go_up_to_twenty() -> None:
    found = reliability._best_temperature(np.tile([1.0, 0.0], (100, 1)), np.ones(100, np.int32))
    assert found == pytest.approx(20, rel=0.01)


def test_agreement_has_an_interval_from_a_hundred_tasks_on() -> None:
    for n, shown in ((99, False), (100, True)):
        found = finegold.agreement(finegold.simulate(n, 6, 3, votes_per_task=4, seed=3).annotations)
        assert np.isfinite(found.interval("alpha")).all() == shown


def test_the_interval_of_a_share_of_right_labels_is_exact() -> None:
    votes = finegold.simulate(60, 5, 2, votes_per_task=3, seed=5)
    found = reliability.calibration(
        finegold.aggregate(votes.annotations, "ds"), dict(enumerate(votes.truth.tolist()))
    )
    for _, _, n, _, accuracy, low, high in found.curve().rows():
        right = accuracy * n
        assert low == pytest.approx(beta.ppf(0.025, right, n - right + 1) if right else 0)
        assert high == pytest.approx(beta.ppf(0.975, right + 1, n - right) if right < n else 1)


def test_the_log_odds_of_a_task_count_half_for_what_to_ask_next() -> None:
    odds = next_votes._less_confident(np.array([[0.9, 0.1], [0.5, 0.5]]))
    assert odds[:, 0] / odds[:, 1] == pytest.approx([3.0, 1.0])


def test_of_tasks_with_equal_gain_those_with_fewer_votes_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = np.repeat(np.arange(4), [5, 9, 3, 4])
    result = finegold.aggregate(
        Annotations.from_arrays(task, np.arange(21), np.arange(21) % 2), "mv"
    )
    gain = np.array([0.1, 0.2, 0.1, 0.1])
    monkeypatch.setattr(next_votes, "expected_gains", lambda *_: (gain, np.zeros(4, np.bool_)))
    assert next_votes.plan(result).ask.tolist() == [1, 2, 3, 0]


def test_a_label_is_safe_from_95_percent_on() -> None:
    rows = [(task, who, int(who >= n)) for task, n in enumerate((94, 96)) for who in range(100)]
    result = finegold.aggregate(Annotations.from_arrays(*zip(*rows, strict=True)), "mv")
    assert result.next().safe.tolist() == next_votes.plan(result).safe.tolist() == [False, True]


def test_one_vote_of_their_own_shares_is_added_to_what_an_annotator_says_of_a_truth() -> None:
    shares = next_votes._shares(np.array([[[9.0, 0.0], [1.0, 0.0]], [[8.0, 0.0], [0.0, 1.0]]]))
    assert shares[0] == pytest.approx(np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert shares[1, 1] == pytest.approx([8 / 9 / 2, (1 + 1 / 9) / 2])


def test_annotators_are_taken_in_eight_groups_of_equal_activity() -> None:
    group = next_votes._groups(np.linspace(0.5, 0.9, 80), np.full(80, 1 / 80))
    assert np.bincount(group).tolist() == [10] * 8
    assert (np.diff(group) >= 0).all()


def test_a_class_counts_as_seen_from_half_a_vote_on() -> None:
    """The same votes, but for a third truth: with it there are two degrees of freedom, and less is proven."""
    rare, seen = ([[30.5, 19.5, 0], [19.5, 30.5, 0], [n / 2, n / 2, 0]] for n in (0.4, 0.6))
    assert next_votes._may_be_independent(np.array([rare, seen])).tolist() == [False, True]


@pytest.mark.parametrize(("temperature", "warned"), [(1.45, False), (1.55, True)])
def test_labels_are_called_too_sure_from_a_temperature_of_1_5_on(
    temperature: float, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SimpleNamespace(
        temperature=temperature, ece=0.2, ece_after=0.1, accuracy=0.7, confidence=0.9
    )
    monkeypatch.setattr(overview, "calibration", lambda *_: found)
    said = overview.trust(of_one([0] * 40), {task: task % 2 for task in range(100)}).warnings
    assert any("a temperature of" in words for words in said) == warned


def test_words_of_a_report_are_those_of_climate_assessments() -> None:
    confidence = np.array([0.995, 0.985, 0.91, 0.89, 0.67, 0.65, 0.5])
    expected = {"virtually certain": 1, "very likely": 2, "likely": 2, "unsure": 2}
    assert {band.word: band.n for band in _bands(confidence)} == expected


@pytest.mark.parametrize(("n_tied", "warns"), [(2, False), (3, True)])
def test_ties_are_warned_of_from_30_percent_of_the_tasks_on(n_tied: int, warns: bool) -> None:
    task, who = np.repeat(np.arange(10), 2), np.tile([0, 1], 10)
    label = np.where((task < n_tied) & (who == 1), 1, 0)
    said = majority.tie_warnings(
        finegold.aggregate(Annotations.from_arrays(task, who, label, classes=[0, 1]))
    )
    assert bool(said) == warns
    assert not warns or said[0].startswith("the votes of 3 of 10 tasks are tied")


@pytest.mark.parametrize(("n", "kind"), [(19, ""), (20, "one class")])
def test_nobody_is_suspected_by_fewer_than_twenty_votes(
    n: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finegold.insight.spam.MIN_LOG_ODDS", 0.0)
    assert spam(of_one([0] * n)).kind[5] == kind


def test_advice_needs_twenty_votes_and_five_points() -> None:
    def advised(n_wrong: int, n: int) -> bool:
        votes = [1 - task % 2 if task < n_wrong else task % 2 for task in range(n)]
        return any(one.annotator == 5 for one in next_votes.plan(of_one(votes)).advice)

    assert [advised(12, n) for n in (19, 20)] == [False, True]
    _, high = suggested_accuracies(
        of_one([1 - task % 2 if task < 4 else task % 2 for task in range(100)])
    )
    assert 0.95 < high[5] < 1.0  # below the usual accuracy, but not by five points
    assert not advised(4, 100)
    assert advised(20, 100)


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


def test_the_more_pairs_are_looked_at_the_more_a_suspicion_needs() -> None:
    alone = correlation._evidence(pairs_of((100, 65)), 2)
    among_many = correlation._evidence(pairs_of((100, 65), *[(100, 50)] * 99), 200)
    assert alone.z[0] == among_many.z[0] == pytest.approx(3.0)
    assert -ndtri(0.01) < 3.0 < -ndtri(0.01 / 100)
    assert alone.suspicious.tolist() == [True]
    assert not among_many.suspicious.any()
    by_chance = correlation._evidence(pairs_of((100, 61)), 2)  # 2.2 standard errors: one of 70
    assert not by_chance.suspicious.any()


def test_two_annotators_are_compared_by_twenty_tasks_and_their_kappa_by_ten() -> None:
    assert correlation._evidence(pairs_of((19, 19), (20, 20)), 4).one.tolist() == [2]
    task, who = np.repeat(np.arange(10), 2), np.tile([0, 1], 10)
    assert len(annotator_pairs(Annotations.from_arrays(task, who, task % 2)).one) == 1
    assert len(annotator_pairs(Annotations.from_arrays(task[2:], who[2:], task[2:] % 2)).one) == 0


def test_votes_that_chance_explains_as_well_as_one_in_twenty_are_no_help() -> None:
    def table(right: float) -> np.ndarray:
        return np.array([[right, 50 - right], [50 - right, right]])

    # chi-squared of these: (2 right - 50)^2 / 25; 3.84 is the limit
    tables = np.array([table(right) for right in (29.8, 30.0, 25.0, 45.0)])
    assert next_votes._may_be_independent(tables).tolist() == [True, False, True, False]


@pytest.mark.parametrize(("skill", "action"), [(0.56, "drop"), (0.75, "retrain")])
def test_who_says_something_but_a_tenth_of_what_is_usual_is_dropped(
    skill: float, action: str
) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=1500)
    right = np.column_stack([rng.random((1500, 6)) < 0.95, rng.random(1500) < skill])
    task, who = np.indices(right.shape).reshape(2, -1)
    votes = Annotations.from_arrays(
        task, who, np.where(right, truth[:, None], 1 - truth[:, None]).ravel()
    )
    result = finegold.aggregate(votes, "ds")
    (advice,) = [one for one in result.next().advice if one.annotator == 6]
    assert advice.action == action


@pytest.mark.parametrize(
    ("alpha", "n", "words"),
    [(0.19, 3, "little more than by chance"), (0.21, 3, ""), (0.5, 2, "fewer than three")],
)
def test_agreement_is_called_low_below_0_2_and_votes_few_below_three_a_task(
    alpha: float, n: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, who = np.indices((30, n)).reshape(2, -1)
    result = finegold.aggregate(Annotations.from_arrays(task, who, task % 2), "ds")
    agreed = overview.agreement(result.annotations)
    monkeypatch.setattr(
        overview, "agreement", lambda votes: SimpleNamespace(alpha=alpha, figures=agreed.figures)
    )
    said = [
        warning
        for warning in result.trust().warnings
        if "by chance" in warning or "fewer than" in warning
    ]
    assert len(said) == bool(words)
    assert all(words in warning for warning in said)


def test_a_label_is_contested_if_it_leads_by_less_than_a_fifth() -> None:
    shares = {"a": 59, "b": 61}  # of a hundred votes: the lead is 0.18 and 0.22
    rows = [
        (task, who, "x" if who < n else "y") for task, n in shares.items() for who in range(100)
    ]
    result = finegold.aggregate(Annotations.from_arrays(*zip(*rows, strict=True)), "mv")
    assert [row[0] for row in result.contested().rows()] == ["a"]
    assert [row[0] for row in contested(result).rows()] == ["a"]
