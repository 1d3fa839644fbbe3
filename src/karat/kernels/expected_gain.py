"""What one more vote is expected to tell of a task.

The chance that a label drawn from the posterior of task i is right is sum_k phi_ik^2. A vote of somebody who votes l
where the truth is k with probability c_kl makes the posterior phi_ik c_kl / p_l, with p_l = sum_k phi_ik c_kl, and so
in expectation

    sum_l sum_k (phi_ik c_kl)^2 / p_l
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.kernels.jit import kernel

__all__ = ["expected_gain"]

Floats = NDArray[np.float64]


@kernel
def expected_gain(
    phi: Floats,  # IN [T, K]
    matrices: Floats,  # IN [G, L, K]: of groups of annotators, the vote before the truth
    left: Floats,  # IN [T, G] how likely it is that somebody of each group votes next; of any sum
    gain: Floats,  # OUT [T]; 0 where nobody is left to vote
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
