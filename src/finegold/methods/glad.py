"""GLAD: generative model of labels, abilities and difficulties.

Jacob Whitehill, Paul Ruvolo, Tingfan Wu, Jacob Bergsma, Javier Movellan: Whose Vote Should Count
More: Optimal Integration of Labels from Labelers of Unknown Expertise. NIPS 2009. Several classes
as in Yudian Zheng, Guoliang Li, Yuanbing Li, Caihua Shan, Reynold Cheng: Truth Inference in
Crowdsourcing: Is the Problem Solved? VLDB 2017.

    z_i ~ uniform                                  truth of task i
    P(y_ij = z_i) = sigma(x_ij)                    the vote; all wrong classes are equally probable
    x_ij = alpha_j exp(beta_i)                     ability alpha_j, difficulty exp(-beta_i)

    E:  phi_ik proportional to exp(sum over the votes for k of (x_ij + log(K - 1)))
    Q = sum_ij P_ij log sigma(x_ij) + (1 - P_ij) (log(1 - sigma(x_ij)) - log(K - 1)),  P_ij = phi_{i, y_ij}
    dQ/dalpha_j = sum_i (P_ij - sigma(x_ij)) exp(beta_i)
    dQ/dbeta_i  = sum_j (P_ij - sigma(x_ij)) x_ij

With priors N(1, 1) of alpha and beta, L-BFGS maximises their log posterior, in which the truths are
summed out. Its gradient is that of the expected log-likelihood Q at the posteriors phi of the
truths, and its value is Q plus the entropy of phi. Without priors, EM as in the programs that the
literature compares: the E step computes phi, the M step maximises Q by some steps of conjugate
gradients.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.engines.base import Engine
from finegold.engines.blocks import Block
from finegold.methods.base import COUNT, Floats, Method, Range, setting, with_settings
from finegold.methods.common import (
    LEAST_PROBABILITY,
    Ballots,
    ballots,
    set_posterior,
    softmax,
    start_from_shares,
)
from finegold.results.data import Learned, Step

# exp(beta) times any ability stays finite
LARGEST_BETA = 500.0
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# L-BFGS stops by the gradient only
UNTIL_FLAT = {"ftol": 0.0, "maxfun": 1_000_000, "maxcor": 20}


@with_settings
class GLAD(Method):
    """Each annotator has an ability, each task a difficulty; all wrong votes are equally likely.

    Use it if tasks differ in difficulty and no class is often mistaken for one particular other
    class. Abilities and log-difficulties have the prior N(1, 1), and an ability is negative only if
    the annotator has voted on tasks whose truth is known: otherwise a vote never counts against its
    class. The fit ends at the maximum of the posterior, so that all kinds of processors agree on
    the labels; it takes one to six hundred passes over the votes. `priors=False` follows the
    program that the literature compares: maximum likelihood by EM, stopped early, with the labels
    from before the last M step. There the last digits of sums decide where it stops, and labels
    depend on the processor (up to 1 % of a data set). Accuracy on real data, means over families:
    .7551, without priors .7592; log loss 2.475 and 2.999. It learns from known truths.

    Args:
        tolerance: Stop when no probability of a class has changed by more than this. Without
            priors: when the expected log-likelihood Q has changed by less than this share of its
            size.
        max_iterations: The largest number of sweeps, each with `steps` steps of the optimiser.
        seed: Has no effect: nothing is drawn at random.
        priors: Give abilities and log-difficulties the prior N(1, 1), and maximise their posterior.
        gradient_tolerance: The optimiser stops when no entry of the gradient is larger.
        steps: The largest number of steps of the optimiser in each sweep.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
        >>> finegold.aggregate(votes, "glad").label.tolist()
        ['x', 'y']
    """

    name: ClassVar[str] = "glad"
    # difficulties are parameters
    distributable: ClassVar[bool] = False
    # of a posterior whose parameters end where the gradient is 1e-4
    rounding: ClassVar[float] = 1e-4
    unstable: ClassVar[tuple[str, ...]] = ("ability",)
    learned_per_task: ClassVar[tuple[str, ...]] = ("difficulty",)

    tolerance: float = 1e-6
    priors: bool = True
    gradient_tolerance: float = setting(1e-4, Range("positive", 1e-15, 1e6))
    steps: int = setting(100, COUNT)

    def start(self, block: Block, restart: int) -> First:
        """Run the E step with alpha = beta = 1."""
        start_from_shares(block)
        votes, beta = ballots(block), np.ones(block.n_tasks)
        block.state["difficulty"] = 1 / _scale(beta)
        x = _certainty(votes, np.ones(block.n_annotators), beta)
        change = set_posterior(block, _posteriors(block, votes, x))
        q, of_alpha, of_beta = _slope(block, votes, x, block.posterior, beta)
        on_gold = votes.by_annotator((block.gold >= 0)[votes.i].astype(float))
        return First(change, block.class_sums(), q, of_alpha, of_beta, on_gold)

    def begin(self, first: First) -> Parameters:
        *first_task, n_tasks = accumulate((len(tasks) for tasks in first.beta), initial=0)
        alpha, beta = np.ones_like(first.alpha), np.ones(n_tasks)
        q = first.q + _constant(alpha, beta, len(first.tau))
        lowest = np.where(first.on_gold > 0, -np.inf, 0.0)
        return Parameters(alpha, beta, np.array(first_task), first.tau, lowest, q)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        """Run the E step, except after the last M step: the paper's results use the labels from
        before it.
        """
        if parameters.has_converged:
            return Statistics(0.0, block.class_sums())
        votes = ballots(block)
        x = _certainty(votes, parameters.alpha, _of_block(block, parameters))
        change = set_posterior(block, _posteriors(block, votes, x))
        return Statistics(change, block.class_sums())

    def advance(self, engine: Engine, statistics: Statistics, before: Parameters) -> Parameters:
        """Run the M step; with priors, move towards the maximum of the posterior."""
        if before.has_converged:
            return before
        n_annotators, n_classes = len(before.alpha), len(statistics.tau)

        # importing it takes as long as importing all methods
        from scipy.optimize import minimize

        def loss(both: Floats) -> tuple[float, Floats]:
            q, gradient = self._objective(engine, before, both)
            return -q, np.negative(gradient, out=gradient)

        options = {"gtol": self.gradient_tolerance, "maxiter": self.steps}
        point, bounds = np.append(before.alpha, before.beta), None
        if self.priors:
            lowest = np.append(before.lowest, np.full_like(before.beta, -np.inf))
            bounds, options = (
                np.column_stack([lowest, np.full_like(lowest, np.inf)]),
                {**options, **UNTIL_FLAT},
            )
        best = minimize(
            loss,
            point,
            method="L-BFGS-B" if self.priors else "CG",
            jac=True,
            bounds=bounds,
            options=options,
        )
        alpha, beta = best.x[:n_annotators], best.x[n_annotators:]
        q = _constant(alpha, beta, n_classes) - float(best.fun)
        after = before._replace(alpha=alpha, beta=beta, tau=statistics.tau, q=q)
        engine.sum(_keep_difficulty, after)
        return after._replace(has_converged=not self.priors and self._has_converged(before.q, q))

    def _objective(self, engine: Engine, before: Parameters, both: Floats) -> tuple[float, Floats]:
        """Return Q (with priors, the log posterior) without its constants, and its gradient, for
        (alpha, beta).
        """
        n_annotators = len(before.alpha)
        moved = before._replace(alpha=both[:n_annotators], beta=both[n_annotators:])
        slope = engine.sum(_slope_at, moved, self.priors)
        q, gradient = slope.q, np.concatenate([slope.alpha, *slope.beta])
        if self.priors:
            q -= 0.5 * float(np.sum((both - 1) ** 2))
            gradient -= both - 1
        return q, gradient

    def bound(self, parameters: Parameters, statistics: Statistics) -> float:
        """Return Q, or the log posterior, after the last M step; before the first one, Q with alpha
        = beta = 1.
        """
        return parameters.q

    def converged(self, steps: list[Step]) -> bool:
        if self.priors:
            return len(steps) > 1 and steps[-1].change <= self.tolerance
        return len(steps) > 1 and self._has_converged(steps[-2].bound, steps[-1].bound)

    def _has_converged(self, last: float, q: float) -> bool:
        return abs(q - last) < self.tolerance * abs(last)

    def cautions(self, n_tasks: int) -> list[str]:
        return (
            []
            if self.priors
            else ["without priors, up to 1 % of GLAD's labels depend on the kind of processor"]
        )

    def learned(self, parameters: Parameters) -> Learned:
        prior = parameters.tau / parameters.tau.sum()
        return Learned(class_prior=prior, statistics={"ability": parameters.alpha})


class Statistics(NamedTuple):
    change: float
    # [K] sum of the posteriors
    tau: Floats


class Slope(NamedTuple):
    """The votes' part of Q and its gradient. Summing over blocks adds arrays and concatenates
    tuples.
    """

    q: float
    # [W]
    alpha: Floats
    beta: tuple[Floats, ...]


class First(NamedTuple):
    """Sums of the first pass: those of the E step, those of a Slope, and the votes on tasks with a
    known truth.
    """

    change: float
    tau: Floats
    q: float
    alpha: Floats
    beta: tuple[Floats, ...]
    # [W]
    on_gold: Floats


class Parameters(NamedTuple):
    # [W]
    alpha: Floats
    # [T]
    beta: Floats
    # of each block
    first_task: NDArray[np.int64]
    # [K]
    tau: Floats
    # [W] the least ability that is allowed
    lowest: Floats
    # Q after the M step; with priors, the log posterior
    q: float
    # whether Q has converged
    has_converged: bool = False


def _of_block(block: Block, parameters: Parameters) -> Floats:
    first = parameters.first_task[block.index]
    return parameters.beta[first : first + block.n_tasks]


def _scale(beta: Floats) -> Floats:
    scale = np.minimum(beta, LARGEST_BETA)
    return np.exp(scale, out=scale)


def _constant(alpha: Floats, beta: Floats, n_classes: int) -> float:
    """Return the constants of Q in the stopping rule: the class prior, and the norm of priors that
    are not used.
    """
    return -len(beta) * math.log(n_classes) - HALF_LOG_2PI * (len(alpha) + len(beta))


def _certainty(votes: Ballots, alpha: Floats, beta: Floats) -> Floats:
    """[votes] Return x_ij = alpha_j exp(beta_i)."""
    return np.asarray(alpha[votes.j] * _scale(beta)[votes.i])


def _posteriors(block: Block, votes: Ballots, x: Floats) -> Floats:
    """[T, K] Run the E step; known truths stay."""
    phi = softmax(votes.by_class(x + _log_others(block)))
    return np.where(block.gold[:, None] < 0, phi, block.posterior)


def _slope(block: Block, votes: Ballots, x: Floats, phi: Floats, beta: Floats) -> Slope:
    right = phi[votes.i, votes.y]
    # log sigma(x), and log(1 - sigma(x)) = log sigma(x) - x
    log_sigma = -np.logaddexp(0, -x)
    q = float(np.sum(log_sigma - (1 - right) * (x + _log_others(block))))
    residual = right - np.exp(log_sigma)
    of_alpha = votes.by_annotator(residual * _scale(beta)[votes.i])
    return Slope(q, of_alpha, (votes.by_task(residual * x),))


def _log_others(block: Block) -> float:
    return math.log(max(block.n_classes - 1, 1))


def _slope_at(block: Block, parameters: Parameters, priors: bool) -> Slope:
    """Return Q and its gradient; with priors, of the log-likelihood with the truths summed out: Q
    plus the entropy.
    """
    beta, votes = _of_block(block, parameters), ballots(block)
    x = _certainty(votes, parameters.alpha, beta)
    if not priors:
        return _slope(block, votes, x, block.posterior, beta)
    phi = _posteriors(block, votes, x)
    slope, logs = _slope(block, votes, x, phi, beta), np.log(np.maximum(phi, LEAST_PROBABILITY))
    return slope._replace(q=slope.q - float(np.vdot(phi, logs)))


def _keep_difficulty(block: Block, parameters: Parameters) -> Statistics:
    block.state["difficulty"] = 1.0 / _scale(_of_block(block, parameters))
    # the sum is not used
    return Statistics(0.0, parameters.tau)
