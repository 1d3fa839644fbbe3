"""Which tasks a person should judge next: the gain of `karat next`, for somebody who is always right."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from karat.api.result import Result
from karat.studio.browse import Browser
from karat.votes.encoding import MISSING

__all__ = ["by_gain", "to_judge"]


def by_gain(result: Result) -> NDArray[np.int64]:
    """All tasks, those first of which a truth says most; of equals those with more votes, as it tells of their voters.

    A label drawn from the posterior phi is right with probability sum_k phi_k^2, and with 1 once the truth is known.
    """
    chance = np.einsum("ik,ik->i", result.posterior, result.posterior)
    return np.lexsort((-result.votes_per_task, chance))


def to_judge(shown: Browser, given: Mapping[int, int], most: int) -> tuple[list[int], int]:
    """The first tasks without a truth, and how many there are in all."""
    is_open = shown.result.gold == MISSING
    is_open[list(given)] = False
    order = shown.view(by_gain)
    found = order[is_open[order]]
    return found[:most].tolist(), int(np.count_nonzero(is_open))
