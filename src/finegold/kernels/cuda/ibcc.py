"""Expectation propagation for IBCC on the GPU. See ibcc.cu, and finegold/kernels/ibcc.py for the equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.cuda import THREADS, compiled, cupy, grid, types_of
from finegold.kernels.cuda.by_annotator import sum_by_slot

Floats = NDArray[np.float64]


def messages(n_classes: int, task_ptr: Any, cell_ptr: Any, cell_class: Any, annotator: Any) -> dict[str, Any]:
    """Return the initial (zero) messages of votes and tasks, and the index of the votes."""
    cp, n_votes, n_tasks = cupy(), len(annotator), len(task_ptr) - 1
    slot, first_vote = cp.empty(n_votes, dtype=np.uint32), cp.empty(n_tasks + 1, dtype=np.uint32)
    delta, eps = cp.zeros(n_votes * n_classes), cp.zeros((n_tasks, n_classes))
    kernel = compiled(("ibcc.cu",), "index_votes", K=n_classes, **types_of(cell_class, eps))
    votes = (task_ptr, cell_ptr, cell_class, annotator)
    kernel((grid(n_tasks),), (THREADS,), (np.uint32(n_tasks), *votes, slot, first_vote))
    return {"first_vote": first_vote, "task": cp.empty(0), "slot": slot, "delta": delta, "eps": eps}


def sweep(
    K: Any,
    first_vote: Any,
    task: Any,  # unused: one thread processes a whole task
    slot: Any,
    known: Any,
    g: Floats,
    a: Floats,
    A: Floats,
    delta: Any,
    eps: Any,
    phi: Any,
    sum_eps: Floats,
    sum_delta: Floats,
) -> float:
    """Return the largest change of phi."""
    cp, blocks = cupy(), grid(len(phi))
    kernel = compiled(("ibcc.cu",), "sweep", K=len(K), **types_of(slot, phi))
    parameters = [cp.asarray(values) for values in (g, a, A)]
    change, sums = cp.zeros(1, dtype=np.uint32), cp.empty((blocks, len(K)))
    kept = (delta, eps, phi, change, sums)
    kernel((blocks,), (THREADS,), (np.uint32(len(phi)), first_vote, slot, known, *parameters, *kept))
    sum_eps += sums.sum(axis=0).get()
    sum_delta += sum_by_slot(slot, delta.reshape(-1, len(K)), len(a)).get()
    return float(change.view(np.float32).get()[0])
