"""Expectation propagation for IBCC on the GPU. See ibcc.cu, and finegold/kernels/ibcc.py for the
equations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.kernels import Floats, Votes
from finegold.kernels.cuda import THREADS, add, compiled, cupy, grid, types_of
from finegold.kernels.cuda.by_annotator import sum_by_slot
from finegold.kernels.ibcc import Messages


def first_messages(n_classes: int, votes: Votes) -> Messages:
    """Return the initial (zero) messages of votes and tasks, and the index of the votes."""
    cp, n_votes, n_tasks = cupy(), len(votes.annotator), len(votes.task_ptr) - 1
    slot, first_vote = cp.empty(n_votes, dtype=np.uint32), cp.empty(n_tasks + 1, dtype=np.uint32)
    delta, eps = cp.zeros(n_votes * n_classes), cp.zeros((n_tasks, n_classes))
    kernel = compiled(("ibcc.cu",), "index_votes", K=n_classes, **types_of(votes.cell_class, eps))
    kernel((grid(n_tasks),), (THREADS,), (np.uint32(n_tasks), *votes, slot, first_vote))
    # one thread processes a whole task
    return Messages(first_vote, cp.empty(0), slot, delta, eps)


def sweep(
    K: Any, known: Any, messages: Messages, model: tuple[Floats, ...], phi: Any, sums: Any
) -> float:
    cp, blocks, (sum_eps, sum_delta) = cupy(), grid(len(phi)), sums
    first_vote, _, slot, delta, eps = messages
    kernel = compiled(("ibcc.cu",), "sweep", K=len(K), **types_of(slot, phi))
    parameters = [cp.asarray(values) for values in model]
    change, of_blocks = cp.zeros(1, dtype=np.uint32), cp.empty((blocks, len(K)))
    kept = (delta, eps, phi, change, of_blocks)
    kernel(
        (blocks,), (THREADS,), (np.uint32(len(phi)), first_vote, slot, known, *parameters, *kept)
    )
    sum_eps += of_blocks.sum(axis=0).get()
    add(sum_delta, sum_by_slot(slot, delta.reshape(-1, len(K)), len(sum_delta)))
    return float(change.view(np.float32).get()[0])
