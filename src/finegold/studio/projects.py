"""Projects: each holds votes, how they were read, fits and gold. Open tabs hear of every change."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from finegold.studio.content import check_template, template_names
from finegold.studio.files import CRASHED, Listed, safe_name
from finegold.studio.predictions import PredictionsFile
from finegold.studio.problems import Problem
from finegold.studio.requests import FILE_BODY, FileName, ProjectId, Services, ServicesDep, visitor_of
from finegold.studio.security import OWNER, Visitor
from finegold.studio.store import Row, Store
from finegold.votes.sample import write_with_texts

if TYPE_CHECKING:
    from finegold.studio.jobs import BackgroundJob

KEEP_ALIVE_SECONDS = 15.0  # without an event, after which a message is sent to detect closed connections
SEEN_BLINDLY = ("n_tasks", "n_votes", "n_annotators", "n_classes", "gold", "judged")  # facts of a fit
SETTINGS = ("name", "blind", "template", "remote")  # columns of a project that users can change


class Hub:
    """Tell open tabs which project changed; they request the new state themselves.

    Any thread can notify; listeners run in the event loop.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event, int | None]] = set()
        self._closed = False

    def notify(self, project: int) -> None:
        self._wake(lambda wanted: wanted is None or wanted == project)

    def close(self) -> None:
        """End all listeners, so that a server that stops does not wait for open tabs."""
        self._closed = True
        self._wake(lambda wanted: True)

    async def listen(self, project: int | None) -> AsyncIterator[bool]:
        """Yield True each time the project changes (None: any project), and False as a keep-alive.

        Several changes while the listener is busy are reported once.
        """
        event = asyncio.Event()
        listener = (asyncio.get_running_loop(), event, project)
        with self._lock:
            self._listeners.add(listener)
        try:
            yield True
            while not self._closed:
                try:
                    await asyncio.wait_for(event.wait(), KEEP_ALIVE_SECONDS)
                    event.clear()
                    if not self._closed:
                        yield True
                except TimeoutError:
                    yield False
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def _wake(self, wants: Callable[[int | None], bool]) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for loop, event, project in listeners:
            if wants(project) and not loop.is_closed():
                loop.call_soon_threadsafe(event.set)


