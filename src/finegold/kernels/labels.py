"""Labels and ties from posteriors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import few_votes
from finegold.kernels.jit import kernel

__all__ = ["NEAR", "NEAR_SINGLE", "decide", "preference_of"]

# Classes are tied if their probabilities differ by less than this share of the highest: sums of the same votes in
# another order differ by about 1e-16 in each sweep, and many sweeps may amplify that.
NEAR = 1e-9
NEAR_SINGLE = 1e-6  # for float32


def decide(
    phi: NDArray[np.float64],
    preference: NDArray[np.int64],  # [K] the classes, the preferred one first
    label: NDArray[np.int32],  # OUT [T]
    tied: NDArray[np.bool_],  # OUT [T]
) -> None:
    """Choose the most probable class; if several are tied, the preferred one of them."""
    near = NEAR_SINGLE if phi.itemsize == 4 else NEAR
    version = few_votes.decide if phi.size <= few_votes.MAX_VOTES else decide_many
    version(phi, near, preference, label, tied)


@kernel
def decide_many(
    phi: NDArray[np.float64],
    near: float,
    preference: NDArray[np.int64],
    label: NDArray[np.int32],
    tied: NDArray[np.bool_],
) -> None:
    for i in range(phi.shape[0]):
        highest = phi[i, 0]
        for k in range(1, phi.shape[1]):
            highest = max(highest, phi[i, k])
        least = highest * (1.0 - near)
        best, many = -1, False
        for k in preference:
            if phi[i, k] >= least:
                best, many = (k, many) if best < 0 else (best, True)
        label[i], tied[i] = best, many


def preference_of(totals: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the classes by summed posterior, the most frequent first. Ties up to rounding keep their order."""
    return np.argsort(-np.round(totals / totals.sum(), 9), kind="stable")
