"""The anchored vote on the GPU. See anchored.cu, and finegold/methods/anchored.py for the
equations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.kernels import Floats, Votes
from finegold.kernels.anchored import GOLD_WEIGHT, Model
from finegold.kernels.cuda import THREADS, add, compiled, cupy, grid, types_of
from finegold.kernels.cuda.by_annotator import sum_by_annotator


def start(few: bool, votes: Votes, known: Any, phi: Any, n: Floats, pairs: Floats) -> None:
    cp, blocks = cupy(), grid(len(phi))
    kernel = compiled(("anchored.cu",), "start", K=phi.shape[1], **types_of(votes.cell_class, phi))
    sums = cp.empty((blocks, 2))
    kernel((blocks,), (THREADS,), (np.uint32(len(phi)), votes.task_ptr, votes.cell_ptr, sums))
    add(n, sum_by_annotator(votes, _taught(phi, known), len(n)))
    pairs += sums.sum(axis=0).get()


def sweep(few: bool, votes: Votes, known: Any, model: Model, phi: Any, sums: Any) -> float:
    cp, blocks, K, (tau, n, excess) = cupy(), grid(len(phi)), phi.shape[1], sums
    kernel = compiled(("anchored.cu",), "sweep", K=K, **types_of(votes.cell_class, phi))
    parameters = [cp.asarray(values) for values in model]
    shares, change, of_blocks = (
        cp.empty_like(phi),
        cp.zeros(1, dtype=np.uint32),
        cp.empty((blocks, K + 2)),
    )
    kernel(
        (blocks,),
        (THREADS,),
        (np.uint32(len(phi)), *votes, known, *parameters, phi, shares, change, of_blocks),
    )
    totals = of_blocks.sum(axis=0).get()
    tau += totals[:K]
    add(n, sum_by_annotator(votes, _taught(shares, known), len(n)))
    excess += totals[K:]
    return float(change.view(np.float32).get()[0])


def _taught(shares: Any, known: Any) -> Any:
    """Return the shares with rows of known truths counted more often."""
    gold = known >= 0
    return (
        shares * cupy().where(gold, GOLD_WEIGHT, 1.0).astype(shares.dtype)[:, None]
        if bool(gold.any())
        else shares
    )
