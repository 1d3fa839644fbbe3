"""One parallel sweep of expectation propagation for IBCC over a block of tasks.

Each vote n of annotator j on task i for class l sends K pseudo-counts delta_nk to a_jkl, the
Dirichlet of row k of j's confusion matrix; each task sends eps_ik to g_k, the Dirichlet of the
class shares. Each message is computed from the cavity, the totals without the sender's previous
message. All messages of a sweep use the totals of the previous sweep.

    m_nk     = (a_jkl - delta_nk) / (A_jk - delta_nk),  A_jk = sum_l a_jkl        likelihood of the
    vote phi_ik   proportional to (g_k - eps_ik) prod_n m_nk delta_nk = phi_ik A' / (A' + 1 -
    phi_ik),  A' = A_jk - delta_nk               matches the mean of the mixture

A vote is identified by its `slot` j L + l, the row of a and A that it reads, and by its task. Tasks
are processed in short runs, so that scratch arrays stay in the cache and the divisions of a run are
one long loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Floats, Known, Votes
from finegold.kernels.jit import ONE, ZERO, kernel
from finegold.kernels.votes import vote_rows

# classes times tasks in a run
SCRATCH = 512
# divide after 16 factors: a product of 16 counts up to 1e19 is still finite
FACTORS_MASK = np.uint64(15)


class Messages(NamedTuple):
    """The last messages of a block, and the index of its votes."""

    # [T + 1]
    first_vote: NDArray[np.uint64]
    # [votes]
    task: NDArray[np.uint32]
    # [votes]
    slot: NDArray[np.uint32]
    # [votes * K]
    delta: Floats
    # [T, K]
    eps: Floats


def first_messages(n_classes: int, votes: Votes) -> Messages:
    first_vote, slot = vote_rows(n_classes, votes)
    n_tasks = len(votes.task_ptr) - 1
    task = np.repeat(np.arange(n_tasks, dtype=np.uint32), np.diff(first_vote).astype(np.int64))
    return Messages(
        first_vote, task, slot, np.zeros(len(slot) * n_classes), np.zeros((n_tasks, n_classes))
    )


@kernel
def fold(K: Any, at: Any, over: Floats, under: Floats) -> None:
    """Replace over by over / under, divided by the largest; only ratios matter for posteriors."""
    largest = 0.0
    for k in range(np.uint64(len(K))):
        over[at + k] /= under[at + k]
        under[at + k] = 1.0
        largest = max(largest, over[at + k])
    scale = 1.0 / largest
    for k in range(np.uint64(len(K))):
        over[at + k] *= scale


@kernel
def posterior(
    K: Any, i: Any, at: Any, g: Floats, lik: Floats, eps: Floats, prior: Floats, phi: Floats
) -> float:
    """phi_ik is proportional to g'_k lik_k with g' = g - eps, which is written to prior. Return the
    largest change.
    """
    # A loop that wrote prior and added up would be compiled twice, with two orders of adding, and
    # the distance of the arrays in memory would select one.
    total, change = 0.0, 0.0
    for k in range(np.uint64(len(K))):
        prior[k] = g[k] - eps[i, k]
    for k in range(np.uint64(len(K))):
        total += prior[k] * lik[at + k]
    scale = 1.0 / total
    for k in range(np.uint64(len(K))):
        p = prior[k] * lik[at + k] * scale
        change = max(change, abs(p - phi[i, k]))
        phi[i, k] = p
    return change


@kernel
def sweep(K: Any, known: Known, messages: Messages, model: Any, phi: Floats, sums: Any) -> float:
    """Return the largest change of phi."""
    # The model is g [K], a [W * L, K] and A [W * L, K]: sum_l a, repeated. The messages eps are
    # added to sums [K], delta to sums [W * L, K].
    first_vote, task, slot, delta, eps = messages
    g, a, A = model
    sum_eps, sum_delta = sums
    change, prior = 0.0, np.empty(len(K))
    n_classes = np.uint64(len(K))
    step, n_tasks = np.uint64(max(SCRATCH // len(K), 1)), np.uint64(first_vote.size) - ONE
    over, under = np.empty(np.int64(step) * len(K)), np.empty(np.int64(step) * len(K))
    # of a run
    most_votes: Any = 0
    for first in range(ZERO, n_tasks, step):
        most_votes = max(
            most_votes, np.int64(first_vote[min(first + step, n_tasks)] - first_vote[first])
        )
    # A' of the votes of a run
    others = np.empty(most_votes * len(K))
    for first in range(ZERO, n_tasks, step):
        end = min(first + step, n_tasks)
        start, stop = first_vote[first], first_vote[end]
        sent = delta[start * n_classes : stop * n_classes]

        # The likelihood is the product of a - delta over that of A - delta: one division serves up
        # to 16 votes.
        over[:], under[:], x = 1.0, 1.0, ZERO
        for n in range(start, stop):
            at, s = (np.uint64(task[n]) - first) * n_classes, np.uint64(slot[n])
            for k in range(n_classes):
                rest = A[s, k] - sent[x + k]
                others[x + k] = rest
                over[at + k] *= a[s, k] - sent[x + k]
                under[at + k] *= rest
            x += n_classes
            if n & FACTORS_MASK == FACTORS_MASK:
                fold(K, at, over, under)
        for y in range(over.size):
            over[y] /= under[y]

        # eps_k = s m_k - g'_k, where the pseudo-count of the least likely class c is not changed.
        # As m is proportional to phi + g', this is (g'_c phi_k - g'_k phi_c) / (g'_c + phi_c).
        at = ZERO
        for i in range(first, end):
            if known[i] >= 0:
                sum_eps[np.uint64(known[i])] += 1.0
            else:
                change = max(change, posterior(K, i, at, g, over, eps, prior, phi))
                least: Any = ZERO
                for k in range(ONE, n_classes):
                    least = k if over[at + k] < over[at + least] else least
                scale = 1.0 / (prior[least] + phi[i, least])
                for k in range(n_classes):
                    message = max(
                        (prior[least] * phi[i, k] - prior[k] * phi[i, least]) * scale, 0.0
                    )
                    eps[i, k] = message
                    sum_eps[k] += message
            at += n_classes

        # copy phi to the votes, convert it to messages in one long loop, and sum these by slot
        x = ZERO
        for n in range(start, stop):
            for k in range(n_classes):
                sent[x + k] = phi[np.uint64(task[n]), k]
            x += n_classes
        for y in range(sent.size):
            sent[y] = sent[y] * others[y] / (others[y] + (1.0 - sent[y]))
        x = ZERO
        for n in range(start, stop):
            for k in range(n_classes):
                sum_delta[np.uint64(slot[n]), k] += sent[x + k]
            x += n_classes
    return change
