"""Dirichlet distributions, as the variational methods need them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

__all__ = ["expected_log", "log_beta", "mean"]

Floats = NDArray[np.float64]


def expected_log(counts: Floats) -> Floats:
    """E log p for p ~ Dirichlet(counts), along the last axis: equations (5)-(7)."""
    result: Floats = digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True))
    return result


def log_beta(counts: Floats) -> Floats:
    """log B(counts), the normaliser of a Dirichlet, along the last axis."""
    result: Floats = gammaln(counts).sum(axis=-1) - gammaln(counts.sum(axis=-1))
    return result


def mean(counts: Floats) -> Floats:
    result: Floats = counts / counts.sum(axis=-1, keepdims=True)
    return result
