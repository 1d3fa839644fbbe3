"""GLAD: generative model of labels, abilities and difficulties.

Jacob Whitehill, Paul Ruvolo, Tingfan Wu, Jacob Bergsma, Javier Movellan: Whose Vote Should Count More: Optimal
Integration of Labels from Labelers of Unknown Expertise. NIPS 2009. Several classes as in Yudian Zheng, Guoliang
Li, Yuanbing Li, Caihua Shan, Reynold Cheng: Truth Inference in Crowdsourcing: Is the Problem Solved? VLDB 2017.

    z_i ~ uniform                                  truth of task i
    P(y_ij = z_i) = sigma(alpha_j exp(beta_i))     ability alpha_j of annotator j, difficulty exp(-beta_i)
    all wrong classes are equally probable

EM: the E step computes the posteriors phi_i, the M step maximises the expected log-likelihood Q over all alpha and
beta by conjugate gradients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.engines.base import Engine
from finegold.engines.blocks import Block
from finegold.kernels import glad as kernels
from finegold.methods.base import COUNT, Allowed, Floats, Learned, Method, Range, Step, start_from_shares

__all__ = ["GLAD"]

LARGEST_BETA = 500.0  # exp(beta) times any ability stays finite
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Statistics(NamedTuple):
    change: float
    tau: Floats  # [K] sum of the posteriors


class Slope(NamedTuple):
    """The votes' part of Q and its gradient. Summing over blocks adds arrays and concatenates tuples."""

    q: float
    alpha: Floats  # [W]
    beta: tuple[Floats, ...]


class First(NamedTuple):
    """Sums of the first pass: those of the E step and those of a Slope."""

    change: float
    tau: Floats
    q: float
    alpha: Floats
    beta: tuple[Floats, ...]


class Nothing(NamedTuple):
    change: float = 0.0


class Parameters(NamedTuple):
    alpha: Floats  # [W]
    beta: Floats  # [T]
    first_task: NDArray[np.int64]  # of each block
    tau: Floats  # [K]
    q: float  # Q after the M step
    has_converged: bool = False  # whether Q has converged


