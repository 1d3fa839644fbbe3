"""Rank the systems that judges compared: strengths, ranks and win rates, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import softmax

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.insight.judges.answers import Share
from finegold.insight.votes import Floats, Integers
from finegold.io.judge_logs import JudgeLog
from finegold.votes.encoding import MISSING
from finegold.votes.frames import make_frame

# of the priors
STRENGTH_SD, POSITION_SD, TIE_SD = 3.0, 2.0, 3.0
# the outcomes are that the first wins, that the second wins, and a tie
TIE = 2
# of Newton's method
MOST_STEPS, LONGEST_STEP = 100, 3.0
# of the bootstrap
N_DRAWS = 500
# systems of a group that an error names
NAMED = 5


@dataclass(frozen=True, eq=False)
class Games:
    """Verdicts on pairs of systems."""

    a: Integers
    b: Integers
    judge: Integers
    # 1, -1 or 0
    order: Floats
    # 0, 1, or TIE
    outcome: Integers
    weight: Floats
    item: Integers
    n_systems: int
    n_judges: int
    n_items: int


class Strengths(NamedTuple):
    """Estimated parameters, and the strengths of each bootstrap replicate."""

    # [S], mean 0
    theta: Floats
    # [J]
    position: Floats
    # [J] log nu
    tie: Floats
    # [B, S]
    draws: Floats


def fit_strengths(games: Games, *, n_draws: int = N_DRAWS, seed: int = 0) -> Strengths:
    """Maximise the posterior by Newton's method, and draw bootstrap replicates.

    With eta = theta_a - theta_b + position * order, the first system wins, the second wins and
    neither does with probabilities proportional to exp(eta / 2), exp(-eta / 2) and nu.
    """
    S, J = games.n_systems, games.n_judges
    # equal games are one cell
    shape, order = (S, S, J, 3, 3), games.order.astype(np.int64) + 1
    key = np.ravel_multi_index((games.a, games.b, games.judge, order, games.outcome), shape)
    distinct, cell_of = np.unique(key, return_inverse=True)
    a, b, judge, order, outcome = np.unravel_index(distinct, shape)
    counts, rows = np.bincount(cell_of, games.weight), np.arange(len(distinct))
    # [cells, parameters] what eta and log nu are made of
    eta_of, tie_of = np.zeros((2, len(distinct), S + 2 * J))
    eta_of[rows, a], eta_of[rows, b], eta_of[rows, S + judge] = 1.0, -1.0, order - 1.0
    tie_of[rows, S + J + judge] = 1.0
    precision = 1 / np.repeat([STRENGTH_SD, POSITION_SD, TIE_SD], [S, J, J]) ** 2
    sign, x = np.array([1.0, -1.0, 0.0])[outcome], np.zeros(S + 2 * J)
    for _ in range(MOST_STEPS):
        eta = eta_of @ x
        p_a, p_b, p_tie = softmax(np.stack([eta / 2, -eta / 2, tie_of @ x]), axis=0)
        apart = (p_a - p_b) / 2
        # [cells, parameters] the gradient of one game of each cell
        scores = eta_of * (sign / 2 - apart)[:, None]
        scores += tie_of * ((outcome == TIE) - p_tie)[:, None]
        by_eta = eta_of * (counts * ((p_a + p_b) / 4 - apart**2))[:, None]
        by_tie = tie_of * (counts * p_tie * (1 - p_tie))[:, None]
        mixed = eta_of.T @ (tie_of * (counts * -apart * p_tie)[:, None])
        hessian = eta_of.T @ by_eta + tie_of.T @ by_tie + mixed + mixed.T + np.diag(precision)
        step = np.linalg.solve(hessian, counts @ scores - precision * x)
        x += step * min(1.0, LONGEST_STEP / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    # Items are drawn with replacement, and each draw takes one Newton step.
    cells = coo_array((games.weight, (games.item, cell_of)), shape=(games.n_items, len(counts)))
    is_used = np.bincount(games.item, minlength=games.n_items) > 0
    influence = ((cells.tocsr() @ scores)[is_used] @ np.linalg.inv(hessian))[:, :S]
    influence -= influence.mean(axis=1, keepdims=True)
    rng, n = np.random.default_rng(seed), len(influence)
    weights = [np.bincount(rng.integers(0, n, n), minlength=n) - 1.0 for _ in range(n_draws)]
    theta = x[:S] - x[:S].mean()
    draws = theta + np.array(weights) @ influence
    return Strengths(theta, x[S : S + J], x[S + J :], draws)


@dataclass(frozen=True)
class Standing:
    """One system: its strength, its rank, and the range of ranks that the log leaves open."""

    system: str
    # log-odds against the average system
    strength: Share
    rank: int
    rank_low: int
    rank_high: int
    # expected against an average opponent; a tie counts one half
    expected_win_rate: Share
    # share of its verdicts that it won; a tie counts one half
    won: float
    n_verdicts: int

    def plain(self) -> dict[str, Any]:
        """Return the figures as JSON and tables have them."""
        ranks = "-".join(str(rank) for rank in dict.fromkeys((self.rank_low, self.rank_high)))
        row: dict[str, Any] = {"system": self.system, "rank": self.rank, "ranks": ranks}
        for name in ("strength", "expected_win_rate"):
            share, start = getattr(self, name), "" if name == "strength" else f"{name}_"
            row |= {name: share.value, f"{start}low": share.low, f"{start}high": share.high}
        return row | {"won": self.won, "n_verdicts": self.n_verdicts}


@dataclass(frozen=True, eq=False)
class Ranking:
    """Systems in order of their strength: the result of `finegold.judges.rank`.

    Attributes:
        standings (list): One entry per system, the best first: `system`, `strength` with its
            interval, `rank`, `rank_low`, `rank_high`, `expected_win_rate` (against an average
            opponent) with its interval, `won` (the share of its verdicts), `n_verdicts`.
        win_rates (ndarray of shape (n_systems, n_systems)): The observed share of verdicts that a
            system (row) wins against another (column), in the order of the standings. A tie counts
            one half; NaN where two systems were not compared.
        position: The effect of being shown first on the log-odds, by judge; 0 where the log has
            every pair of systems in one order only.
        notes: What a reader should know.
    """

    standings: list[Standing]
    win_rates: Floats
    position: dict[str, float]
    notes: list[str] = field(default_factory=list)

    def table(self) -> Any:
        """Return a data frame with one row per system, the best first.

        Returns:
            data frame: System, rank, range of ranks, strength with interval, expected win rate,
                share won, number of verdicts.
        """
        rows = [one.plain() for one in self.standings]
        return make_frame({name: [row[name] for row in rows] for name in rows[0]})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON.

        Returns:
            Systems, win rates, judges and notes.
        """
        judges = {name: {"position": effect} for name, effect in self.position.items()}
        systems = [one.plain() for one in self.standings]
        rates = self.win_rates.tolist()
        return {"systems": systems, "win_rates": rates, "judges": judges, "notes": self.notes}

    def _repr_html_(self) -> str:
        from finegold.insight.notebook import frame_html

        title = f"<b>Ranking</b> of {len(self.standings):,} systems"
        return frame_html(title, self.table(), self.notes)


