"""Projects, and the people who review them. Open tabs hear of every change of a project."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from finegold.studio.files import Listed
from finegold.studio.items import check_template
from finegold.studio.problems import Problem
from finegold.studio.rights import ONLY_OWNER, REVIEWERS, visitor_of
from finegold.studio.security import MAX_REVIEWER_LENGTH, OWNER, Visitor, new_token, session_of
from finegold.studio.services import JobState, ProjectId, Services, ServicesDep, StoreDep
from finegold.studio.store import Store, now
from finegold.votes.sample import write_with_texts

router = APIRouter(tags=["projects"])

# facts of a fit
SEEN_BLINDLY = ("n_tasks", "n_votes", "n_annotators", "n_classes", "is_sets", "truths")
SAMPLE = "sample.csv"
SECONDS_BETWEEN_EVENTS = 0.1

Title = Annotated[str, Field(min_length=1, max_length=200)]


class Fit(BaseModel):
    id: int
    method: str
    settings: dict[str, Any]
    state: str
    started: str
    message: str
    facts: dict[str, Any] | None


class Project(BaseModel):
    id: int
    name: str
    created: str
    version: int
    shown: int | None
    fit: Fit | None
    excluded: list[str]
    blind: bool
    template: str
    guidelines: str
    remote: bool
    n_truths: int
    n_new_truths: int
    n_sources: int
    is_stale: bool
    is_judge_log: bool
    crashed: bool
    samples: list[int]
    job: JobState | None


class Me(BaseModel):
    reviewer: str
    is_owner: bool
    project: int | None


class Folder(BaseModel):
    folder: str
    project_file: str
    upload_limit: int
    files: list[Listed]
    folders: list[str]


class New(BaseModel, extra="forbid"):
    name: Title = "New project"


class Change(BaseModel, extra="forbid"):
    """What is not given stays as it is."""

    name: Title | None = None
    blind: bool | None = Field(
        default=None, description="Hide the votes and the label of a task until it is judged."
    )
    template: str | None = Field(
        None, max_length=10_000, description="How a task is shown with {columns}; blank: all."
    )
    guidelines: str | None = Field(
        default=None, max_length=100_000, description="What people were told, in Markdown."
    )
    remote: bool | None = Field(
        default=None, description="Load images and sounds of the tasks from other servers."
    )
    excluded: list[str] | None = Field(
        default=None, max_length=10_000, description="Annotators whose votes do not count."
    )
    version: int | None = Field(
        default=None, description="Refused (409) if the project has changed since."
    )


@router.get("/me", dependencies=REVIEWERS)
def me(request: Request) -> Me:
    """Return who you are."""
    visitor = visitor_of(request)
    return Me(reviewer=visitor.name, is_owner=visitor.name == OWNER, project=visitor.project)


@router.get("/folder", dependencies=ONLY_OWNER)
def folder(services: ServicesDep) -> Folder:
    """Return the data files of the folder and the path of the project file."""
    files = services.files
    return Folder(
        folder=str(files.folder),
        project_file=str(services.store.path),
        upload_limit=services.most_bytes,
        files=files.listed(),
        folders=files.folders(),
    )


@router.get("/projects", dependencies=REVIEWERS)
def list_projects(request: Request, services: ServicesDep) -> list[Project]:
    """Return all projects that you may see, the newest first."""
    visitor = visitor_of(request)
    rows = services.store.rows("SELECT id FROM project ORDER BY id DESC")
    return [
        describe(services, row["id"], visitor)
        for row in rows
        if visitor.project in (None, row["id"])
    ]


@router.post("/projects", dependencies=ONLY_OWNER, status_code=201)
def new_project(new: New, services: ServicesDep) -> Project:
    """Create a project; its sources come next."""
    return describe(services, create_project(services, new.name))


def create_project(services: Services, name: str) -> int:
    with services.store.transaction():
        project = services.store.insert("project", name=name, created=now())
    services.hub.notify(project)
    return project


@router.post("/sample", dependencies=ONLY_OWNER, status_code=201)
def open_sample(services: ServicesDep) -> Project:
    """Create a project of the sample: two LLM judges and two people compare the answers to 300
    instructions.
    """
    from finegold.studio.fits import queue_fit

    blob = services.files.keep(write_with_texts, ".csv")
    project = create_project(services, SAMPLE)
    services.store.insert(
        "source", project=project, kind="votes", state="in", name=SAMPLE, blob=blob, at=now()
    )
    queue_fit(services, project)
    return describe(services, project)


@router.get("/projects/{project:id}", dependencies=REVIEWERS)
def get_project(project: ProjectId, request: Request, services: ServicesDep) -> Project:
    return describe(services, project, visitor_of(request))


@router.patch("/projects/{project:id}", dependencies=ONLY_OWNER)
def change_project(project: ProjectId, change: Change, services: ServicesDep) -> Project:
    """Rename a project, change how its tasks are shown, or exclude annotators, which fits it
    again.
    """
    from finegold.studio.fits import queue_fit

    if change.template:
        check_template(services, project, change.template)
    given = change.model_dump(exclude={"version"}, exclude_none=True)
    with services.store.changing(project, change.version):
        before = services.store.project(project)["excluded"]
        if given:
            services.store.update("project", project, **given)
    if change.excluded is not None and sorted(change.excluded) != sorted(before):
        queue_fit(services, project)
    return describe(services, project)


@router.delete(
    "/projects/{project:id}", dependencies=ONLY_OWNER, status_code=204, response_class=Response
)
def delete_project(project: ProjectId, services: ServicesDep) -> None:
    """Delete a project with its sources, fits and judgements. Files in the folder are kept."""
    store = services.store
    services.jobs.cancel(project)
    services.loaded.forget(project, [fit.id for fit in fits_of(store, project)])
    with store.changing(project):
        store.update("project", project, shown=None)
        for table in ("judgement", "sample", "source"):
            store.run(f"DELETE FROM {table} WHERE project = ?", project)
        store.run("DELETE FROM project WHERE id = ?", project)
    store.sweep()


@router.post("/projects/{project:id}/open", dependencies=ONLY_OWNER)
def open_again(project: ProjectId, services: ServicesDep) -> Project:
    """Allow files to be loaded during which the studio ended."""
    with services.store.changing(project):
        services.store.update("project", project, loading=0)
    return describe(services, project)


@router.get(
    "/projects/{project:id}/events", dependencies=REVIEWERS, response_class=StreamingResponse
)
async def events(project: ProjectId, request: Request, services: ServicesDep) -> StreamingResponse:
    """Stream the project as server-sent events, each time it changes or a job makes progress."""
    visitor = visitor_of(request)

    def state_now() -> str:
        if visitor.project is not None and find_visitor(services.store, visitor.session) is None:
            raise Problem(401, "The link was revoked")
        # streams of one kind of people share what they are told
        version = services.store.project(project)["version"]
        job = services.jobs.latest.get(project)
        key = (version, None if job is None else job.model_dump_json())
        kind = (project, visitor.name == OWNER)
        told = services.told.get(kind)
        if told is None or told[0] != key:
            told = services.told[kind] = key, describe(services, project, visitor).model_dump_json()
        return told[1]

    async def updates() -> AsyncIterator[str]:
        async for has_changed in services.hub.listen(project):
            try:
                state = await run_in_threadpool(state_now) if has_changed else None
            except Problem as problem:
                yield f"event: gone\ndata: {problem.status}\n\n"
                return
            yield f"data: {state}\n\n" if state else ": still here\n\n"
            # many changes in a short time are told together
            await asyncio.sleep(SECONDS_BETWEEN_EVENTS * (1 + services.hub.n_listeners / 50))

    return StreamingResponse(updates(), media_type="text/event-stream")


def fits_of(
    store: Store, project: int, condition: str = "state != 'replaced'", *values: Any
) -> list[Fit]:
    """Return the fits of a project, by default all except those that a newer fit replaced."""
    rows = store.rows(
        f"SELECT * FROM fit WHERE project = ? AND {condition} ORDER BY id", project, *values
    )
    for row in rows:
        if row["facts"] is not None:
            row["facts"].pop("key", None)
    return [Fit(**row) for row in rows]


@router.get("/projects/{project:id}/fits", dependencies=ONLY_OWNER)
def fits(project: ProjectId, store: StoreDep) -> list[Fit]:
    """Return the fits that have a result or are under way."""
    store.project(project)
    return fits_of(store, project)


def describe(services: Services, project: int, visitor: Visitor | None = None) -> Project:
    """Return a project, without what would tell a visitor who judges blindly about votes and
    labels.
    """
    # before the database, which is changed before the state of a job
    job = services.jobs.latest.get(project)
    state = None if job is None else job.model_copy()
    store = services.store
    with store.lock:
        row = store.project(project)
        fit = next(iter(fits_of(store, project, "id = ?", row["shown"])), None)
        sources = store.rows(
            "SELECT id, kind, reading, blob FROM source WHERE project = ? AND state = 'in'"
            " ORDER BY id",
            project,
        )
        truths = store.rows(
            "SELECT count(DISTINCT task) AS n, sum(at > ?) AS later FROM judgement WHERE project = ?"
            " AND kind IN ('truth', 'known') AND NOT undone AND sample IS NULL"
            " AND value IS NOT NULL AND value != 'null'",
            *(fit.started if fit else "", project),
        )[0]
        open_samples = store.rows(
            "SELECT id FROM sample WHERE project = ? AND NOT closed ORDER BY id DESC", project
        )
        key = store.row("SELECT facts FROM fit WHERE id = ?", row["shown"])
    votes = [
        [each["id"], each["reading"], each["blob"]] for each in sources if each["kind"] == "votes"
    ]
    known = ((key and key["facts"]) or {}).get("key", {})
    shown = Project(
        **{
            **row,
            "fit": fit,
            "n_truths": truths["n"],
            "n_new_truths": truths["later"] or 0,
            "n_sources": len(sources),
            "is_stale": bool(votes) and known != {"sources": votes, "excluded": row["excluded"]},
            "is_judge_log": any(each["reading"].get("shape") == "judges" for each in sources),
            "crashed": row["loading"] == 2,
            "samples": [each["id"] for each in open_samples],
            "job": state,
        }
    )
    if visitor is not None and visitor.name != OWNER and shown.blind:
        if shown.fit is not None and shown.fit.facts is not None:
            facts = shown.fit.facts
            shown.fit.message = ""
            shown.fit.facts = {name: facts[name] for name in SEEN_BLINDLY if name in facts}
        # its message may name labels that changed
        if shown.job is not None:
            shown.job.warnings, shown.job.message, shown.job.repair = [], "", None
    return shown


# ---- People


class Person(BaseModel):
    name: str
    invited: str
    revoked: bool


class Invited(BaseModel, extra="forbid"):
    name: str = Field(min_length=1, max_length=MAX_REVIEWER_LENGTH)


class Invitation(BaseModel):
    name: str
    token: str
    address: str | None


class Door(BaseModel):
    address: str | None


def find_visitor(store: Store, session: str) -> Visitor | None:
    """Return the person who was invited on the page and has this session; None if there is none, or
    it was revoked.
    """
    row = store.row(
        "SELECT name, session, project FROM person WHERE session = ? AND NOT revoked", session
    )
    return None if row is None else Visitor(**row)


@router.get("/door", dependencies=ONLY_OWNER)
def door(services: ServicesDep) -> Door:
    """Return where reviewers on other computers reach the studio."""
    return Door(address=services.door)


@router.post("/door", dependencies=ONLY_OWNER)
def open_door(services: ServicesDep) -> Door:
    """Let reviewers on other computers in, until the studio ends. Only those who were invited can
    enter there, and not the owner.
    """
    services.door = services.door or services.open_door()
    if services.door is None:
        detail = "No port is free for it."
        raise Problem(409, "The studio cannot be opened to other computers", detail)
    return Door(address=services.door)


@router.get("/projects/{project:id}/people", dependencies=ONLY_OWNER)
def people(project: ProjectId, store: StoreDep) -> list[Person]:
    """Return those who were invited."""
    store.project(project)
    rows = store.rows("SELECT * FROM person WHERE project = ? ORDER BY name", project)
    return [Person(name=row["name"], invited=row["at"], revoked=row["revoked"]) for row in rows]


@router.post("/projects/{project:id}/people", dependencies=ONLY_OWNER, status_code=201)
def invite(project: ProjectId, who: Invited, services: ServicesDep) -> Invitation:
    """Invite a reviewer to this project. A second invitation of the same name replaces the first.

    Of the token, only the session that belongs to it is kept.
    """
    name, token, store = who.name.strip(), new_token(), services.store
    if not name or not name.isprintable():
        raise Problem(422, "This is not a name", "Write a name of visible characters.")
    with store.changing(project):
        known = store.row("SELECT project FROM person WHERE name = ?", name)
        if known is not None and known["project"] != project:
            detail = "Another project has a reviewer of this name; add something to it."
            raise Problem(409, "The name is taken", detail)
        store.insert("person", name=name, project=project, session=session_of(token), at=now())
    return Invitation(name=name, token=token, address=services.door)


@router.delete(
    "/projects/{project:id}/people",
    dependencies=ONLY_OWNER,
    status_code=204,
    response_class=Response,
)
def revoke(project: ProjectId, name: str, store: StoreDep) -> None:
    """Revoke the link of a reviewer at once. Their judgements stay."""
    with store.changing(project):
        store.run("UPDATE person SET revoked = 1 WHERE project = ? AND name = ?", project, name)
