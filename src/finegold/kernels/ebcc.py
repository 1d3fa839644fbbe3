"""One sweep of EBCC over the tasks of a block, and the expected logarithms that it needs.

A column is a pair (k, g) of a class and one of its subtypes. The columns of a class are adjacent,
and empty columns pad their number to a multiple of eight, so that loops over them need no
remainder. Tables by vote are [W, L, columns], flat here: a vote of annotator j for class l has row
j L + l. Only phi is stored for each task; rho is temporary.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from finegold.kernels import Floats, Known
from finegold.kernels.compiling import ONE, ZERO, kernel
from finegold.kernels.numerics import LARGE, digamma_and_gammaln_buffer, exp_buffer

LANES = 8
EIGHT = np.uint64(LANES)
# numbers per buffer: small enough to stay in the first-level cache
SCRATCH = 2048


@kernel
def count(
    first: Any, end: Any, row: Any, rho: Floats, at: Any, width: Any, pi: Floats, votes: Floats
) -> None:
    """Add rho[at : at + width] of one task to the sums over tasks and over its votes."""
    for c in range(ZERO, width, EIGHT):
        for lane in range(EIGHT):
            pi[c + lane] += rho[at + c + lane]
    for vote in range(first, end):
        there = np.uint64(row[vote]) * width
        for c in range(ZERO, width, EIGHT):
            for lane in range(EIGHT):
                votes[there + c + lane] += rho[at + c + lane]


@kernel
def start(vote_ptr: Any, row: Any, phi: Floats, draws: Floats, pi: Floats, votes: Floats) -> None:
    """rho_ikg = phi_ik D_ikg, where D_ik ~ Dirichlet(1, ..., 1) are exponential draws [T, K, G]
    over their sum.
    """
    width = np.uint64(pi.size)
    rho = np.zeros(pi.size)
    for i in range(np.uint64(phi.shape[0])):
        c = 0
        for k in range(phi.shape[1]):
            share = phi[i, k] / draws[i, k].sum()
            for g in range(draws.shape[2]):
                rho[c] = share * draws[i, k, g]
                c += 1
        count(vote_ptr[i], vote_ptr[i + ONE], row, rho, ZERO, width, pi, votes)


@kernel
def sweep(
    vote_ptr: Any, row: Any, known: Known, ptr: Any, log_prior: Floats, log_v: Floats,
    phi: Floats, pi: Floats, votes: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Return the largest change of phi and the sum of the log-normalisers of rho."""
    # ptr [K+1] are the first columns of classes, log_prior [columns] is E log tau_k + E log pi_kg,
    # log_v [W L columns]. rho is added to pi [columns], and to votes [W * L * columns] over the
    # tasks on which j voted l.
    change, log_norm, product = 0.0, 0.0, 1.0
    width, n_tasks, n_classes = (
        np.uint64(log_prior.size),
        np.uint64(vote_ptr.size) - ONE,
        np.uint64(phi.shape[1]),
    )
    step = np.uint64(max(SCRATCH // log_prior.size, 1))
    score, p = np.empty(step * width), np.empty(phi.shape[1])
    for begin in range(ZERO, n_tasks, step):
        end = min(begin + step, n_tasks)
        # the log-weights of a task's columns, shifted so that the largest is 0
        for i in range(begin, end):
            at, truth, largest = (i - begin) * width, known[i], -np.inf
            for c in range(ZERO, width, EIGHT):
                for lane in range(EIGHT):
                    score[at + c + lane] = log_prior[c + lane]
                for vote in range(vote_ptr[i], vote_ptr[i + ONE]):
                    there = np.uint64(row[vote]) * width + c
                    for lane in range(EIGHT):
                        score[at + c + lane] += log_v[there + lane]
            # columns that contradict a known truth are excluded
            if truth >= 0:
                for c in range(width):
                    if c < ptr[truth] or c >= ptr[truth + 1]:
                        score[at + c] = -np.inf
            for c in range(width):
                largest = max(largest, score[at + c])
            for c in range(width):
                score[at + c] -= largest
            log_norm += largest
        exp_buffer(score, np.int64((end - begin) * width))
        # rho, and phi_k = sum_g rho_kg
        for i in range(begin, end):
            at, total = (i - begin) * width, 0.0
            for k in range(n_classes):
                of_class = 0.0
                for c in range(at + ptr[k], at + ptr[k + ONE]):
                    of_class += score[c]
                p[k] = of_class
                total += of_class
            scale = 1.0 / total
            for c in range(width):
                score[at + c] *= scale
            if known[i] < 0:
                for k in range(n_classes):
                    change = max(change, abs(p[k] * scale - phi[i, k]))
                    phi[i, k] = p[k] * scale
            product *= total
            if product > LARGE:
                log_norm += math.log(product)
                product = 1.0
            count(vote_ptr[i], vote_ptr[i + ONE], row, score, at, width, pi, votes)
    return change, log_norm + math.log(product)


@kernel
def expected_logs_of_votes(votes: Floats, b: Floats, copies: Floats, log_v: Floats) -> float:
    """Write log_v [W, L, columns] = E log v for v ~ Dirichlet(b + votes / copies) along L."""
    # b [L, columns] is the prior; `copies` subtypes share a column's votes [W, L, columns]. Return
    # the sum of the divergences of these Dirichlets from their prior, without the prior's own log
    # B.
    n_labels, width = b.shape
    n = n_labels * width
    share = np.zeros(width)
    for c in range(width):
        if copies[c] > 0:
            share[c] = 1.0 / max(copies[c], 1.0)
    room = n + width
    mu, psi, log_gamma, scratch = (
        np.empty(room),
        np.empty(room),
        np.empty(room),
        np.empty((3, room)),
    )
    divergence = np.zeros(width)
    for j in range(votes.shape[0]):
        mu[n:] = 0.0
        for label in range(n_labels):
            for c in range(width):
                mu[label * width + c] = b[label, c] + votes[j, label, c] * share[c]
                mu[n + c] += mu[label * width + c]
        digamma_and_gammaln_buffer(mu, room, psi, log_gamma, scratch)
        for c in range(width):
            divergence[c] += log_gamma[n + c]
        for label in range(n_labels):
            for c in range(width):
                log_v[j, label, c] = psi[label * width + c] - psi[n + c]
                divergence[c] += (
                    votes[j, label, c] * share[c] * log_v[j, label, c]
                    - log_gamma[label * width + c]
                )
    total: float = (divergence * copies).sum()
    return total