def name_key(name: Any) -> str:
    """Return a task or class name as JSON, so that 7 and "7" stay distinct."""
    return json.dumps(name, ensure_ascii=False, default=str)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Projects:
    """Projects in a store. Every change is one transaction, increments the project's version and notifies open tabs."""

    def __init__(self, store: Store, hub: Hub) -> None:
        self.store, self.hub = store, hub

    def all(self) -> list[Row]:
        return self.store.rows("SELECT * FROM project ORDER BY id DESC")

    def get(self, project: int) -> Row:
        row = self.store.row("SELECT * FROM project WHERE id = ?", project)
        if row is None:
            raise Problem(404, "There is no such project", "It may have been deleted; go back to all projects.")
        return row

    def create(self, name: str, *, file: str | None = None, place: str | None = None) -> int:
        insert = "INSERT INTO project (name, created, file, place) VALUES (?, ?, ?, ?)"
        with self.store.transaction():
            project = self.store.run(insert, name, now(), file, place)
        self.hub.notify(project)
        return project

    def create_from_upload(self, name: str, path: Path) -> int:
        upload = self.store.keep_file(path)
        with self.store.transaction():
            self.store.own(upload)
            insert = "INSERT INTO project (name, created, file, upload) VALUES (?, ?, ?, ?)"
            project = self.store.run(insert, name, now(), name, upload)
        self.hub.notify(project)
        return project

    def of_place(self, place: str) -> int | None:
        """Return the newest project of a file in the folder."""
        row = self.store.row("SELECT id FROM project WHERE place = ? ORDER BY id DESC", place)
        return None if row is None else int(row["id"])

    def change(self, project: int, values: dict[str, Any], version: int | None = None) -> None:
        """Set columns of a project: its name and how its tasks are shown."""
        with self.changing(project, version):
            for column, value in values.items():
                assert column in SETTINGS
                self.store.run(f"UPDATE project SET {column} = ? WHERE id = ?", value, project)

    def loads_remote(self) -> bool:
        """Return whether a project may show images of other servers."""
        return self.store.row("SELECT 1 FROM project WHERE remote") is not None

    def set_failure(self, project: int, message: str) -> None:
        """Remember why the file could not be read, until it is read."""
        with self.changing(project):
            self.store.run("UPDATE project SET failure = ? WHERE id = ?", message, project)

    def keep_content(self, project: int, path: Path) -> None:
        """Store the content of the tasks instead of what was stored before."""
        blob = self.store.keep_file(path)
        with self.changing(project):
            before = self.get(project)["content"]
            self.store.own(blob)
            self.store.run("UPDATE project SET content = ? WHERE id = ?", blob, project)
            self.store.run("DELETE FROM blob WHERE id = ?", before)

    def delete(self, project: int) -> None:
        with self.changing(project):
            blobs = self.store.rows(
                "SELECT model AS id FROM fit WHERE project = ? AND model IS NOT NULL "
                "UNION SELECT file FROM predictions WHERE project = ?",
                *(project, project),
            )
            row = self.get(project)
            self.store.run("UPDATE project SET shown = NULL, base = NULL WHERE id = ?", project)
            self.store.run("DELETE FROM project WHERE id = ?", project)
            for blob in [*(found["id"] for found in blobs), row["upload"], row["content"]]:
                self.store.run("DELETE FROM blob WHERE id = ?", blob)

    @contextmanager
    def changing(self, project: int, version: int | None = None) -> Iterator[None]:
        """Commit the changes of the block together, count them as a new version, and tell open tabs."""
        with self.store.transaction():
            row = self.get(project)
            if version is not None and version != row["version"]:
                detail = "Another tab or a program changed it; reload it, then repeat your change."
                raise Problem(409, "The project has changed", detail)
            yield
            self.store.run("UPDATE project SET version = version + 1 WHERE id = ?", project)
        self.hub.notify(project)


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


class Folder(BaseModel):
    folder: str
    project_file: str
    upload_limit: int
    files: list[Listed]
    folders: list[str] = Field(description="Folders in it that hold images, sounds, videos or PDF.")


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
def folder(request: Request, services: ServicesDep) -> Folder:
    """Return the data files of the folder and the path of the project file; reviewers see no files."""
    is_owner = not request.scope.get("reviewer")
    return Folder(
        folder=str(services.files.folder),
        project_file=str(services.store.path),
        upload_limit=services.most_bytes,
        files=services.files.list() if is_owner else [],
        folders=[*services.files.subfolders()] if is_owner else [],
    )


@router.get("/projects")
def list_projects(request: Request, services: ServicesDep) -> list[Project]:
    """Return all projects that you may see, the newest first."""
    only = visitor_of(request).project
    seen = [row["id"] for row in services.projects.all() if only in (None, row["id"])]
    return [for_visitor(describe(services, each), visitor_of(request)) for each in seen]


@router.post("/projects", status_code=201)
def create_project(new: New, services: ServicesDep) -> Project:
    """Create a project from a file in the folder, or an empty one for posted votes."""
    if new.file is None:
        return describe(services, services.projects.create(new.name or "Posted votes"))
    path = services.files.resolve(new.file)
    return describe(services, services.projects.create(new.name or path.name, file=path.name, place=new.file))


