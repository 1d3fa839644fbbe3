"""PTBCC on the GPU. See ptbcc.cu, and karat/kernels/ptbcc.py for the equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.errors import InputError
from karat.kernels.cuda import MOST_CLASSES, compiled, cupy, grid

__all__ = ["launch", "sweep"]

Floats = NDArray[np.float64]

FIXED_ONE = 2.0**32  # of the sums by annotator
THREADS = 128


def sweep(
    K: Any,
    D: Any,
    task_ptr: Any,
    cell_ptr: Any,
    cell_class: Any,
    annotator: Any,
    known: Any,
    log_tau: Floats,
    log_odds_pi: Floats,
    odds_pi: Floats,
    base: Floats,
    diff: Floats,
    phi: Any,
    tau: Floats,
    pi: Floats,
    total: Floats,
    confusion: Floats,
    step: int = 0,  # the device needs neither runs of tasks
    most_votes: int = 0,  # nor their scratch
) -> tuple[float, float, float]:
    """-> biggest change of phi, sum of log-normalisers of phi, theta's part of the entropy."""
    cp = cupy()
    parameters = [cp.asarray(values, dtype=np.float32) for values in (log_tau, log_odds_pi, base, diff)]
    votes = (task_ptr, cell_ptr, cell_class, annotator, known)
    by_annotator, change, sums = launch(votes, parameters, phi)
    pi += by_annotator.get() / FIXED_ONE
    return (float(change.view(np.float32).get()[0]), *_share_out(sums.sum(axis=0).get(), (tau, total, confusion)))


def launch(votes: tuple[Any, ...], parameters: list[Any], phi: Any) -> tuple[Any, Any, Any]:
    """The kernel itself, everything on the device. -> fixed-point sums by annotator, biggest change, sums by block."""
    cp = cupy()
    log_tau, log_odds_pi, base, diff = parameters
    n_classes, n_tasks = len(log_tau), len(phi)
    if n_classes > MOST_CLASSES:
        raise InputError(f"the GPU kernels take up to {MOST_CLASSES} classes, not {n_classes}")
    wide = "unsigned char" if votes[2].dtype == np.uint8 else "unsigned short"
    kernel = compiled("ptbcc.cu", "sweep", K=n_classes, D=diff.shape[1], THREADS=THREADS, CLASS=wide)
    blocks = grid(n_tasks, THREADS)
    by_annotator = cp.zeros(log_odds_pi.shape, dtype=np.uint64)
    change = cp.zeros(1, dtype=np.uint32)
    sums = cp.empty((blocks, n_classes + base.size + diff.size + 2))
    kernel((blocks,), (THREADS,), (np.uint32(n_tasks), *votes, *parameters, phi, by_annotator, change, sums))
    return by_annotator, change, sums


def _share_out(sums: Floats, arrays: tuple[Floats, ...]) -> tuple[float, float]:
    """Add the sums to the arrays in turn. -> the two numbers at the end."""
    first = 0
    for array in arrays:
        array += sums[first : first + array.size].reshape(array.shape)
        first += array.size
    return float(sums[first]), float(sums[first + 1])