def rank_systems(log: JudgeLog, judge_weights: Floats, *, seed: int) -> Ranking:
    """Rank the systems of a log. `judge_weights` discounts judges that err alike."""
    if seed < 0:
        raise InputError(f"the seed must not be negative: {seed}")
    games = games_of(log, judge_weights)
    fit = fit_strengths(games, seed=seed)
    order = np.argsort(-fit.theta, kind="stable")
    ranks = np.argsort(np.argsort(-fit.draws, axis=1), axis=1) + 1
    low, high = np.quantile(fit.draws, [0.025, 0.975], axis=0)
    rank_low, rank_high = np.quantile(ranks, [0.025, 0.975], axis=0, method="nearest").astype(int)
    # Wins of rows over columns, with ties as halves, and the number of verdicts.
    wins, n = np.zeros((2, games.n_systems, games.n_systems))
    points = np.array([1.0, 0.0, 0.5])[games.outcome]
    for one, other, won in ((games.a, games.b, points), (games.b, games.a, 1 - points)):
        np.add.at(wins, (one, other), won)
        np.add.at(n, (one, other), 1)
    # The expected score against a system of strength 0.
    nu, theta = float(np.exp(fit.tie).mean()), np.stack([fit.theta, low, high])
    average = (np.exp(theta / 2) + nu / 2) / (np.exp(theta / 2) + np.exp(-theta / 2) + nu)
    standings = [
        Standing(
            system=log.system_names[s],
            strength=Share(*theta[:, s].tolist()),
            rank=place,
            rank_low=int(rank_low[s]),
            rank_high=int(rank_high[s]),
            expected_win_rate=Share(*average[:, s].tolist()),
            won=float(wins[s].sum() / max(n[s].sum(), 1)),
            n_verdicts=int(n[s].sum()),
        )
        for place, s in enumerate(order.tolist(), start=1)
    ]
    total, notes = wins.sum(axis=1), []
    if extreme := np.flatnonzero((total == 0) | (total == n.sum(axis=1))).tolist():
        names = _listed([log.system_names[s] for s in extreme])
        notes.append(f"{names} won or lost every verdict: the prior alone limits strengths there")
    if (games.order == 0).any() and (log.first >= 0).any():
        notes.append(
            "pairs of systems were shown in one order only, so what is due to the position cannot"
            " be told from what is due to the systems"
        )
    with np.errstate(invalid="ignore"):
        rates = (wins / n)[np.ix_(order, order)]
    position = dict(zip(log.judge_names, fit.position.tolist(), strict=True))
    return Ranking(standings, rates, position, notes)


