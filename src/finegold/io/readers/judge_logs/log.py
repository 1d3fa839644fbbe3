"""A judge log as arrays: who judged which item, what the verdict was with the swap undone, and what failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.readers.truth import read_truth
from finegold.io.readers.verdicts import FAILURES
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import to_list

__all__ = ["A_FIRST", "B_FIRST", "TIE", "JudgeLog", "Kind", "with_gold"]

Kind = Literal["pairwise", "pointwise"]
A_FIRST, B_FIRST = 0, 1  # which side of the item was shown first; -1 if that is not known
TIE = "tie"


@dataclass(frozen=True, eq=False)
class JudgeLog:
    """Verdicts of LLM judges: the result of `finegold.judges.read`.

    Attributes
    ----------
    kind : {"pairwise", "pointwise"}
        Whether verdicts compare two answers, or judge one.
    item, judge : ndarray of int of shape (n_verdicts,)
        Positions in `item_names` and `judge_names`.
    answer : ndarray of int of shape (n_verdicts,)
        The verdict as a position in `class_names`, with the swap undone; -1 if the call failed.
    first : ndarray of int of shape (n_verdicts,)
        Which side of the item was shown first: 0 for the first class, 1 for the second, -1 if that is not known.
    failure : ndarray of int of shape (n_verdicts,)
        0, or why the call failed: 10 error, 11 refusal, 12 unreadable text, 13 empty.
    cost : ndarray of float of shape (n_verdicts,)
        The price of each call; NaN where there is none.
    item_names, judge_names, class_names : list
        The names.
    system_names : list
        The systems that are compared; empty if the log does not name them.
    system_a, system_b : ndarray of int of shape (n_items,)
        The systems behind the first and the second class, as positions in `system_names`.
    gold : ndarray of int of shape (n_items,)
        The known truth of each item, as a position in `class_names`; -1 where there is none.
    is_ordered : bool
        Whether classes are numbers in ascending order.
    notes : list of str
        What a user should know about how the log was read.
    """

    kind: Kind
    item: Codes
    judge: Codes
    answer: Codes
    first: NDArray[np.int8]
    failure: NDArray[np.int8]
    cost: NDArray[np.float64]
    item_names: list[Any]
    judge_names: list[str]
    class_names: list[Any]
    system_names: list[str]
    system_a: Codes
    system_b: Codes
    gold: Codes
    is_ordered: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def n_verdicts(self) -> int:
        """The number of calls, failed ones included."""
        return len(self.item)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.item_names)

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return len(self.judge_names)

    @property
    def n_failed(self) -> int:
        """The number of calls that failed."""
        return int((self.answer == MISSING).sum())

    def __repr__(self) -> str:
        return (
            f"JudgeLog({self.kind}, {self.n_verdicts:,} verdicts, {self.n_items:,} items, {self.n_judges:,} judges, "
            f"{self.n_failed:,} failed)"
        )

    def failures(self) -> dict[str, dict[str, int]]:
        """Return the number of failed calls of each judge, by reason.

        Returns
        -------
        dict
            Judge -> reason (error, refusal, unreadable, empty) -> number of calls.
        """
        counts = {
            reason: np.bincount(self.judge[self.failure == code], minlength=self.n_judges)
            for code, reason in FAILURES.items()
        }
        return {
            name: {reason: int(count[j]) for reason, count in counts.items() if count[j]}
            for j, name in enumerate(self.judge_names)
        }


def with_gold(log: JudgeLog, gold: Any) -> JudgeLog:
    """Return the log with these truths: a file, a data frame, or a mapping of items to classes or systems."""
    items, truths = map(to_list, read_truth(gold))
    place = {str(name): code for code, name in enumerate(log.item_names)}
    codes = np.full(log.n_items, MISSING, np.int32)
    n_unknown = 0
    for item, truth in zip(items, truths, strict=True):
        code = place.get(str(item))
        if code is None:
            n_unknown += 1
        else:
            codes[code] = _class(log, code, str(truth))
    if n_unknown == len(items):
        raise InputError(
            f"none of the {len(items):,} gold truths belongs to an item of the log: the gold has {items[:1]}, "
            f"the log has {log.item_names[:1]}; write items alike"
        )
    more = [f"{n_unknown:,} gold truths belong to no item of the log and are left out"] if n_unknown else []
    return replace(log, gold=codes, notes=[*log.notes, *more])


def _class(log: JudgeLog, item: int, truth: str) -> int:
    """Return the class of a truth, which may be the name of the better system."""
    names: Sequence[str] = [str(name) for name in log.class_names]
    if log.system_names:
        names = [log.system_names[log.system_a[item]], log.system_names[log.system_b[item]], TIE]
    found = [code for code, name in enumerate(names) if name.casefold() == truth.strip().casefold()]
    if not found:
        listed = ", ".join(names)
        raise InputError(f"the gold of item {log.item_names[item]!r} is {truth!r}; expected one of {listed}")
    return found[0]
