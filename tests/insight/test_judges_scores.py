"""What judges are worth: figures by hand, undecided answers, intervals, comparisons and panels."""

import doctest

import numpy as np
import polars as pl
import pytest

import finegold
from finegold import judges
from finegold.errors import InputError
from finegold.insight.judges.answers import mean_of, share_of
from finegold.io.judge_logs import UNDECIDED, merge_calls, only_judges
from finegold.votes.encoding import MISSING
from tests.support.judge_log import simulate_log


def log_of(items, judge="j"):
    """A judge on items 0, 1, ...: what it says of each with the first answer shown first, and second, after a slash."""
    rows = [
        {"item": i, "judge": judge, "order": order, "verdict": said}
        for i, item in enumerate(items)
        for order, each in zip(("AB", "BA"), f"{item}/".split("/"), strict=False)
        for said in each.split()
    ]
    return pl.DataFrame(rows)


def assess(log, gold=None):
    return finegold.judges.assess(log, gold=gold)


@pytest.fixture(scope="module")
def drawn():
    return simulate_log(8, 5, 800, seed=3)


@pytest.fixture(scope="module")
def simulated(drawn):
    return finegold.judges.read(pl.DataFrame(drawn.columns))


@pytest.fixture(scope="module")
def truths(drawn):
    return dict(zip(drawn.truth["item"].tolist(), drawn.truth["truth"].tolist(), strict=True))


@pytest.fixture(scope="module")
def gold(truths):
    return dict(list(truths.items())[:200])


@pytest.fixture(scope="module")
def report(simulated, gold):
    return assess(simulated, gold)


def test_calls_in_both_orders_and_repeats_become_one_answer():
    # A, then B; A twice; B in both orders; three repeats in one order outweigh nothing in the other.
    said = ["A/A", "A/B", "B B/A", "tie", "A/tie", "ERROR", "A A A/A"]
    found = merge_calls(finegold.judges.read(log_of(said)))
    assert found.names == ["A", "B", "tie"]
    assert found.answer.tolist() == [UNDECIDED, 0, 1, 2, UNDECIDED, MISSING, UNDECIDED]


SIX = ["A/B", "A/A", "A/tie", "tie/tie", "B/A", "B/tie"]


@pytest.mark.parametrize(
    ("gold", "credit", "pair"),
    [
        (
            "A",
            [1, 0.5, 0.5, 0.5, 0, 0.5],
            [1, 0, 1, 0, 0, 0],
        ),  # no truth is a tie, so a tie decides nothing
        ("tie", [0, 0.5, 0.5, 1, 0, 0.5], [0, 0, 0, 1, 0, 0]),
    ],
)
def test_an_undecided_answer_counts_half_and_a_tie_is_a_class_only_if_a_truth_is_one(
    gold, credit, pair
):
    found = merge_calls(assess(log_of(SIX), dict.fromkeys(range(6), gold)).log)
    assert found.credit.tolist() == credit
    assert found.pair.tolist() == pair
    assert found.strict.tolist() == [value == 1 for value in credit]
    assert found.names == (["A", "B", "tie"] if gold == "tie" else ["A", "B"])


@pytest.mark.parametrize(
    ("said", "bias"), [(["A/A"] * 6 + ["A/B"] * 10, 6 / 16), (["A/A"] * 7 + ["B/B"] * 3, 0.4)]
)
def test_position_bias(said, bias):
    found = assess(log_of(said)).scores[0]
    assert found.position_bias.value == pytest.approx(bias)
    assert found.position_bias.low < bias < found.position_bias.high


def test_consistency_over_swaps_and_repeats():
    found = assess(log_of(["A A B/B", "A/A"])).scores[0]
    assert found.swap_consistency.value == pytest.approx((2 / 3 + 0) / 2)
    assert found.repeat_consistency.value == pytest.approx(1 / 3)


