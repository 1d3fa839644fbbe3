"""The votes behind a result, and known truths as codes."""

from __future__ import annotations

from typing import Any

from finegold.errors import InputError
from finegold.io.read import match_truth
from finegold.results import data
from finegold.results.data import ResultData
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes

__all__ = ["truth_codes", "votes_of"]


def votes_of(result: ResultData | Annotations) -> Annotations:
    """Return the votes of a result; votes are returned as they are."""
    return result if isinstance(result, Annotations) else data.votes_of(result)


def truth_codes(result: ResultData | Annotations, truth: Any, *, with_gold: bool = False) -> Codes:
    """[T] Return the true class of each task, coded as in `finegold.votes.key.Key`.

    Truths of tasks with a gold truth are left out unless `with_gold` is set: every method knows their labels.
    """
    key = match_truth(result, truth)
    codes = key.codes if with_gold else key.without(result.gold)
    if not (codes != MISSING).any():
        raise InputError("no task has a truth to judge by; truths given as gold taught the method and do not count")
    return codes
