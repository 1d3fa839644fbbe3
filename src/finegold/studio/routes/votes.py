"""Routes of votes: preview the file, read it, and post votes."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from finegold.studio.problems import Problem
from finegold.studio.reading import Layout, Preview, Reading, preview
from finegold.studio.routes.common import Id, ProjectId, Scalar, ServicesDep
from finegold.studio.routes.projects import Project, described

__all__ = ["router"]

router = APIRouter(tags=["votes"])

MAX_POSTED = 100_000


class Vote(BaseModel, extra="forbid"):
    task: Annotated[Id, Field(description="The name of the task. As in a file, 7, 7.0 and the text 7 are the same.")]
    annotator: Id
    label: Annotated[Scalar | None, Field(description="Null, blank, NA, null and NaN mean no vote, as in a file.")]


class Posted(BaseModel, extra="forbid"):
    votes: list[Vote] = Field(min_length=1, max_length=MAX_POSTED)


class Waiting(BaseModel):
    accepted: int
    waiting: int = Field(description="Number of posted votes that the next fit will use.")


class Batch(BaseModel):
    """Votes that were posted together."""

    id: int
    at: str = Field(description="When they were posted.")
    n_votes: int
    taken: bool = Field(description="Whether the results include them; otherwise the next fit will.")


class PreviewQuery(Layout):
    again: bool = Field(default=False, description="Read the file even if it crashed the studio before.")


class ReadRequest(Reading):
    version: int | None = Field(default=None, description="Refused (409) if the project has changed since.")


@router.get("/projects/{project}/preview")
def preview_votes(
    project: ProjectId, wanted: Annotated[PreviewQuery, Query()], request: Request, services: ServicesDep
) -> Preview:
    """Return the first rows of the file, its format and the guessed columns; or what is wrong, and what to choose."""
    row = services.projects.get(project)
    is_given = request.query_params.keys() - {"again"}
    layout = wanted if is_given or not row["reading"] else Reading(**json.loads(row["reading"]))
    with services.files.of(row, again=wanted.again) as path:
        return preview(path, layout)


@router.put("/projects/{project}/votes", status_code=202)
def read_votes(project: ProjectId, options: ReadRequest, services: ServicesDep) -> Project:
    """Read the votes of the file with these columns, or posted votes again. Earlier fits are dropped; gold is kept."""
    row = services.projects.get(project)
    if options.version is not None and options.version != row["version"]:
        raise Problem(409, "The project has changed", "Reload it, then repeat your change.")
    if row["file"] is not None or not services.projects.batches(project):
        services.files.path_of(row)  # raises at once if the file is missing
    services.jobs.read(project, Reading(**options.model_dump(exclude={"version"})))
    return described(services, project)


@router.post("/projects/{project}/votes", status_code=202)
def post_votes(project: ProjectId, posted: Posted, services: ServicesDep) -> Waiting:
    """Add votes. They are stored at once and used by the next fit; a newer vote replaces an older one."""
    votes = [(vote.task, vote.annotator, vote.label) for vote in posted.votes]
    return Waiting(accepted=len(votes), waiting=services.projects.post_votes(project, votes))


@router.get("/projects/{project}/posted")
def posted_batches(project: ProjectId, services: ServicesDep) -> list[Batch]:
    """Return the batches of posted votes, the newest first."""
    services.projects.get(project)
    return [Batch(**row) for row in services.projects.batches(project)]


@router.delete("/projects/{project}/posted/{batch}", status_code=202)
def remove_batch(project: ProjectId, batch: Annotated[int, Path(ge=1, le=2**53)], services: ServicesDep) -> Project:
    """Remove posted votes. If results include them, the votes are read again without them and fits are dropped."""
    if batch not in [row["id"] for row in services.projects.batches(project)]:
        raise Problem(404, "There is no such batch", "It may have been removed already.")
    services.jobs.remove_batch(project, batch)
    return described(services, project)
