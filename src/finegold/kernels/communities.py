"""Find communities of annotators by the local moves of the Louvain method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import kernel

__all__ = ["move"]


@kernel
def move(
    ptr: NDArray[np.int64],  # IN [W+1] first neighbour of each annotator
    neighbour: NDArray[np.int64],  # IN
    gain: NDArray[np.float64],  # IN gain of a pair that is in one group; may be negative
    group: NDArray[np.int64],  # IN/OUT [W]
    most_sweeps: int,
) -> None:
    """Move each annotator into the group with the largest gain. Each move increases the total gain, so this ends."""
    total = np.zeros(group.size)
    for _ in range(most_sweeps):
        moved = 0
        for j in range(group.size):
            for at in range(ptr[j], ptr[j + 1]):
                total[group[neighbour[at]]] += gain[at]
            best, most = group[j], max(total[group[j]], 0.0)
            for at in range(ptr[j], ptr[j + 1]):
                other = group[neighbour[at]]
                if total[other] > most:
                    best, most = other, total[other]
            moved += best != group[j]
            for at in range(ptr[j], ptr[j + 1]):
                total[group[neighbour[at]]] = 0.0
            group[j] = best
        if moved == 0:
            return
