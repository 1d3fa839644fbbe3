"""Pairs of votes with a known agreement."""

from __future__ import annotations

import numpy as np

from finegold.insight.correlation import Pairs


def pairs_of(*agreed: tuple[int, int], expected: float = 0.5) -> Pairs:
    """(tasks, of them agreed) of annotators 0 and 1, of 2 and 3, and so on."""
    one = np.repeat(2 * np.arange(len(agreed)), [n for n, _ in agreed])
    agree = np.concatenate([np.arange(n) < k for n, k in agreed])
    return Pairs(
        one, one + 1, agree.astype(float), np.full(len(one), expected), np.zeros(len(one), np.bool_)
    )
