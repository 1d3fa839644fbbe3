"""Choose the tasks that a reviewer judges next, and compare judgements with labels."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from finegold.api.result import Result
from finegold.studio.browser import Browser
from finegold.studio.gold import SEND_BACK, SKIP, Action
from finegold.studio.requests import Name, ProjectId, Reviewer, ServicesDep, Shown, plain_name
from finegold.studio.tables import TaskView, blinded, task_views
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.names import match

router = APIRouter(tags=["gold"], prefix="/projects/{project}")

HOLD_SECONDS = 600  # after which a task that was handed to a reviewer may be handed to another


def by_gain(result: Result) -> NDArray[np.int64]:
    """Return all tasks, sorted by the expected gain of knowing their truth, the largest first.

    A label drawn from the posterior phi is right with probability sum_k phi_k^2, and with probability 1 once the
    truth is known. Ties are broken by the number of votes, because a truth then tells about more annotators.
    """
    chance = np.einsum("ik,ik->i", result.posterior, result.posterior)
    return np.lexsort((-result.votes_per_task, chance))


def choose_tasks(
    shown: Browser, given: Iterable[int], skipped: Iterable[int], sent_back: Mapping[int, int], held: Iterable[int]
) -> tuple[NDArray[np.int64], int]:
    """Return the tasks to judge, the best first and skipped ones last, and the number of tasks without a truth.

    Tasks that were sent back wait for more votes than they had then. Others hold some tasks.
    """
    is_open = shown.result.gold == MISSING
    is_open[list(given)] = False
    n_left = int(np.count_nonzero(is_open))
    waiting = [task for task, n_votes in sent_back.items() if shown.result.votes_per_task[task] <= n_votes]
    is_open[[*waiting, *held]] = False
    is_skipped = np.zeros(len(is_open), dtype=bool)
    is_skipped[list(skipped)] = True
    order = shown.view(by_gain)
    return np.concatenate([order[(is_open & ~is_skipped)[order]], order[(is_open & is_skipped)[order]]]), n_left


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


class Queue(BaseModel):
    left: int = Field(description="Number of tasks without a truth.")
    judged: int
    skipped: int = Field(description="Number of tasks that this reviewer skipped; they come last.")
    sent_back: int = Field(description="Number of tasks that wait for more votes.")
    to_learn: int = Field(description="Number of truths that the shown result was not fitted with.")
    classes: list[Name]
    tasks: list[TaskView] = Field(description="The first is held for this reviewer: others get other tasks.")
    actions: list[Action] = Field(description="What this reviewer did, the newest first.")


class ReviewerRow(BaseModel):
    reviewer: str
    judged: int
    compared: int = Field(description="Number of judged tasks whose label did not come from a truth.")
    agreed: int = Field(description="Number of these for which the label was the class that the reviewer chose.")


@router.get("/next")
def next_tasks(
    project: ProjectId,
    shown: Shown,
    services: ServicesDep,
    reviewer: Reviewer,
    most: Annotated[int, Query(ge=1, le=100)] = 10,
) -> Queue:
    """Return the tasks whose truth would improve the labels most, the best first.

    Where tasks are judged blindly, their votes and labels are left out.
    """
    gold, given = services.gold, shown.codes_of(services.gold.all(project))
    skipped = _known(shown, gold.aside(project, SKIP, reviewer))
    sent_back = _known(shown, gold.aside(project, SEND_BACK))
    with services.holds.choosing():
        held = [code for name in services.holds.by_others(project, reviewer) if (code := shown.task_code(name)) >= 0]
        queue, n_left = choose_tasks(shown, given, skipped, sent_back, held)
        codes = queue[:most].tolist()
        services.holds.hold(project, reviewer, shown.task_name(codes[0]) if codes else None)
    tasks = task_views(services, project, shown, codes)
    return Queue(
        left=n_left,
        judged=gold.count(project),
        skipped=len(skipped.keys() - given.keys()),
        sent_back=len(sent_back.keys() - given.keys()),
        to_learn=n_to_learn(shown, services.workspace.truths_of_file(project), given),
        classes=[plain_name(name) for name in shown.classes],
        tasks=[blinded(task) for task in tasks] if services.projects.get(project)["blind"] else tasks,
        actions=[Action(**action) for action in gold.last(project, reviewer)],
    )


@router.get("/reviewers")
def reviewers(project: ProjectId, services: ServicesDep) -> list[ReviewerRow]:
    """Return how many tasks each reviewer judged, and how often they agreed with the labels."""
    services.projects.get(project)
    rows = services.gold.judgements(project)
    judged = Counter(row["reviewer"] for row in rows)
    compared = Counter(row["reviewer"] for row in rows if row["label_then"] is not None)
    agreed = Counter(row["reviewer"] for row in rows if row["label_then"] == row["label"])
    return [
        ReviewerRow(reviewer=who, judged=n, compared=compared[who], agreed=agreed[who]) for who, n in judged.items()
    ]


def _known(shown: Browser, aside: dict[Name, int]) -> dict[int, int]:
    """Return the tasks as codes, without those that have no votes any more."""
    codes = match(aside, shown.result.task_names).tolist()
    return {code: n for code, n in zip(codes, aside.values(), strict=True) if code != MISSING}