@router.post("/uploads", status_code=201, openapi_extra=FILE_BODY)
async def upload(request: Request, name: FileName, services: ServicesDep) -> Project:
    """Create a project from an uploaded file; the body of the request is the content of the file."""
    path = services.files.temporary()
    try:
        with path.open("wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
        if not path.stat().st_size:
            raise Problem(422, "The file is empty", "Choose a file with votes.")
        project = await run_in_threadpool(services.projects.create_from_upload, safe_name(name), path)
    finally:
        path.unlink(missing_ok=True)
    return await run_in_threadpool(describe, services, project)


@router.post("/sample", status_code=201)
def open_sample(services: ServicesDep) -> Project:
    """Create a project of the sample: two LLM judges and two people compare the answers to 300 instructions."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sample.csv"
        write_with_texts(path)
        return describe(services, services.projects.create_from_upload(path.name, path))


@router.get("/projects/{project}")
def get_project(project: ProjectId, request: Request, services: ServicesDep) -> Project:
    return for_visitor(describe(services, project), visitor_of(request))


@router.patch("/projects/{project}")
def change_project(project: ProjectId, change: Change, services: ServicesDep) -> Project:
    """Rename a project, or change how its tasks are shown."""
    if change.template:
        check_template(change.template, template_names(services, project))
    services.projects.change(project, change.model_dump(exclude={"version"}, exclude_none=True), change.version)
    return describe(services, project)


@router.delete("/projects/{project}", status_code=204, response_class=Response)
def delete_project(project: ProjectId, services: ServicesDep) -> None:
    """Delete a project with its votes, fits and gold. The file in the folder is kept."""
    services.jobs.cancel(project)
    services.workspace.forget([fit["id"] for fit in services.fits.all(project)])
    services.projects.delete(project)


@router.get("/projects/{project}/events", response_class=StreamingResponse)
async def events(project: ProjectId, request: Request, services: ServicesDep) -> StreamingResponse:
    """Stream the project as server-sent events, each time it changes or a job makes progress."""
    await run_in_threadpool(services.projects.get, project)
    visitor = visitor_of(request)

    def state_now() -> Project:
        if visitor.project is not None and services.people.find(visitor.session) is None:
            raise Problem(401, "The link was revoked")
        return for_visitor(describe(services, project), visitor)

    async def updates() -> AsyncIterator[str]:
        async for has_changed in services.hub.listen(project):
            try:
                state = await run_in_threadpool(state_now) if has_changed else None
            except Problem:
                yield "event: gone\ndata: {}\n\n"
                return
            yield f"data: {state.model_dump_json()}\n\n" if state else ": still here\n\n"

    return StreamingResponse(updates(), media_type="text/event-stream")


def describe(services: Services, project: int) -> Project:
    """Return all that the pages show of a project."""
    job = services.jobs.of(project)  # before the database, which is changed before the state of a job
    state = None if job is None else _job_state(job)
    with services.store.snapshot():
        row = services.projects.get(project)
        if state is None and row["crashed"]:
            nothing: dict[str, Any] = {"rows": 0, "tolerance": 0.0, "steps": [], "warnings": []}
            nothing |= dict.fromkeys(("fit", "expected", "repair"))
            message = f"The studio ended while it read this file. {CRASHED}"
            state = JobState(kind="read", state="failed", message=message, **nothing)
        return Project(
            **{name: row[name] for name in ("id", "name", "created", "version", "file", "base", "shown", "failure")},
            reading=json.loads(row["reading"] or "null"),
            blind=bool(row["blind"]),
            template=row["template"] or "",
            remote=bool(row["remote"]),
            fits=[Fit(**fit) for fit in services.fits.all(project)],
            n_gold=services.gold.count(project),
            predictions=[PredictionsFile(**file) for file in services.predictions.all(project)],
            n_waiting=services.posted.n_waiting(project),
            crashed=bool(row["crashed"]),
            damaged=any(services.fits.is_damaged(row[name]) for name in ("base", "shown")),
            job=state,
        )


def for_visitor(project: Project, visitor: Visitor) -> Project:
    """Leave out what would tell a reviewer who judges blindly about votes and labels, such as labels that changed."""
    if visitor.name == OWNER or not project.blind:
        return project
    fits = [fit.model_copy(update={"facts": _counts(fit.facts), "message": ""}) for fit in project.fits]
    job = None if project.job is None else project.job.model_copy(update={"warnings": [], "message": ""})
    return project.model_copy(update={"fits": fits, "job": job, "failure": None})


def _counts(facts: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if facts is None else {name: facts[name] for name in SEEN_BLINDLY if name in facts}


def _job_state(job: BackgroundJob) -> JobState:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    steps = [[step.iteration, finite(step.change), finite(step.bound)] for step in list(job.steps)]
    names = ("kind", "fit", "state", "message", "rows", "expected", "tolerance", "warnings", "repair")
    return JobState(**{name: getattr(job, name) for name in names}, steps=steps)
