"""Choose the tasks that a reviewer judges next, and compare judgements with labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from finegold.api.result import Result
from finegold.studio.gold import (
    SEND_BACK,
    SKIP,
    Action,
    count_truths,
    judgements_of,
    last_actions,
    tasks_aside,
    truths_of,
)
from finegold.studio.services import Name, ProjectId, Reviewer, ServicesDep, Shown, StoreDep, plain_name
from finegold.studio.tables import TaskView, blinded, view_task
from finegold.votes.encoding import MISSING, Codes, match

router = APIRouter(tags=["gold"], prefix="/projects/{project}")


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


def by_gain(result: Result) -> NDArray[np.int64]:
    """Return all tasks, sorted by the expected gain of knowing their truth, the largest first.

    A label drawn from the posterior phi is right with probability sum_k phi_k^2, and with probability 1 once the
    truth is known. Ties are broken by the number of votes, because a truth then tells about more annotators.
    """
    chance = np.einsum("ik,ik->i", result.posterior, result.posterior)
    return np.lexsort((-result.votes_per_task, chance))


def merge_truths(known: Codes, given: Mapping[int, int]) -> Codes:
    """Return the truths of the file with those that people gave; where both have one, people are right."""
    gold = known.copy()
    gold[np.fromiter(given, np.int64, len(given))] = np.fromiter(given.values(), np.int32, len(given))
    return gold


@router.get("/next")
def next_tasks(
    project: ProjectId,
    shown: Shown,
    services: ServicesDep,
    reviewer: Reviewer,
    most: Annotated[int, Query(ge=1, le=100)] = 10,
) -> Queue:
    """Return the tasks whose truth would improve the labels most, the best first and skipped ones last.

    Tasks that were sent back wait for more votes than they had then. Where tasks are judged blindly, their votes and
    labels are left out.
    """

    def codes_of(aside: dict[Any, int]) -> dict[int, int]:  # without tasks that have no votes any more
        codes = match(aside, shown.result.task_names).tolist()
        return {code: n for code, n in zip(codes, aside.values(), strict=True) if code != MISSING}

    store, holds = services.store, services.holds
    skipped = codes_of(tasks_aside(store, project, SKIP, reviewer))
    sent_back = codes_of(tasks_aside(store, project, SEND_BACK))
    used, known, order = shown.result.gold, services.workspace.truths_of_file(project), shown.view(by_gain)
    is_skipped = np.zeros(len(used), dtype=bool)
    is_skipped[list(skipped)] = True
    with holds.choosing():
        # Truths are read here: whoever judged a task meanwhile does not hold it any more.
        given = shown.codes_of(truths_of(store, project))
        is_open = used == MISSING
        is_open[list(given)] = False
        n_left = int(np.count_nonzero(is_open))
        is_open[[task for task, n_votes in sent_back.items() if shown.result.votes_per_task[task] <= n_votes]] = False
        is_open[[code for name in holds.by_others(project, reviewer) if (code := shown.task_code(name)) >= 0]] = False
        first, later = order[(is_open & ~is_skipped)[order]], order[(is_open & is_skipped)[order]]
        codes = np.append(first, later)[:most].tolist()
        holds.hold(project, reviewer, shown.task_name(codes[0]) if codes else None)
    tasks = [view_task(services, project, shown, code) for code in codes]
    gold = merge_truths(np.full_like(used, MISSING) if known is None else known, given)
    return Queue(
        left=n_left,
        judged=count_truths(store, project),
        skipped=len(skipped.keys() - given.keys()),
        sent_back=len(sent_back.keys() - given.keys()),
        to_learn=int(np.count_nonzero(gold != used)) if len(gold) == len(used) else len(given),
        classes=[plain_name(name) for name in shown.classes],
        tasks=[blinded(task) for task in tasks] if store.project(project)["blind"] else tasks,
        actions=[Action(**action) for action in last_actions(store, project, reviewer)],
    )


@router.get("/reviewers")
def reviewers(project: ProjectId, store: StoreDep) -> list[ReviewerRow]:
    """Return how many tasks each reviewer judged, and how often they agreed with the labels."""
    rows = judgements_of(store, project)
    judged = Counter(row["reviewer"] for row in rows)
    compared = Counter(row["reviewer"] for row in rows if row["label_then"] is not None)
    agreed = Counter(row["reviewer"] for row in rows if row["label_then"] == row["label"])
    return [
        ReviewerRow(reviewer=who, judged=n, compared=compared[who], agreed=agreed[who]) for who, n in judged.items()
    ]
