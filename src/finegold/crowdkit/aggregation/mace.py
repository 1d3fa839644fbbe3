"""MACE: every worker sometimes knows the truth and sometimes votes by a fixed distribution.

Dirk Hovy, Taylor Berg-Kirkpatrick, Ashish Vaswani, Eduard Hovy: Learning Whom to Trust with MACE.
NAACL 2013.

    z_i ~ uniform                         truth of task i
    y_ij = z_i with probability 1 - s_j   worker j knows it
    y_ij ~ xi_j otherwise                 worker j spams
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from finegold.crowdkit.aggregation.base import BaseProbabilityAggregator, CodedVotes, Floats, encode
from finegold.crowdkit.aggregation.weighted import shares
from finegold.errors import InputError

__all__ = ["MACE"]

# divided by the number of classes
SMOOTHING = 0.01
STRATEGY_PRIOR = 10.0


@dataclass(eq=False)
class MACE(BaseProbabilityAggregator):
    """MACE: every worker sometimes knows the truth and sometimes votes by a fixed distribution.

    Args:
        n_restarts: Has no effect: in crowd-kit, all restarts begin with the same random numbers.
        n_iter: The number of iterations.
        method: Variational Bayes, or expectation maximisation.
        smoothing: Has no effect, as in crowd-kit: 0.01 divided by the number of classes is added to
            the counts ("em").
        default_noise: The first parameters are drawn between 1 and 2 + `default_noise`, and divided
            by their sum.
        alpha: The prior of spam ("vb").
        beta: The prior of no spam ("vb").
        random_state: The seed of the first parameters.
        verbose: Has no effect.

    Attributes:
        labels_: The label of every task.
        probas_: The probability of every label.
        spamming_ (ndarray of shape (n_workers, 2)): The probability that a worker's vote is spam,
            and that it is not.
        thetas_ (ndarray of shape (n_workers, n_labels)): The distribution of each worker's spam.
    """

    n_restarts: int = 10
    n_iter: int = 50
    method: Literal["vb", "em"] = "vb"
    smoothing: float = 0.1
    default_noise: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    random_state: int = 0
    verbose: int = 0

    def fit(self, data: Any) -> Self:
        votes = encode(data, required=True)
        if self.method not in ("vb", "em"):
            raise InputError(f'method must be "vb" or "em", not {self.method!r}')
        n_workers, n_labels = len(votes.workers), len(votes.labels)
        self.smoothing_ = SMOOTHING / n_labels
        if self.method == "vb":
            self.theta_priors_ = np.tile([self.alpha, self.beta], (n_workers, 1))
            self.strategy_priors_ = np.full((n_workers, n_labels), STRATEGY_PRIOR)
        # [W, 2] the probability of spam, and of no spam; [W, K] the distribution of spam
        known, strategy = self._draw(n_workers, 2), self._draw(n_workers, n_labels)
        for _ in range(self.n_iter):
            _, known, strategy = _expect(votes, known, strategy)
            if self.method == "vb":
                known = _digamma_shares(known + self.theta_priors_)
                strategy = _digamma_shares(strategy + self.strategy_priors_)
            else:
                known, strategy = (
                    shares(known + self.smoothing_),
                    shares(strategy + self.smoothing_),
                )
        probas, _, _ = _expect(votes, known, strategy)
        self.spamming_, self.thetas_ = known, strategy
        self.probas_, self.labels_ = votes.frame(probas, None), votes.decide(probas)
        return self

    def _draw(self, *shape: int) -> Floats:
        random = np.random.RandomState(self.random_state)
        return shares(random.uniform(1, 2 + self.default_noise, shape))


def _expect(votes: CodedVotes, known: Floats, strategy: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the posterior of the tasks, and each worker's expected votes: spam or not [W, 2], spam
    by class [W, K].
    """
    task, worker, label = votes.task, votes.worker, votes.label
    spam = known[worker, 0] * strategy[worker, label]
    right = spam + known[worker, 1]
    score = np.zeros((len(votes.tasks), len(votes.labels)))
    np.add.at(score, task, np.log(spam)[:, None])
    np.add.at(score, (task, label), np.log(right) - np.log(spam))
    posterior = shares(np.exp(score - score.max(axis=1, keepdims=True)))
    agrees = posterior[task, label]
    spammed = agrees * spam / right + (1 - agrees)
    known, strategy = np.zeros_like(known), np.zeros_like(strategy)
    np.add.at(known, worker, np.column_stack([spammed, 1 - spammed]))
    np.add.at(strategy, (worker, label), spammed)
    return posterior, known, strategy


def _digamma_shares(counts: Floats) -> Floats:
    """Return the variational update of a Dirichlet distribution."""
    from scipy.special import digamma

    return np.asarray(np.exp(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))))
