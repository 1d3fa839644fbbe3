"""Routes to judge tasks: the truths that people give, skipped tasks, tasks sent back, notes, and undo."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from finegold.studio.browse import Browser
from finegold.studio.gold import NOT_GIVEN, SEND_BACK, SKIP
from finegold.studio.problems import Problem
from finegold.studio.routes.common import Name, ProjectId, Reviewer, Scalar, ServicesDep, Shown
from finegold.votes.encoding import MISSING

__all__ = ["Action", "router"]

router = APIRouter(tags=["gold"], prefix="/projects/{project}")

MAX_NOTE = 10_000


class Action(BaseModel):
    """Something that a reviewer did, which can be undone."""

    id: int
    at: str
    kind: str = Field(description="judge, skip or send_back")
    task: Name
    before: Name | None
    after: Name | None


class Truth(BaseModel, extra="forbid"):
    task: Scalar
    label: Scalar | None = Field(description="The true class; null removes the truth.")
    before: Scalar | None = Field(
        default=None,
        description="The current truth as the client knows it; the request is refused (409) if it has changed.",
    )


class Judgement(BaseModel):
    task: Name
    label: Name
    label_then: Name | None = Field(description="The label of the result when the task was judged.")
    reviewer: str
    at: str
    note: str


class Given(BaseModel):
    action: int
    judged: int


class OneTask(BaseModel, extra="forbid"):
    task: Scalar


class Note(BaseModel, extra="forbid"):
    task: Scalar
    text: str = Field(max_length=MAX_NOTE, description="Blank removes the note.")


class Undo(BaseModel, extra="forbid"):
    action: int | None = Field(
        default=None, ge=1, le=2**53, description="The id of the action; by default the reviewer's newest."
    )


class Undone(BaseModel):
    action: Action
    judged: int


@router.get("/gold")
def all_gold(project: ProjectId, services: ServicesDep) -> list[Judgement]:
    """Return every truth that a person or a program gave."""
    services.projects.get(project)
    return [Judgement(**row) for row in services.gold.judgements(project)]


@router.post("/gold")
def give_truth(project: ProjectId, truth: Truth, shown: Shown, services: ServicesDep, reviewer: Reviewer) -> Given:
    """Set the truth of a task. It is on disk when the response arrives, and the next fit uses it."""
    code = _task(shown, truth.task)
    label = None if truth.label is None else _class(shown, truth.label)
    before = truth.before if "before" in truth.model_fields_set else NOT_GIVEN
    if before is not NOT_GIVEN and before is not None:
        before = _class(shown, before)
    then = shown.classes[shown.result.label_codes[code]] if shown.result.gold[code] == MISSING else None
    action = services.gold.set(project, shown.task_name(code), label, before, reviewer=reviewer, label_then=then)
    return Given(action=action, judged=services.gold.count(project))


@router.post("/skip")
def skip(project: ProjectId, one: OneTask, shown: Shown, services: ServicesDep, reviewer: Reviewer) -> Given:
    """Leave a task for later: this reviewer gets it again after all others."""
    return _set_aside(services, project, shown, one.task, SKIP, reviewer)


@router.post("/send_back")
def send_back(project: ProjectId, one: OneTask, shown: Shown, services: ServicesDep, reviewer: Reviewer) -> Given:
    """Ask for more votes on a task: nobody is asked to judge it until it has more votes."""
    return _set_aside(services, project, shown, one.task, SEND_BACK, reviewer)


@router.post("/undo")
def undo(project: ProjectId, which: Undo, services: ServicesDep, reviewer: Reviewer) -> Undone:
    """Undo an action of the reviewer: a judgement, a skip, or sending a task back."""
    undone = services.gold.undo(project, which.action, reviewer)
    return Undone(action=Action(**undone), judged=services.gold.count(project))


@router.put("/note", status_code=204, response_class=Response)
def set_note(project: ProjectId, note: Note, shown: Shown, services: ServicesDep, reviewer: Reviewer) -> None:
    """Write or remove the note on a task."""
    services.gold.set_note(project, shown.task_name(_task(shown, note.task)), note.text, reviewer)


def _set_aside(services: Any, project: int, shown: Browser, task: Any, kind: str, reviewer: str) -> Given:
    code = _task(shown, task)
    n_votes = int(shown.result.votes_per_task[code])
    action = services.gold.set_aside(project, shown.task_name(code), kind, n_votes, reviewer)
    return Given(action=action, judged=services.gold.count(project))


def _task(shown: Browser, name: Any) -> int:
    """Return the code of a task; the text "7" matches the number 7 of the file."""
    code = shown.task_code(name)
    if code == MISSING:
        raise Problem(404, "There is no such task", f"No task with votes is called {name!r}.")
    return code


def _class(shown: Browser, name: Any) -> Any:
    code = shown.class_code(name)
    if code == MISSING:
        raise Problem(422, "There is no such class", f"The classes are {', '.join(map(str, shown.classes))}.")
    return shown.classes[code]
