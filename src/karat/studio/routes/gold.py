"""Gold: the tasks that need a person most, the truths that people give, and undoing."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from karat.report.views.tasks import task_rows
from karat.studio.adjudication import to_judge
from karat.studio.browse import Browser
from karat.studio.gold import UNSAID
from karat.studio.problems import Problem
from karat.studio.routes.common import Here, Name, ProjectId, Scalar, Shown, plain_name
from karat.studio.routes.tables import TaskView
from karat.votes.encoding import MISSING

__all__ = ["router"]

router = APIRouter(tags=["gold"], prefix="/projects/{project}")


class Action(BaseModel):
    """A change of the gold that can be undone."""

    id: int
    at: str
    task: Name
    before: Name | None
    after: Name | None


class Queue(BaseModel):
    left: int = Field(description="Tasks that have no truth yet.")
    judged: int
    classes: list[Name]
    tasks: list[TaskView]
    actions: list[Action] = Field(description="The newest first.")


class Truth(BaseModel, extra="forbid"):
    task: Scalar
    label: Scalar | None = Field(description="The true class; null takes the truth away.")
    before: Scalar | None = Field(
        default=None,
        description="What the truth is believed to be; refused (409) if it is another.",
    )


class Known(BaseModel):
    task: Name
    label: Name


class Given(BaseModel):
    action: int
    judged: int


class Undo(BaseModel, extra="forbid"):
    action: int | None = Field(default=None, ge=1, le=2**53, description="Which; the newest if none is named.")


class Undone(BaseModel):
    action: Action
    judged: int


@router.get("/next")
def next_tasks(project: ProjectId, shown: Shown, desk: Here, most: Annotated[int, Query(ge=1, le=100)] = 10) -> Queue:
    """The tasks for which a truth helps most, the most helpful first."""
    given = shown.codes_of(desk.gold.all(project))
    codes, left = to_judge(shown, given, most)
    rows = task_rows(shown.result, codes, shown.doubts)
    return Queue(
        left=left,
        judged=desk.gold.count(project),
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
        actions=[Action(**action) for action in desk.gold.last(project)],
    )


@router.get("/gold")
def all_gold(project: ProjectId, desk: Here) -> list[Known]:
    """Every truth that a person or a program gave."""
    desk.projects.get(project)
    return [Known(task=task, label=label) for task, label in desk.gold.all(project).items()]


@router.post("/gold")
def give_truth(project: ProjectId, truth: Truth, shown: Shown, desk: Here) -> Given:
    """Give a task its truth. It is on the disk when the answer comes; the next fit learns from it."""
    task, label = _names(shown, truth)
    before = truth.before if "before" in truth.model_fields_set else UNSAID
    if before is not UNSAID and before is not None:
        before = _class(shown, before)
    action = desk.gold.set(project, task, label, before)
    return Given(action=action, judged=desk.gold.count(project))


@router.post("/undo")
def undo(project: ProjectId, which: Undo, desk: Here) -> Undone:
    """Take back a change of the gold."""
    undone = desk.gold.undo(project, which.action)
    return Undone(action=Action(**undone), judged=desk.gold.count(project))


def _names(shown: Browser, truth: Truth) -> tuple[Any, Any]:
    """As they are in the data, so that "7" of a program is the 7 of the file."""
    code = shown.task_code(truth.task)
    if code == MISSING:
        raise Problem(404, "There is no such task", f"No task with votes is called {truth.task!r}.")
    return shown.task_name(code), None if truth.label is None else _class(shown, truth.label)


def _class(shown: Browser, name: Any) -> Any:
    code = shown.class_code(name)
    if code == MISSING:
        raise Problem(422, "There is no such class", f"The classes are {', '.join(map(str, shown.classes))}.")
    return shown.classes[code]
