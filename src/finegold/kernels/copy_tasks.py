"""Copy tasks with all of their votes from one set of votes to another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import ONE, kernel

__all__ = ["copy_tasks"]


@kernel
def copy_tasks(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    tasks: NDArray[np.uint64],  # IN [n] the tasks to copy
    places: NDArray[np.uint64],  # IN [n] their indices in the target
    new_code: NDArray[np.int32],  # IN [W] codes of the annotators in the target
    to_task_ptr: NDArray[np.uint64],  # IN
    first_vote: NDArray[np.uint64],  # IN first vote of each task in the target
    to_cell_ptr: NDArray[np.int64],  # OUT, all but the last
    to_cell_class: Any,  # OUT
    to_annotator: NDArray[np.int32],  # OUT
) -> None:
    for n in range(np.uint64(tasks.size)):
        cell, vote = to_task_ptr[places[n]], first_vote[places[n]]
        for c in range(task_ptr[tasks[n]], task_ptr[tasks[n] + ONE]):
            to_cell_ptr[cell] = vote
            to_cell_class[cell] = cell_class[c]
            cell += ONE
            for v in range(cell_ptr[c], cell_ptr[c + ONE]):
                to_annotator[vote] = new_code[annotator[v]]
                vote += ONE
