"""MACE: multi-annotator competence estimation.

D. Hovy, T. Berg-Kirkpatrick, A. Vaswani, E. Hovy: Learning Whom to Trust with MACE. NAACL-HLT 2013.

    z_i ~ uniform                       truth of task i
    s_ij ~ Bernoulli(theta_j)           whether annotator j guesses on task i
    theta_j ~ Beta(a, a)                how often annotator j guesses
    xi_j ~ Dirichlet(b)                 how annotator j guesses
    y_ij = z_i        if s_ij = 0       the vote
    y_ij ~ xi_j       if s_ij = 1

Inference is mean-field variational Bayes: q(z_i, s_i) with phi_ik = q(z_i = k), and Dirichlets of
theta_j and xi_j. With the expectations

    knows_j   = exp(E log(1 - theta_j))
    guess_jl  = exp(E log theta_j + E log xi_jl)

a sweep computes

    phi_ik proportional to prod over the votes (j, l) on i of (knows_j [l = k] + guess_jl)
    r_ij = phi_{i, y_ij} knows_j / (knows_j + guess_{j, y_ij})        the vote is knowledge
    q(theta_j) = Beta(a + sum_i (1 - r_ij), a + sum_i r_ij)
    q(xi_j) = Dirichlet(b + sum of 1 - r_ij over j's votes for l)

The program of the paper starts ten times from random counts and takes the best bound. Here a start
draws the share of knowledge among the votes of a task for a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from finegold.engines.base import Block
from finegold.methods.base import COUNT, POSITIVE, Floats, Method, setting
from finegold.methods.common import (
    Ballots,
    ballots,
    dirichlets,
    mean,
    set_posterior,
    start_from_shares,
)
from finegold.results.data import Learned


@dataclass(kw_only=True)
class MACE(Method):
    """Annotators either know the answer or guess; each has a competence and their own way to guess.

    It assumes that who does not guess is right, so an annotator with a skewed view of the classes is
    a guesser. Use it to find spammers, and because people know it by name. The result depends on a
    random start, so the best of ten is returned. It costs about a hundred nanoseconds per vote,
    sweep and restart, and K numbers per annotator. It learns from known truths.

    Args:
        tolerance: Stop when no probability of a class changes by more than this in a sweep.
        max_iterations: The largest number of sweeps of each restart.
        seed: Seed of the random starts; each restart draws other numbers.
        n_restarts: The number of random starts. The result with the highest bound is returned.
        a: Pseudo-counts of guesses and of knowledge of each annotator.
        b: Pseudo-count of the guesses of each class.
    """

    name: ClassVar[str] = "mace"
    order: ClassVar[int] = 1
    has_objective: ClassVar[bool] = True
    random_start = True

    max_iterations: int = 50
    n_restarts: int = setting(10, COUNT)
    a: float = setting(0.5, POSITIVE)
    b: float = setting(10.0, POSITIVE)

    def start(self, block: Block, restart: int) -> Statistics:
        """Draw the share of knowledge among the votes of each task for each class."""
        start_from_shares(block)
        votes, rng = ballots(block), np.random.default_rng([self.seed, restart, block.index])
        share = rng.random((block.n_tasks, block.n_classes))
        r = share[votes.i, votes.y] * block.posterior[votes.i, votes.y]
        return _sums(block, votes, r, 0.0, 0.0)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        votes, K = ballots(block), block.n_classes
        log_knows, log_guess = parameters.log_knows[votes.j], parameters.log_guess[votes.j, votes.y]
        # log of the product, up to the terms of the classes that got votes
        score = votes.by_class(np.logaddexp(0, log_knows - log_guess))
        score += (votes.by_task(log_guess) - np.log(K))[:, None]
        log_norm = logsumexp(score, axis=1)
        is_known = block.gold >= 0
        change = set_posterior(block, np.exp(score - log_norm[:, None]))
        log_norm[is_known] = score[is_known, block.gold[is_known]]
        r = block.posterior[votes.i, votes.y] * expit(log_knows - log_guess)
        return _sums(block, votes, r, change, float(log_norm.sum()))

    def expect(self, statistics: Statistics, before: Parameters | None) -> Parameters:
        right, guesses = statistics.right, statistics.guesses
        counts = np.column_stack([guesses.sum(axis=1), right])
        of_theta, of_xi = np.full_like(counts, self.a), np.full_like(guesses, self.b)
        theta, xi = dirichlets(of_theta + counts), dirichlets(of_xi + guesses)
        divergence = np.vdot(counts, theta.log) + np.vdot(guesses, xi.log)
        divergence += dirichlets(of_theta).log_beta - theta.log_beta
        divergence += dirichlets(of_xi).log_beta - xi.log_beta
        logs = theta.log[:, 1], theta.log[:, :1] + xi.log
        return Parameters(statistics.tau, theta.counts, xi.counts, *logs, float(divergence))

    def objective(self, parameters: Parameters, statistics: Statistics) -> float:
        """Return the ELBO of the parameters that the sweep used and the phi and r it computed."""
        return statistics.log_norm - parameters.divergence

    def learned(self, parameters: Parameters) -> Learned:
        theta, xi = mean(parameters.theta)[:, 0], mean(parameters.xi)
        guessing = theta[:, None, None]
        # an annotator who knows is right
        confusion = guessing * xi[:, None] + (1 - guessing) * np.eye(xi.shape[1])
        statistics = {"competence": 1 - theta, "guesses": xi}
        return Learned(mean(parameters.tau), confusion=confusion, statistics=statistics)


class Statistics(NamedTuple):
    change: float
    # [K] sum of the posteriors
    tau: Floats
    # [W] sum of r_ij
    right: Floats
    # [W, K] sum of 1 - r_ij over j's votes for l
    guesses: Floats
    # sum_i log of the normaliser of phi_i
    log_norm: float


class Parameters(NamedTuple):
    # [K]
    tau: Floats
    # [W, 2] counts of guesses and of knowledge
    theta: Floats
    # [W, K] counts of guesses
    xi: Floats
    # [W]
    log_knows: Floats
    # [W, K]
    log_guess: Floats
    # of theta and xi from their priors
    divergence: float


def _sums(block: Block, votes: Ballots, r: Floats, change: float, log_norm: float) -> Statistics:
    right, guesses = votes.by_annotator(r), votes.by_annotator_and_class(1 - r)
    return Statistics(change, block.class_sums(), right, guesses, log_norm)
