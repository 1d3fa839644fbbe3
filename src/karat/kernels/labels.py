"""Posterior -> label, confidence, tie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.kernels.jit import kernel

__all__ = ["decide"]


@kernel
def decide(
    phi: NDArray[np.float64],
    preference: NDArray[np.int64],  # [K] the classes, the preferred one first
    label: NDArray[np.int32],  # OUT [T]
    tied: NDArray[np.bool_],  # OUT [T]
) -> None:
    """The most probable class; where several are exactly as probable, the one that is preferred."""
    for i in range(phi.shape[0]):
        best = preference[0]
        many = False
        for k in preference[1:]:
            if phi[i, k] > phi[i, best]:
                best, many = k, False
            elif phi[i, k] == phi[i, best]:
                many = True
        label[i], tied[i] = best, many
