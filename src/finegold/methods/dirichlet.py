"""Dirichlet distributions, as the variational methods need them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.numerics import expected_logs

__all__ = ["Dirichlets", "dirichlets", "mean"]

Floats = NDArray[np.float64]


class Dirichlets(NamedTuple):
    """Dirichlet distributions along the last axis."""

    counts: Floats
    log: Floats  # E log p, equations (5)-(7)
    log_beta: float  # sum of the log-normalisers log B(counts)


def dirichlets(counts: Floats) -> Dirichlets:
    rows = np.ascontiguousarray(counts).reshape(-1, counts.shape[-1])
    logs = np.empty_like(rows)
    log_beta = expected_logs(rows, logs)
    return Dirichlets(counts, logs.reshape(counts.shape), log_beta)


def mean(counts: Floats) -> Floats:
    result: Floats = counts / counts.sum(axis=-1, keepdims=True)
    return result
