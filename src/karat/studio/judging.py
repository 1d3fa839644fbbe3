"""Which tasks a person should judge next."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from karat.encoding import MISSING
from karat.studio.browse import Browser

__all__ = ["to_judge"]


def to_judge(shown: Browser, given: Mapping[int, int], most: int) -> tuple[list[int], int]:
    """Tasks without a truth, those first for which a truth helps most; and how many there are in all."""
    is_open = shown.result.gold == MISSING
    is_open[list(given)] = False
    order = shown.by_need
    found = order[is_open[order]]
    return found[:most].tolist(), int(np.count_nonzero(is_open))
