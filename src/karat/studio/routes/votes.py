"""Votes: how the file is understood, reading it, and votes that programs post."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from karat.studio.problems import Problem
from karat.studio.reading import Preview, Reading, preview
from karat.studio.routes.common import Here, Name, ProjectId
from karat.studio.routes.projects import Project, described

__all__ = ["router"]

router = APIRouter(tags=["votes"])

MOST_POSTED = 100_000


class Vote(BaseModel, extra="forbid"):
    task: Annotated[Name, Field(description="The name of the task.")]
    annotator: Name
    label: Name


class Posted(BaseModel, extra="forbid"):
    votes: list[Vote] = Field(min_length=1, max_length=MOST_POSTED)


class Waiting(BaseModel):
    accepted: int
    waiting: int = Field(description="Posted votes that the next fit will take in.")


class Wishes(Reading):
    version: int | None = Field(default=None, description="Refuse (409) if the project has changed since this version.")


@router.get("/projects/{project}/preview")
def preview_votes(project: ProjectId, desk: Here) -> Preview:
    """The first rows of the file, its format, and which columns Karat takes for what."""
    with desk.files.of(desk.projects.get(project)) as path:
        return preview(path)


@router.put("/projects/{project}/votes", status_code=202)
def read_votes(project: ProjectId, wishes: Wishes, desk: Here) -> Project:
    """Read the votes of the file with these columns. Fits of an earlier reading are dropped; gold stays."""
    row = desk.projects.get(project)
    if wishes.version is not None and wishes.version != row["version"]:
        raise Problem(409, "The project has changed meanwhile", "Look at it again, then repeat your change.")
    with desk.files.of(row):
        pass  # complains at once if it is not there
    desk.jobs.read(project, Reading(**wishes.model_dump(exclude={"version"})))
    return described(desk, project)


@router.post("/projects/{project}/votes", status_code=202)
def post_votes(project: ProjectId, posted: Posted, desk: Here) -> Waiting:
    """Add votes. They are kept at once, and the next fit takes them in; a newer vote replaces an older one."""
    votes = [(vote.task, vote.annotator, vote.label) for vote in posted.votes]
    return Waiting(accepted=len(votes), waiting=desk.projects.post_votes(project, votes))
