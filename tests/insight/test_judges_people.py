"""Judges against people, rates that checks correct, and panels that decide: by hand, by a plain version, by draws."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest, spearmanr, ttest_1samp

import finegold
from finegold.errors import InputError
from finegold.insight.judges import people
from finegold.insight.judges.panels import JudgePanel, Members, discounted
from finegold.insight.judges.rates import rate_of
from finegold.io.judge_logs import merge_calls


def log_of(said, truth=None, **more):
    """A log of judges -> their verdicts on items 0, 1, ..."""
    n = len(next(iter(said.values())))
    parts = [
        {"item": list(range(n)), "judge": [name] * n, "verdict": list(each)}
        | ({} if truth is None else {"human_label": list(truth)})
        | more
        for name, each in said.items()
    ]
    return pl.concat([pl.DataFrame(part, strict=False) for part in parts])


RNG = np.random.default_rng(3)
TRUE = RNG.integers(0, 3, 300)


def noisy(share, truth=TRUE, k=3):
    wrong = RNG.random(len(truth)) < share
    return np.where(wrong, (truth + RNG.integers(1, k, len(truth))) % k, truth)


def words(codes):
    return [("bad", "fair", "good")[code] for code in codes]


def test_classes_and_disagreements_are_those_of_a_table_by_hand():
    said, truth = words(noisy(0.3)), words(TRUE)
    report = finegold.judges.assess(
        log_of({"j": said}, truth, response=[f"text {n}" for n in range(300)])
    )
    own = np.array([[a == b for b in ("bad", "fair", "good")] for a in said])
    for code, one in enumerate(report.classes()["j"]):
        is_class = code == TRUE
        assert (one.label, one.n) == (("bad", "fair", "good")[code], int(is_class.sum()))
        assert one.sensitivity.value == pytest.approx(own[is_class, code].mean())
        assert one.specificity.value == pytest.approx(1 - own[~is_class, code].mean())
        assert one.precision.value == pytest.approx(is_class[own[:, code]].mean())
        assert one.sensitivity.low < one.sensitivity.value < one.sensitivity.high
    wrong = report.disagreements()
    expected = {str(n) for n in range(300) if said[n] != truth[n]}
    assert set(wrong["item"]) == expected
    assert wrong["response"][0] == f"text {wrong['item'][0]}"


def test_a_judge_that_refuses_half_is_not_the_best():
    truth = words(TRUE)
    half = [word if n % 2 else "ERROR: timeout" for n, word in enumerate(truth)]
    scores = finegold.judges.assess(log_of({"half": half, "all": words(noisy(0.3))}, truth)).scores
    assert [one.judge for one in scores] == ["all", "half"]
    assert scores[1].accuracy.value == pytest.approx(0.5)


def test_scores_stand_in_the_order_of_their_correlation():
    truth = RNG.integers(1, 6, 200)
    shifted, flat = np.minimum(truth + 1, 5), np.where(RNG.random(200) < 0.4, truth, 3)
    report = finegold.judges.assess(log_of({"flat": flat, "shifted": shifted}, truth))
    assert [one.judge for one in report.scores] == ["shifted", "flat"]
    best = report.scores[0]
    assert best.correlation.value == pytest.approx(spearmanr(shifted, truth).statistic)
    assert best.bias.value == pytest.approx((shifted - truth).mean())
    assert report.compare("shifted", "flat").n_gold == 200


def test_comparisons_are_mcnemars():
    truth, one, other = words(TRUE), words(noisy(0.2)), words(noisy(0.4))
    report = finegold.judges.assess(log_of({"a": one, "b": other}, truth))
    found, back = report.compare("a", "b"), report.compare("b", ["a"])
    b = sum(x == t != y for x, y, t in zip(one, other, truth, strict=True))
    c = sum(y == t != x for x, y, t in zip(one, other, truth, strict=True))
    assert (found.first_only, found.second_only) == (b, c)
    assert found.p == pytest.approx(binomtest(b, b + c).pvalue)
    assert back.difference.value == pytest.approx(-found.difference.value)
    assert (report.compare("a", "a").difference.value, report.compare("a", "a").p) == (0, 1)
    with pytest.raises(InputError, match="there is no judge 'nobody'; the judges are a, b"):
        report.compare("nobody", "a")


def test_identical_judges_are_worth_one_and_a_free_judge_keeps_the_prices():
    same = words(noisy(0.2))
    frame = log_of(dict.fromkeys("abcd", same), words(TRUE))
    cost = pl.col("judge").replace_strict({"a": 0.0, "b": 1.0, "c": 2.0, "d": 3.0})
    report = finegold.judges.assess(frame.with_columns(cost=cost))
    assert report.effective == 1
    assert [panel.cost for panel in report.panels()] == [0]


@pytest.mark.parametrize("position", [0.0, 1.2])
def test_without_both_orders_no_position_is_told_from_the_systems(position):
    """The candidate is always A; strengths are those of the verdicts, and no bias is claimed."""
    rng = np.random.default_rng(0)
    wins = rng.random(2000) < 1 / (1 + np.exp(-1.2))
    frame = pl.DataFrame({
        "item": range(2000), "judge": ["j"] * 2000, "model_a": ["new"] * 2000, "model_b": ["old"] * 2000,
        "winner": np.where(wins, "A", "B")
    })  # fmt: skip
    assert np.isnan(finegold.judges.assess(frame).scores[0].position_bias.value)
    ranking = finegold.judges.rank(frame)
    gap = ranking.standings[0].strength.value - ranking.standings[1].strength.value
    assert gap == pytest.approx(1.2, abs=0.15)
    assert ranking.standings[0].won == pytest.approx(wins.mean())
    assert "one order only" in ranking.notes[-1]


def test_ties_of_labels_are_said():
    frame = log_of({"a": ["x", "x", "y"] * 4, "b": ["x", "y", "y"] * 4})
    report = finegold.judges.assess(frame)
    assert report.labels()["tied"].to_list() == [False, True, False] * 4
    assert any("4 of 12 labels are ties" in note for note in report.notes)


# The alternative annotator test.


def plain_test(judge, humans, epsilon):
    """The procedure of the paper, item by item."""
    p_values, advantages = [], []
    for person, own in humans.items():
        differences, wins = [], []
        for item, said in own.items():
            others = [
                votes[item] for name, votes in humans.items() if name != person and item in votes
            ]
            if not others or item not in judge:
                continue
            by_person, by_judge = (
                np.mean([x == other for other in others]) for x in (said, judge[item])
            )
            wins.append(by_judge >= by_person)
            differences.append(float(by_person >= by_judge) - float(by_judge >= by_person))
        p_values.append(ttest_1samp(differences, epsilon, alternative="less").pvalue)
        advantages.append(np.mean(wins))
    m, order = len(p_values), np.sort(p_values)
    bounds = np.arange(1, m + 1) / m * 0.05 / sum(1 / k for k in range(1, m + 1))
    passed = max((k + 1 for k in range(m) if order[k] <= bounds[k]), default=0)
    return passed / m, float(np.mean(advantages))


@pytest.mark.parametrize("quality", [0.05, 0.3, 0.6])
def test_the_alternative_annotator_test_is_that_of_the_paper(quality):
    crowd = {f"human_{n}": words(noisy(0.25)) for n in range(1, 5)}
    judge = words(noisy(quality))
    frame = log_of({"j": judge}, None, **crowd)
    hidden = RNG.random(300) < 0.2
    frame = frame.with_columns(
        human_1=pl.Series([None if h else w for h, w in zip(hidden, crowd["human_1"], strict=True)])
    )
    found = finegold.judges.assess(frame).may_replace("trained")[0]
    humans = {
        name: {i: w for i, w in enumerate(each) if not (name == "human_1" and hidden[i])}
        for name, each in crowd.items()
    }
    rate, advantage = plain_test(dict(enumerate(judge)), humans, 0.15)
    assert (found.winning_rate, found.passed) == (pytest.approx(rate), rate >= 0.5)
    assert found.advantage == pytest.approx(advantage)
    assert 0.5 < people.ceiling(finegold.judges.read(frame)).value < 0.9


def test_replacing_needs_the_votes_of_people():
    with pytest.raises(InputError, match="the log has no such votes"):
        finegold.judges.assess(log_of({"j": words(TRUE)})).may_replace()


# Rates.


def test_rates_hold_and_are_narrower_than_the_checks_alone():
    rng = np.random.default_rng(0)
    truth = (rng.random(2000) < 0.7).astype(float)
    verdicts = np.stack([np.where(rng.random(2000) < 0.15, 1, truth) for _ in range(3)])
    held, widths = [], []
    for _ in range(200):
        known = np.full(2000, np.nan)
        drawn = rng.choice(2000, 60, replace=False)
        known[drawn] = truth[drawn]
        found = rate_of("", verdicts, known, 0.0, 1.0)
        held.append(found.rate.low <= truth.mean() <= found.rate.high)
        widths.append(
            (found.rate.high - found.rate.low) / (found.checks_alone.high - found.checks_alone.low)
        )
    assert np.mean(held) > 0.93
    assert np.mean(widths) < 0.75
    assert abs(found.raw - truth.mean()) > 0.03
    assert found.checks_to_halve > 3 * 60
    every = rate_of("", verdicts, truth, 0.0, 1.0)
    assert every.rate == pytest.approx((truth.mean(),) * 3), "nothing is left to guess"


def test_rates_by_group_and_paired_differences():
    rng = np.random.default_rng(1)
    truth = {system: rng.random(150) < share for system, share in (("old", 0.5), ("new", 0.75))}
    parts = []
    for system, right in truth.items():
        for judge in ("a", "b"):
            said = np.where(rng.random(150) < 0.2, ~right, right)
            parts.append({
                "question": list(range(150)), "judge": [judge] * 150, "model": [system] * 150,
                "verdict": ["pass" if x else "fail" for x in said],
                "human_label": [("pass" if x else "fail") if n < 60 else None for n, x in enumerate(right)]
            })  # fmt: skip
    report = finegold.judges.assess(pl.concat([pl.DataFrame(part) for part in parts]))
    rates = {one.group: one for one in report.rate(by="model")}
    for system, right in truth.items():
        assert rates[system].rate.low < right.mean() < rates[system].rate.high
    apart = report.difference("new", "old", by="model")
    assert apart.low < truth["new"].mean() - truth["old"].mean() < apart.high
    assert apart.low > 0
    with pytest.raises(InputError, match="say which class passes: one of fail, pass"):
        report.rate(passes="great")
    with pytest.raises(InputError, match='no column "team"'):
        report.rate(by="team")


# Panels that decide.


def test_a_panel_decides_as_its_labels_and_is_saved(tmp_path):
    truth = words(TRUE)
    said = {name: words(noisy(share)) for name, share in (("a", 0.1), ("b", 0.3), ("c", 0.4))}
    panel = finegold.judges.fit(log_of(said, truth))
    decided = [panel.decide({name: each[n] for name, each in said.items()}) for n in range(300)]
    right = np.array([one.label == word for one, word in zip(decided, truth, strict=True)])
    p = np.array([one.probability for one in decided])
    assert right.mean() > 0.85
    assert abs(p.mean() - right.mean()) < 0.06
    assert {one.ask for one in decided if one.probability < 0.8} <= {True}
    panel.save(tmp_path / "panel.json")
    assert finegold.judges.load(tmp_path / "panel.json") == panel
    assert panel.decide({"a": "GOOD."}).label == "good"
    assert panel.decide({"a": None, "b": "ERROR"}) == (None, None, True)
    with pytest.raises(InputError, match="no judge 'd' in the panel"):
        panel.decide({"d": "good"})
    (tmp_path / "odd.json").write_text(json.dumps({"judges": 1}))
    with pytest.raises(InputError, match="does not hold a panel"):
        finegold.judges.load(tmp_path / "odd.json")


def test_a_panel_of_scores_is_refused():
    truth = RNG.integers(1, 6, 100)
    with pytest.raises(InputError, match="decides between classes, and these are scores"):
        finegold.judges.fit(log_of({"fair": truth}, truth))


def test_a_panel_asks_a_person_where_it_is_split():
    panel = JudgePanel(("a", "b"), ("no", "yes"), (1.0, 1.0), ask_below=0.0)
    assert panel.decide({"a": "no", "b": "yes"}).ask
    assert not panel.decide({"a": "no", "b": "no"}).ask


def test_credit_of_a_panel_is_shared_by_tied_classes_and_members_that_err_alike_are_discounted():
    share = np.eye(3)[[[0, 0], [1, 0], [0, 0]]]
    weight, alike = np.ones(3), np.zeros((3, 3))
    members = Members([*"abc"], share, np.array([0, 0]), weight, alike, 1 / 3, 0)
    panels = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1]], bool)
    assert members.credit(panels).tolist() == [[0.5, 1], [1, 1], [0, 1], [1, 1]]
    alike[0, 1] = alike[1, 0] = 0.5
    weights = discounted(weight, panels, alike)
    assert weights[:2] == pytest.approx(np.array([[2 / 3, 2 / 3, 0], [1, 0, 0]]))


def test_rogan_and_gladen_correct_a_share_for_false_verdicts():
    truth = np.repeat([1.0, 0.0, np.nan], [18, 18, 100])
    said = np.concatenate(
        [np.repeat([1.0, 0.0], [15, 3]), np.repeat([1.0, 0.0], [3, 15]), np.ones(100)]
    )
    found = rate_of("", said[None], truth, 0.0, 1.0).rogan_gladen
    # one more item of each kind: 16 of 20 pass, 16 of 20 fail, and 119 of 138 are said to pass
    assert found.value == 1
    said[-100:] = np.repeat([1.0, 0.0], [51, 49])
    found = rate_of("", said[None], truth, 0.0, 1.0).rogan_gladen
    assert found.value == pytest.approx((70 / 138 + 0.8 - 1) / 0.6)


def test_the_ceiling_leaves_out_ties_and_the_merge_keeps_failures():
    log = finegold.judges.read(
        log_of({"j": ["x", "ERROR: 1"] * 6}, None, human_1=["x"] * 12, human_2=["x"] * 12)
    )
    assert people.ceiling(log).value == 1
    assert (merge_calls(log).credit == [1.0, 0.0] * 6).all()
