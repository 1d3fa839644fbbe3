"""Routes of projects. A project holds votes, how they were read, fits and gold."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from finegold.studio.files import CRASHED, safe_name
from finegold.studio.jobs import Job
from finegold.studio.problems import Problem
from finegold.studio.routes.common import ProjectId, ServicesDep
from finegold.studio.routes.predictions import PredictionsFile
from finegold.studio.security import OWNER
from finegold.studio.services import Services
from finegold.studio.store import Row
from finegold.votes.sample import VOTES

__all__ = ["router"]

router = APIRouter(tags=["projects"])

Title = Annotated[str, Field(min_length=1, max_length=200)]


class Fit(BaseModel):
    id: int
    method: str
    settings: dict[str, Any]
    state: str = Field(description="queued, running, done, failed, cancelled, interrupted or replaced (by a newer fit)")
    started: str
    message: str
    facts: dict[str, Any] | None


class JobState(BaseModel):
    """The current or the last job since the studio was started."""

    kind: str
    fit: int | None
    state: str
    message: str
    rows: int
    expected: int | None
    tolerance: float
    steps: list[list[float | None]] = Field(description="iteration, change, bound")
    warnings: list[str]
    repair: dict[str, Any] | None = Field(description="Choices of the reading that would repair what failed.")


class Project(BaseModel):
    id: int
    name: str
    created: str
    version: int
    file: str | None
    reading: dict[str, Any] | None
    base: int | None
    shown: int | None
    fits: list[Fit]
    blind: bool = Field(description="Whether votes and labels are hidden until a task is judged.")
    template: str = Field(description="How a task is shown; blank: all its columns.")
    remote: bool = Field(description="Whether images and sounds are loaded from other servers.")
    n_gold: int
    predictions: list[PredictionsFile] = Field(description="Of models; every fit combines them with the votes.")
    n_waiting: int = Field(description="Number of posted votes that the next fit will use.")
    crashed: bool = Field(description="Whether reading the file crashed the studio; it is read again only on request.")
    failure: str | None = Field(description="Why the file could not be read the last time.")
    damaged: bool = Field(
        description="Whether opening the result crashed the studio; it is opened again only on request."
    )
    job: JobState | None


class Me(BaseModel):
    reviewer: str = Field(description="The name that belongs to your token; blank for the owner.")
    is_owner: bool = Field(description="Whether you may change more than judgements.")


class Listed(BaseModel):
    name: str
    size: int
    changed: float


class Folder(BaseModel):
    folder: str
    project_file: str
    upload_limit: int
    files: list[Listed]


class New(BaseModel, extra="forbid"):
    name: Title | None = None
    file: str | None = Field(default=None, max_length=1000, description="A file in the folder; none if you post votes.")


class Change(BaseModel, extra="forbid"):
    """What is not given stays as it is."""

    name: Title | None = None
    blind: bool | None = Field(default=None, description="Hide the votes and the label of a task until it is judged.")
    template: str | None = Field(
        default=None, max_length=10_000, description="How a task is shown, with {columns}; blank: all its columns."
    )
    remote: bool | None = Field(default=None, description="Load images and sounds of the tasks from other servers.")
    version: int | None = Field(default=None, description="Refused (409) if the project has changed since.")


@router.get("/me")
def me(request: Request) -> Me:
    """Return who you are."""
    name = request.scope.get("reviewer") or OWNER
    return Me(reviewer=name, is_owner=name == OWNER)


@router.get("/folder")
def folder(services: ServicesDep) -> Folder:
    """Return the data files of the folder and the path of the project file."""
    return Folder(
        folder=str(services.files.folder),
        project_file=str(services.store.path),
        upload_limit=services.most_bytes,
        files=[Listed(**file._asdict()) for file in services.files.list()],
    )


@router.get("/projects")
def list_projects(services: ServicesDep) -> list[Project]:
    """Return all projects, the newest first."""
    return [described(services, row["id"]) for row in services.projects.all()]


@router.post("/projects", status_code=201)
def create_project(new: New, services: ServicesDep) -> Project:
    """Create a project from a file in the folder, or an empty one for posted votes."""
    if new.file is None:
        return described(services, services.projects.create(new.name or "Posted votes"))
    path = services.files.resolve(new.file)
    return described(services, services.projects.create(new.name or path.name, file=path.name, place=new.file))


@router.post(
    "/uploads",
    status_code=201,
    openapi_extra={"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}},
)
async def upload(
    request: Request, name: Annotated[str, Query(min_length=1, max_length=200)], services: ServicesDep
) -> Project:
    """Create a project from an uploaded file; the body of the request is the content of the file."""
    path = services.files.temporary()
    try:
        with path.open("wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
        if not path.stat().st_size:
            raise Problem(422, "The file is empty", "Choose a file with votes.")
        made = await run_in_threadpool(services.projects.create_from_upload, safe_name(name), path)
    finally:
        path.unlink(missing_ok=True)
    return await run_in_threadpool(described, services, made)


@router.post("/sample", status_code=201)
def open_sample(services: ServicesDep) -> Project:
    """Create a project of the sample: simulated votes on 300 pictures of animals."""
    return described(services, services.projects.create_from_upload("sample.csv", VOTES))


@router.get("/projects/{project}")
def get_project(project: ProjectId, services: ServicesDep) -> Project:
    return described(services, project)


@router.patch("/projects/{project}")
def change_project(project: ProjectId, change: Change, services: ServicesDep) -> Project:
    """Rename a project, or change how its tasks are shown."""
    services.projects.change(project, change.model_dump(exclude={"version"}, exclude_none=True), change.version)
    return described(services, project)


@router.delete("/projects/{project}", status_code=204, response_class=Response)
def delete_project(project: ProjectId, services: ServicesDep) -> None:
    """Delete a project with its votes, fits and gold. The file in the folder is kept."""
    services.jobs.cancel(project)
    services.workspace.forget([fit["id"] for fit in services.projects.fits(project)])
    services.projects.delete(project)


@router.get("/projects/{project}/events", response_class=StreamingResponse)
async def events(project: ProjectId, services: ServicesDep) -> StreamingResponse:
    """Stream the project as server-sent events, each time it changes or a job makes progress."""
    await run_in_threadpool(services.projects.get, project)

    async def updates() -> AsyncIterator[str]:
        async for has_changed in services.hub.listen(project):
            try:
                state = await run_in_threadpool(described, services, project) if has_changed else None
            except Problem:
                yield "event: gone\ndata: {}\n\n"
                return
            yield f"data: {state.model_dump_json()}\n\n" if state else ": still here\n\n"

    return StreamingResponse(updates(), media_type="text/event-stream")


def described(services: Services, project: int) -> Project:
    job = _job(services.jobs.of(project))  # before the database, which is changed before the state of a job
    with services.store.snapshot():
        return _described(services, project, job)


def _described(services: Services, project: int, job: JobState | None) -> Project:
    row = services.projects.get(project)
    return Project(
        **{name: row[name] for name in ("id", "name", "created", "version", "file", "base", "shown", "failure")},
        reading=json.loads(row["reading"] or "null"),
        blind=bool(row["blind"]),
        template=row["template"] or "",
        remote=bool(row["remote"]),
        fits=[Fit(**fit) for fit in services.projects.fits(project)],
        n_gold=services.gold.count(project),
        predictions=[PredictionsFile(**found) for found in services.predictions.all(project)],
        n_waiting=services.projects.n_waiting(project),
        crashed=bool(row["crashed"]),
        damaged=any(services.projects.is_damaged(row[name]) for name in ("base", "shown")),
        job=job or _job(_crashed(row)),
    )


def _crashed(row: Row) -> Job | None:
    """Return a failed job for a file that crashed the studio."""
    message = f"The studio ended while it read this file. {CRASHED}"
    return Job(row["id"], "read", state="failed", message=message) if row["crashed"] else None


def _job(job: Job | None) -> JobState | None:
    if job is None:
        return None
    steps = [[step.iteration, _finite(step.change), _finite(step.bound)] for step in list(job.steps)]
    names = ("kind", "fit", "state", "message", "rows", "expected", "tolerance", "warnings", "repair")
    return JobState(**{name: getattr(job, name) for name in names}, steps=steps)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
