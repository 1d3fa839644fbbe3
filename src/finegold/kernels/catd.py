"""One weighted vote of CATD over a block of tasks: scores, labels (ties are drawn at random or
split) and errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.kernels import Floats, Known, Votes
from finegold.kernels.jit import ONE, ZERO, kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)


@kernel
def mix(x: np.uint64) -> np.uint64:
    """Hash an integer with the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    x = (x ^ (x >> SHIFT_1)) * MIX_1
    x = (x ^ (x >> SHIFT_2)) * MIX_2
    return x ^ (x >> SHIFT_3)


@kernel
def draw(seed: np.uint64, iteration: np.uint64, task: np.uint64, n: np.uint64) -> np.uint64:
    """Return a random number below n that depends only on the arguments, not on blocks, threads or
    other draws.
    """
    return mix(mix(mix(seed + GOLDEN) + iteration * GOLDEN) + task * GOLDEN) % n


@kernel
def vote(
    K: Any, votes: Votes, known: Known, q: Floats, split: bool, seed: np.uint64, iteration: np.uint64,
    phi: Floats, sum_z: Floats, error: Floats,
) -> tuple[float, int]:  # fmt: skip
    """Return the largest change of phi, the normalised scores, and the number of labels drawn at
    random.
    """
    # q [W] are weights. `split` divides tied labels evenly, else one class is drawn. Labels are
    # added to sum_z [K], and 1 - z of the classes voted for to error [W].
    task_ptr, cell_ptr, cell_class, annotator = votes
    change, lots = 0.0, 0
    score, z = np.empty(len(K)), np.empty(len(K))
    for i in range(np.uint64(task_ptr.size) - ONE):
        first, end = task_ptr[i], task_ptr[i + ONE]
        if known[i] >= 0:
            z[:] = phi[i]
        else:
            score[:] = 0.0
            for c in range(first, end):
                label = np.uint64(cell_class[c])
                for ballot in range(cell_ptr[c], cell_ptr[c + ONE]):
                    score[label] += q[np.uint64(annotator[ballot])]
            total, best, winners = score.sum(), score[ZERO], 0
            for k in range(np.uint64(len(K))):
                p = score[k] / total
                change = max(change, abs(p - phi[i, k]))
                phi[i, k] = p
                best = max(best, score[k])
            for k in range(np.uint64(len(K))):
                z[k] = np.float64(score[k] == best)
                winners += score[k] == best
            if winners > 1 and split:
                z /= winners
            elif winners > 1:
                # `first` identifies the task
                chosen, seen = draw(seed, iteration, first, np.uint64(winners)), ZERO
                for k in range(np.uint64(len(K))):
                    if z[k] > 0.0:
                        z[k] = np.float64(seen == chosen)
                        seen += ONE
                lots += 1
        for k in range(np.uint64(len(K))):
            sum_z[k] += z[k]
        for c in range(first, end):
            wrong = 1.0 - z[np.uint64(cell_class[c])]
            for ballot in range(cell_ptr[c], cell_ptr[c + ONE]):
                error[np.uint64(annotator[ballot])] += wrong
    return change, lots
