"""Routes of the queue of tasks to judge, and of the reviewers."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from finegold.studio.adjudication import Judging, n_to_learn, to_judge
from finegold.studio.browse import Browser
from finegold.studio.gold import SEND_BACK, SKIP
from finegold.studio.routes.common import Name, ProjectId, Reviewer, ServicesDep, Shown, plain_name
from finegold.studio.routes.gold import Action
from finegold.studio.routes.tables import TaskView, blinded, task_views
from finegold.votes.encoding import MISSING
from finegold.votes.names import match

__all__ = ["router"]

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
        codes, left = to_judge(shown, Judging(given, skipped, sent_back, held), most)
        services.holds.hold(project, reviewer, shown.task_name(codes[0]) if codes else None)
    tasks = task_views(services, project, shown, codes)
    return Queue(
        left=left,
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
