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
truths, and its value is Q plus the entropy of phi.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr

from finegold.engines.base import Block
from finegold.methods.base import Floats, Method
from finegold.methods.common import Ballots, ballots, set_posterior, softmax, start_from_shares
from finegold.results.data import Learned, Step

# exp(beta) times any ability stays finite
LARGEST_BETA = 500.0
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# L-BFGS stops by the gradient only
UNTIL_FLAT = {"gtol": 1e-4, "maxiter": 100, "ftol": 0.0, "maxfun": 1_000_000, "maxcor": 20}


@dataclass(kw_only=True)
class GLAD(Method):
    """Each annotator has an ability, each task a difficulty; all wrong votes are equally likely.

    Use it if tasks differ in difficulty and no class is often mistaken for one particular other
    class. Abilities and log-difficulties have the prior N(1, 1), and an ability is negative only if
    the annotator has voted on tasks whose truth is known: otherwise a vote never counts against its
    class. The fit ends at the maximum of the posterior, so that all kinds of processors agree on
    the labels; it takes one to six hundred passes over the votes. The program that the literature
    compares has no priors and stops early: its labels depend on the processor, its accuracy on real
    data is .7592 instead of .7551 (means over families), its log loss 2.999 instead of 2.475. It
    learns from known truths.

    Args:
        tolerance: Stop when no probability of a class has changed by more than this.
        max_iterations: The largest number of sweeps, each with up to 100 steps of the optimiser.
        seed: Has no effect: nothing is drawn at random.
    """

    name: ClassVar[str] = "glad"
    # difficulties are parameters of single tasks
    divisible: ClassVar[bool] = False
    learned_per_task: ClassVar[tuple[str, ...]] = ("difficulty",)

    tolerance: float = 1e-6

    def start(self, block: Block, restart: int) -> State:
        """Run the E step with alpha = beta = 1."""
        start_from_shares(block)
        votes = ballots(block)
        alpha, beta = np.ones(block.n_annotators), np.ones(block.n_tasks)
        block.state["difficulty"] = 1 / _scale(beta)
        x = certainty(votes, alpha, beta)
        change = set_posterior(block, posteriors(block, votes, x))
        q, _, _ = slope(votes, x, block.posterior, beta)
        on_gold = votes.by_annotator((block.gold >= 0)[votes.i].astype(float))
        lowest = np.where(on_gold > 0, -np.inf, 0.0)
        q += _constant(alpha, beta, block.n_classes)
        return State(change, alpha, beta, block.class_sums(), lowest, q)

    def sweep(self, block: Block, parameters: State) -> State:
        """Run the E step, then move towards the maximum of the posterior."""
        votes = ballots(block)
        x = certainty(votes, parameters.alpha, parameters.beta)
        change = set_posterior(block, posteriors(block, votes, x))
        return self.maximise(block, votes, parameters, change)

    def maximise(self, block: Block, votes: Ballots, before: State, change: float) -> State:
        """Return alpha and beta after some steps of the optimiser."""
        n_annotators = len(before.alpha)

        def loss(both: Floats) -> tuple[float, Floats]:
            q, gradient = self.log_posterior(block, votes, both[:n_annotators], both[n_annotators:])
            return -q, np.negative(gradient, out=gradient)

        best = self.search(loss, np.append(before.alpha, before.beta), before.lowest)
        alpha, beta = best.x[:n_annotators], best.x[n_annotators:]
        block.state["difficulty"] = 1 / _scale(beta)
        q = _constant(alpha, beta, block.n_classes) - float(best.fun)
        return State(change, alpha, beta, block.class_sums(), before.lowest, q)

    def search(
        self, loss: Callable[[Floats], tuple[float, Floats]], start: Floats, lowest: Floats
    ) -> Any:
        """Minimise the loss of (alpha, beta), without abilities below the lowest."""
        low = np.append(lowest, np.full(len(start) - len(lowest), -np.inf))
        bounds = np.column_stack([low, np.full_like(low, np.inf)])
        return minimize(loss, start, method="L-BFGS-B", jac=True, bounds=bounds, options=UNTIL_FLAT)

    def log_posterior(
        self, block: Block, votes: Ballots, alpha: Floats, beta: Floats
    ) -> tuple[float, Floats]:
        """Return the log posterior (Q plus the entropy of phi, plus the log priors) without its
        constants, and its gradient by (alpha, beta).
        """
        x = certainty(votes, alpha, beta)
        phi = posteriors(block, votes, x)
        q, by_alpha, by_beta = slope(votes, x, phi, beta)
        q += float(entr(phi).sum())
        off = np.append(alpha, beta) - 1
        return q - 0.5 * float(np.sum(off**2)), np.concatenate([by_alpha, by_beta]) - off

    def objective(self, parameters: State, statistics: State) -> float:
        """Return the log posterior after the last step; before the first one, Q with alpha = beta
        = 1.
        """
        return parameters.q

    def converged(self, steps: list[Step]) -> bool:
        return len(steps) > 1 and steps[-1].largest_change <= self.tolerance

    def learned(self, parameters: State) -> Learned:
        prior = parameters.tau / parameters.tau.sum()
        return Learned(class_prior=prior, statistics={"ability": parameters.alpha})


class State(NamedTuple):
    """What a sweep needs of the last one. All tasks are in one block, so nothing is summed."""

    change: float
    # [W]
    alpha: Floats
    # [T]
    beta: Floats
    # [K] sum of the posteriors
    tau: Floats
    # [W] the least ability that is allowed
    lowest: Floats
    # the log posterior
    q: float


def _scale(beta: Floats) -> Floats:
    scale = np.minimum(beta, LARGEST_BETA)
    return np.exp(scale, out=scale)


def _constant(alpha: Floats, beta: Floats, n_classes: int) -> float:
    """Return the constants of Q: the class prior, and the norm of the priors."""
    return -len(beta) * math.log(n_classes) - HALF_LOG_2PI * (len(alpha) + len(beta))


def certainty(votes: Ballots, alpha: Floats, beta: Floats) -> Floats:
    """[votes] Return x_ij = alpha_j exp(beta_i)."""
    return np.asarray(alpha[votes.j] * _scale(beta)[votes.i])


def posteriors(block: Block, votes: Ballots, x: Floats) -> Floats:
    """[T, K] Run the E step; known truths stay."""
    phi = softmax(votes.by_class(x + _log_others(block.n_classes)))
    return np.where(block.gold[:, None] < 0, phi, block.posterior)


def slope(votes: Ballots, x: Floats, phi: Floats, beta: Floats) -> tuple[float, Floats, Floats]:
    """Return Q, dQ/dalpha [W] and dQ/dbeta [T]."""
    # P_ij
    right = phi[votes.i, votes.y]
    # log sigma(x), and log(1 - sigma(x)) = log sigma(x) - x
    log_sigma = -np.logaddexp(0, -x)
    q = float(np.sum(log_sigma - (1 - right) * (x + _log_others(votes.n_classes))))
    residual = right - np.exp(log_sigma)
    by_alpha = votes.by_annotator(residual * _scale(beta)[votes.i])
    return q, by_alpha, votes.by_task(residual * x)


def _log_others(n_classes: int) -> float:
    """Return log(K - 1)."""
    return math.log(max(n_classes - 1, 1))
