"""Projects: a set of votes each, with how it was read, its fits and its gold."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from karat.studio.files import CRASHED, safe_name
from karat.studio.jobs import Job
from karat.studio.problems import Problem
from karat.studio.routes.common import Here, ProjectId
from karat.studio.services import Desk
from karat.studio.store import Row

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
    """What is being done, or was done last since the studio was started."""

    kind: str
    fit: int | None
    state: str
    message: str
    rows: int
    expected: int | None
    tolerance: float
    steps: list[list[float | None]] = Field(description="iteration, change, bound")
    warnings: list[str]


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
    n_gold: int
    n_waiting: int = Field(description="Posted votes that wait for the next fit.")
    crashed: bool = Field(
        description="Whether the studio ended while it read the file; it is not read again by itself."
    )
    damaged: bool = Field(
        description="Whether the studio ended while it opened the result; it is not opened again by itself."
    )
    job: JobState | None


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
    file: str | None = Field(default=None, max_length=1000, description="A file in the folder; without it, post votes.")


class Change(BaseModel, extra="forbid"):
    name: Title
    version: int | None = Field(default=None, description="Refuse (409) if the project has changed since this version.")


@router.get("/folder")
def folder(desk: Here) -> Folder:
    """The files that can be opened, and where everything is kept."""
    return Folder(
        folder=str(desk.files.folder),
        project_file=str(desk.store.path),
        upload_limit=desk.most_bytes,
        files=[Listed(**file._asdict()) for file in desk.files.list()],
    )


@router.get("/projects")
def list_projects(desk: Here) -> list[Project]:
    """All projects, the newest first."""
    return [described(desk, row["id"]) for row in desk.projects.all()]


@router.post("/projects", status_code=201)
def create_project(new: New, desk: Here) -> Project:
    """A project of a file in the folder, or an empty one for votes that are posted."""
    if new.file is None:
        return described(desk, desk.projects.create(new.name or "Posted votes"))
    path = desk.files.resolve(new.file)
    return described(desk, desk.projects.create(new.name or path.name, file=path.name, place=new.file))


@router.post(
    "/uploads",
    status_code=201,
    openapi_extra={"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}},
)
async def upload(request: Request, name: Annotated[str, Query(min_length=1, max_length=200)], desk: Here) -> Project:
    """A project of a file that is sent as it is: its bytes are the body of the request."""
    path = desk.files.temporary()
    try:
        with path.open("wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
        if not path.stat().st_size:
            raise Problem(422, "The file is empty", "Choose a file with votes.")
        made = await run_in_threadpool(desk.projects.create_from_upload, safe_name(name), path)
    finally:
        path.unlink(missing_ok=True)
    return await run_in_threadpool(described, desk, made)


@router.get("/projects/{project}")
def get_project(project: ProjectId, desk: Here) -> Project:
    return described(desk, project)


@router.patch("/projects/{project}")
def rename_project(project: ProjectId, change: Change, desk: Here) -> Project:
    desk.projects.rename(project, change.name, change.version)
    return described(desk, project)


@router.delete("/projects/{project}", status_code=204, response_class=Response)
def delete_project(project: ProjectId, desk: Here) -> None:
    """With its votes, fits and gold. The file in the folder stays."""
    desk.jobs.cancel(project)
    desk.workspace.forget([fit["id"] for fit in desk.projects.fits(project)])
    desk.projects.delete(project)


@router.get("/projects/{project}/events", response_class=StreamingResponse)
async def events(project: ProjectId, desk: Here) -> StreamingResponse:
    """Server-sent events: the project, each time that it changes or a job gets on."""
    await run_in_threadpool(desk.projects.get, project)

    async def news() -> AsyncIterator[str]:
        async for is_news in desk.hub.listen(project):
            try:
                state = await run_in_threadpool(described, desk, project) if is_news else None
            except Problem:
                yield "event: gone\ndata: {}\n\n"
                return
            yield f"data: {state.model_dump_json()}\n\n" if state else ": still here\n\n"

    return StreamingResponse(news(), media_type="text/event-stream")


def described(desk: Desk, project: int) -> Project:
    with desk.store.still():
        return _described(desk, project)


def _described(desk: Desk, project: int) -> Project:
    row = desk.projects.get(project)
    return Project(
        **{name: row[name] for name in ("id", "name", "created", "version", "file", "base", "shown")},
        reading=json.loads(row["reading"] or "null"),
        fits=[Fit(**fit) for fit in desk.projects.fits(project)],
        n_gold=desk.gold.count(project),
        n_waiting=desk.projects.n_waiting(project),
        crashed=bool(row["crashed"]),
        damaged=any(desk.projects.is_damaged(row[name]) for name in ("base", "shown")),
        job=_job(desk.jobs.of(project) or _crashed(row)),
    )


def _crashed(row: Row) -> Job | None:
    """The reading that a studio did not survive, as a job that failed."""
    message = f"The studio ended while it read this file. {CRASHED}"
    return Job(row["id"], "read", state="failed", message=message) if row["crashed"] else None


def _job(job: Job | None) -> JobState | None:
    if job is None:
        return None
    steps = [[step.iteration, _finite(step.change), _finite(step.bound)] for step in list(job.steps)]
    names = ("kind", "fit", "state", "message", "rows", "expected", "tolerance", "warnings")
    return JobState(**{name: getattr(job, name) for name in names}, steps=steps)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