def games_of(log: JudgeLog, judge_weights: Floats) -> Games:
    """Return the verdicts on pairs of systems; systems that no chain of comparisons connects are
    refused.
    """
    if log.kind != "pairwise":
        problem = "a ranking needs pairwise verdicts, but these judge one answer each"
        raise InputError(f"{problem}; see finegold judges LOG")
    if not log.system_names:
        column: Any = Placeholder("COLUMN")
        add = Remedy(text="add two columns, such as model_a and model_b")
        remedies = [add, use(system_a=column, system_b=column, text="to name them")]
        raise InputError("the log does not say which systems were compared", remedies=remedies)
    used, S = np.flatnonzero(log.answer != MISSING), len(log.system_names)
    item, judge = log.item[used].astype(np.int64), log.judge[used].astype(np.int64)
    a, b = log.system_a[item].astype(np.int64), log.system_b[item].astype(np.int64)
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(S, S))
    n_groups, group = connected_components(graph, directed=False)
    if n_groups > 1:
        members = [np.flatnonzero(group == g) for g in range(n_groups)]
        groups = "; ".join(_listed([log.system_names[s] for s in each]) for each in members)
        problem = (
            f"the systems fall into {n_groups} groups that were never compared with each other"
        )
        raise InputError(
            f"{problem}: {groups}. Strengths of different groups cannot be compared; add verdicts"
            " on pairs across groups, or rank each group on its own"
        )
    _, place, n = np.unique(item * log.n_judges + judge, return_inverse=True, return_counts=True)
    order, outcome = np.array([1.0, -1.0, 0.0])[log.first[used]], log.answer[used].astype(np.int64)
    # a judge that saw no pair of systems in both orders has no position effect
    key = (judge * S + a) * S + b
    both = np.intersect1d(key[order > 0], key[order < 0])
    order[~np.isin(judge, both // S**2)] = 0.0
    # verdicts of a judge on an item are one opinion
    weight = judge_weights[judge] / n[place]
    return Games(a, b, judge, order, outcome, weight, item, S, log.n_judges, log.n_items)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"({', '.join(names[:NAMED])}{more})"