def test_intervals_hold_shares_and_means_of_half_credits():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(400):
        inside.append((share := share_of(rng.binomial(50, 0.9), 50)).low <= 0.9 <= share.high)
        inside.append(
            (mean := mean_of(rng.choice([0, 0.5, 1], 50, p=[0.1, 0.7, 0.2]))).low
            <= 0.55
            <= mean.high
        )
    assert 0.93 < np.mean(inside) < 0.98
    alike = mean_of(np.ones(20))
    assert (alike.value, alike.high) == (1, 1)
    assert 0.7 < alike.low < 0.95
    assert np.isnan(mean_of(np.array([np.nan])).value)


def test_figures_of_a_simulated_log_are_recovered(drawn, report):
    judges = (drawn.judges[name] for name in ("judge", "position_bias", "failure_rate"))
    truth = {judge: figures for judge, *figures in zip(*judges, strict=True)}
    for one in report.scores:
        bias, failures = truth[one.judge]
        assert one.position_bias.low - 0.01 < bias < one.position_bias.high + 0.01
        assert one.failed.low - 0.005 < failures < one.failed.high + 0.005
        assert one.n_gold == 200 or one.n_gold == 199
    pairs = {(pair["one"], pair["other"]) for pair in report.to_dict()["pairs"]}
    assert {("acme-large", "acme-mini"), ("acme-mini", "acme-small")} <= pairs
    assert ("borealis-chat", "borealis-instruct") in pairs
    assert sum(sum(one.failures.values()) for one in report.scores) == report.log.n_failed
    worst = report.scores[-1]  # which follows the position
    assert worst.judge == report.table()["judge"][-1] == "judge-8"
    assert worst.undecided.value > 0.4
    one = next(one for one in report.scores if one.judge == "acme-large")
    price = drawn.judges["cost"][drawn.judges["judge"].index("acme-large")]
    assert one.cost == pytest.approx(
        price / (1 - one.failed.value)
    )  # per verdict, and failures are paid
    assert "<b>8 judges</b>" in report._repr_html_()
    assert report._repr_html_().count("<tr>") == 9


def test_without_gold_there_is_no_accuracy_and_one_sentence_says_what_would_settle_it(simulated):
    found = assess(simulated)
    assert all(
        one["accuracy"] is None and one["kappa"] is None for one in found.to_dict()["judges"]
    )
    assert any("check 50 random items" in note for note in found.notes)
    ranks = {one["judge"]: one["ranks"] for one in found.to_dict()["judges"]}
    assert ranks["judge-8"][0] > 1  # agreement and consistency both put it below another
    with pytest.raises(InputError, match="need 10 known truths or more, and the log has 0"):
        found.panels()


