"""Choose the tasks that a reviewer judges next, and compare judgements with labels."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.api.result import Result
from finegold.studio.browse import Browser
from finegold.votes.encoding import MISSING, Codes

__all__ = ["Holds", "Judging", "add_truths", "by_gain", "n_to_learn", "to_judge"]

HOLD_SECONDS = 600  # after which a task that was handed to a reviewer may be handed to another


def by_gain(result: Result) -> NDArray[np.int64]:
    """Return all tasks, sorted by the expected gain of knowing their truth, the largest first.

    A label drawn from the posterior phi is right with probability sum_k phi_k^2, and with probability 1 once the
    truth is known. Ties are broken by the number of votes, because a truth then tells about more annotators.
    """
    chance = np.einsum("ik,ik->i", result.posterior, result.posterior)
    return np.lexsort((-result.votes_per_task, chance))


@dataclass(frozen=True)
class Judging:
    """What is known of the tasks of a project when a reviewer asks for the next one."""

    given: Mapping[int, int]  # truths by task
    skipped: Iterable[int] = ()  # by this reviewer
    sent_back: Mapping[int, int] = field(default_factory=dict)  # the number of votes that each task had then
    held: Iterable[int] = ()  # by other reviewers


def to_judge(shown: Browser, judging: Judging, most: int) -> tuple[list[int], int]:
    """Return the first `most` tasks to judge, skipped ones last, and the number of tasks without a truth."""
    is_open = shown.result.gold == MISSING
    is_open[list(judging.given)] = False
    left = int(np.count_nonzero(is_open))
    waits = [task for task, n in judging.sent_back.items() if shown.result.votes_per_task[task] <= n]
    is_open[[*waits, *judging.held]] = False
    is_skipped = np.zeros(len(is_open), dtype=bool)
    is_skipped[list(judging.skipped)] = True
    order = shown.view(by_gain)
    found = np.concatenate([order[(is_open & ~is_skipped)[order]], order[(is_open & is_skipped)[order]]])
    return found[:most].tolist(), left


def n_to_learn(shown: Browser, known: Codes | None, given: Mapping[int, int]) -> int:
    """Return the number of truths that the shown result was not fitted with. `known` are those of the file, if any."""
    used = shown.result.gold
    gold = add_truths(np.full_like(used, MISSING) if known is None else known, given)
    return int(np.count_nonzero(gold != used)) if len(gold) == len(used) else len(given)


def add_truths(known: Codes, given: Mapping[int, int]) -> Codes:
    """Return the truths of the file with those that people gave; where both have one, people are right."""
    gold = known.copy()
    gold[np.fromiter(given, np.int64, len(given))] = np.fromiter(given.values(), np.int32, len(given))
    return gold


class Holds:
    """The tasks that reviewers have on their screens, so that no two are handed the same one at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[tuple[int, str], tuple[Any, float]] = {}  # project, reviewer -> task, end

    @contextmanager
    def choosing(self) -> Iterator[None]:
        """Let one reviewer at a time choose a task."""
        with self._lock:
            yield

    def by_others(self, project: int, reviewer: str) -> list[Any]:
        now = time.monotonic()
        return [
            task
            for (where, who), (task, end) in self._held.items()
            if where == project and who != reviewer and now < end
        ]

    def hold(self, project: int, reviewer: str, task: Any | None) -> None:
        """Hold this task for the reviewer instead of the one before."""
        if task is None:
            self._held.pop((project, reviewer), None)
        else:
            self._held[project, reviewer] = (task, time.monotonic() + HOLD_SECONDS)
