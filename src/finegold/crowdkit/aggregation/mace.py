"""MACE: every worker sometimes knows the truth and sometimes votes by a fixed distribution.

Dirk Hovy, Taylor Berg-Kirkpatrick, Ashish Vaswani, Eduard Hovy: Learning Whom to Trust with MACE. NAACL 2013.

    z_i ~ uniform                         truth of task i
    y_ij = z_i with probability 1 - s_j   worker j knows it
    y_ij ~ xi_j otherwise                 worker j spams
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from finegold.crowdkit.aggregation.base import BaseProbabilityAggregator, CodedVotes, Codes, Floats, encode_some, run
from finegold.engines.blocks import Block
from finegold.errors import InputError
from finegold.methods.base import Learned, Method
from finegold.results.data import Step

__all__ = ["MACE"]

SMOOTHING = 0.01  # divided by the number of classes
STRATEGY_PRIOR = 10.0


class Statistics(NamedTuple):
    change: float
    known: Floats  # [W, 2] expected votes that are spam, and that are not
    strategy: Floats  # [W, K] expected spam votes for each class
    log_likelihood: float


class Parameters(NamedTuple):
    known: Floats  # [W, 2] probability of spam, and of no spam
    strategy: Floats  # [W, K] the distribution of spam


@dataclass(kw_only=True)
class _Method(Method):
    """MACE for Finegold's loop."""

    tolerance: float = 0.0
    variational: bool = True
    first: Any = None  # Parameters
    smoothing: float = 0.0
    beta_prior: tuple[float, float] = (0.5, 0.5)

    def start(self, block: Block, restart: int) -> Statistics:
        return _expect_votes(block, self.first)

    def begin(self, statistics: Statistics) -> Parameters:
        first: Parameters = self.first
        return first

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        return _expect_votes(block, parameters)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        if self.variational:
            known = _digamma_shares(statistics.known, np.array(self.beta_prior))
            return Parameters(known, _digamma_shares(statistics.strategy, STRATEGY_PRIOR))
        return Parameters(_shares(statistics.known + self.smoothing), _shares(statistics.strategy + self.smoothing))

    def bound(self, parameters: Parameters, statistics: Statistics) -> float:
        """Return the log-likelihood of the votes."""
        return statistics.log_likelihood

    def converged(self, steps: list[Step]) -> bool:
        return False

    def learned(self, parameters: Parameters) -> Learned:
        raise NotImplementedError


def _shares(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _digamma_shares(counts: Floats, prior: Any) -> Floats:
    """Return the variational update of a Dirichlet distribution."""
    from scipy.special import digamma

    counts = counts + prior
    return np.asarray(np.exp(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))))


def _expect_votes(block: Block, parameters: Parameters) -> Statistics:
    """Run the E step on a block: the posterior of its tasks, then the expected number of spam votes."""
    task, worker, label = _votes_of(block)
    spam = parameters.known[worker, 0] * parameters.strategy[worker, label]
    right = spam + parameters.known[worker, 1]
    score = np.zeros_like(block.posterior)
    np.add.at(score, task, np.log(spam)[:, None])
    np.add.at(score, (task, label), np.log(right) - np.log(spam))
    evidence = _normalise(score, block.posterior)
    agrees = block.posterior[task, label]
    spammed = agrees * spam / right + (1 - agrees)
    known, strategy = np.zeros_like(parameters.known), np.zeros_like(parameters.strategy)
    np.add.at(known, worker, np.column_stack([spammed, 1 - spammed]))
    np.add.at(strategy, (worker, label), spammed)
    return Statistics(0.0, known, strategy, evidence)


def _votes_of(block: Block) -> tuple[Codes, Codes, Codes]:
    """Return the task, the worker and the label of every vote of a block."""
    begin, end = int(block.task_ptr[0]), int(block.task_ptr[-1])
    ends = block.cell_ptr[begin : end + 1].astype(np.int64)
    sizes = ends[1:] - ends[:-1]
    cell_task = np.repeat(np.arange(block.n_tasks), (block.task_ptr[1:] - block.task_ptr[:-1]).astype(np.int64))
    cell_class = block.cell_class[begin:end].astype(np.int64)
    worker = block.annotator[ends[0] : ends[-1]].astype(np.int64)
    return np.repeat(cell_task, sizes), worker, np.repeat(cell_class, sizes)


def _normalise(score: Floats, posterior: Floats) -> float:
    """Write the posterior of logarithmic scores, and return the log-likelihood; the classes are equally frequent."""
    largest = score.max(axis=1, keepdims=True)
    weight = np.exp(score - largest)
    total = weight.sum(axis=1, keepdims=True)
    posterior[:] = weight / total
    return float((largest + np.log(total) - np.log(score.shape[1])).sum())


@dataclass(eq=False)
class MACE(BaseProbabilityAggregator):
    """MACE: every worker sometimes knows the truth and sometimes votes by a fixed distribution.

    Parameters
    ----------
    n_restarts : int, default 10
        Has no effect: in crowd-kit, all restarts begin with the same random numbers.
    n_iter : int, default 50
        The number of iterations.
    method : {"vb", "em"}, default "vb"
        Variational Bayes, or expectation maximisation.
    smoothing : float, default 0.1
        Has no effect, as in crowd-kit: 0.01 divided by the number of classes is added to the counts ("em").
    default_noise : float, default 0.5
        The first parameters are drawn between 1 and 2 + `default_noise`, and divided by their sum.
    alpha, beta : float, default 0.5
        The prior of spam and of no spam ("vb").
    random_state : int, default 0
        The seed of the first parameters.
    verbose : int, default 0
        Has no effect.

    Attributes
    ----------
    labels_ : pandas.Series
        The label of every task.
    probas_ : pandas.DataFrame
        The probability of every label.
    spamming_ : ndarray of shape (n_workers, 2)
        The probability that a worker's vote is spam, and that it is not.
    thetas_ : ndarray of shape (n_workers, n_labels)
        The distribution of each worker's spam.
    """

    n_restarts: int = 10
    n_iter: int = 50
    method: str = "vb"
    smoothing: float = 0.1
    default_noise: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    random_state: int = 0
    verbose: int = 0

    def fit(self, data: Any) -> Self:
        votes = encode_some(data)
        if self.method not in ("vb", "em"):
            raise InputError(f'method must be "vb" or "em", not {self.method!r}')
        descent, _, engine = run(self._method(votes), votes.annotations(), self.n_iter)
        self.spamming_, self.thetas_ = descent.parameters
        engine.sum(descent.method.sweep, descent.parameters)
        probas = engine.gather()
        self.probas_, self.labels_ = votes.frame(probas, None), votes.decide(probas)
        return self

    def _method(self, votes: CodedVotes) -> _Method:
        n_workers, n_labels = len(votes.workers), len(votes.labels)
        self.smoothing_ = SMOOTHING / n_labels
        if self.method == "vb":
            self.theta_priors_ = np.tile([self.alpha, self.beta], (n_workers, 1))
            self.strategy_priors_ = np.full((n_workers, n_labels), STRATEGY_PRIOR)
        method = _Method(max_iterations=1, variational=self.method == "vb")
        method.first = Parameters(self._draw(n_workers, 2), self._draw(n_workers, n_labels))
        method.smoothing, method.beta_prior = self.smoothing_, (self.alpha, self.beta)
        return method

    def _draw(self, *shape: int) -> Floats:
        random = np.random.RandomState(self.random_state)
        return _shares(random.uniform(1, 2 + self.default_noise, shape))
