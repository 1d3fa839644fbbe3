"""Rank the systems that judges compared: strengths, ranks and win rates, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from finegold.errors import InputError
from finegold.insight.judges.bradley_terry import Games, fit_strengths
from finegold.insight.judges.shares import Share
from finegold.io.readers.judge_logs import JudgeLog
from finegold.votes.encoding import MISSING
from finegold.votes.frames import make_frame

__all__ = ["Ranking", "Weights", "rank_systems"]

Floats = NDArray[np.float64]
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
    win_rate: float  # expected against an average opponent; a tie counts one half
    n_verdicts: int


@dataclass(frozen=True, eq=False)
class Ranking:
    """Systems in order of their strength: the result of `finegold.judges.rank`.

    Attributes
    ----------
    standings : list
        One entry per system, the best first: `system`, `strength` with its interval, `rank`, `rank_low`, `rank_high`,
        `win_rate`, `n_verdicts`.
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
        from finegold.insight.judges.notebook import ranking_html

        return ranking_html(self)


def _row(one: Standing) -> dict[str, Any]:
    return {
        "system": one.system,
        "rank": one.rank,
        "ranks": str(one.rank_low) if one.rank_low == one.rank_high else f"{one.rank_low}-{one.rank_high}",
        "strength": one.strength.value,
        "low": one.strength.low,
        "high": one.strength.high,
        "win_rate": one.win_rate,
        "n_verdicts": one.n_verdicts,
    }


def rank_systems(
    log: JudgeLog, judge_weights: Floats, *, weights: Weights = "learned", n_draws: int = 500, seed: int = 0
) -> Ranking:
    """Rank the systems of a log. `judge_weights` discounts judges that err alike."""
    if weights not in get_args(Weights):
        raise InputError(f'weights must be "learned" or "equal", not {weights!r}')
    games = _games(log, judge_weights if weights == "learned" else np.ones(log.n_judges))
    _check_connected(log, games)
    found = fit_strengths(games, learn_weights=weights == "learned", n_draws=n_draws, seed=seed)
    order = np.argsort(-found.theta, kind="stable")
    ranks = np.argsort(np.argsort(-found.draws, axis=1), axis=1) + 1
    low, high = np.quantile(found.draws, [0.025, 0.975], axis=0)
    rank_low, rank_high = np.quantile(ranks, [0.025, 0.975], axis=0, method="nearest").astype(int)
    wins, n = _wins(games)
    average = _against_average(found.theta, float(np.exp(found.tie).mean()))
    standings = [
        Standing(
            system=log.system_names[s],
            strength=Share(float(found.theta[s]), float(low[s]), float(high[s])),
            rank=place,
            rank_low=int(rank_low[s]),
            rank_high=int(rank_high[s]),
            win_rate=float(average[s]),
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


def _games(log: JudgeLog, judge_weights: Floats) -> Games:
    if log.kind != "pairwise":
        raise InputError("a ranking needs pairwise verdicts, but these judge one answer each; see finegold judges LOG")
    if not log.system_names:
        raise InputError(
            "the log does not say which systems were compared: add two columns, such as model_a and model_b, or name "
            "them: finegold rank LOG --system-a COLUMN --system-b COLUMN"
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
