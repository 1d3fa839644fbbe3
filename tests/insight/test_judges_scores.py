"""What judges are worth: figures by hand, torn answers, intervals, comparisons and panels."""

import doctest

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

import finegold
from finegold.api import judges
from finegold.errors import InputError
from finegold.insight.judges.answers import (
    MODEL_ERROR,
    difference,
    expected_share,
    merge,
    position_bias,
    prediction_powered,
    repeat_consistency,
    swap_consistency,
    wilson,
)
from finegold.votes.simulation import draw_judges, simulate_log


def log_of(*rows, columns=("item", "judge", "order", "verdict")):
    return finegold.judges.read(pl.DataFrame([dict(zip(columns, row, strict=True)) for row in rows]))


@pytest.fixture(scope="module")
def drawn():
    return simulate_log(draw_judges(8, 5, seed=3), 800, seed=3)


@pytest.fixture(scope="module")
def simulated(drawn):
    return finegold.judges.read(pl.DataFrame(drawn.columns))


@pytest.fixture(scope="module")
def gold(drawn):
    return dict(zip(drawn.truth["item"][:200].tolist(), drawn.truth["truth"][:200].tolist(), strict=True))


@pytest.fixture(scope="module")
def report(simulated, gold):
    return finegold.judges.assess(simulated, gold=gold)


