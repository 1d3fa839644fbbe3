"""The expected information gain of one more vote on a task.

A label drawn from the posterior of task i is right with probability sum_k phi_ik^2. After a vote for l by an annotator
who votes l with probability c_kl if the truth is k, the posterior is phi_ik c_kl / p_l, with p_l = sum_k phi_ik c_kl.
The expected probability of being right is then

    sum_l sum_k (phi_ik c_kl)^2 / p_l
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import kernel

__all__ = ["expected_gain"]

Floats = NDArray[np.float64]


@kernel
def expected_gain(
    phi: Floats,  # IN [T, K]
    matrices: Floats,  # IN [G, L, K]: matrices of groups of annotators, the vote before the truth
    left: Floats,  # IN [T, G] weight of each group for the next vote; need not sum to one
    gain: Floats,  # OUT [T]; 0 if no annotator is left to vote
) -> None:
    n_groups, n_classes, _ = matrices.shape
    for i in range(phi.shape[0]):
        before, after, mass = 0.0, 0.0, 0.0
        for k in range(n_classes):
            before += phi[i, k] * phi[i, k]
        for g in range(n_groups):
            expected = 0.0
            for vote in range(n_classes):
                p, squares = 0.0, 0.0
                for k in range(n_classes):
                    joint = phi[i, k] * matrices[g, vote, k]
                    p += joint
                    squares += joint * joint
                if p > 0.0:
                    expected += squares / p
            after += left[i, g] * expected
            mass += left[i, g]
        gain[i] = max(after / mass - before, 0.0) if mass > 0.0 else 0.0
