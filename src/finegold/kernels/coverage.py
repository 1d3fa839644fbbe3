"""Count the tasks on which annotators vote, vote together, and disagree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import ONE, kernel

__all__ = ["count_tasks"]


@kernel
def count_tasks(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    annotator: NDArray[np.uint32],
    voted: NDArray[np.int64],  # OUT [W] tasks on which the annotator votes
    shared: NDArray[np.int64],  # OUT [W] of these, tasks on which another annotator votes
    disputed: NDArray[np.int64],  # OUT [W] of these, tasks on which another annotator votes differently
) -> tuple[int, int]:
    """Return the number of tasks with votes of several annotators, and of those on which they disagree.

    If a task has votes for two classes and of two annotators, each of its annotators has a vote that differs from
    another annotator's vote, even if an annotator votes more than once.
    """
    here = np.zeros(voted.size, np.bool_)
    n_shared = n_disputed = 0
    for i in range(np.uint64(task_ptr.size) - ONE):
        first, end = cell_ptr[task_ptr[i]], cell_ptr[task_ptr[i + ONE]]
        voters = 0
        for v in range(first, end):
            voters += not here[annotator[v]]
            here[annotator[v]] = True
        is_shared = voters > 1
        is_disputed = is_shared and task_ptr[i + ONE] - task_ptr[i] > ONE
        n_shared += is_shared
        n_disputed += is_disputed
        for v in range(first, end):
            j = annotator[v]
            if here[j]:
                here[j] = False
                voted[j] += 1
                shared[j] += is_shared
                disputed[j] += is_disputed
    return n_shared, n_disputed
