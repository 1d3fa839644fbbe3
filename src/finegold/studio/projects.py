"""Projects, and the people who review them. Open tabs hear of every change of a project."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from finegold.studio.content import PredictionsFile, check_template, predictions
from finegold.studio.files import CRASHED, FILE_BODY, MAX_LISTED, Listed, safe_name
from finegold.studio.gold import count_truths
from finegold.studio.problems import Problem
from finegold.studio.rights import ONLY_OWNER, REVIEWERS, visitor_of
from finegold.studio.security import MAX_REVIEWER_LENGTH, OWNER, Visitor, new_token, session_of
from finegold.studio.services import (
    FileName,
    JobState,
    ProjectId,
    Received,
    Services,
    ServicesDep,
    StoreDep,
)
from finegold.studio.store import Store, now
from finegold.votes.sample import write_with_texts

router = APIRouter(tags=["projects"])

SEEN_BLINDLY = (
    "n_tasks",
    "n_votes",
    "n_annotators",
    "n_classes",
    "gold",
    "judged",
)  # facts of a fit
KINDS = {
    "judge": "judged",
    "skip": "skipped",
    "send_back": "sent_back",
    "check": "checked",
}  # actions and their counts

Title = Annotated[str, Field(min_length=1, max_length=200)]


class Fit(BaseModel):
    id: int
    method: str
    settings: dict[str, Any]
    state: str = Field(
        description="queued, running, done, failed, cancelled, interrupted or replaced (by a newer fit)"
    )
    started: str
    message: str
    facts: dict[str, Any] | None


class Project(BaseModel):
    id: int
    name: str
    created: str
    version: int
    file: str | None
    reading: dict[str, Any] | None
    options: list[str] | None = Field(
        description="The labels that votes are sets of; a task asks about one of them."
    )
    base: int | None
    shown: int | None
    fits: list[Fit]
    blind: bool = Field(description="Whether votes and labels are hidden until a task is judged.")
    template: str = Field(description="How a task is shown; blank: all its columns.")
    remote: bool = Field(description="Whether images and sounds are loaded from other servers.")
    n_gold: int
    predictions: list[PredictionsFile] = Field(
        description="Of models; every fit combines them with the votes."
    )
    n_waiting: int = Field(description="Number of posted votes that the next fit will use.")
    crashed: bool = Field(
        description="Whether reading the file crashed the studio; it is read again only on request."
    )
    failure: str | None = Field(description="Why the file could not be read the last time.")
    damaged: bool = Field(
        description="Whether opening the result crashed the studio; it is opened only on request."
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
    file: str | None = Field(
        default=None, max_length=1000, description="A file in the folder; none if you post votes."
    )


class Change(BaseModel, extra="forbid"):
    """What is not given stays as it is."""

    name: Title | None = None
    blind: bool | None = Field(
        default=None, description="Hide the votes and the label of a task until it is judged."
    )
    template: str | None = Field(
        None, max_length=10_000, description="How a task is shown with {columns}; blank: all."
    )
    remote: bool | None = Field(
        default=None, description="Load images and sounds of the tasks from other servers."
    )
    version: int | None = Field(
        default=None, description="Refused (409) if the project has changed since."
    )


@router.get("/me", dependencies=REVIEWERS)
def me(request: Request) -> Me:
    """Return who you are."""
    name = visitor_of(request).name
    return Me(reviewer=name, is_owner=name == OWNER)


@router.get("/folder", dependencies=ONLY_OWNER)
def folder(request: Request, services: ServicesDep) -> Folder:
    """Return the data files of the folder and the path of the project file; reviewers see no files."""
    files, is_owner = services.files, visitor_of(request).name == OWNER
    names = (
        [path.name for path in files.folder.iterdir() if path.name[0] != "."] if is_owner else []
    )
    return Folder(
        folder=str(files.folder),
        project_file=str(services.store.path),
        upload_limit=services.most_bytes,
        files=files.list() if is_owner else [],
        folders=sorted(name for name in names if files.subfolder(name) is not None)[:MAX_LISTED],
    )


@router.get("/projects", dependencies=REVIEWERS)
def list_projects(request: Request, services: ServicesDep) -> list[Project]:
    """Return all projects that you may see, the newest first."""
    visitor, rows = (
        visitor_of(request),
        services.store.rows("SELECT id FROM project ORDER BY id DESC"),
    )
    return [
        describe(services, row["id"], visitor)
        for row in rows
        if visitor.project in (None, row["id"])
    ]


@router.post("/projects", dependencies=ONLY_OWNER, status_code=201)
def new_project(new: New, services: ServicesDep) -> Project:
    """Create a project from a file in the folder, or an empty one for posted votes."""
    file = None if new.file is None else services.files.resolve(new.file).name
    return describe(
        services,
        create_project(services, new.name or file or "Posted votes", file=file, place=new.file),
    )


def create_project(services: Services, name: str, **columns: Any) -> int:
    """Create a project and return its id. `columns` say where its file is."""
    with services.store.transaction():
        project = services.store.insert("project", name=name, created=now(), **columns)
    services.hub.notify(project)
    return project


@router.post("/uploads", dependencies=ONLY_OWNER, status_code=201, openapi_extra=FILE_BODY)
def upload(name: FileName, path: Received, services: ServicesDep) -> Project:
    """Create a project from an uploaded file; the body of the request is the content of the file."""
    if not path.stat().st_size:
        raise Problem(422, "The file is empty", "Choose a file with votes.")
    file, kept = safe_name(name), services.store.keep_file(path)
    return describe(services, create_project(services, file, file=file, upload=kept))


@router.post("/sample", dependencies=ONLY_OWNER, status_code=201)
def open_sample(services: ServicesDep) -> Project:
    """Create a project of the sample: two LLM judges and two people compare the answers to 300 instructions."""
    kept = services.files.keep(write_with_texts, ".csv")
    return describe(
        services, create_project(services, "sample.csv", file="sample.csv", upload=kept)
    )


@router.get("/projects/{project:id}", dependencies=REVIEWERS)
def get_project(project: ProjectId, request: Request, services: ServicesDep) -> Project:
    return describe(services, project, visitor_of(request))


@router.patch("/projects/{project:id}", dependencies=ONLY_OWNER)
def change_project(project: ProjectId, change: Change, services: ServicesDep) -> Project:
    """Rename a project, or change how its tasks are shown."""
    if change.template:
        check_template(services, project, change.template)
    with services.store.changing(project, change.version):
        for column, value in change.model_dump(exclude={"version"}, exclude_none=True).items():
            services.store.run(f"UPDATE project SET {column} = ? WHERE id = ?", value, project)
    return describe(services, project)


@router.delete(
    "/projects/{project:id}", dependencies=ONLY_OWNER, status_code=204, response_class=Response
)
def delete_project(project: ProjectId, services: ServicesDep) -> None:
    """Delete a project with its votes, fits and gold. The file in the folder is kept."""
    services.jobs.cancel(project)
    services.workspace.forget(project, [fit.id for fit in fits_of(services.store, project)])
    with services.store.changing(project):
        services.store.run("UPDATE project SET shown = NULL, base = NULL WHERE id = ?", project)
        services.store.run("DELETE FROM project WHERE id = ?", project)


@router.get(
    "/projects/{project:id}/events", dependencies=REVIEWERS, response_class=StreamingResponse
)
async def events(project: ProjectId, request: Request, services: ServicesDep) -> StreamingResponse:
    """Stream the project as server-sent events, each time it changes or a job makes progress."""
    visitor = visitor_of(request)

    def state_now() -> Project:
        if visitor.project is not None and find_visitor(services.store, visitor.session) is None:
            raise Problem(401, "The link was revoked")
        return describe(services, project, visitor)

    async def updates() -> AsyncIterator[str]:
        async for has_changed in services.hub.listen(project):
            try:
                state = await run_in_threadpool(state_now) if has_changed else None
            except Problem:
                yield "event: gone\ndata: {}\n\n"
                return
            yield f"data: {state.model_dump_json()}\n\n" if state else ": still here\n\n"

    return StreamingResponse(updates(), media_type="text/event-stream")


def fits_of(
    store: Store, project: int, condition: str = "state != 'replaced'", *values: Any
) -> list[Fit]:
    """Return the fits of a project, by default all except those that a newer fit replaced."""
    rows = store.rows(
        f"SELECT * FROM fit WHERE project = ? AND {condition} ORDER BY id", project, *values
    )
    return [
        Fit(**row | {name: json.loads(row[name] or "null") for name in ("settings", "facts")})
        for row in rows
    ]


def count_waiting(store: Store, project: int) -> int:
    count = "SELECT coalesce(sum(n_votes), 0) AS n FROM posted WHERE project = ? AND NOT taken"
    return int(store.rows(count, project)[0]["n"])


def describe(services: Services, project: int, visitor: Visitor | None = None) -> Project:
    """Return a project, without what would tell a visitor who judges blindly about votes and labels."""
    job = services.jobs.latest.get(
        project
    )  # before the database, which is changed before the state of a job
    state = None if job is None else job.model_copy()
    with services.store.lock:
        store, row = services.store, services.store.project(project)
        if state is None and row["crashed"]:
            message = f"The studio ended while it read this file. {CRASHED}"
            state = JobState(kind="read", state="failed", message=message)
        computed = {
            "template": row["template"] or "",
            "fits": fits_of(store, project),
            "n_gold": count_truths(store, project),
            "predictions": predictions(project, store),
            "n_waiting": count_waiting(store, project),
            "damaged": any(services.workspace.is_damaged(row[name]) for name in ("base", "shown")),
            "job": state,
        }
    shown = Project(**row | computed)
    if visitor is not None and visitor.name != OWNER and shown.blind:
        for fit in shown.fits:
            fit.message = ""
            fit.facts = fit.facts and {
                name: fit.facts[name] for name in SEEN_BLINDLY if name in fit.facts
            }
        if shown.job is not None:  # its message may name labels that changed
            shown.job.warnings, shown.job.message, shown.job.repair = [], "", None
        shown.failure, shown.predictions = None, []
    return shown


class Person(BaseModel):
    name: str = Field(description="Blank: the owner, without a name.")
    invited: str | None = Field(
        description="When a link was made on the page; null: there is none, or it was revoked."
    )
    judged: int
    skipped: int
    sent_back: int
    checked: int = Field(description="Number of tasks of a random sample.")
    last: str | None = Field(description="When they did something for the last time.")


class Invited(BaseModel, extra="forbid"):
    name: str = Field(min_length=1, max_length=MAX_REVIEWER_LENGTH)


class Invitation(BaseModel):
    name: str
    token: str = Field(
        description="It is shown once: the address of the studio followed by /?token= and this."
    )


def find_visitor(store: Store, session: str) -> Visitor | None:
    """Return the person who was invited on the page and has this session; None if there is none, or it was revoked."""
    row = store.row("SELECT name, session, project FROM person WHERE session = ?", session)
    return None if row is None else Visitor(**row)


@router.get("/projects/{project:id}/people", dependencies=ONLY_OWNER)
def people(project: ProjectId, store: StoreDep) -> list[Person]:
    """Return what each person did: those who were invited, and all who judged."""
    invited = store.rows("SELECT name, at FROM person WHERE project = ? ORDER BY name", project)
    did = store.rows(
        "SELECT reviewer, kind, at FROM action WHERE project = ? AND NOT undone UNION ALL "
        "SELECT reviewer, 'check', answer.at FROM answer JOIN audit ON audit.id = audit WHERE project = ? "
        "AND NOT settles",
        *(project, project),
    )
    nothing: dict[str, Any] = dict.fromkeys(KINDS.values(), 0) | {"last": None, "invited": None}
    rows: dict[str, dict[str, Any]] = defaultdict(nothing.copy)
    for row in invited:
        rows[row["name"]]["invited"] = row["at"]
    for row in did:
        person = rows[row["reviewer"]]
        person[KINDS[row["kind"]]] += 1
        person["last"] = max(person["last"] or "", row["at"])
    return [Person(name=name, **row) for name, row in rows.items()]


@router.post("/projects/{project:id}/people", dependencies=ONLY_OWNER, status_code=201)
def invite(project: ProjectId, who: Invited, store: StoreDep) -> Invitation:
    """Invite a reviewer to this project. A second invitation of the same name replaces the first.

    Of the token, only the session that belongs to it is kept.
    """
    name, token = who.name.strip(), new_token()
    if not name or not name.isprintable():
        raise Problem(422, "This is not a name", "Write a name of visible characters.")
    with store.changing(project):
        known = store.row("SELECT project FROM person WHERE name = ?", name)
        if known is not None and known["project"] != project:
            raise Problem(
                409,
                "The name is taken",
                "Another project has a reviewer of this name; add something to it.",
            )
        store.insert("person", name=name, project=project, session=session_of(token), at=now())
    return Invitation(name=name, token=token)


@router.delete(
    "/projects/{project:id}/people",
    dependencies=ONLY_OWNER,
    status_code=204,
    response_class=Response,
)
def revoke(project: ProjectId, name: str, store: StoreDep) -> None:
    """Revoke the link of a reviewer at once. Their judgements stay."""
    with store.changing(project):
        store.run("DELETE FROM person WHERE project = ? AND name = ?", project, name)
