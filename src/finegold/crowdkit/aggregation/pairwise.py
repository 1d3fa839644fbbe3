"""Comparisons of pairs: Bradley-Terry, and its variant with skills and biases of workers.

David R. Hunter: MM algorithms for generalized Bradley-Terry models. Annals of Statistics 32 (1),
2004.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from finegold.crowdkit.aggregation.base import BasePairwiseAggregator, Codes, Floats, check_columns
from finegold.errors import InputError

__all__ = ["BradleyTerry", "NoisyBradleyTerry"]


class Comparisons(NamedTuple):
    """Comparisons as integers; the names of the items are sorted."""

    winner: Codes
    loser: Codes
    left_won: Any
    # pandas.Index
    items: Any


def _read(data: Any) -> Comparisons:
    check_columns(data, ("left", "right", "label"))
    left_won, right_won = data["label"] == data["left"], data["label"] == data["right"]
    neither = np.flatnonzero(~(left_won | right_won))
    if neither.size:
        row = data.iloc[neither[0]]
        raise InputError(
            f"row {data.index[neither[0]]!r} says that {row['label']!r} won, but compares"
            f" {row['left']!r} with {row['right']!r}; the label must be one of the two"
        )
    # keeps tuples as single names
    names = np.empty(2 * len(data), dtype=object)
    names[:] = [*data["left"], *data["right"]]
    codes, items = pd.factorize(
        pd.Series(names).infer_objects() if len(names) else pd.Series(names), sort=True
    )
    left, right = np.split(codes.astype(np.int64), 2)
    won, items = left_won.to_numpy(dtype=bool), pd.Index(items, tupleize_cols=False)
    return Comparisons(np.where(won, left, right), np.where(won, right, left), won, items)


@dataclass(eq=False)
class BradleyTerry(BasePairwiseAggregator):
    """Bradley-Terry: item i beats item j with probability p_i / (p_i + p_j).

    Args:
        n_iter: The largest number of iterations.
        tol: Stop when the log-likelihood per comparison increases by less than this. With 0, all
            iterations are made.

    Attributes:
        scores_ (pandas.Series): The strength p of every item; the sum is 1.
        loss_history_ (list of float): The log-likelihood per comparison after each iteration.
    """

    n_iter: int
    tol: float = 1e-5

    def fit(self, data: Any) -> Self:
        pairs, self.loss_history_ = _read(data), []
        n, winner, loser = len(pairs.items), pairs.winner, pairs.loser
        p = np.full(n, 1 / n) if n else np.zeros(0)
        wins = np.bincount(winner, minlength=n).astype(np.float64)
        # the MM algorithm
        for _ in range(self.n_iter if n else 0):
            total = p[winner] + p[loser]
            met = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
            weight = np.bincount(winner, met, n) + np.bincount(loser, met, n)
            p = np.divide(wins, weight, out=np.zeros_like(wins), where=weight > 0)
            p = p / p.sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                won = np.log(p[winner] / (p[winner] + p[loser]))
            self.loss_history_.append(float(np.mean(np.nan_to_num(won, nan=0.0))))
            if (
                self.tol > 0
                and len(self.loss_history_) > 1
                and np.diff(self.loss_history_[-2:])[0] < self.tol
            ):
                break
        self.scores_ = pd.Series(p, index=pairs.items if n else None, name="agg_score")
        return self


@dataclass(eq=False)
class NoisyBradleyTerry(BasePairwiseAggregator):
    """Bradley-Terry with a skill and a bias of every worker.

    A worker compares the items with a probability that is the worker's skill; otherwise the worker
    chooses the left item with a probability that is the worker's bias.

    Args:
        n_iter: The largest number of iterations of L-BFGS-B.
        tol: Stop when the objective changes by less than this share of its size.
        regularization_ratio: The weight of a comparison that every item wins once and loses once
            against the same imaginary item.
        random_state: The seed of the first parameters.

    Attributes:
        scores_ (pandas.Series): The score of every item, between 0 and 1.
        skills_: The skill of every worker.
        biases_: The bias of every worker.
    """

    n_iter: int = 100
    tol: float = 1e-5
    regularization_ratio: float = 1e-5
    random_state: int = 0

    def fit(self, data: Any) -> Self:
        from scipy.optimize import minimize
        from scipy.special import expit

        check_columns(data, ("worker", "left", "right", "label"))
        pairs = _read(data)
        worker, workers = pd.factorize(data["worker"])
        n, w = len(pairs.items), len(workers)
        # log-odds: of an imaginary item, the items,
        x = np.random.RandomState(self.random_state).rand(1 + n + 2 * w)
        # the biases and the skills
        if n:
            terms, options = (
                (pairs, worker, self.regularization_ratio),
                {"maxiter": self.n_iter, "ftol": self.tol},
            )
            x = minimize(_objective, x, args=terms, jac=True, method="L-BFGS-B", options=options).x
        scores, biases, skills = np.split(expit(x[1:]), [n, n + w])
        self.scores_ = pd.Series(
            scores, index=pd.Index(pairs.items, name="label") if n else None, name="agg_score"
        )
        self.biases_ = pd.Series(biases, index=workers if n else None, name="bias")
        self.skills_ = pd.Series(skills, index=workers if n else None, name="skill")
        return self


def _objective(x: Floats, pairs: Comparisons, worker: Codes, ratio: float) -> tuple[float, Floats]:
    """Return the negative log-likelihood with its regularisation, and the gradient."""
    from scipy.special import expit, log_expit

    def sums(group: Codes, values: Floats, n_groups: int) -> Floats:
        return np.asarray(np.bincount(group, values, n_groups), np.float64)

    n_items = len(pairs.items)
    n_workers = (len(x) - 1 - n_items) // 2
    reference, item, bias, skill = np.split(x, [1, 1 + n_items, 1 + n_items + n_workers])
    side, skilled = np.where(pairs.left_won, 1.0, -1.0), expit(skill)[worker]
    better, chosen = expit(item[pairs.winner] - item[pairs.loser]), expit(side * bias[worker])
    probability = skilled * better + (1 - skilled) * chosen
    slope = skilled * better * (1 - better) / probability
    of_item = sums(pairs.loser, slope, n_items) - sums(pairs.winner, slope, n_items)
    of_bias = -sums(worker, side * (1 - skilled) * chosen * (1 - chosen) / probability, n_workers)
    of_skill = -sums(worker, skilled * (1 - skilled) * (better - chosen) / probability, n_workers)
    # every item wins once and loses once against the imaginary item, with a small weight
    ahead = item - reference
    penalty = -ratio * (log_expit(ahead) + log_expit(-ahead)).sum()
    of_distance = ratio * (2 * expit(ahead) - 1)
    gradient = np.concatenate([[-of_distance.sum()], of_item + of_distance, of_bias, of_skill])
    return float(penalty - np.log(probability).sum()), gradient
