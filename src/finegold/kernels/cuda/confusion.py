"""Methods with a confusion matrix per annotator on the GPU. See confusion.cu, and
finegold/kernels/confusion.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.kernels import Floats, Votes
from finegold.kernels.cuda import THREADS, add, compiled, cupy, grid, types_of
from finegold.kernels.cuda.by_annotator import sum_by_annotator


def counts(K: Any, votes: Votes, phi: Any, n: Floats) -> None:
    add(n, sum_by_annotator(votes, phi, len(n)))


def sweep(
    K: Any,
    votes: Votes,
    known: Any,
    log_tau: Floats,
    log_v: Floats,
    phi: Any,
    tau: Floats,
    n: Floats,
) -> tuple[float, float]:
    cp, blocks = cupy(), grid(len(phi))
    kernel = compiled(("confusion.cu",), "sweep", K=len(K), **types_of(votes.cell_class, phi))
    change, sums = cp.zeros(1, dtype=np.uint32), cp.empty((blocks, len(K) + 1))
    parameters = (cp.asarray(log_tau), cp.asarray(log_v))
    kernel(
        (blocks,), (THREADS,), (np.uint32(len(phi)), *votes, known, *parameters, phi, change, sums)
    )
    *of_classes, log_norm = sums.sum(axis=0).get()
    tau += of_classes
    add(n, sum_by_annotator(votes, phi, len(n)))
    return float(change.view(np.float32).get()[0]), float(log_norm)
