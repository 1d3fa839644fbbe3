"""Votes: how the file is understood, reading it, and votes that programs post."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from karat.studio.problems import Problem
from karat.studio.reading import Preview, Reading, preview
from karat.studio.routes.common import Here, Id, ProjectId, Scalar
from karat.studio.routes.projects import Project, described

__all__ = ["router"]

router = APIRouter(tags=["votes"])

MOST_POSTED = 100_000
Again = Annotated[bool, Query(description="Even if the studio ended while it read the file before.")]


class Vote(BaseModel, extra="forbid"):
    task: Annotated[Id, Field(description="The name of the task. As in a file, 7, 7.0 and the text 7 are the same.")]
    annotator: Id
    label: Annotated[Scalar | None, Field(description="Null, blank, NA, null and NaN mean no vote, as in a file.")]


class Posted(BaseModel, extra="forbid"):
    votes: list[Vote] = Field(min_length=1, max_length=MOST_POSTED)


class Waiting(BaseModel):
    accepted: int
    waiting: int = Field(description="Posted votes that the next fit will take in.")


class Batch(BaseModel):
    """Votes that were posted together."""

    id: int
    at: str = Field(description="When they were posted.")
    n_votes: int
    taken: bool = Field(description="Whether the results have them; else they wait for the next fit.")


class Wishes(Reading):
    version: int | None = Field(default=None, description="Refuse (409) if the project has changed since this version.")


@router.get("/projects/{project}/preview")
def preview_votes(project: ProjectId, desk: Here, again: Again = False) -> Preview:
    """The first rows of the file, its format, and which columns Karat takes for what."""
    with desk.files.of(desk.projects.get(project), again=again) as path:
        return preview(path)


@router.put("/projects/{project}/votes", status_code=202)
def read_votes(project: ProjectId, wishes: Wishes, desk: Here) -> Project:
    """Read the votes of the file with these columns. Fits of an earlier reading are dropped; gold stays."""
    row = desk.projects.get(project)
    if wishes.version is not None and wishes.version != row["version"]:
        raise Problem(409, "The project has changed meanwhile", "Look at it again, then repeat your change.")
    desk.files.path_of(row)  # complains at once if it is not there
    desk.jobs.read(project, Reading(**wishes.model_dump(exclude={"version"})))
    return described(desk, project)


@router.post("/projects/{project}/votes", status_code=202)
def post_votes(project: ProjectId, posted: Posted, desk: Here) -> Waiting:
    """Add votes. They are kept at once, and the next fit takes them in; a newer vote replaces an older one."""
    votes = [(vote.task, vote.annotator, vote.label) for vote in posted.votes]
    return Waiting(accepted=len(votes), waiting=desk.projects.post_votes(project, votes))


@router.get("/projects/{project}/posted")
def posted_batches(project: ProjectId, desk: Here) -> list[Batch]:
    """The batches of posted votes, the newest first."""
    desk.projects.get(project)
    return [Batch(**row) for row in desk.projects.batches(project)]


@router.delete("/projects/{project}/posted/{batch}", status_code=202)
def remove_batch(project: ProjectId, batch: Annotated[int, Path(ge=1, le=2**53)], desk: Here) -> Project:
    """Remove posted votes. If results have them, the votes are read again without them, and fits are dropped."""
    if batch not in [row["id"] for row in desk.projects.batches(project)]:
        raise Problem(404, "There is no such batch", "It may have been removed already.")
    desk.jobs.remove_batch(project, batch)
    return described(desk, project)
