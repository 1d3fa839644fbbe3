"""Ranking systems: against an independent fit, known strengths, position effects, and graphs in pieces."""

import numpy as np
import polars as pl
import pytest

import finegold
from finegold.errors import InputError
from finegold.insight.judges import ranking as bradley_terry
from finegold.insight.judges.ranking import Games, fit_strengths
from tests.support.judge_log import simulate_log


def draw(rng, theta, *, n_items=600, position=(0.0,), tie=(-0.5,)):
    """Verdicts of all judges on random pairs, in both orders."""
    S, J = len(theta), len(position)
    a = rng.integers(0, S, n_items)
    b = (a + rng.integers(1, S, n_items)) % S
    item, judge, order = (
        part.ravel() for part in np.meshgrid(range(n_items), range(J), [1, -1], indexing="ij")
    )
    eta = (theta[a] - theta[b])[item] + np.array(position)[judge] * order
    weights = np.stack([np.exp(eta / 2), np.exp(-eta / 2), np.exp(tie)[judge]])
    sums = np.cumsum(weights / weights.sum(axis=0), axis=0)
    outcome = np.minimum((rng.random(len(item)) > sums).sum(axis=0), 2)
    flat = np.ones(len(item))
    return Games(a[item], b[item], judge, order * 1.0, outcome, flat, item, S, J, n_items)


def davidson_by_mm(games, sweeps=4000):
    """Davidson's model without positions, by the MM algorithm of Hunter (2004), section 6: an independent fit."""
    S = games.n_systems
    gamma, nu = np.ones(S), 1.0
    score = np.where(games.outcome == 0, 1.0, np.where(games.outcome == 2, 0.5, 0.0))
    points = np.bincount(games.a, score, minlength=S) + np.bincount(games.b, 1 - score, minlength=S)
    n_ties = (games.outcome == 2).sum()
    for _ in range(sweeps):
        x, y = gamma[games.a], gamma[games.b]
        total = x + y + nu * np.sqrt(x * y)
        for_a = (1 + nu / 2 * np.sqrt(y / x)) / total
        for_b = (1 + nu / 2 * np.sqrt(x / y)) / total
        gamma = points / (
            np.bincount(games.a, for_a, minlength=S) + np.bincount(games.b, for_b, minlength=S)
        )
        gamma /= np.exp(np.log(gamma).mean())
        x, y = gamma[games.a], gamma[games.b]
        nu = n_ties / (np.sqrt(x * y) / (x + y + nu * np.sqrt(x * y))).sum()
    return np.log(gamma), np.log(nu)


@pytest.fixture
def flat_priors(monkeypatch):
    for name in ("STRENGTH_SD", "POSITION_SD", "TIE_SD"):
        monkeypatch.setattr(bradley_terry, name, 1e4)


def test_strengths_agree_with_an_independent_implementation(flat_priors):
    games = draw(np.random.default_rng(0), np.array([0.9, 0.3, 0.0, -0.4, -0.8]))
    found = fit_strengths(games, n_draws=10)
    theta, nu = davidson_by_mm(games)
    # Both orders are balanced, so that the position effect is near zero and changes strengths little.
    assert np.abs(found.theta - theta).max() < 0.005
    assert found.tie[0] == pytest.approx(nu, abs=0.005)
    without = Games(**{**vars(games), "order": np.zeros(len(games.a))})
    assert np.abs(fit_strengths(without, n_draws=10).theta - theta).max() < 1e-4


def test_intervals_hold_known_strengths():
    theta, inside = np.linspace(0.8, -0.8, 5), []
    for seed in range(60):
        judges = {"position": (0.5, 0, 0), "tie": (-1, 0, -0.5)}
        games = draw(np.random.default_rng(seed), theta, n_items=250, **judges)
        low, high = np.quantile(
            fit_strengths(games, n_draws=300, seed=seed).draws, [0.025, 0.975], axis=0
        )
        inside.append((low <= theta) & (theta <= high))
    assert 0.90 < np.mean(inside) < 0.98


def test_positions_and_ties_are_recovered():
    position, tie = (0.6, -0.2, 0.0), (-1.0, 0.0, -0.5)
    rng, theta = np.random.default_rng(3), np.linspace(1, -1, 6)
    games = draw(rng, theta, n_items=5000, position=position, tie=tie)
    found = fit_strengths(games, n_draws=10)
    assert np.abs(found.position - position).max() < 0.08
    assert np.abs(found.tie - tie).max() < 0.08


def test_a_simulated_log_is_ranked():
    drawn = simulate_log(8, 5, 1500, seed=3)
    ranking = finegold.judges.rank(pl.DataFrame(drawn.columns))
    assert [one.system for one in ranking.standings] == drawn.systems["system"].tolist()
    assert all(one.rank_low <= one.rank <= one.rank_high for one in ranking.standings)
    rates = ranking.win_rates
    assert np.isnan(np.diag(rates)).all()
    off = ~np.eye(5, dtype=bool)
    assert np.allclose((rates + rates.T)[off], 1)
    assert ranking.position["judge-8"] == max(ranking.position.values())
    assert ranking.table().columns[:3] == ["system", "rank", "ranks"]
    assert "ranks<" in ranking._repr_html_()


def rows(*games):
    """item, judge, model_a, model_b, winner"""
    names = ("item", "judge", "model_a", "model_b", "winner")
    return pl.DataFrame(
        [dict(zip(names, (i, "j", *game), strict=True)) for i, game in enumerate(games)]
    )


def test_a_system_that_always_wins_has_a_finite_strength_and_a_note():
    ranking = finegold.judges.rank(
        rows(*[("a", "b", "a")] * 20, *[("b", "c", "b"), ("b", "c", "c")] * 10)
    )
    assert ranking.standings[0].system == "a"
    assert 1 < ranking.standings[0].strength.value < 10
    assert "(a) won or lost every verdict" in ranking.notes[0]


APART = rows(("a", "b", "a"), ("c", "d", "d"), ("c", "e", "e"))
ONE = {"item": [1], "judge": ["j"], "verdict": ["A"]}


@pytest.mark.parametrize(
    ("log", "options", "words"),
    [
        (APART, {}, r"2 groups that were never compared with each other: \(a, b\); \(c, d, e\)"),
        (ONE | {"order": ["AB"]}, {}, "system_a=COLUMN system_b=COLUMN"),
        (ONE | {"verdict": ["pass"]}, {}, "needs pairwise verdicts"),
    ],
)
def test_what_cannot_be_ranked_is_refused(log, options, words):
    with pytest.raises(InputError, match=words):
        finegold.judges.rank(log, **options)