@dataclass(kw_only=True)
class GLAD(Method):
    """Each annotator has an ability, each task a difficulty; all wrong votes are equally likely.

    Use it if tasks differ in difficulty and no class is often mistaken for one particular other class. Every iteration
    costs about 50 passes over the votes (conjugate gradients). The default follows the program that the literature
    compares: maximum likelihood, stopped early, with the labels from before the last M step. `priors=True` adds the
    prior N(1, 1) to abilities and log-difficulties, which keeps them from drifting away and gives a better log loss,
    but fails on labelling functions (accuracy on real data, means over families: .7590, and .7503 with priors).
    `tolerance` is the relative change of Q at which it stops. It learns from known truths.

    Parameters
    ----------
    tolerance : float, default 1e-4
        Stop when the expected log-likelihood Q changes by less than this share of its size.
    max_iterations : int, default 500
        The largest number of sweeps.
    seed : int, default 0
        Has no effect: nothing is drawn at random.
    priors : bool, default False
        Give abilities and log-difficulties a normal prior with mean 1 and variance 1.
    cg_tolerance : float, default 0.01
        Conjugate gradients stop when no entry of the gradient is larger.
    cg_iterations : int, default 25
        The largest number of steps of conjugate gradients in each iteration.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
    >>> finegold.aggregate(votes, "glad", priors=True).label.tolist()
    ['x', 'y']
    """

    name: ClassVar[str] = "glad"
    distributable: ClassVar[bool] = False  # difficulties are parameters
    # 25 steps of conjugate gradients do not reach the optimum, and their path magnifies rounding errors of the sums, so
    # the fit may stop in another iteration. Few posteriors change, but one did by 0.4 (with priors: 1e-3).
    rounding: ClassVar[float] = 0.5
    unstable: ClassVar[tuple[str, ...]] = ("ability",)
    limits: ClassVar[Mapping[str, Allowed]] = {"cg_tolerance": Range("positive", 1e-15, 1e6), "cg_iterations": COUNT}

    tolerance: float = 1e-4
    priors: bool = False
    cg_tolerance: float = 0.01  # largest entry of the gradient at which it stops
    cg_iterations: int = 25

    def start(self, block: Block, restart: int) -> First:
        """Run the E step with alpha = beta = 1."""
        start_from_shares(block)
        alpha, beta = np.ones(block.n_annotators), np.ones(block.n_tasks)
        block.state["difficulty"] = 1.0 / _scale(beta)
        change, tau = _posteriors(block, alpha, beta)
        q, alpha_gradient, beta_gradient = _slope(block, alpha, beta)
        return First(change, tau, q, alpha_gradient, beta_gradient)

    def begin(self, first: First) -> Parameters:
        *first_task, n_tasks = accumulate((len(tasks) for tasks in first.beta), initial=0)
        alpha, beta = np.ones_like(first.alpha), np.ones(n_tasks)
        q = first.q + _constant(alpha, beta, len(first.tau))
        return Parameters(alpha, beta, np.array(first_task), first.tau, q)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        """Run the E step, except after the last M step: the paper's results use the labels from before it."""
        if parameters.has_converged:
            return Statistics(0.0, block.posterior.sum(axis=0))
        return Statistics(*_posteriors(block, parameters.alpha, _of_block(block, parameters)))

    def advance(self, engine: Engine, statistics: Statistics, before: Parameters) -> Parameters:
        """Run the M step."""
        if before.has_converged:
            return before
        n_annotators, n_classes = len(before.alpha), len(statistics.tau)

        from scipy.optimize import minimize  # importing it takes as long as importing all methods

        def loss(both: Floats) -> tuple[float, Floats]:
            q, gradient = self._objective(engine, before, both)
            return -q, np.negative(gradient, out=gradient)

        options = {"gtol": self.cg_tolerance, "maxiter": self.cg_iterations}
        best = minimize(loss, np.append(before.alpha, before.beta), method="CG", jac=True, options=options)
        alpha, beta = best.x[:n_annotators], best.x[n_annotators:]
        q = _constant(alpha, beta, n_classes) - float(best.fun)
        after = before._replace(alpha=alpha, beta=beta, tau=statistics.tau, q=q)
        engine.sum(_keep_difficulty, after)
        return after._replace(has_converged=self._has_converged(before.q, q))

    def _objective(self, engine: Engine, before: Parameters, both: Floats) -> tuple[float, Floats]:
        """Return Q without its constants, and its gradient, for (alpha, beta) in one vector."""
        n_annotators = len(before.alpha)
        moved = before._replace(alpha=both[:n_annotators], beta=both[n_annotators:])
        slope = engine.sum(_slope_of_block, moved)
        q, gradient = slope.q, np.concatenate([slope.alpha, *slope.beta])
        if self.priors:
            q -= 0.5 * float(np.sum((both - 1) ** 2))
            gradient -= both - 1
        return q, gradient

    def bound(self, parameters: Parameters, statistics: Statistics) -> float:
        """Return Q after the last M step; before the first M step, Q with alpha = beta = 1."""
        return parameters.q

    def converged(self, steps: list[Step]) -> bool:
        return len(steps) > 1 and self._has_converged(steps[-2].bound, steps[-1].bound)

    def _has_converged(self, last: float, q: float) -> bool:
        return abs(q - last) < self.tolerance * abs(last)

    def learned(self, parameters: Parameters) -> Learned:
        prior = parameters.tau / parameters.tau.sum()
        return Learned(class_prior=prior, statistics={"ability": parameters.alpha})

    def learned_per_task(self) -> tuple[str, ...]:
        return ("difficulty",)


def _of_block(block: Block, parameters: Parameters) -> Floats:
    first = parameters.first_task[block.index]
    return parameters.beta[first : first + block.n_tasks]


def _scale(beta: Floats) -> Floats:
    scale = np.minimum(beta, LARGEST_BETA)
    return np.exp(scale, out=scale)


def _log_others(n_classes: int) -> float:
    return math.log(max(n_classes - 1, 1))


def _constant(alpha: Floats, beta: Floats, n_classes: int) -> float:
    """Return the constants of Q in the stopping rule: the class prior, and the norm of priors that are not used."""
    return -len(beta) * math.log(n_classes) - HALF_LOG_2PI * (len(alpha) + len(beta))


def _posteriors(block: Block, alpha: Floats, beta: Floats) -> tuple[float, Floats]:
    tau = np.zeros(block.n_classes)
    others = _log_others(block.n_classes)
    votes = (block.classes, *block.votes, block.gold)
    change = kernels.posteriors(*votes, alpha, _scale(beta), others, block.posterior, tau)
    return change, tau


def _slope(block: Block, alpha: Floats, beta: Floats) -> Slope:
    alpha_gradient, beta_gradient = np.zeros_like(alpha), np.empty_like(beta)
    others = _log_others(block.n_classes)
    q = kernels.objective(*block.votes, block.posterior, alpha, _scale(beta), others, alpha_gradient, beta_gradient)
    return Slope(q, alpha_gradient, (beta_gradient,))


def _slope_of_block(block: Block, parameters: Parameters) -> Slope:
    return _slope(block, parameters.alpha, _of_block(block, parameters))


def _keep_difficulty(block: Block, parameters: Parameters) -> Nothing:
    block.state["difficulty"] = 1.0 / _scale(_of_block(block, parameters))
    return Nothing()
