"""One sweep over a block of tasks, for methods in which every annotator has a confusion matrix (DS,
IBCC, ...):

    score_ik = log tau_k + sum over the votes (j, l) of task i of log v_jkl
    phi_i    = softmax(score_i)
    n_jlk    = sum over the tasks i on which j voted l of phi_ik

Tasks are processed in short runs whose scores stay in the cache and whose exponentials are computed
in one long buffer.

log v may be -inf: such a class is impossible and gets exactly 0, as does one that is less probable
than 1e-307. If all classes of a task are impossible, phi_i is uniform.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.kernels import Floats, Known, Votes
from finegold.kernels.compiling import ONE, ZERO, kernel
from finegold.kernels.numerics import fill_scores, softmax

# numbers per buffer: small enough to stay in the first-level cache
SCRATCH = 2048


@kernel
def add_votes(K: Any, votes: Votes, log_v: Floats, score: Floats) -> None:
    """Add log v_jkl to score_ik for every vote."""
    task_ptr, cell_ptr, cell_class, annotator = votes
    row = ZERO
    for i in range(np.uint64(task_ptr.size) - ONE):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = np.uint64(cell_class[c])
            for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                j = np.uint64(annotator[vote])
                for k in range(np.uint64(len(K))):
                    score[row + k] += log_v[j, label, k]
        row += np.uint64(len(K))


@kernel
def counts(K: Any, votes: Votes, phi: Floats, n: Floats) -> None:
    """Add phi_ik to n_jlk for every vote of j for l on task i."""
    task_ptr, cell_ptr, cell_class, annotator = votes
    for i in range(np.uint64(task_ptr.size) - ONE):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = np.uint64(cell_class[c])
            for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                j = np.uint64(annotator[vote])
                for k in range(np.uint64(len(K))):
                    n[j, label, k] += phi[i, k]


@kernel
def sweep(
    K: Any,
    votes: Votes,
    known: Known,
    log_tau: Floats,
    log_v: Floats,
    phi: Floats,
    tau: Floats,
    n: Floats,
) -> tuple[float, float]:
    """Return the largest change of phi and the sum of its log-normalisers (for a known truth: of
    its score).
    """
    task_ptr, cell_ptr, cell_class, annotator = votes
    change, log_norm = 0.0, 0.0
    step = max(SCRATCH // len(K), 1)
    score = np.empty(step * len(K))
    n_tasks = np.uint64(task_ptr.size) - ONE
    for first in range(ZERO, n_tasks, np.uint64(step)):
        end = min(first + np.uint64(step), n_tasks)
        run = Votes(task_ptr[first : end + ONE], cell_ptr, cell_class, annotator)
        rows = phi[first:end]
        fill_scores(K, end - first, log_tau, score)
        add_votes(K, run, log_v, score)
        moved, log_sum = softmax(K, end - first, score, known[first:end], rows, tau)
        change, log_norm = max(change, moved), log_norm + log_sum
        counts(K, run, rows, n)
    return change, log_norm
