"""Rank the systems that judges compared: strengths, ranks and win rates, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.insight.judges.answers import MIN_GOLD, NOTHING, Answers, Share, merge
from finegold.insight.judges.rates import corrected
from finegold.insight.votes import Floats, Integers
from finegold.io.judge_logs import JudgeLog
from finegold.votes.encoding import MISSING
from finegold.votes.frames import make_frame

# of the priors
STRENGTH_SD, POSITION_SD, TIE_SD, DISCRIMINATION_SD = 3.0, 2.0, 3.0, 0.5
A_WINS, B_WINS, TIE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Games:
    """Verdicts on pairs of systems."""

    a: Integers
    b: Integers
    judge: Integers
    # 1, -1 or 0
    order: Floats
    # A_WINS, B_WINS, TIE
    outcome: Integers
    weight: Floats
    item: Integers
    n_systems: int
    n_judges: int
    n_items: int


@dataclass(frozen=True, eq=False)
class Strengths:
    """Estimated parameters, and the strengths of each bootstrap replicate."""

    # [S], mean 0
    theta: Floats
    # [J]
    position: Floats
    # [J] log nu
    tie: Floats
    # [J] log s
    discrimination: Floats
    # [B, S]
    draws: Floats


def fit_strengths(
    games: Games, *, learn_weights: bool = True, n_draws: int = 500, seed: int = 0
) -> Strengths:
    """Maximise the likelihood of the games, and draw bootstrap replicates."""
    model = Model(games, learn_weights)
    start, options = np.zeros(len(model.precision)), {"maxiter": 1000}
    best = minimize(model.loss, start, jac=True, method="L-BFGS-B", options=options).x
    # polishes what the line search left
    best = best - np.linalg.solve(model.hessian(best), model.loss(best)[1])
    theta, position, tie, discrimination = model.split(best)
    # Items are drawn with replacement, and each draw takes one Newton step.
    shape = (games.n_items, len(model.counts))
    scores = coo_array(
        (games.weight, (games.item, model.cell_of)), shape=shape
    ).tocsr() @ model.scores(best)
    scores = scores[np.bincount(games.item, minlength=games.n_items) > 0]
    # of each item on the parameters
    influence = (scores @ np.linalg.inv(model.hessian(best)))[:, : games.n_systems]
    influence -= influence.mean(axis=1, keepdims=True)
    rng, n = np.random.default_rng(seed), len(influence)
    weights = [np.bincount(rng.integers(0, n, n), minlength=n) - 1.0 for _ in range(n_draws)]
    draws = np.array([theta + weight @ influence for weight in weights])
    return Strengths(theta, position, tie, discrimination, draws)


class Model:
    """The negative log posterior of the parameters, and its derivatives. Equal games are summed
    into cells.
    """

    def __init__(self, games: Games, learn_weights: bool) -> None:
        S, J = games.n_systems, games.n_judges
        shape = (S, S, J, 3, 3)
        order = games.order.astype(np.int64) + 1
        key = np.ravel_multi_index((games.a, games.b, games.judge, order, games.outcome), shape)
        distinct, self.cell_of = np.unique(key, return_inverse=True)
        self.a, self.b, self.judge, order, self.outcome = np.unravel_index(distinct, shape)
        self.order, self.counts = order - 1.0, np.bincount(self.cell_of, games.weight)
        self.learn_weights = learn_weights
        sizes = [S, J, J, J if learn_weights else 0]
        self.ends = np.cumsum(sizes)
        spread = (STRENGTH_SD, POSITION_SD, TIE_SD, DISCRIMINATION_SD)
        self.precision: Floats = np.repeat(np.array([1 / sd**2 for sd in spread]), sizes)
        # The parameters that each cell depends on.
        parts = [self.a, self.b, S + self.judge, S + J + self.judge, S + 2 * J + self.judge]
        self.columns = np.stack(parts if learn_weights else parts[:-1])

    def split(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        theta, position, tie, free = np.split(x, self.ends[:-1])
        log_s = free - free.mean() if self.learn_weights else np.zeros(len(position))
        return theta - theta.mean(), position, tie, log_s

    def loss(self, x: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient."""
        log_p, by_column = self._derivatives(x)
        value = -float(self.counts @ log_p) + 0.5 * float(self.precision @ x**2)
        sums = np.bincount(
            self.columns.ravel(), (by_column * self.counts).ravel(), minlength=len(x)
        )
        return value, self.precision * x - self._centred(sums.astype(np.float64))

    def scores(self, x: Floats) -> Floats:
        """[cells, parameters] Return the gradient of the log likelihood of one game of each cell."""
        gradients = np.zeros((len(self.counts), len(x)))
        for column, values in zip(self.columns, self._derivatives(x)[1], strict=True):
            gradients[np.arange(len(gradients)), column] += values
        return self._centred(gradients)

    def hessian(self, x: Floats) -> Floats:
        """Return the second derivatives of the loss, as differences of its gradient."""
        width = 1e-4
        shifts = np.eye(len(x)) * width
        matrix: Floats = np.array(
            [(self.loss(x + h)[1] - self.loss(x - h)[1]) / (2 * width) for h in shifts]
        )
        return (matrix + matrix.T) / 2 + 1e-9 * np.eye(len(x))

    def _derivatives(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the log probability of each cell, and its derivatives by the parameters in
        `columns`.
        """
        theta, position, tie, log_s = self.split(x)
        s, gap = np.exp(log_s)[self.judge], theta[self.a] - theta[self.b]
        eta = s * gap + position[self.judge] * self.order
        logits = np.stack([eta / 2, -eta / 2, tie[self.judge]])
        logits -= logits.max(axis=0)
        log_p = logits - np.log(np.exp(logits).sum(axis=0))
        p = np.exp(log_p)
        sign = np.where(self.outcome == A_WINS, 1.0, np.where(self.outcome == B_WINS, -1.0, 0.0))
        by_eta = (sign - (p[A_WINS] - p[B_WINS])) / 2
        by_tie = (self.outcome == TIE) - p[TIE]
        parts = [by_eta * s, -by_eta * s, by_eta * self.order, by_tie, by_eta * s * gap]
        by_column = np.stack(parts if self.learn_weights else parts[:-1])
        return np.take_along_axis(log_p, self.outcome[None], axis=0)[0], by_column

    def _centred(self, gradient: Floats) -> Floats:
        """Account for the centring of theta and log s in `split`."""
        for part in (slice(0, self.ends[0]), slice(self.ends[2], self.ends[3])):
            if part.stop > part.start:
                gradient[..., part] -= gradient[..., part].mean(axis=-1, keepdims=True)
        return gradient


Weights = Literal["learned", "equal"]
# systems of a group that an error names
NAMED = 5


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
    # share of its pairs that it wins by the known truths, with the judges' help
    people: Share
    n_verdicts: int

    def plain(self) -> dict[str, Any]:
        """Return the figures as JSON and tables have them."""
        ranks = "-".join(str(rank) for rank in dict.fromkeys((self.rank_low, self.rank_high)))
        row: dict[str, Any] = {"system": self.system, "rank": self.rank, "ranks": ranks}
        for name in ("strength", "expected_win_rate", "people"):
            share, start = getattr(self, name), "" if name == "strength" else f"{name}_"
            if share.value == share.value:
                row |= {name: share.value, f"{start}low": share.low, f"{start}high": share.high}
        return row | {"won": self.won, "n_verdicts": self.n_verdicts}


@dataclass(frozen=True, eq=False)
class Ranking:
    """Systems in order of their strength: the result of `finegold.judges.rank`.

    Attributes:
        standings (list): One entry per system, the best first: `system`, `strength` with its
            interval, `rank`, `rank_low`, `rank_high`, `expected_win_rate` (against an average
            opponent) with its interval, `won` (the share of its verdicts), `people` (the share
            that it would win if people judged everything), `n_verdicts`.
        win_rates (ndarray of shape (n_systems, n_systems)): The observed share of verdicts that a
            system (row) wins against another (column), in the order of the standings. A tie counts
            one half; NaN where two systems were not compared.
        position: The effect of being shown first on the log-odds, by judge; 0 where the log has
            every pair of systems in one order only.
        discrimination: How much the verdicts of each judge depend on the systems; 1 is average.
        notes: What a reader should know.
    """

    standings: list[Standing]
    win_rates: Floats
    position: dict[str, float]
    discrimination: dict[str, float]
    notes: list[str] = field(default_factory=list)

    def table(self) -> Any:
        """Return a data frame with one row per system, the best first.

        Returns:
            data frame: System, rank, range of ranks, strength with interval, expected win rate,
                share won, number of verdicts.
        """
        rows = [one.plain() for one in self.standings]
        return make_frame({name: [row[name] for row in rows] for name in rows[0]})

    def matrix(self) -> Any:
        """Return the observed win rates as a data frame, with a column per opponent.

        Returns:
            data frame: One row per system, the best first.
        """
        names = [one.system for one in self.standings]
        return make_frame({"system": names, **dict(zip(names, self.win_rates.T, strict=True))})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON.

        Returns:
            Systems, win rates, judges and notes.
        """
        figures = {"position": self.position, "discrimination": self.discrimination}
        return {
            "systems": [one.plain() for one in self.standings],
            "win_rates": self.win_rates.tolist(),
            "judges": {
                name: {figure: of[name] for figure, of in figures.items()} for name in self.position
            },
            "notes": self.notes,
        }

    def _repr_html_(self) -> str:
        from finegold.insight.notebook import ranking_html

        return ranking_html(self)


def rank_systems(
    log: JudgeLog,
    judge_weights: Floats,
    weights: Weights,
    *,
    seed: int,
    answers: Answers | None = None,
) -> Ranking:
    """Rank the systems of a log. `judge_weights` discounts judges that err alike."""
    if weights not in get_args(Weights):
        raise InputError(f'weights must be "learned" or "equal", not {weights!r}')
    if seed < 0:
        raise InputError(f"the seed must not be negative: {seed}")
    games = games_of(log, judge_weights if weights == "learned" else np.ones(log.n_judges))
    fit = fit_strengths(games, learn_weights=weights == "learned", seed=seed)
    order = np.argsort(-fit.theta, kind="stable")
    ranks = np.argsort(np.argsort(-fit.draws, axis=1), axis=1) + 1
    low, high = np.quantile(fit.draws, [0.025, 0.975], axis=0)
    rank_low, rank_high = np.quantile(ranks, [0.025, 0.975], axis=0, method="nearest").astype(int)
    # Wins of rows over columns, with ties as halves, and the number of verdicts.
    S = games.n_systems
    points = np.where(games.outcome == A_WINS, 1.0, np.where(games.outcome == TIE, 0.5, 0.0))
    forward, backward = games.a * S + games.b, games.b * S + games.a
    wins = np.bincount(forward, points, minlength=S * S) + np.bincount(
        backward, 1 - points, minlength=S * S
    )
    n = np.bincount(forward, minlength=S * S) + np.bincount(backward, minlength=S * S)
    wins, n = wins.reshape(S, S), n.reshape(S, S)
    # The expected score against a system of strength 0.
    nu, theta = float(np.exp(fit.tie).mean()), np.stack([fit.theta, low, high])
    average = (np.exp(theta / 2) + nu / 2) / (np.exp(theta / 2) + np.exp(-theta / 2) + nu)
    people = _people(log, answers)
    standings = [
        Standing(
            system=log.system_names[s],
            strength=Share(float(fit.theta[s]), float(low[s]), float(high[s])),
            rank=place,
            rank_low=int(rank_low[s]),
            rank_high=int(rank_high[s]),
            expected_win_rate=Share(*average[:, s].tolist()),
            won=float(wins[s].sum() / max(n[s].sum(), 1)),
            people=people[s],
            n_verdicts=int(n[s].sum()),
        )
        for place, s in enumerate(order.tolist(), start=1)
    ]
    total, notes = wins.sum(axis=1), []
    if (is_extreme := (total == 0) | (total == n.sum(axis=1))).any():
        extreme = [log.system_names[s] for s in np.flatnonzero(is_extreme)]
        have = "has" if len(extreme) == 1 else "have"
        limited = "so that strengths there are limited by the prior only"
        notes.append(f"{_listed(extreme)} {have} won or lost every verdict, {limited}")
    if (games.order == 0).any() and (log.first >= 0).any():
        notes.append(
            "pairs of systems were shown in one order only, so what is due to the position cannot"
            " be told from what is due to the systems"
        )
    with np.errstate(invalid="ignore"):
        rates = (wins / np.where(n > 0, n, np.nan))[np.ix_(order, order)]
    position = dict(zip(log.judge_names, fit.position.tolist(), strict=True))
    discrimination = dict(zip(log.judge_names, np.exp(fit.discrimination).tolist(), strict=True))
    return Ranking(standings, rates, position, discrimination, notes)


def _people(log: JudgeLog, answers: Answers | None) -> list[Share]:
    """Return how often each system wins by the known truths; the judges' verdicts on all items
    narrow the interval.
    """
    systems = range(len(log.system_names))
    if (log.gold != MISSING).sum() < MIN_GOLD:
        return [NOTHING for _ in systems]
    answers = answers or merge(log)
    share = answers.points / np.maximum(answers.points.sum(axis=1, keepdims=True), 1e-9)
    wins = share[:, 0] + (share[:, TIE] / 2 if share.shape[1] > TIE else 0.0)
    said = share.any(axis=1)
    n = np.bincount(answers.item[said], minlength=log.n_items)
    guess = np.bincount(answers.item[said], wins[said], minlength=log.n_items) / np.maximum(n, 1)
    truth = np.array([1.0, 0.0, 0.5, np.nan])[log.gold]
    rates = []
    for s in systems:
        is_a, is_b = log.system_a == s, log.system_b == s
        mine = (is_a | is_b) & (n > 0)
        turn = np.where(is_b, 1.0, 0.0)[mine]
        known = np.abs(turn - truth[mine])
        is_known = np.isfinite(known).sum() >= MIN_GOLD
        share = corrected(np.abs(turn - guess[mine]), known, 0.0, 1.0) if is_known else NOTHING
        rates.append(share)
    return rates


def games_of(log: JudgeLog, judge_weights: Floats) -> Games:
    """Return the verdicts on pairs of systems; systems that no chain of comparisons connects are
    refused.
    """
    if log.kind != "pairwise":
        raise InputError(
            "a ranking needs pairwise verdicts, but these judge one answer each; see finegold"
            " judges LOG"
        )
    if not log.system_names:
        column, add = (
            Placeholder("COLUMN"),
            Remedy(text="add two columns, such as model_a and model_b"),
        )
        remedies = [add, use(system_a=column, system_b=column, text="to name them")]
        raise InputError("the log does not say which systems were compared", remedies=remedies)
    used = np.flatnonzero(log.answer != MISSING)
    item, judge, S = (
        log.item[used].astype(np.int64),
        log.judge[used].astype(np.int64),
        len(log.system_names),
    )
    a, b = log.system_a[item].astype(np.int64), log.system_b[item].astype(np.int64)
    n_groups, group = connected_components(
        coo_array((np.ones(len(a)), (a, b)), shape=(S, S)), directed=False
    )
    if n_groups > 1:
        groups = (
            [log.system_names[s] for s in np.flatnonzero(group == g)] for g in range(n_groups)
        )
        raise InputError(
            f"the systems fall into {n_groups} groups that were never compared with each other:"
            f" {'; '.join(map(_listed, groups))}. Strengths of different groups cannot be compared;"
            " add verdicts on pairs across groups, or rank each group on its own"
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
