"""Order the tasks by how much a person's judgement is expected to improve the labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from karat.api.result import Result
from karat.studio.browse import Browser
from karat.votes.encoding import MISSING

__all__ = ["by_gain", "to_judge"]


def by_gain(result: Result) -> NDArray[np.int64]:
    """Return all tasks, sorted by the expected gain of knowing their truth, the largest first.

    A label drawn from the posterior phi is right with probability sum_k phi_k^2, and with probability 1 once the
    truth is known. Ties are broken by the number of votes, because a truth then tells about more annotators.
    """
    chance = np.einsum("ik,ik->i", result.posterior, result.posterior)
    return np.lexsort((-result.votes_per_task, chance))


def to_judge(shown: Browser, given: Mapping[int, int], most: int) -> tuple[list[int], int]:
    """Return the first `most` tasks without a truth, and the number of all tasks without one."""
    is_open = shown.result.gold == MISSING
    is_open[list(given)] = False
    order = shown.view(by_gain)
    found = order[is_open[order]]
    return found[:most].tolist(), int(np.count_nonzero(is_open))
