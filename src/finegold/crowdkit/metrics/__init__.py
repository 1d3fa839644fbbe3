"""Metrics with crowd-kit's names: `finegold.crowdkit.metrics.data` and
`finegold.crowdkit.metrics.workers`.
"""

from __future__ import annotations

from finegold.crowdkit.metrics import data, workers

__all__ = ["data", "workers"]
