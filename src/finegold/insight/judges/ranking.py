"""Rank the systems that judges compared: strengths, ranks and win rates, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.insight.judges.answers import NOTHING, Answers, Share, merge, prediction_powered
from finegold.insight.judges.scores import MIN_GOLD
from finegold.io.judge_logs import JudgeLog
from finegold.votes.encoding import MISSING
from finegold.votes.frames import make_frame

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STRENGTH_SD, POSITION_SD, TIE_SD, DISCRIMINATION_SD = 3.0, 2.0, 3.0, 0.5  # of the priors
A_WINS, B_WINS, TIE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Games:
    """Verdicts on pairs of systems."""

    a: Integers
    b: Integers
    judge: Integers
    order: Floats  # 1, -1 or 0
    outcome: Integers  # A_WINS, B_WINS, TIE
    weight: Floats
    item: Integers
    n_systems: int
    n_judges: int
    n_items: int


@dataclass(frozen=True, eq=False)
class Strengths:
    """Estimated parameters, and the strengths of each bootstrap replicate."""

    theta: Floats  # [S], mean 0
    position: Floats  # [J]
    tie: Floats  # [J] log nu
    discrimination: Floats  # [J] log s
    draws: Floats  # [B, S]


def fit_strengths(games: Games, *, learn_weights: bool = True, n_draws: int = 500, seed: int = 0) -> Strengths:
    """Maximise the likelihood of the games, and draw bootstrap replicates."""
    cells, counts, cell_of = _cells(games)
    n_free = games.n_systems + (3 if learn_weights else 2) * games.n_judges
    start = np.zeros(n_free)
    model = Model(cells, games.n_systems, games.n_judges, learn_weights)
    best = minimize(model.loss, start, args=(counts,), jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
    best = best - model.step(best, counts, model.loss(best, counts)[1])  # polishes what the line search left
    theta, position, tie, discrimination = model.split(best)
    draws = _draws(games, model, best, counts, cell_of, n_draws, seed)
    return Strengths(theta, position, tie, discrimination, draws)


def _cells(games: Games) -> tuple[Games, Floats, Integers]:
    """Sum equal games; return the distinct ones, their weights, and the cell of each game."""
    sizes = (games.n_systems, games.n_systems, games.n_judges, 3, 3)
    key = np.ravel_multi_index((games.a, games.b, games.judge, games.order.astype(np.int64) + 1, games.outcome), sizes)
    distinct, cell_of = np.unique(key, return_inverse=True)
    a, b, judge, order, outcome = np.unravel_index(distinct, sizes)
    counts = np.bincount(cell_of, games.weight).astype(float)
    cells = Games(
        a, b, judge, order.astype(np.float64) - 1, outcome, counts, a, games.n_systems, games.n_judges, games.n_items
    )
    return cells, counts, cell_of


class Model:
    """The negative log posterior of the parameters, and its derivatives."""

    def __init__(self, cells: Games, n_systems: int, n_judges: int, learn_weights: bool) -> None:
        self.cells, self.n_systems, self.n_judges, self.learn_weights = cells, n_systems, n_judges, learn_weights
        sizes = [n_systems, n_judges, n_judges, n_judges if learn_weights else 0]
        self.ends = np.cumsum(sizes)
        spread = (STRENGTH_SD, POSITION_SD, TIE_SD, DISCRIMINATION_SD)
        self.precision: Floats = np.repeat(np.array([1 / sd**2 for sd in spread]), sizes)

    def split(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        theta, position, tie, free = np.split(x, self.ends[:-1])
        log_s = free - free.mean() if self.learn_weights else np.zeros(self.n_judges)
        return theta - theta.mean(), position, tie, log_s

    def loss(self, x: Floats, counts: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient."""
        log_p, parts = self._derivatives(x)
        value = -float(counts @ log_p) + 0.5 * float(self.precision @ x**2)
        return value, self.precision * x - self._gradient(parts * counts)

    def scores(self, x: Floats) -> Floats:
        """[cells, parameters] Return the gradient of the log likelihood of one game of each cell."""
        _, parts = self._derivatives(x)
        found = np.zeros((len(self.cells.a), len(x)))
        rows = np.arange(len(found))
        for column, values in self._columns(parts):
            found[rows, column] += values
        return self._centred(found)

    def step(self, x: Floats, counts: Floats, gradient: Floats) -> Floats:
        """Return the Newton step of this gradient."""
        return np.asarray(np.linalg.solve(self.hessian(x, counts), gradient), dtype=np.float64)

    def hessian(self, x: Floats, counts: Floats) -> Floats:
        """Return the second derivatives of the loss, as differences of its gradient."""
        width = 1e-4
        shifts = np.eye(len(x)) * width
        rows = [(self.loss(x + h, counts)[1] - self.loss(x - h, counts)[1]) / (2 * width) for h in shifts]
        matrix: Floats = np.array(rows)
        return (matrix + matrix.T) / 2 + 1e-9 * np.eye(len(x))

    def _derivatives(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the log probability of each cell, and its derivatives by theta_a, position, tie and log s."""
        c = self.cells
        theta, position, tie, log_s = self.split(x)
        s, gap = np.exp(log_s)[c.judge], theta[c.a] - theta[c.b]
        eta = s * gap + position[c.judge] * c.order
        logits = np.stack([eta / 2, -eta / 2, tie[c.judge]])
        logits -= logits.max(axis=0)
        log_p = logits - np.log(np.exp(logits).sum(axis=0))
        p = np.exp(log_p)
        sign = np.where(c.outcome == A_WINS, 1.0, np.where(c.outcome == B_WINS, -1.0, 0.0))
        by_eta = (sign - (p[A_WINS] - p[B_WINS])) / 2
        by_tie = (c.outcome == TIE) - p[TIE]
        chosen = np.take_along_axis(log_p, c.outcome[None], axis=0)[0]
        return chosen, np.stack([by_eta * s, by_eta * c.order, by_tie, by_eta * s * gap])

    def _columns(self, parts: Floats) -> list[tuple[Integers, Floats]]:
        """Return the parameters that each cell depends on, and the derivatives."""
        c, (S, J) = self.cells, (self.n_systems, self.n_judges)
        by_theta, by_position, by_tie, by_log_s = parts
        found = [(c.a, by_theta), (c.b, -by_theta), (S + c.judge, by_position), (S + J + c.judge, by_tie)]
        return [*found, (S + 2 * J + c.judge, by_log_s)] if self.learn_weights else found

    def _gradient(self, parts: Floats) -> Floats:
        n = self.ends[-1]
        sums = np.sum([np.bincount(column, values, minlength=n) for column, values in self._columns(parts)], axis=0)
        return self._centred(sums)

    def _centred(self, gradient: Floats) -> Floats:
        """Account for the centring of theta and log s in `split`."""
        for part in (slice(0, self.n_systems), slice(self.ends[2], self.ends[3])):
            if part.stop > part.start:
                gradient[..., part] -= gradient[..., part].mean(axis=-1, keepdims=True)
        return gradient


def _draws(
    games: Games, model: Model, best: Floats, counts: Floats, cell_of: Integers, n_draws: int, seed: int
) -> Floats:
    """[B, S] Draw items with replacement, and take one Newton step for each draw."""
    rng = np.random.default_rng(seed)
    shape = (games.n_items, len(counts))
    scores = coo_array((games.weight, (games.item, cell_of)), shape=shape).tocsr() @ model.scores(best)
    scores = scores[np.bincount(games.item, minlength=games.n_items) > 0]
    inverse = np.linalg.inv(model.hessian(best, counts))
    influence = scores @ inverse[:, : games.n_systems]  # of each item on the strengths
    influence -= influence.mean(axis=1, keepdims=True)
    n, theta = len(influence), model.split(best)[0]
    weights = (np.bincount(rng.integers(0, n, n), minlength=n) - 1.0 for _ in range(n_draws))
    return np.array([theta + weight @ influence for weight in weights])


Weights = Literal["learned", "equal"]
NAMED = 5  # systems of a group that an error names


@dataclass(frozen=True)
class Standing:
    """One system: its strength, its rank, and the range of ranks that the log leaves open."""

    system: str
    strength: Share  # log-odds against the average system
    rank: int
    rank_low: int
    rank_high: int
    win_rate: Share  # expected against an average opponent; a tie counts one half
    people: Share  # share of its pairs that it wins by the known truths, with the judges' help
    n_verdicts: int


@dataclass(frozen=True, eq=False)
class Ranking:
    """Systems in order of their strength: the result of `finegold.judges.rank`.

    Attributes
    ----------
    standings : list
        One entry per system, the best first: `system`, `strength` with its interval, `rank`, `rank_low`, `rank_high`,
        `win_rate` with its interval, `people` (the win rate by known truths), `n_verdicts`.
    win_rates : ndarray of shape (n_systems, n_systems)
        The observed share of verdicts that a system (row) wins against another (column), in the order of the
        standings. A tie counts one half; NaN where two systems were not compared.
    position : dict
        The effect of being shown first on the log-odds, by judge.
    discrimination : dict
        How much the verdicts of each judge depend on the systems; 1 is average.
    notes : list of str
        What a reader should know.
    """

    standings: list[Standing]
    win_rates: Floats
    position: dict[str, float]
    discrimination: dict[str, float]
    notes: list[str] = field(default_factory=list)

    def table(self) -> Any:
        """Return a data frame with one row per system, the best first.

        Returns
        -------
        data frame
            System, rank, range of ranks, strength with interval, expected win rate, number of verdicts.
        """
        rows = [_row(one) for one in self.standings]
        return make_frame({name: [row[name] for row in rows] for name in rows[0]}, like=np.empty(0))

    def matrix(self) -> Any:
        """Return the observed win rates as a data frame, with a column per opponent.

        Returns
        -------
        data frame
            One row per system, the best first.
        """
        names = [one.system for one in self.standings]
        columns = {name: self.win_rates[:, place] for place, name in enumerate(names)}
        return make_frame({"system": names, **columns}, like=np.empty(0))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON.

        Returns
        -------
        dict
            Systems, win rates, judges and notes.
        """
        return {
            "systems": [_row(one) for one in self.standings],
            "win_rates": self.win_rates.tolist(),
            "judges": {
                name: {"position": self.position[name], "discrimination": self.discrimination[name]}
                for name in self.position
            },
            "notes": self.notes,
        }

    def _repr_html_(self) -> str:
        from finegold.insight.notebook import ranking_html

        return ranking_html(self)


def _row(one: Standing) -> dict[str, Any]:
    return {
        "system": one.system,
        "rank": one.rank,
        "ranks": str(one.rank_low) if one.rank_low == one.rank_high else f"{one.rank_low}-{one.rank_high}",
        "strength": one.strength.value,
        "low": one.strength.low,
        "high": one.strength.high,
        "win_rate": one.win_rate.value,
        "win_low": one.win_rate.low,
        "win_high": one.win_rate.high,
        **({} if one.people.value != one.people.value else _people_row(one.people)),
        "n_verdicts": one.n_verdicts,
    }


def _people_row(people: Share) -> dict[str, float]:
    return {"people_win_rate": people.value, "people_low": people.low, "people_high": people.high}


def rank_systems(
    log: JudgeLog,
    judge_weights: Floats,
    *,
    weights: Weights = "learned",
    n_draws: int = 500,
    seed: int = 0,
    answers: Answers | None = None,
) -> Ranking:
    """Rank the systems of a log. `judge_weights` discounts judges that err alike."""
    if weights not in get_args(Weights):
        raise InputError(f'weights must be "learned" or "equal", not {weights!r}')
    if seed < 0:
        raise InputError(f"the seed must not be negative: {seed}")
    games = _games(log, judge_weights if weights == "learned" else np.ones(log.n_judges))
    _check_connected(log, games)
    found = fit_strengths(games, learn_weights=weights == "learned", n_draws=n_draws, seed=seed)
    order = np.argsort(-found.theta, kind="stable")
    ranks = np.argsort(np.argsort(-found.draws, axis=1), axis=1) + 1
    low, high = np.quantile(found.draws, [0.025, 0.975], axis=0)
    rank_low, rank_high = np.quantile(ranks, [0.025, 0.975], axis=0, method="nearest").astype(int)
    wins, n = _wins(games)
    nu = float(np.exp(found.tie).mean())
    average, win_low, win_high = (_against_average(theta, nu) for theta in (found.theta, low, high))
    people = _people(log, answers)
    standings = [
        Standing(
            system=log.system_names[s],
            strength=Share(float(found.theta[s]), float(low[s]), float(high[s])),
            rank=place,
            rank_low=int(rank_low[s]),
            rank_high=int(rank_high[s]),
            win_rate=Share(float(average[s]), float(win_low[s]), float(win_high[s])),
            people=people[s],
            n_verdicts=int(n[s].sum()),
        )
        for place, s in enumerate(order.tolist(), start=1)
    ]
    with np.errstate(invalid="ignore"):
        rates = (wins / np.where(n > 0, n, np.nan))[np.ix_(order, order)]
    names = log.judge_names
    return Ranking(
        standings=standings,
        win_rates=rates,
        position=dict(zip(names, found.position.tolist(), strict=True)),
        discrimination=dict(zip(names, np.exp(found.discrimination).tolist(), strict=True)),
        notes=_notes(log, wins, n),
    )


def _people(log: JudgeLog, answers: Answers | None) -> list[Share]:
    """Return how often each system wins by the known truths; the judges' verdicts on all items narrow the interval."""
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
        rates.append(prediction_powered(np.abs(turn - guess[mine]), np.abs(turn - truth[mine])))
    return rates


def _games(log: JudgeLog, judge_weights: Floats) -> Games:
    if log.kind != "pairwise":
        raise InputError("a ranking needs pairwise verdicts, but these judge one answer each; see finegold judges LOG")
    if not log.system_names:
        column = Placeholder("COLUMN")
        raise InputError(
            "the log does not say which systems were compared",
            remedies=[
                Remedy(text="add two columns, such as model_a and model_b"),
                use(system_a=column, system_b=column, text="to name them"),
            ],
        )
    used = np.flatnonzero(log.answer != MISSING)
    item, judge = log.item[used].astype(np.int64), log.judge[used].astype(np.int64)
    _, place, n = np.unique(item * log.n_judges + judge, return_inverse=True, return_counts=True)
    return Games(
        a=log.system_a[item].astype(np.int64),
        b=log.system_b[item].astype(np.int64),
        judge=judge,
        order=np.array([1.0, -1.0, 0.0])[log.first[used]],
        outcome=log.answer[used].astype(np.int64),
        weight=judge_weights[judge] / n[place],  # verdicts of a judge on an item are one opinion
        item=item,
        n_systems=len(log.system_names),
        n_judges=log.n_judges,
        n_items=log.n_items,
    )


def _check_connected(log: JudgeLog, games: Games) -> None:
    """Refuse systems that no chain of comparisons connects."""
    n = games.n_systems
    graph = coo_array((np.ones(len(games.a)), (games.a, games.b)), shape=(n, n))
    n_groups, group = connected_components(graph, directed=False)
    if n_groups == 1:
        return
    listed = "; ".join(_listed([log.system_names[s] for s in np.flatnonzero(group == g)]) for g in range(n_groups))
    raise InputError(
        f"the systems fall into {n_groups} groups that were never compared with each other: {listed}. Strengths of "
        "different groups cannot be compared; add verdicts on pairs across groups, or rank each group on its own"
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"({', '.join(names[:NAMED])}{more})"


def _wins(games: Games) -> tuple[Floats, NDArray[np.int64]]:
    """[S, S] Return wins of rows over columns, with ties as halves, and the number of verdicts."""
    S = games.n_systems
    points = np.where(games.outcome == 0, 1.0, np.where(games.outcome == 2, 0.5, 0.0))
    forward, backward = games.a * S + games.b, games.b * S + games.a
    wins = np.bincount(forward, points, minlength=S * S) + np.bincount(backward, 1 - points, minlength=S * S)
    n = np.bincount(forward, minlength=S * S) + np.bincount(backward, minlength=S * S)
    return wins.reshape(S, S).astype(float), n.reshape(S, S).astype(np.int64)


def _against_average(theta: Floats, nu: float) -> Floats:
    """Return the expected score of each system against one of strength 0."""
    up, down = np.exp(theta / 2), np.exp(-theta / 2)
    return np.asarray((up + nu / 2) / (up + down + nu))


def _notes(log: JudgeLog, wins: Floats, n: NDArray[np.int64]) -> list[str]:
    total, all_of = wins.sum(axis=1), n.sum(axis=1)
    extreme = [log.system_names[s] for s in np.flatnonzero((total == 0) | (total == all_of))]
    if not extreme:
        return []
    are = "has" if len(extreme) == 1 else "have"
    return [
        f"{_listed(extreme)} {are} won or lost every verdict, so that strengths there are limited by the prior only"
    ]