def test_swaps_and_repeats_become_one_answer():
    log = log_of(
        (1, "j", "AB", "A"),
        (1, "j", "BA", "A"),  # torn: A, then B
        (2, "j", "AB", "A"),
        (2, "j", "BA", "B"),  # A twice
        (3, "j", "AB", "B"),
        (3, "j", "AB", "B"),
        (3, "j", "BA", "B"),  # B twice, A once
        (4, "j", "AB", "tie"),
    )
    tie, half = merge(log, "tie"), merge(log, "half")
    assert tie.names == half.names == ["A", "B", "tie"]
    assert tie.share.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert half.share.tolist() == [[0.5, 0.5, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert tie.is_torn.tolist() == [True, False, False, False]
    assert (tie.votes.n_votes, half.votes.n_votes) == (4, 3)
    assert half.voted.tolist() == [1, 2, 3]
    with pytest.raises(InputError, match='torn must be "tie" or "half"'):
        merge(log, "none")


def test_position_bias_is_what_remains_over_both_orders():
    rows = [(i, "j", order, "A") for i in range(6) for order in ("AB", "BA")]  # always the first
    rows += [(i, "j", order, said) for i in range(6, 16) for order, said in (("AB", "A"), ("BA", "B"))]
    [(bias, p)] = position_bias(log_of(*rows))
    assert bias.value == pytest.approx(6 / 16)
    assert bias.low < 6 / 16 < bias.high
    assert p == pytest.approx(binomtest(6, 6).pvalue)


def test_the_sign_test_is_the_exact_binomial_one():
    rows = [(i, "j", order, "A" if i < 7 else "B") for i in range(10) for order in ("AB", "BA")]
    [(bias, p)] = position_bias(log_of(*rows))
    assert (bias.value, p) == (pytest.approx(0.4), pytest.approx(binomtest(7, 10).pvalue))


def test_consistency_over_swaps_and_repeats():
    log = log_of(
        (1, "j", "AB", "A"), (1, "j", "AB", "A"), (1, "j", "AB", "B"), (1, "j", "BA", "B"),
        (2, "j", "AB", "A"), (2, "j", "BA", "A"),
    )  # fmt: skip
    assert swap_consistency(log)[0].value == pytest.approx((2 / 3 + 0) / 2)
    assert repeat_consistency(log)[0].value == pytest.approx(1 / 3)


def test_wilson_and_the_error_of_the_posterior():
    found = wilson(0.8, 50)
    exact = binomtest(40, 50).proportion_ci(method="wilson")
    assert (found.low, found.high) == (pytest.approx(exact.low), pytest.approx(exact.high))
    many = expected_share(np.full(10**6, 0.7))
    assert many.high - many.low == pytest.approx(2 * 1.96 * MODEL_ERROR, rel=0.1)


def test_gold_corrects_what_the_posterior_expects():
    rng = np.random.default_rng(0)
    inside, errors = [], []
    for _ in range(300):
        right = rng.random(1000) < 0.7
        expected = np.clip(0.45 + 0.2 * right + rng.normal(0, 0.1, 1000), 0, 1)  # biased, but informative
        known = np.where(np.arange(1000) < 100, right, np.nan)
        found = prediction_powered(expected, known)
        inside.append(found.low <= 0.7 <= found.high)
        errors.append(found.value - 0.7)
    assert abs(np.mean(errors)) < 0.01
    assert 0.92 < np.mean(inside) < 0.98
    assert np.std(errors) < 0.8 * np.sqrt(0.21 / 100)  # more precise than the gold alone


def test_figures_of_a_simulated_log_are_recovered(drawn, report):
    process = drawn.process
    truth = {name: (process.position_bias[j], process.failure_rate[j]) for j, name in enumerate(process.judge_names)}
    for one in report.scores:
        bias, failures = truth[one.judge]
        assert one.position_bias.low - 0.01 < bias < one.position_bias.high + 0.01
        assert one.failure_rate.low - 0.005 < failures < one.failure_rate.high + 0.005
        assert one.n_gold == 200 or one.n_gold == 199
    partners = {one.judge: set(one.partners) for one in report.scores}
    assert partners["acme-mini"] == {"acme-large", "acme-small"}
    assert partners["borealis-chat"] == {"borealis-instruct"}
    assert partners["delta-turbo"] == set()
    assert sum(sum(one.failures.values()) for one in report.scores) == report.log.n_failed


@pytest.mark.parametrize("torn", ["tie", "half"])
@pytest.mark.parametrize("with_gold", [True, False])
def test_the_judge_that_follows_the_position_is_the_worst(simulated, gold, torn, with_gold):
    found = finegold.judges.assess(simulated, torn=torn, gold=gold if with_gold else None)
    assert found.table()["judge"][-1] == "judge-8"
    worst = next(one for one in found.scores if one.judge == "judge-8")
    assert worst.torn_rate > 0.4
    assert worst.position_p < 1e-20


def test_torn_answers_never_raise_an_accuracy(simulated, gold):
    """Leaving torn answers out would make the worst judge look better."""
    found = finegold.judges.assess(simulated, gold=gold, torn="half")
    worst = next(one for one in found.scores if one.judge == "judge-8")
    answers = found._answers
    mine = (answers.judge == found.log.judge_names.index("judge-8")) & ~answers.is_torn
    kept = answers.share[mine, answers.gold[answers.item[mine]]][answers.gold[answers.item[mine]] >= 0]
    assert worst.accuracy.value < kept.mean() - 0.03


def test_without_gold_the_interval_says_how_little_is_known(simulated):
    found = finegold.judges.assess(simulated)
    assert all(one.n_gold == 0 and one.accuracy.high - one.accuracy.low > 0.3 for one in found.scores)
    assert "known truths of 20 or more" in found.notes[0]


def test_costs_are_per_verdict_and_failures_are_paid(drawn, report):
    one = next(one for one in report.scores if one.judge == "acme-large")
    price = drawn.process.cost[drawn.process.judge_names.index("acme-large")]
    assert one.cost == pytest.approx(price / (1 - one.failure_rate.value))


def test_comparisons_are_paired(report):
    found = report.compare("acme-mini", "judge-8")
    assert found.difference.low > 0.1
    assert found.p < 1e-6
    back = report.compare("judge-8", ["acme-mini"])
    assert back.difference.value == pytest.approx(-found.difference.value)
    assert "against judge-8: +0." in str(found)
    same = report.compare("acme-mini", "acme-mini")
    assert (same.difference.value, same.p) == (0, 1)
    with pytest.raises(InputError, match="there is no judge 'nobody'; the judges are acme-large"):
        report.compare("nobody", "judge-8")


def test_differences_know_the_error_of_the_posterior():
    found, error = difference(np.full(1000, 0.1), np.full(1000, np.nan), by_gold=False)
    assert error == pytest.approx(np.sqrt(2) * MODEL_ERROR)
    assert found.value == pytest.approx(0.1)


def test_the_frontier_is_the_best_for_the_money(report):
    panels = report.panels()
    costs, accuracies = [one.cost for one in panels], [one.accuracy.value for one in panels]
    assert costs == sorted(costs)
    assert accuracies == sorted(accuracies)
    single = {one.judge: one for one in report.scores}
    assert accuracies[-1] > max(one.accuracy.value for one in single.values()) + 0.05
    assert all(abs(one.accuracy.value - one.gold_accuracy) < 0.05 for one in panels)
    first = panels[0].judges
    assert len(first) == 1
    assert panels[0].accuracy.value == pytest.approx(single[first[0]].accuracy.value)


def test_prices_may_be_given(report):
    equal = report.panels({one.judge: 1.0 for one in report.scores})
    assert [one.cost for one in equal] == [len(one.judges) for one in equal]
    with pytest.raises(InputError, match="there is no price for acme-mini"):
        report.panels({one.judge: 1.0 for one in report.scores if one.judge != "acme-mini"})


def test_panels_of_many_judges_are_searched_not_listed():
    drawn = simulate_log(draw_judges(14, 3, seed=1), 300, seed=1)
    found = finegold.judges.assess(pl.DataFrame(drawn.columns)).panels()
    assert found[-1].accuracy.value > found[0].accuracy.value


def test_pointwise_scores_work_the_same_way():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 300)
    rows = [
        {"item": i, "judge": f"j{j}", "score": int(np.clip(truth[i] + rng.choice([-1, 0, 0, 0, 1]), 1, 5))}
        for i in range(300)
        for j in range(4)
    ]
    found = finegold.judges.assess(pl.DataFrame(rows), gold={i: int(truth[i]) for i in range(100)})
    assert all(0.5 < one.accuracy.value < 0.75 for one in found.scores)
    assert all(np.isnan(one.position_bias.value) and np.isnan(one.tie_rate.value) for one in found.scores)


def test_logs_without_any_usable_verdict_are_refused():
    with pytest.raises(InputError, match="every call of the log failed"):
        finegold.judges.assess(
            pl.DataFrame({"item": [1], "judge": ["j"], "order": ["AB"], "verdict": ["ERROR: timeout"]})
        )
    torn = log_of((1, "j", "AB", "A"), (1, "j", "BA", "A"))
    with pytest.raises(InputError, match="every answer of every judge is torn"):
        finegold.judges.assess(torn, torn="half")


def test_a_judge_without_a_whole_answer_is_still_listed():
    rows = [(i, judge, "AB", "A") for i in range(5) for judge in ("a", "b")]
    rows += [(i, "torn", order, "A") for i in range(5) for order in ("AB", "BA")]
    found = finegold.judges.assess(log_of(*rows), torn="half")
    assert [one.judge for one in found.scores] == ["a", "b", "torn"]
    assert found.scores[2].torn_rate == 1
    assert len(found.panels()) >= 1


def test_notebooks_show_a_table(report):
    shown = report._repr_html_()
    assert "<b>8 judges</b>" in shown
    assert shown.count("<tr>") == 9


def test_the_examples_of_the_docstrings_run():
    found = doctest.testmod(judges)
    assert (found.attempted > 8, found.failed) == (True, 0)
