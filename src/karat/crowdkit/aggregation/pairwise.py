"""Comparisons of pairs: Bradley-Terry, and its variant with skills and biases of workers.

David R. Hunter: MM algorithms for generalized Bradley-Terry models. Annals of Statistics 32 (1), 2004.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from karat.crowdkit.aggregation.base import BasePairwiseAggregator, Codes, Floats, check_columns
from karat.errors import InputError

__all__ = ["BradleyTerry", "NoisyBradleyTerry"]


class Comparisons(NamedTuple):
    """Comparisons as integers; the names of the items are sorted."""

    winner: Codes
    loser: Codes
    left_won: Any
    items: Any  # pandas.Index


def _read(data: Any) -> Comparisons:
    check_columns(data, ("left", "right", "label"))
    left_won, right_won = data["label"] == data["left"], data["label"] == data["right"]
    neither = np.flatnonzero(~(left_won | right_won))
    if neither.size:
        row = data.iloc[neither[0]]
        raise InputError(
            f"row {data.index[neither[0]]!r} says that {row['label']!r} won, but compares {row['left']!r} with "
            f"{row['right']!r}; the label must be one of the two"
        )
    # A list keeps tuples as single names.
    codes, items = pd.factorize(_objects([*data["left"], *data["right"]]), sort=True)
    left, right = np.split(codes.astype(np.int64), 2)
    won = left_won.to_numpy(dtype=bool)
    return Comparisons(
        np.where(won, left, right), np.where(won, right, left), won, pd.Index(items, tupleize_cols=False)
    )


def _objects(names: list[Any]) -> Any:
    column = np.empty(len(names), dtype=object)
    column[:] = names
    return pd.Series(column).infer_objects() if names else pd.Series(names, dtype=object)


@dataclass(eq=False)
class BradleyTerry(BasePairwiseAggregator):
    """Bradley-Terry: item i beats item j with probability p_i / (p_i + p_j).

    Parameters
    ----------
    n_iter : int
        The largest number of iterations.
    tol : float, default 1e-5
        Stop when the log-likelihood per comparison increases by less than this. With 0, all iterations are made.

    Attributes
    ----------
    scores_ : pandas.Series
        The strength p of every item; the sum is 1.
    loss_history_ : list of float
        The log-likelihood per comparison after each iteration.
    """

    n_iter: int
    tol: float = 1e-5

    def fit(self, data: Any) -> Self:
        """Fit to comparisons.

        Parameters
        ----------
        data : pandas.DataFrame
            The comparisons, with the columns left, right and label; the label is the item that won.

        Returns
        -------
        BradleyTerry
            This object.
        """
        pairs, self.loss_history_ = _read(data), []
        n = len(pairs.items)
        p = np.full(n, 1 / n) if n else np.zeros(0)
        wins = np.bincount(pairs.winner, minlength=n).astype(np.float64)
        for _ in range(self.n_iter if n else 0):
            p = _step(pairs, wins, p)
            self.loss_history_.append(_likelihood(pairs, p))
            if self.tol > 0 and len(self.loss_history_) > 1 and np.diff(self.loss_history_[-2:])[0] < self.tol:
                break
        self.scores_ = pd.Series(p, index=pairs.items if n else None, name="agg_score")
        return self

    def fit_predict(self, data: Any) -> Any:
        """Fit to comparisons and return the strength of every item.

        Parameters
        ----------
        data : pandas.DataFrame
            The comparisons, with the columns left, right and label; the label is the item that won.

        Returns
        -------
        pandas.Series
            The attribute `scores_`.
        """
        return self.fit(data).scores_


def _step(pairs: Comparisons, wins: Floats, p: Floats) -> Floats:
    """Run one iteration of the MM algorithm."""
    total = p[pairs.winner] + p[pairs.loser]
    met = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    weight = np.bincount(pairs.winner, met, len(p)) + np.bincount(pairs.loser, met, len(p))
    p = np.divide(wins, weight, out=np.zeros_like(wins), where=weight > 0)
    return np.asarray(p / p.sum())


def _likelihood(pairs: Comparisons, p: Floats) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        won = np.log(p[pairs.winner] / (p[pairs.winner] + p[pairs.loser]))
    return float(np.mean(np.nan_to_num(won, nan=0.0)))


@dataclass(eq=False)
class NoisyBradleyTerry(BasePairwiseAggregator):
    """Bradley-Terry with a skill and a bias of every worker.

    A worker compares the items with a probability that is the worker's skill; otherwise the worker chooses the left
    item with a probability that is the worker's bias.

    Parameters
    ----------
    n_iter : int, default 100
        The largest number of iterations of L-BFGS-B.
    tol : float, default 1e-5
        Stop when the objective changes by less than this share of its size.
    regularization_ratio : float, default 1e-5
        The weight of a comparison that every item wins once and loses once against the same imaginary item.
    random_state : int, default 0
        The seed of the first parameters.

    Attributes
    ----------
    scores_ : pandas.Series
        The score of every item, between 0 and 1.
    skills_ : pandas.Series
        The skill of every worker.
    biases_ : pandas.Series
        The bias of every worker.
    """

    n_iter: int = 100
    tol: float = 1e-5
    regularization_ratio: float = 1e-5
    random_state: int = 0

    def fit(self, data: Any) -> Self:
        """Fit to comparisons.

        Parameters
        ----------
        data : pandas.DataFrame
            The comparisons, with the columns worker, left, right and label; the label is the item that won.

        Returns
        -------
        NoisyBradleyTerry
            This object.
        """
        from scipy.optimize import minimize
        from scipy.special import expit

        check_columns(data, ("worker", "left", "right", "label"))
        pairs = _read(data)
        worker, workers = pd.factorize(data["worker"])
        n, w = len(pairs.items), len(workers)
        x = np.random.RandomState(self.random_state).rand(1 + n + 2 * w)
        if n:
            terms = (pairs, worker, n, w, self.regularization_ratio)
            options = {"maxiter": self.n_iter, "ftol": self.tol}
            x = minimize(_noisy_loss, x, args=terms, jac=True, method="L-BFGS-B", options=options).x
        scores, biases, skills = np.split(expit(x[1:]), [n, n + w])
        self.scores_ = pd.Series(scores, index=pd.Index(pairs.items, name="label") if n else None, name="agg_score")
        self.biases_ = pd.Series(biases, index=workers if n else None, name="bias")
        self.skills_ = pd.Series(skills, index=workers if n else None, name="skill")
        return self

    def fit_predict(self, data: Any) -> Any:
        """Fit to comparisons and return the score of every item.

        Parameters
        ----------
        data : pandas.DataFrame
            The comparisons, with the columns worker, left, right and label; the label is the item that won.

        Returns
        -------
        pandas.Series
            The attribute `scores_`.
        """
        return self.fit(data).scores_


def _noisy_loss(x: Floats, pairs: Comparisons, worker: Codes, n: int, w: int, ratio: float) -> tuple[float, Floats]:
    """Return the negative log-likelihood, regularised, and its gradient.

    x: the imaginary item, the items, the biases and the skills of the workers, all as log-odds.
    """
    from scipy.special import expit, log_expit

    item, bias, skill = x[1 : 1 + n], x[1 + n : 1 + n + w][worker], expit(x[1 + n + w :])[worker]
    side = np.where(pairs.left_won, 1.0, -1.0)
    better = expit(item[pairs.winner] - item[pairs.loser])
    chosen = expit(side * bias)
    probability = skill * better + (1 - skill) * chosen
    slope = skill * better * (1 - better) / probability
    from_reference = item - x[0]
    drift = 1 - 2 * expit(from_reference)
    gradient = np.zeros_like(x)
    gradient[1 : 1 + n] = np.bincount(pairs.loser, slope, n) - np.bincount(pairs.winner, slope, n) - ratio * drift
    gradient[0] = ratio * drift.sum()
    gradient[1 + n : 1 + n + w] = -np.bincount(worker, side * (1 - skill) * chosen * (1 - chosen) / probability, w)
    gradient[1 + n + w :] = -np.bincount(worker, skill * (1 - skill) * (better - chosen) / probability, w)
    balance = (log_expit(from_reference) + log_expit(-from_reference)).sum()
    return float(-np.log(probability).sum() - ratio * balance), gradient