def test_labels_are_votes_over_calls_and_truths_weight_the_judges():
    """One good judge and two that follow each other: the majority is wrong until truths say so."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    wrong = np.where(rng.random(300) < 0.7, 1 - truth, truth)
    good = np.where(rng.random(300) < 0.95, truth, 1 - truth)
    said = {"good": good, "bad": wrong, "copy": wrong}
    log = pl.concat(
        [log_of(["AB"[code] for code in answer], name) for name, answer in said.items()]
    )
    expected = ["AB"[code] for code in truth]

    def right(report):
        rows = report.labels().select("item", "label").iter_rows()
        return np.mean([label == expected[item] for item, label in rows])

    assert right(assess(log)) < 0.45
    assert right(assess(log, dict(enumerate(expected[:30])))) > 0.9


def test_kappa_agrees_with_its_definition_and_scores_have_errors_and_a_weighted_kappa():
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 6, 200)
    score = np.clip(truth + rng.choice([-1, 0, 0, 1, 1], 200), 1, 5)
    log = pl.DataFrame(
        {"item": np.arange(200), "judge": ["j"] * 200, "score": score, "human": truth}
    )
    found = assess(log).scores[0]
    table = np.zeros((5, 5))
    np.add.at(table, (truth - 1, score - 1), 1 / 200)
    chance = np.outer(table.sum(axis=1), table.sum(axis=0))
    weight = (np.arange(5)[:, None] - np.arange(5)) ** 2
    assert found.kappa.value == pytest.approx(
        (np.trace(table) - np.trace(chance)) / (1 - np.trace(chance))
    )
    assert found.weighted_kappa.value == pytest.approx(
        1 - (weight * table).sum() / (weight * chance).sum()
    )
    assert found.error.value == pytest.approx(np.abs(score - truth).mean())
    assert found.bias.value == pytest.approx((score - truth).mean())
    assert found.bias.low < found.bias.value < found.bias.high


def test_the_frontier_is_the_best_for_the_money(report):
    panels = report.panels()
    costs, accuracies = [one.cost for one in panels], [one.accuracy.value for one in panels]
    assert (costs, accuracies) == (sorted(costs), sorted(accuracies))
    single = {one.judge: one.accuracy.value for one in report.scores}
    assert accuracies[-1] > max(single.values())
    (first,) = panels[0].judges
    assert panels[0].accuracy.value == pytest.approx(single[first])
    equal = report.panels({one.judge: 1.0 for one in report.scores})
    assert [one.cost for one in equal] == [len(one.judges) for one in equal]
    # prices may be given for some judges
    names, given = report.log.judge_names, report._prices({"acme-mini": 7.0})
    assert (given[names.index("acme-mini")], given[-1]) == (7.0, report._prices(None)[-1])
    with pytest.raises(InputError, match="there is no judge 'nobody'; the judges"):
        report.panels({"nobody": 1.0})


def panel_of(n_items, accuracies, *, seed=0):
    """A log of judges that answer each item once, with truths in the column "gold"."""
    rng = np.random.default_rng(seed)
    truth, parts = rng.integers(0, 2, n_items), []
    gold = ["AB"[side] for side in truth]
    for judge, accuracy in accuracies.items():
        right = rng.random(n_items) < accuracy
        said = ["AB"[side] for side in np.where(right, truth, 1 - truth)]
        columns = {"item": range(n_items), "judge": [judge] * n_items, "verdict": said}
        parts.append(columns | {"gold": gold})
    return pl.concat(map(pl.DataFrame, parts))


def test_the_best_of_many_panels_is_not_better_than_luck():
    """Judges that know nothing: the best panel seems to have .65, and what is shown is near .5."""
    seeming, shown = [], []
    for seed in range(1, 6):
        assessed = assess(panel_of(40, dict.fromkeys("abcdefghij", 0.5), seed=seed))
        best = assessed.panels()[-1]
        members = np.isin(assessed.log.judge_names, best.judges)
        seeming.append(assessed._members.credit(members[None]).mean())
        shown.append(best.accuracy.value)
    assert np.mean(seeming) > 0.63
    assert abs(np.mean(shown) - 0.5) < 0.06


def test_labels_of_a_panel():
    assessed = assess(panel_of(200, {"good": 0.95, "dear": 0.9, "bad": 0.3, "poor": 0.5}))
    assert assessed.panels({"dear": 5.0})[0].judges == ("good",)
    assert assessed.labels(["good"])["n_judges"].to_list() == [1] * 200
    assert only_judges(assessed.log, ["bad", "good"]).judge_names == ["bad", "good"]
    with pytest.raises(InputError, match="there is no judge 'nobody'"):
        assessed.labels(["nobody"])
    # each answers half of the items
    two = panel_of(60, {"two": 0.8}).with_columns(pl.col("item") + 60)
    halves = assess(pl.concat([panel_of(60, {"one": 0.9}), two]))
    assert set(halves.panels()[-1].judges) == {"one", "two"}


def test_a_judge_without_a_decided_answer_is_still_listed():
    said = {"a": ["A"] * 12, "b": ["A"] * 12, "undecided": ["A/A"] * 12}
    found = assess(
        pl.concat([log_of(*each[::-1]) for each in said.items()]), dict.fromkeys(range(12), "A")
    )
    assert [one.judge for one in found.scores] == ["a", "b", "undecided"]
    with pytest.raises(InputError, match="every call of the log failed"):
        assess(log_of(["ERROR"]))
    assert (found.scores[2].undecided.value, found.scores[2].accuracy.value) == (1, 0.5)
    alone = assess(log_of(["A/A"] * 3))
    assert (alone.effective, alone.correlated) == (1.0, None)


def test_the_examples_of_the_docstrings_run():
    found = doctest.testmod(judges)
    assert (found.attempted > 8, found.failed) == (True, 0)
