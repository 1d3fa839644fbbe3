"""Metrics with crowd-kit's names: `karat.crowdkit.metrics.data` and `karat.crowdkit.metrics.workers`."""

from __future__ import annotations

from karat.crowdkit.metrics import data, workers

__all__ = ["data", "workers"]
