"""Bradley-Terry with ties (Davidson 1970), a position effect, tie rate and discrimination for each judge.

    eta = s_j (theta_a - theta_b) + gamma_j o          o = 1 if a was shown first, -1 if b was, 0 if not known
    P(a), P(b), P(tie)  ~  exp(eta / 2), exp(-eta / 2), nu_j

s_j is the discrimination of judge j: how much its verdicts depend on the systems. It weights judges, since the
information of a verdict grows with its square; the mean of log s_j is 0. SciPy's L-BFGS maximises the likelihood with
weak normal priors, which keep the strengths of systems finite that win or lose every comparison. Intervals come from a
one-step bootstrap over items: every replicate takes one Newton step from the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import coo_array

__all__ = ["Games", "Strengths", "fit_strengths"]

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
