"""Bayesian weighted averages over a block of tasks, for all classes at once.

z_ik is the weighted average of the votes of task i for class k (x_ijk = 1 if j voted k, else 0).
Rows of z do not sum to one. The posterior is phi_ik = z_ik / size_i with size_i = sum_k z_ik. Only
phi and size are stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Floats, Known, Votes
from finegold.kernels.jit import ONE, kernel


class Model(NamedTuple):
    lam: float
    # [K]
    mu: Floats
    # [W, K]
    w: Floats
    # [K] classes that have not converged yet
    active: NDArray[np.bool_]


@kernel
def spread(votes: Votes, cast: Floats, spread: Floats) -> None:
    """Add each annotator's votes to cast [W], and sum_i d_i s_ik (1 - s_ik), where s are vote
    shares, to spread [K].
    """
    # A cell with n of a task's d votes adds d s (1 - s) = n (1 - n / d).
    task_ptr, cell_ptr, cell_class, annotator = votes
    for i in range(np.uint64(task_ptr.size) - ONE):
        first, end = task_ptr[i], task_ptr[i + ONE]
        d = np.float64(cell_ptr[end] - cell_ptr[first])
        for c in range(first, end):
            n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            spread[np.uint64(cell_class[c])] += n * (1.0 - n / d)
        for vote in range(cell_ptr[first], cell_ptr[end]):
            cast[np.uint64(annotator[vote])] += 1.0


@kernel
def add_errors(K: Any, i: Any, votes: Votes, z: Floats, error: Floats) -> None:
    """Add (z_k - x_jk)^2 to error_jk for the votes of task i: z_k^2 for every class, and 1 - 2 z_l
    for the vote l.
    """
    task_ptr, cell_ptr, cell_class, annotator = votes
    for c in range(task_ptr[i], task_ptr[i + ONE]):
        label = np.uint64(cell_class[c])
        extra = 1.0 - 2.0 * z[label]
        for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
            j = np.uint64(annotator[vote])
            for k in range(np.uint64(len(K))):
                error[j, k] += z[k] * z[k]
            error[j, label] += extra


@kernel
def errors(K: Any, votes: Votes, z: Floats, error: Floats) -> None:
    """Add the sum over j's votes of (z_ik - x_ijk)^2 to error_jk."""
    for i in range(np.uint64(votes.task_ptr.size) - ONE):
        add_errors(K, i, votes, z[i], error)


@kernel
def sweep(
    K: Any, votes: Votes, known: Known, model: Model, tolerance: float, least: float,
    phi: Floats, size: Floats, sums: Any,
) -> float:  # fmt: skip
    """Return the largest relative change of z, |change| / (least + z). Classes that have converged
    keep their z.
    """
    # To the sums are added z [K], the errors [W, K] and the number of tasks [K] that moved by more
    # than the tolerance.
    task_ptr, cell_ptr, cell_class, annotator = votes
    lam, mu, w, active = model
    sum_z, error, unsettled = sums
    change = 0.0
    before, z, total = np.empty(len(K)), np.empty(len(K)), np.empty(len(K))
    for i in range(np.uint64(task_ptr.size) - ONE):
        for k in range(np.uint64(len(K))):
            before[k] = phi[i, k] * size[i]
        if known[i] >= 0:
            z[:] = before
        else:
            # z_k = (lambda mu_k + sum_j w_jk x_jk) / (lambda + sum_j w_jk)
            for k in range(np.uint64(len(K))):
                z[k], total[k] = lam * mu[k], lam
            for c in range(task_ptr[i], task_ptr[i + ONE]):
                label = np.uint64(cell_class[c])
                for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                    j = np.uint64(annotator[vote])
                    z[label] += w[j, label]
                    for k in range(np.uint64(len(K))):
                        total[k] += w[j, k]
            for k in range(np.uint64(len(K))):
                z[k] /= total[k]
            for k in range(np.uint64(len(K))):
                if not active[k]:
                    z[k] = before[k]
                move = abs(z[k] - before[k]) / (least + z[k])
                unsettled[k] += np.float64(move > tolerance)
                change = max(change, move)
            size[i] = z.sum()
            scale = 1.0 / size[i]
            for k in range(np.uint64(len(K))):
                phi[i, k] = z[k] * scale
        for k in range(np.uint64(len(K))):
            sum_z[k] += z[k]
        add_errors(K, i, votes, z, error)
    return change
