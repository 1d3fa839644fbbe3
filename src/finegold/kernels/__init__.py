"""Functions on arrays, most of them compiled.

Kernels do not handle names, files, objects or random state. Indices are unsigned, so that Numba
need not test for negative ones in every access. There are T tasks, W annotators, K classes; i is a
task, j an annotator, k a truth, l or `label` the class of a vote. Everywhere,

    K      is an object as long as there are classes (Block.classes): a tuple if the compiler shall
           know its length
    known  [T] are the truths, -1 where they are unknown
    phi    [T, K] are posteriors, which a sweep overwrites, except those of known truths
    tau    [K] is the sum of posteriors over tasks
    n      [W, L, K] counts votes by annotator, class voted for, truth: a vote reads and writes K
           adjacent numbers
    log_v  [W, L, K] are log-probabilities of votes

Sums are added to what their arrays hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Known = NDArray[np.int32]


class Votes(NamedTuple):
    """The votes of a range of tasks. Pointers are absolute: cell c of the range is cell c of
    `cell_class`.
    """

    # [n+1] first cell of each task
    task_ptr: NDArray[np.uint64]
    # first vote of each cell
    cell_ptr: NDArray[np.uint64]
    cell_class: NDArray[np.uint8] | NDArray[np.uint16]
    annotator: NDArray[np.uint32]
