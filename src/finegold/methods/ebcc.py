"""EBCC: enhanced Bayesian classifier combination.

Yuan Li, Benjamin I. P. Rubinstein, Trevor Cohn: Exploiting Worker Correlation for Label Aggregation
in Crowdsourcing. ICML 2019.

    tau ~ Dirichlet(alpha)          how frequent the classes are
    pi_k ~ Dirichlet(a_pi / G)      how frequent the G subtypes of class k are
    v_jkg ~ Dirichlet(b_k)          how annotator j votes on tasks of subtype g of class k
    z_i ~ tau, g_i ~ pi_{z_i}       truth and subtype of task i
    y_ij ~ v_{j, z_i, g_i}          the vote

Given the truth alone, the votes on a task depend on each other, through its subtype. Inference is
mean-field variational Bayes: q(z_i, g_i) = rho_i, phi_ik = sum_g rho_ikg, and Dirichlets with
parameters nu, eta_k and mu_jkg.

Most subtypes lose all their tasks within a few dozen sweeps. The subtypes of a class without tasks
are bitwise equal, eta = a_pi / G and mu = b, and so is everything computed from them. They are
computed once, as one column that represents several copies. This does not change results and makes
most sweeps several times faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from finegold.engines.base import Block
from finegold.kernels import ebcc as kernels
from finegold.kernels.cells import vote_rows
from finegold.kernels.ebcc import LANES
from finegold.methods.base import COUNT, POSITIVE, Floats, Method, setting
from finegold.methods.common import Dirichlets, dirichlets, mean, start_from_shares
from finegold.results.data import Learned
from finegold.votes.annotations import Annotations

# for classes without votes: digamma needs positive counts
LEAST_COUNT = 1e-9
# random numbers drawn at a time
DRAW_SIZE = 2**16


class Statistics(NamedTuple):
    change: float
    # [C] sum_i rho_ikg for each column
    pi: Floats
    # [W, L, C] the same over the tasks on which annotator j voted l
    votes: Floats
    # sum_i log of the normaliser of rho_i
    log_norm: float


class Columns(NamedTuple):
    """A column is a subtype, or several identical subtypes of a class."""

    # [K+1] first column of each class; columns after the last class are padding
    ptr: NDArray[np.uint64]
    # [C] number of subtypes that the column represents, 0 for padding
    copies: Floats

    @property
    def classes(self) -> NDArray[np.int64]:
        return np.repeat(
            np.arange(len(self.ptr) - 1), (self.ptr[1:] - self.ptr[:-1]).astype(np.int64)
        )


class Parameters(NamedTuple):
    # [K]
    alpha: Floats
    columns: Columns
    # nu [K]
    tau: Dirichlets
    # [C] of one copy, without padding
    eta: Floats
    # [W, L, C]
    votes: Floats
    # [C] E log tau_k + E log pi_kg of all copies
    log_prior: Floats
    # [W, L, C]
    log_v: Floats
    # of all Dirichlets from their priors
    divergence: float


@dataclass(kw_only=True)
class EBCC(Method):
    """Tasks of a class come in subtypes, such as easy and hard; annotators have a confusion matrix
    for each subtype.

    It assumes that annotators make the same errors on some kinds of tasks, the subtypes. Use it if
    annotators cast many votes each and their errors are correlated. The result depends on a random
    start, so the best of 40 is returned (`n_restarts`); use fewer for a quick look. It learns from
    known truths. Each restart costs about ten nanoseconds per vote and sweep at first, fewer later,
    and W K G K numbers.

    Args:
        tolerance: Stop when no probability of a class changes by more than this in a sweep.
        max_iterations: The largest number of sweeps of each restart.
        seed: Seed of the random starts.
        n_subtypes: The largest number of subtypes of each class, the paper's G.
        n_restarts: The number of random starts. The result with the highest bound is returned.
        class_prior: Pseudo-counts: summed vote shares, or 1 each.
        a_pi: Pseudo-counts of the subtypes of a class, in sum; if small, few are used.
        b_correct: Pseudo-count of right votes in each confusion matrix.
        b_wrong: Pseudo-count of each wrong vote.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2, 2, 3, 3, 3], list("abcabcabc"), list("xxyyyyxxx"))
        >>> finegold.aggregate(votes, finegold.EBCC(n_restarts=5)).label.tolist()
        ['x', 'y', 'x']
    """

    name: ClassVar[str] = "ebcc"
    has_bound: ClassVar[bool] = True
    random_start = True

    n_subtypes: int = setting(10, COUNT)
    n_restarts: int = setting(40, COUNT)
    class_prior: Literal["empirical", "uniform"] = setting("empirical", ("empirical", "uniform"))
    a_pi: float = setting(0.1, POSITIVE)
    b_correct: float = setting(4.0, POSITIVE)
    b_wrong: float = setting(1.0, POSITIVE)

    def n_parameters(self, annotations: Annotations) -> int:
        return 2 * annotations.n_annotators * annotations.n_classes**2 * self.n_subtypes

    def start(self, block: Block, restart: int) -> Statistics:
        """Set rho_ikg = s_ik D_ikg with random D_ik ~ Dirichlet(1, ..., 1)."""
        start_from_shares(block)
        vote_ptr, row = _vote_rows(block)
        K, G = block.n_classes, self.n_subtypes
        rng = np.random.default_rng([self.seed, restart, block.index])
        pi = _pad(np.zeros(K * G))
        votes = np.zeros((block.n_annotators, K, len(pi)))
        step = max(DRAW_SIZE // (K * G), 1)
        for first in range(0, block.n_tasks, step):
            phi = block.posterior[first : first + step]
            draws = rng.standard_exponential((len(phi), K, G))
            kernels.start(
                vote_ptr[first : first + len(phi) + 1], row, phi, draws, pi, votes.reshape(-1)
            )
        return Statistics(0.0, pi, votes, 0.0)

    def begin(self, statistics: Statistics) -> Parameters:
        _, K, width = statistics.votes.shape
        copies = np.zeros(width)
        copies[: K * self.n_subtypes] = 1.0
        columns = Columns(np.arange(K + 1, dtype=np.uint64) * np.uint64(self.n_subtypes), copies)
        shares = _by_class(columns, statistics.pi)
        alpha = np.ones(K) if self.class_prior == "uniform" else np.maximum(shares, LEAST_COUNT)
        return self._parameters(alpha, columns, statistics)

    def sweep(self, block: Block, parameters: Parameters) -> Statistics:
        pi, votes = np.zeros_like(parameters.log_prior), np.zeros_like(parameters.log_v)
        columns, log_v = parameters.columns.ptr, parameters.log_v.reshape(-1)
        change, log_norm = kernels.sweep(
            *_vote_rows(block),
            block.gold,
            columns,
            parameters.log_prior,
            log_v,
            block.posterior,
            pi,
            votes.reshape(-1),
        )
        return Statistics(change, pi, votes, log_norm)

    def expect(self, statistics: Statistics, before: Parameters) -> Parameters:
        columns, statistics = self._merge_empty(before.columns, statistics)
        return self._parameters(before.alpha, columns, statistics)

    def bound(self, parameters: Parameters, statistics: Statistics) -> float:
        """Return the ELBO with its constants. At the optimal rho, all terms in rho are its
        log-normalisers.
        """
        return float(statistics.log_norm - parameters.divergence)

    def learned(self, parameters: Parameters) -> Learned:
        columns, eta = parameters.columns, parameters.eta
        votes = parameters.votes[:, :, : len(eta)] / columns.copies[: len(eta)]
        mu = votes + self._b(columns)[:, : len(eta)]
        # [W, L, C]
        v = mu / mu.sum(axis=1, keepdims=True)
        weight = columns.copies[: len(eta)] * eta
        share = weight / _by_class(columns, weight)[columns.classes]
        # [C, K]
        in_class = columns.classes[:, None] == np.arange(len(parameters.alpha))
        return Learned(
            class_prior=mean(parameters.tau.counts),
            confusion=np.ascontiguousarray(((v * share) @ in_class).transpose(0, 2, 1)),
            statistics={
                # eta [K, G]
                "subtypes": self._of_subtypes(columns, eta, eta),
                # [K, G, L] votes for l
                "subtype_votes": self._of_subtypes(columns, eta, votes.sum(axis=0).T),
                "nu": parameters.tau.counts,
            },
        )

    def _parameters(self, alpha: Floats, columns: Columns, sums: Statistics) -> Parameters:
        n, a, classes = len(columns.classes), self.a_pi / self.n_subtypes, columns.classes
        copies, of_class = columns.copies[:n], _by_class(columns, sums.pi)
        tau, eta = dirichlets(alpha + of_class), a + sums.pi[:n] / copies
        log_pi = digamma(eta) - digamma(self.a_pi + of_class)[classes]
        log_prior = np.full_like(sums.pi, -np.inf)
        log_prior[:n] = tau.log[classes] + log_pi + np.log(copies)
        log_v = np.empty_like(sums.votes)
        v_divergence = kernels.expected_logs_of_votes(
            sums.votes, self._b(columns), columns.copies, log_v
        )
        K, wrong = len(alpha), self.b_wrong
        b_log_beta = (
            gammaln(self.b_correct)
            + (K - 1) * gammaln(wrong)
            - gammaln(self.b_correct + (K - 1) * wrong)
        )
        divergence = of_class @ tau.log - tau.log_beta + dirichlets(alpha).log_beta
        divergence += copies @ ((eta - a) * log_pi - gammaln(eta) + gammaln(a))
        divergence += (gammaln(self.a_pi + of_class) - gammaln(self.a_pi)).sum()
        divergence = (
            divergence + v_divergence + sums.votes.shape[0] * K * self.n_subtypes * b_log_beta
        )
        return Parameters(alpha, columns, tau, eta, sums.votes, log_prior, log_v, float(divergence))

    def _b(self, columns: Columns) -> Floats:
        """[L, C] Return the prior of v."""
        K = len(columns.ptr) - 1
        b = np.ones((K, len(columns.copies)))
        b[:, : len(columns.classes)] = np.where(
            np.arange(K)[:, None] == columns.classes, self.b_correct, self.b_wrong
        )
        return b

    def _merge_empty(self, columns: Columns, sums: Statistics) -> tuple[Columns, Statistics]:
        """Merge the columns of each class that have no tasks, those whose eta equals its prior
        exactly.
        """
        classes, a = columns.classes, self.a_pi / self.n_subtypes
        n, K = len(classes), len(columns.ptr) - 1
        empty = np.flatnonzero(a + sums.pi[:n] / columns.copies[:n] == a)
        _, first, which = np.unique(classes[empty], return_index=True, return_inverse=True)
        if len(first) == len(empty):
            return columns, sums
        copies = columns.copies[:n].copy()
        copies[empty[first]] = np.bincount(which, weights=copies[empty])
        keep = np.setdiff1d(np.arange(n), np.delete(empty, first))
        ptr = np.concatenate([[0], np.bincount(classes[keep], minlength=K).cumsum()]).astype(
            np.uint64
        )
        merged = Columns(ptr, _pad(copies[keep]))
        return merged, sums._replace(pi=_pad(sums.pi[keep]), votes=_pad(sums.votes[:, :, keep]))

    def _of_subtypes(self, columns: Columns, eta: Floats, values: Floats) -> Floats:
        """[K, G, ...] Return the values of subtypes from those of columns, subtypes with the most
        tasks first.
        """
        order = np.lexsort((-eta, columns.classes))
        every = np.repeat(order, columns.copies[order].astype(np.int64))
        return values[every].reshape(len(columns.ptr) - 1, self.n_subtypes, *values.shape[1:])


def _pad(values: Floats) -> Floats:
    """Pad the last axis with zeros up to the next multiple of eight."""
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, -values.shape[-1] % LANES)])


def _by_class(columns: Columns, values: Floats) -> Floats:
    """[K] Sum the columns of each class."""
    classes = columns.classes
    sums: Floats = np.bincount(
        classes, weights=values[: len(classes)], minlength=len(columns.ptr) - 1
    )  # type: ignore[assignment]
    return sums


def _vote_rows(block: Block) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return where each task's votes begin, and the row (annotator, class) of each vote; computed
    once.
    """
    if "row" not in block.state:
        vote_ptr, row = vote_rows(block.n_classes, block.votes)
        block.state |= {"vote_ptr": vote_ptr, "row": row}
    return block.state["vote_ptr"], block.state["row"]
