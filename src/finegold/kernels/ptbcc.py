"""One sweep of PTBCC over a run of tasks: equations (11) and (12), and the sums that (8)-(10) need.

Everything is expressed as odds against the first prototype, so S prototypes need S - 1 numbers and two need one.
With d = 1..S-1 for the other prototypes, j for an annotator, i for a task, c for a cell (the votes of one
task for one class l):

    q_cd     = sum_k phi_ik D_ldk,  D_ldk = E log v_dkl - E log v_0kl          log-odds of the cell
    r_d      = exp(E log pi_jd - E log pi_j0) exp(q_cd)                         odds of the vote
    theta_d  = r_d / (1 + sum_d r_d)                                            (11)
    score_ik = E log tau_k + sum_c n_c E log v_0kl + Theta_cd D_ldk             (12) before normalising

where Theta_cd sums theta over the votes of a cell. ptbcc_votes.py computes theta; ptbcc_few.py and ptbcc_many.py do the
rest, for few and for many classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import ptbcc_few, ptbcc_many
from finegold.kernels.jit import ONE, kernel

__all__ = ["start", "sweep"]

Floats = NDArray[np.float64]


@kernel
def start(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    phi: Floats,
    v: Floats,  # IN  [L, S, K] first prototypes: class voted for, prototype, truth
    raw_pi: Floats,  # OUT [W, S] sums of theta before it is normalised
    raw_v: Floats,  # OUT [L, S, K]
    pi: Floats,  # OUT [W, S] sums of theta after
    confusion: Floats,  # OUT [L, S, K]
) -> None:
    """theta_s = sum_k phi_ik v_skl, the same for all votes of a cell (the paper's initialisation)."""
    n_prototypes, n_classes = v.shape[1], v.shape[2]
    theta = np.empty(n_prototypes)
    for i in range(np.uint64(task_ptr.size) - ONE):
        for c in range(task_ptr[i], task_ptr[i + ONE]):
            label = cell_class[c]
            n = np.float64(cell_ptr[c + ONE] - cell_ptr[c])
            total = 0.0
            for s in range(n_prototypes):
                theta[s] = 0.0
                for k in range(n_classes):
                    theta[s] += phi[i, k] * v[label, s, k]
                total += theta[s]
            for s in range(n_prototypes):
                share = theta[s] / total if total > 0.0 else 1.0 / n_prototypes
                for k in range(n_classes):
                    raw_v[label, s, k] += n * theta[s] * phi[i, k]
                    confusion[label, s, k] += n * share * phi[i, k]
                for vote in range(cell_ptr[c], cell_ptr[c + ONE]):
                    raw_pi[annotator[vote], s] += theta[s]
                    pi[annotator[vote], s] += share


def sweep(
    K: Any,  # as long as there are classes: a tuple for few classes and many votes (Block.classes)
    D: Any,  # as long as there are prototypes but the first
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: NDArray[np.int32],
    log_tau: Floats,  # IN [K]
    log_odds_pi: Floats,  # IN [W, D]
    base: Floats,  # IN [L, K] E log v_0kl
    diff: Floats,  # IN [L, D, K]
    phi: Floats,  # IN/OUT [T, K]
    tau: Floats,  # OUT [K]
    pi: Floats,  # OUT [W, D]
    total: Floats,  # OUT [L, K]
    confusion: Floats,  # OUT [L, D, K]
) -> tuple[float, float, float]:
    """Return the largest change of phi, the sum of its log-normalisers, and theta's part of the entropy."""
    votes = (task_ptr, cell_ptr, cell_class, annotator, known)
    others = (log_tau, log_odds_pi, base, diff, phi, tau, pi, total, confusion)
    return ptbcc_few.sweep(D, *votes, *others) if isinstance(K, tuple) else ptbcc_many.sweep(K, D, *votes, *others)
