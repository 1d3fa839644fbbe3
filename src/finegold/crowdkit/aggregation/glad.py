"""GLAD with crowd-kit's arguments and attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from finegold.crowdkit.aggregation.base import BaseProbabilityAggregator, Floats, encode, run
from finegold.crowdkit.aggregation.utils import get_most_probable_labels
from finegold.engines.base import Engine
from finegold.engines.blocks import Block
from finegold.errors import InputError
from finegold.methods import glad
from finegold.results.data import Step

__all__ = ["GLAD"]


class _Method(glad.GLAD):
    """Finegold's GLAD with means of the priors, class frequencies and crowd-kit's stopping rule."""

    # [W + T]
    means: Floats
    # [K]
    class_prior: Floats
    # Q after each M step
    losses: list[float]

    def start(self, block: Block, restart: int) -> glad.First:
        first = super().start(block, restart)
        return first._replace(tau=self._weigh(block))

    def begin(self, first: glad.First) -> glad.Parameters:
        self.losses = []
        return super().begin(first)

    def sweep(self, block: Block, parameters: glad.Parameters) -> glad.Statistics:
        return super().sweep(block, parameters)._replace(tau=self._weigh(block))

    def advance(
        self, engine: Engine, statistics: glad.Statistics, before: glad.Parameters
    ) -> glad.Parameters:
        after = super().advance(engine, statistics, before)
        q, _ = self._objective(engine, after, np.append(after.alpha, after.beta))
        self.losses.append(q - len(self.means) * glad.HALF_LOG_2PI)
        return after._replace(has_converged=False)

    def converged(self, steps: list[Step]) -> bool:
        if len(self.losses) < 2:
            return False
        last, q = self.losses[-2:]
        return (q - last) / abs(last) < self.tolerance

    def _objective(
        self, engine: Engine, before: glad.Parameters, both: Floats
    ) -> tuple[float, Floats]:
        q, gradient = super()._objective(engine, before, both)
        return q - 0.5 * float(np.sum((both - self.means) ** 2)), gradient - (both - self.means)

    def _weigh(self, block: Block) -> Floats:
        """Multiply the posterior by the class frequencies, and return its sums."""
        if np.ptp(self.class_prior) > 0:
            block.posterior *= self.class_prior
            block.posterior /= block.posterior.sum(axis=1, keepdims=True)
        return np.asarray(block.posterior.sum(axis=0))


@dataclass(eq=False)
class GLAD(BaseProbabilityAggregator):
    """GLAD: every worker has an ability, every task a difficulty; all wrong votes are equally
    likely.

    Args:
        n_iter: The largest number of iterations.
        tol: Stop when the expected log-likelihood increases by less than this share of its size.
        silent: Has no effect: there is no progress bar.
        labels_priors: The frequency of every label. By default all are equally frequent.
        alphas_priors_mean: The mean of the prior of each worker's ability. By default 1.
        betas_priors_mean: The mean of the prior of each task's logarithm of the inverse difficulty.
            By default 1.
        m_step_max_iter: The largest number of steps of conjugate gradients in each iteration.
        m_step_tol: Conjugate gradients stop when no entry of the gradient is larger.

    Attributes:
        labels_: The label of every task.
        probas_: The probability of every label.
        alphas_: The ability of every worker.
        betas_: The logarithm of the inverse difficulty of every task.
        loss_history_ (list of float): The expected log-likelihood after each iteration, divided by
            the number of votes times classes.
    """

    n_iter: int = 100
    tol: float = 1e-5
    silent: bool = True
    labels_priors: Any = None
    alphas_priors_mean: Any = None
    betas_priors_mean: Any = None
    m_step_max_iter: int = 25
    m_step_tol: float = 0.01

    def fit(self, data: Any) -> Self:
        votes = encode(data, required=True)
        method = _Method(
            max_iterations=1,
            tolerance=self.tol,
            priors=False,
            gradient_tolerance=self.m_step_tol,
            steps=self.m_step_max_iter,
        )
        self.alphas_priors_mean_ = _means(
            self.alphas_priors_mean, votes.workers, "alphas_priors_mean"
        )
        self.betas_priors_mean_ = _means(self.betas_priors_mean, votes.tasks, "betas_priors_mean")
        self.priors_ = _means(
            self.labels_priors, votes.labels, "labels_priors", 1 / len(votes.labels)
        )
        method.means = np.append(self.alphas_priors_mean_, self.betas_priors_mean_)
        method.class_prior = self.priors_.to_numpy(dtype=np.float64)
        descent, probas = run(method, votes.annotations(), self.n_iter)
        n_rows = len(data) * len(votes.labels)
        self.loss_history_ = [loss / n_rows for loss in method.losses]
        self.tasks_, self.workers_, self.prior_labels_ = votes.tasks, votes.workers, votes.labels
        self.alphas_ = votes.of_workers(descent.parameters.alpha, "alpha")
        self.betas_ = pd.Series(
            descent.parameters.beta, index=pd.Index(votes.tasks, name="task"), name="beta"
        )
        self.probas_ = votes.frame(probas, "variable").iloc[:, votes.labels.argsort()].sort_index()
        self.labels_ = get_most_probable_labels(self.probas_).rename("agg_label")
        return self


def _means(given: Any, names: Any, what: str, default: float = 1.0) -> Any:
    """Return a series with a number for every name."""
    if given is None:
        return pd.Series(default, index=names)
    means = given.reindex(names)
    if means.isna().any():
        raise InputError(f"{what} has no value for {means.index[means.isna()][0]!r}; add it")
    return means.astype(float)
