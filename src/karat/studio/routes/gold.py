"""Routes to judge tasks: the queue of tasks, the truths that people give, and undo."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from karat.report.views.tasks import task_rows
from karat.studio.adjudication import to_judge
from karat.studio.browse import Browser
from karat.studio.gold import NOT_GIVEN
from karat.studio.problems import Problem
from karat.studio.routes.common import Name, ProjectId, Scalar, ServicesDep, Shown, plain_name
from karat.studio.routes.tables import TaskView
from karat.votes.encoding import MISSING

__all__ = ["router"]

router = APIRouter(tags=["gold"], prefix="/projects/{project}")


class Action(BaseModel):
    """A change of a truth, which can be undone."""

    id: int
    at: str
    task: Name
    before: Name | None
    after: Name | None


class Queue(BaseModel):
    left: int = Field(description="Number of tasks without a truth.")
    judged: int
    classes: list[Name]
    tasks: list[TaskView]
    actions: list[Action] = Field(description="The newest first.")


class Truth(BaseModel, extra="forbid"):
    task: Scalar
    label: Scalar | None = Field(description="The true class; null removes the truth.")
    before: Scalar | None = Field(
        default=None,
        description="The current truth as the client knows it; the request is refused (409) if it has changed.",
    )


class Known(BaseModel):
    task: Name
    label: Name


class Given(BaseModel):
    action: int
    judged: int


class Undo(BaseModel, extra="forbid"):
    action: int | None = Field(default=None, ge=1, le=2**53, description="The id of the action; by default the newest.")


class Undone(BaseModel):
    action: Action
    judged: int


@router.get("/next")
def next_tasks(
    project: ProjectId, shown: Shown, services: ServicesDep, most: Annotated[int, Query(ge=1, le=100)] = 10
) -> Queue:
    """Return the tasks whose truth would improve the labels most, the best first."""
    given = shown.codes_of(services.gold.all(project))
    codes, left = to_judge(shown, given, most)
    rows = task_rows(shown.result, codes, shown.doubts)
    return Queue(
        left=left,
        judged=services.gold.count(project),
        classes=[plain_name(name) for name in shown.classes],
        tasks=[
            TaskView(
                at=code,
                row=row,
                name=plain_name(shown.task_name(code)),
                gold=None,
                probabilities=shown.result.posterior[code].round(6).tolist(),
            )
            for code, row in zip(codes, rows, strict=True)
        ],
        actions=[Action(**action) for action in services.gold.last(project)],
    )


@router.get("/gold")
def all_gold(project: ProjectId, services: ServicesDep) -> list[Known]:
    """Return every truth that a person or a program gave."""
    services.projects.get(project)
    return [Known(task=task, label=label) for task, label in services.gold.all(project).items()]


@router.post("/gold")
def give_truth(project: ProjectId, truth: Truth, shown: Shown, services: ServicesDep) -> Given:
    """Set the truth of a task. It is on disk when the response arrives, and the next fit uses it."""
    task, label = _names(shown, truth)
    before = truth.before if "before" in truth.model_fields_set else NOT_GIVEN
    if before is not NOT_GIVEN and before is not None:
        before = _class(shown, before)
    action = services.gold.set(project, task, label, before)
    return Given(action=action, judged=services.gold.count(project))


@router.post("/undo")
def undo(project: ProjectId, which: Undo, services: ServicesDep) -> Undone:
    """Undo a change of a truth."""
    undone = services.gold.undo(project, which.action)
    return Undone(action=Action(**undone), judged=services.gold.count(project))


def _names(shown: Browser, truth: Truth) -> tuple[Any, Any]:
    """Return the names as they are in the data, so that the text "7" matches the number 7 of the file."""
    code = shown.task_code(truth.task)
    if code == MISSING:
        raise Problem(404, "There is no such task", f"No task with votes is called {truth.task!r}.")
    return shown.task_name(code), None if truth.label is None else _class(shown, truth.label)


def _class(shown: Browser, name: Any) -> Any:
    code = shown.class_code(name)
    if code == MISSING:
        raise Problem(422, "There is no such class", f"The classes are {', '.join(map(str, shown.classes))}.")
    return shown.classes[code]
