"""The votes of one annotator, compared with the labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.api.result import Result
from finegold.votes.annotations import Annotations

__all__ = ["votes_by", "worst_first"]

Codes = NDArray[np.int64]


def votes_by(votes: Annotations, annotator: int) -> tuple[Codes, Codes]:
    """Return the tasks that an annotator voted on, and the classes that they voted for."""
    places = np.flatnonzero(votes.annotator == annotator)
    cells = np.searchsorted(votes.cell_ptr, places, side="right") - 1
    tasks = np.searchsorted(votes.task_ptr, cells, side="right") - 1
    return tasks.astype(np.int64), votes.cell_class[cells].astype(np.int64)


def worst_first(result: Result, tasks: Codes, votes: Codes, *, only_mistakes: bool) -> tuple[Codes, Codes]:
    """Sort votes: those for another class than the label first, and among them those with the surest label."""
    is_mistake = result.label_codes[tasks] != votes
    sure = result.confidence[tasks]
    order = np.lexsort((np.where(is_mistake, -sure, sure), ~is_mistake))
    if only_mistakes:
        order = order[: int(np.count_nonzero(is_mistake))]
    return tasks[order], votes[order]
