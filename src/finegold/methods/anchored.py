"""Anchored vote: half of every label is a weighted vote, half comes from a model of the annotators.

Models with a confusion matrix for every annotator drift if annotators make the same errors: the
classes that explain the votes best need not be the truth. The anchored vote keeps the model close
to the votes in every sweep.

    V_il   votes of task i for class l, d_i their number
    a      accuracy of a typical vote, from the agreement p of two votes on a task:
           p = a^2 + (1 - a)^2 / (K - 1)
    kappa  H(vote | annotator) / H(vote): 1 if all annotators use the classes equally often, 0 if
           everybody votes for one class only, like labelling functions

Start with q_i = V_i / d_i. Each sweep computes from q

    n_jkl  = sum of q_ik over the votes of annotator j for l
    mu_kl  = (sum_j n_jkl + c coin_kl) / its row sum          everybody's matrix; coin is right with
             probability a, every error is equally likely; c = sum(n) / K, so that both count alike
    pi_jkl = (n_jkl + 2 mu_kl) / its row sum                  the matrix of annotator j
    w_jkl  = .7 log pi_jkl + .3 log mu_kl
    u_j    = skill_j^kappa, skill_j = (a_j - 1/K) / (1 - 1/K), a_j = (sum_k n_jkk + 2 a) / (d_j + 2)

    vote_ik  proportional to the sum of u_j over the votes for k
    model_ik proportional to tau_k^kappa exp(sum over the votes (j, l) of w_jkl), tau_k = mean_i
             q_ik + .001; 0 for classes without votes on the task
    q_i      = (vote_i + model_i) / 2

Four sweeps are enough. Annotators err together, so d_i votes say less than d_i independent ones:
they count as the root of d_i beside c' votes that are spread evenly over the classes, more of them
the less two votes agree. The posterior is

    phi_i = (sqrt(d_i) q_i + c' / K) / (sqrt(d_i) + c'),  c' = 1.5 (1 - a) K / (K - 1)

which keeps the order of the classes in q. docs/inside/default.md says what the formula assumes,
what each part of it is worth on real data, and where it fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from finegold.engines.base import Block
from finegold.kernels import anchored as kernels
from finegold.kernels.anchored import Model, Sums
from finegold.methods.base import Floats, Method, Range, setting
from finegold.methods.common import start_from_shares
from finegold.results.data import Learned, Step
from finegold.results.matrices import OWN_SHARE

# votes that everybody's matrix, and a, count for in those of each annotator
PRIOR_VOTES = 2.0
# c' of a crowd that votes at random
DOUBT = 1.5
# added to tau, so that a class without labels stays possible
LEAST_SHARE = 1e-3
# annotators who are worse than chance keep a small weight
LEAST_SKILL = 1e-3
# minimum distance of a from chance and from 1
ACCURACY_MARGIN = 0.02


class Statistics(NamedTuple):
    change: float
    # [K] sum_i q_ik
    tau: Floats
    # [W, L, K]: the axis of votes before that of truths, the order in which the kernel reads
    n: Floats
    # [2] at the start: sum of the agreement of two votes over tasks with at least two votes; number
    # of these tasks
    pairs: Floats | float = 0.0


class Parameters(NamedTuple):
    # [2] as at the start
    pairs: Any
    # [K]
    tau: Floats
    # [W, L, K]
    n: Floats
    # [L, K]
    mu: Floats
    # for the next sweep
    model: Model
    # number of sweeps so far
    sweeps: int


@dataclass(kw_only=True)
class AnchoredVote(Method):
    """Half of each label is the weighted vote, half a model of annotators; the default, the best on
    real data.

    Use it if you do not know how similar, how skilled or how independent the annotators are:
    crowds, experts, panels of LLM judges, labelling functions. It follows majority vote if
    annotators make the same errors, and improves on it if they differ. It costs four sweeps and K x
    K numbers per annotator.

    Args:
        tolerance: Has no effect: all sweeps are made.
        max_iterations: Number of sweeps.
        seed: Has no effect: nothing is drawn at random.
        vote_share: Weight of the votes themselves in a label; the rest is the model's.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
        >>> finegold.aggregate(votes, "anchored").label.tolist()
        ['x', 'y']
    """

    name: ClassVar[str] = "anchored"
    order: ClassVar[int] = 2
    fixed_passes: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    max_iterations: int = 4
    vote_share: float = setting(0.5, Range("between 0 and 1", 0, 1))

    def start(self, block: Block, restart: int) -> Statistics:
        start_from_shares(block)
        K = block.n_classes
        n, pairs = np.zeros((block.n_annotators, K, K)), np.zeros(2)
        kernels.start(block.few, block.votes, block.gold, block.posterior, n, pairs)
        return Statistics(0.0, block.class_sums(), n, pairs)

    def begin(self, statistics: Statistics) -> Parameters:
        return self._parameters(statistics.pairs, statistics.tau, statistics.n, 0)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        sums = Sums(np.zeros_like(parameters.tau), np.zeros_like(parameters.n))
        change = kernels.sweep(
            block.few, block.votes, block.gold, parameters.model, block.posterior, sums
        )
        return Statistics(change, *sums)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        return self._parameters(before.pairs, statistics.tau, statistics.n, before.sweeps + 1)

    def converged(self, steps: list[Step]) -> bool:
        """Return whether all sweeps are done; more of them would drift towards the plain model."""
        return len(steps) >= self.max_iterations

    def learned(self, parameters: Parameters) -> Learned:
        pi = parameters.n + PRIOR_VOTES * parameters.mu
        pi /= pi.sum(axis=1, keepdims=True)
        sums = {"n": parameters.n, "everybody": parameters.mu.T.copy()}
        prior, confusion = parameters.tau / parameters.tau.sum(), pi.transpose(0, 2, 1).copy()
        return Learned(class_prior=prior, confusion=confusion, statistics=sums)

    def _parameters(self, pairs: Any, tau: Floats, n: Floats, sweeps: int) -> Parameters:
        K = len(tau)
        if self.earlier is not None:
            n = n + self.earlier
        a, kappa = typical_accuracy(pairs, K), uniformity(n.sum(axis=2))
        mu = n.sum(axis=0) + float(n.sum()) / K * coin(a, K)
        mu /= mu.sum(axis=0)
        # pi; in place, as it is the largest array by far of many classes
        w = n + PRIOR_VOTES * mu
        w /= w.sum(axis=1, keepdims=True)
        np.log(w, out=w)
        w *= OWN_SHARE
        w += (1 - OWN_SHARE) * np.log(mu)
        right = (np.einsum("jkk->j", n) + PRIOR_VOTES * a) / (n.sum(axis=(1, 2)) + PRIOR_VOTES)
        skill = np.maximum((right - 1 / K) / max(1 - 1 / K, LEAST_SKILL), LEAST_SKILL)
        # only the last sweep is calibrated, others continue from q
        is_last = sweeps + 1 >= self.max_iterations and K > 1
        doubt = DOUBT * (1 - a) * K / (K - 1) if is_last else 0.0
        log_prior = kappa * np.log(tau / tau.sum() + LEAST_SHARE)
        model = Model(log_prior, w, skill**kappa, self.vote_share, doubt)
        return Parameters(pairs, tau, n, mu, model, sweeps)


def typical_accuracy(pairs: Any, K: int) -> float:
    """Return a from p = a^2 + (1 - a)^2 / (K - 1), with one agreeing and one disagreeing pair of
    votes added.
    """
    if K == 1:
        return 1 - ACCURACY_MARGIN
    p = (pairs[0] + 1) / (pairs[1] + 2)
    # of the agreement beyond chance
    root = np.sqrt(max((K * p - 1) / (K - 1), 0.0))
    return float(np.clip((1 + (K - 1) * root) / K, 1 / K + ACCURACY_MARGIN, 1 - ACCURACY_MARGIN))


def uniformity(votes: Floats) -> float:
    """Return kappa = H(vote | annotator) / H(vote), from the votes [W, L] of each annotator for
    each class.
    """
    entropy = _entropy(votes.sum(axis=0))
    return float(np.clip(_entropy(votes) / entropy, 0.0, 1.0)) if entropy > 0 else 1.0


def coin(a: float, K: int) -> Floats:
    """[K, K] Return a confusion matrix that is right with probability a; every error is equally
    likely.
    """
    error = (1 - a) / max(K - 1, 1)
    return np.full((K, K), error) + (a - error) * np.eye(K)


def _entropy(counts: Floats) -> float:
    """Return the sum over rows of the entropy of the row's shares times the row's sum."""
    total = counts.sum(axis=-1)
    of_total, of_counts = (np.sum(x * np.log(np.where(x > 0, x, 1.0))) for x in (total, counts))
    return float(of_total - of_counts)
