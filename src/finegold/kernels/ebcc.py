"""One sweep of EBCC over the tasks of a block.

A column is a pair (k, g) of a class and one of its G subtypes; the columns of a class are adjacent.
A vote of annotator j for class l has row j L + l in the tables log_v and votes [W L, K G]. Only phi is
stored for each task; rho is temporary.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from finegold.kernels import Floats, Known
from finegold.kernels.compiling import ONE, ZERO, kernel
from finegold.kernels.numerics import LARGE, exp_buffer

# numbers per buffer: small enough to stay in the first-level cache
SCRATCH = 2048


@kernel
def count(first: Any, end: Any, row: Any, rho: Floats, at: Any, pi: Floats, votes: Floats) -> None:
    """Add rho[at : at + K G] of one task to the sums over tasks and over its votes."""
    for c in range(np.uint64(pi.size)):
        pi[c] += rho[at + c]
    for vote in range(first, end):
        there = np.uint64(row[vote])
        for c in range(np.uint64(pi.size)):
            votes[there, c] += rho[at + c]


@kernel
def start(vote_ptr: Any, row: Any, phi: Floats, draws: Floats, pi: Floats, votes: Floats) -> None:
    """rho_ikg = phi_ik D_ikg, where D_ik ~ Dirichlet(1, ..., 1) are exponential draws [T, K, G]
    over their sum.
    """
    rho = np.zeros(pi.size)
    for i in range(np.uint64(phi.shape[0])):
        c = 0
        for k in range(phi.shape[1]):
            share = phi[i, k] / draws[i, k].sum()
            for g in range(draws.shape[2]):
                rho[c] = share * draws[i, k, g]
                c += 1
        count(vote_ptr[i], vote_ptr[i + ONE], row, rho, ZERO, pi, votes)


@kernel
def sweep(
    vote_ptr: Any,
    row: Any,
    known: Known,
    log_prior: Floats,
    log_v: Floats,
    phi: Floats,
    pi: Floats,
    votes: Floats,
) -> tuple[float, float]:
    """Return the largest change of phi and the sum of the log-normalisers of rho."""
    # log_prior [K G] is E log tau_k + E log pi_kg. rho is added to pi [K G], and to votes over the
    # tasks on which j voted l.
    change, log_norm, product = 0.0, 0.0, 1.0
    width, n_tasks = np.uint64(log_prior.size), np.uint64(vote_ptr.size) - ONE
    n_classes, of_class = np.uint64(phi.shape[1]), np.uint64(log_prior.size // phi.shape[1])
    step = np.uint64(max(SCRATCH // log_prior.size, 1))
    score, p = np.empty(step * width), np.empty(phi.shape[1])
    for begin in range(ZERO, n_tasks, step):
        end = min(begin + step, n_tasks)
        # the log-weights of a task's columns, shifted so that the largest is 0
        for i in range(begin, end):
            at, largest = (i - begin) * width, -np.inf
            for c in range(width):
                score[at + c] = log_prior[c]
            for vote in range(vote_ptr[i], vote_ptr[i + ONE]):
                there = np.uint64(row[vote])
                for c in range(width):
                    score[at + c] += log_v[there, c]
            # columns that contradict a known truth are excluded
            if known[i] >= 0:
                for c in range(width):
                    if c // of_class != np.uint64(known[i]):
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
                p[k] = 0.0
                for c in range(at + k * of_class, at + (k + ONE) * of_class):
                    p[k] += score[c]
                total += p[k]
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
            count(vote_ptr[i], vote_ptr[i + ONE], row, score, at, pi, votes)
    return change, log_norm + math.log(product)
