"""PTBCC on the GPU. See ptbcc.cu and ptbcc_many.cu, and finegold/kernels/ptbcc.py for the
equations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.kernels import Floats, Votes
from finegold.kernels.cuda import FIXED_ONE, THREADS, add, compiled, cupy, grid, types_of
from finegold.kernels.ptbcc import Model

# whose sums a thread can hold
MAX_FEW_CLASSES = 10
# of the shared memory that every device has
SHARED_BYTES = 40_000


def start(
    votes: Votes, phi: Any, v: Floats, raw_pi: Floats, raw_v: Floats, pi: Floats, confusion: Floats
) -> None:
    cp, (n_classes, n_prototypes, _) = cupy(), v.shape
    kernel, blocks, rows = _kernel("start", n_classes, n_prototypes - 1, votes.cell_class, phi)
    by_annotator = [cp.zeros(raw_pi.shape, dtype=np.uint64) for _ in range(2)]
    sums = cp.zeros((rows, 2 * v.size))
    given = (phi, cp.asarray(v, dtype=np.float32), *by_annotator, sums)
    kernel((blocks,), (THREADS,), (np.uint32(len(phi)), *votes, *given))
    for total, fixed in zip((raw_pi, pi), by_annotator, strict=True):
        add(total, fixed / FIXED_ONE)
    _share_out(sums.sum(axis=0).get(), (raw_v, confusion))


def sweep(
    K: Any, D: Any, votes: Votes, known: Any, model: Model, phi: Any, sums: tuple[Floats, ...]
) -> tuple[float, float, float]:
    """Return the largest change of phi, the sum of its log-normalisers, and theta's part of the
    entropy.
    """
    tau, pi, total, confusion = sums
    parameters = [cupy().asarray(values, dtype=np.float32) for values in model]
    by_annotator, change, of_blocks = launch(votes, known, parameters, phi)
    add(pi, by_annotator / FIXED_ONE)
    log_norm, entropy = _share_out(of_blocks.sum(axis=0).get(), (tau, total, confusion))
    return float(change.view(np.float32).get()[0]), float(log_norm), float(entropy)


def launch(votes: Votes, known: Any, parameters: list[Any], phi: Any) -> tuple[Any, Any, Any]:
    """Run the kernel on the device. Return fixed-point sums by annotator, the largest change, and
    rows of sums.
    """
    cp, (log_tau, log_odds_pi, base, diff) = cupy(), parameters
    n_classes, n_others = len(log_tau), diff.shape[1]
    kernel, blocks, rows = _kernel("sweep", n_classes, n_others, votes.cell_class, phi)
    by_annotator, change = (
        cp.zeros(log_odds_pi.shape, dtype=np.uint64),
        cp.zeros(1, dtype=np.uint32),
    )
    sums = cp.zeros((rows, n_classes + base.size + diff.size + 2))
    arguments = [np.uint32(len(phi)), *votes, known, *parameters, phi, by_annotator, change, sums]
    if not _is_few(n_classes, n_others):
        # theta of every cell
        arguments.append(cp.empty((len(votes.cell_class), n_others), dtype=np.float32))
    kernel((blocks,), (THREADS,), tuple(arguments))
    return by_annotator, change, sums


def _kernel(
    name: str, n_classes: int, n_others: int, cell_class: Any, phi: Any
) -> tuple[Any, int, int]:
    """Return the kernel, its number of blocks, and the number of rows of sums that it writes."""
    few, blocks = _is_few(n_classes, n_others), grid(len(phi))
    files = ("ptbcc.cuh", "ptbcc.cu" if few else "ptbcc_many.cu")
    kernel = compiled(files, name, fast=True, K=n_classes, D=n_others, **types_of(cell_class, phi))
    return kernel, blocks, blocks if few else 1


def _is_few(n_classes: int, n_others: int) -> bool:
    """Return whether registers and shared memory can hold what a thread keeps for every class."""
    per_thread = 4 * n_classes * (2 * n_others + 1)
    return n_classes <= MAX_FEW_CLASSES and per_thread * THREADS <= SHARED_BYTES


def _share_out(sums: Floats, arrays: tuple[Floats, ...]) -> Floats:
    """Add the sums to the arrays in turn. Return the rest."""
    for array in arrays:
        array += sums[: array.size].reshape(array.shape)
        sums = sums[array.size :]
    return sums
