"""One answer per judge and item: verdicts in both orders and repeats are merged, and torn ones are kept as doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.readers.judge_logs import JudgeLog
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes

__all__ = ["Answers", "Torn", "merge"]

Torn = Literal["tie", "half"]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of judges, one per judge and item (P in all).

    An answer is torn if no class has most of the judge's verdicts on the item: A in one order and B in the other. It is
    a tie, or half an answer for each (`share`). Votes that a method sees are whole, so half answers are no votes there:
    they would cancel.
    """

    judge: Integers  # [P]
    item: Integers  # [P]
    share: Floats  # [P, K] how the answer is divided among the classes
    n: Integers  # [P] number of verdicts
    is_torn: NDArray[np.bool_]  # [P]
    names: list[Any]  # [K] classes that occur
    votes: Annotations
    voted: Integers  # [number of tasks] the item of each task of the votes
    gold: Codes  # [T] with the codes of `names`


def merge(log: JudgeLog, torn: Torn = "tie") -> Answers:
    """Merge the verdicts of each judge on each item."""
    if torn not in get_args(Torn):
        raise InputError(f'torn must be "tie" or "half", not {torn!r}')
    used = log.answer != MISSING
    if not used.any():
        raise InputError("every call of the log failed, so there is no verdict to judge by")
    key = log.judge[used].astype(np.int64) * log.n_items + log.item[used]
    pairs, place = np.unique(key, return_inverse=True)
    K = len(log.class_names)
    counts = np.bincount(place * K + log.answer[used], minlength=len(pairs) * K).reshape(len(pairs), K)
    share, is_torn = _shares(counts, tie=K - 1 if torn == "tie" and log.kind == "pairwise" else None)
    kept = np.flatnonzero(share.any(axis=0) | np.isin(np.arange(K), log.gold))
    share, gold = share[:, kept], _renumbered(log.gold, kept, K)
    judge, item = pairs // log.n_items, pairs % log.n_items
    names = [log.class_names[code] for code in kept]
    votes, voted = _votes(log, judge, item, share, gold, names)
    return Answers(judge, item, share, counts.sum(axis=1), is_torn, names, votes, voted, gold)


def _shares(counts: Integers, tie: int | None) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the answer of each pair, and whether it is torn."""
    is_top = counts == counts.max(axis=1, keepdims=True)
    is_torn = is_top.sum(axis=1) > 1
    share = is_top / is_top.sum(axis=1, keepdims=True)
    if tie is not None:
        share[is_torn] = np.arange(counts.shape[1]) == tie
    return share, is_torn


def _renumbered(gold: Codes, kept: Integers, K: int) -> Codes:
    new = np.full(K + 1, MISSING, np.int32)  # the last entry is for MISSING
    new[kept] = np.arange(len(kept))
    return new[gold]


def _votes(
    log: JudgeLog, judge: Integers, item: Integers, share: Floats, gold: Codes, names: list[Any]
) -> tuple[Annotations, Integers]:
    """Return whole answers as votes, and the item of each task."""
    whole = share.max(axis=1) == 1
    if not whole.any():
        raise InputError("every answer of every judge is torn, so there is nothing to label by (see --torn)")
    label = np.where(whole, share.argmax(axis=1), MISSING).astype(np.int32)
    voted = np.flatnonzero(np.bincount(item[whole], minlength=log.n_items))
    known = np.flatnonzero(gold[voted] != MISSING)
    votes = Annotations.from_codes(
        item.astype(np.int32),
        judge.astype(np.int32),
        label,
        _objects(log.item_names),
        _objects(log.judge_names),
        _objects(names),
        gold=(voted[known].astype(np.int32), gold[voted[known]]),
    )
    return votes, voted


def _objects(values: list[Any]) -> NDArray[Any]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
