"""Projects, and the people who review them. Open tabs hear of every change of a project."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from finegold.studio.fits import fits_of, queue_fit
from finegold.studio.judging import progress_of
from finegold.studio.problems import Problem
from finegold.studio.security import (
    MAX_REVIEWER_LENGTH,
    ONLY_OWNER,
    OWNER,
    REVIEWERS,
    Visitor,
    new_token,
    session_of,
    visitor_of,
)
from finegold.studio.services import Project, ProjectDep, Services, ServicesDep
from finegold.studio.store import Row, Store, now
from finegold.studio.votes import key_of, vote_sources

router = APIRouter(tags=["projects"])

# facts of a fit
SEEN_BLINDLY = ("n_tasks", "n_votes", "n_annotators", "n_classes", "is_sets", "truths")
SECONDS_BETWEEN_EVENTS = 0.1
NOTHING: dict[str, Any] = {"status_code": 204, "response_class": Response}

Title = Annotated[str, Field(min_length=1, max_length=200)]


class New(BaseModel, extra="forbid"):
    name: Title = "New project"


class Change(BaseModel, extra="forbid"):
    name: Title | None = None
    # hide votes and labels until a task is judged
    blind: bool | None = None
    # in Markdown
    guidelines: str | None = Field(None, max_length=100_000)
    # load images and sounds from other servers
    remote: bool | None = None
    # annotators whose votes do not count
    excluded: list[str] | None = Field(None, max_length=10_000)
    # the fit to show and export
    shown: int | None = Field(None, ge=1)
    # false loads files again during which the studio ended
    crashed: bool | None = None
    # refused (409) if the project has changed since
    version: int | None = None


@router.get("/me", dependencies=REVIEWERS)
def me(request: Request) -> dict[str, Any]:
    who = visitor_of(request)
    return {"reviewer": who.name, "is_owner": who.name == OWNER, "project": who.project}


@router.get("/folder", dependencies=ONLY_OWNER)
def folder(services: ServicesDep) -> dict[str, Any]:
    """Return the data files of the folder and the path of the project file."""
    files = services.files
    return {
        "folder": str(files.folder),
        "project_file": str(services.store.path),
        "upload_limit": services.most_bytes,
        "files": files.listed(),
        "folders": files.folders(),
    }


@router.get("/projects", dependencies=REVIEWERS)
def list_projects(request: Request, services: ServicesDep) -> list[Row]:
    """Return all projects that you may see, the newest first."""
    visitor = visitor_of(request)
    rows = services.store.rows("SELECT id FROM project ORDER BY id DESC")
    seen = [row["id"] for row in rows if visitor.project in (None, row["id"])]
    return [describe(Project(services, project), visitor) for project in seen]


@router.post("/projects", dependencies=ONLY_OWNER, status_code=201)
def new_project(new: New, services: ServicesDep) -> Row:
    """Create a project; its sources come next."""
    return describe(create_project(services, new.name))


def create_project(services: Services, name: str) -> Project:
    project = services.store.insert("project", name=name, created=now())
    return Project(services, project)


@router.get("/projects/{project:id}", dependencies=REVIEWERS)
def see_project(project: ProjectDep, request: Request) -> Row:
    return describe(project, visitor_of(request))


@router.patch("/projects/{project:id}", dependencies=ONLY_OWNER)
def change_project(project: ProjectDep, change: Change) -> Row:
    """Change a project. It is fitted again if the excluded annotators change."""
    given = change.model_dump(exclude={"version", "crashed"}, exclude_none=True)
    if change.crashed is False:
        given["loading"] = 0
    with project.changing(change.version):
        before, wanted = project.row["excluded"], change.shown
        if wanted and not fits_of(project, "id = ? AND state = 'done'", wanted):
            raise Problem(409, "This fit has no result", "Choose one that has finished.")
        if given:
            project.store.update("project", project.id, **given)
    if change.excluded is not None and sorted(change.excluded) != sorted(before):
        queue_fit(project)
    return describe(project)


@router.delete("/projects/{project:id}", dependencies=ONLY_OWNER, **NOTHING)
def delete_project(project: ProjectDep) -> None:
    """Delete a project with its sources, fits and judgements. Files in the folder are kept."""
    services, store, number = project.services, project.store, project.id
    services.jobs.cancel(number)
    services.loaded.forget(number, [fit["id"] for fit in fits_of(project)])
    with project.changing():
        store.update("project", number, shown=None)
        for table in ("judgement", "sample", "source"):
            store.run(f"DELETE FROM {table} WHERE project = ?", number)
        store.run("DELETE FROM project WHERE id = ?", number)
    store.sweep()


@router.get(
    "/projects/{project:id}/events", dependencies=REVIEWERS, response_class=StreamingResponse
)
async def events(project: ProjectDep, request: Request) -> StreamingResponse:
    """Stream the project as server-sent events, each time it changes or a job makes progress."""
    visitor, services = visitor_of(request), project.services

    def state_now() -> str:
        if visitor.project is not None and find_visitor(services.store, visitor.session) is None:
            raise Problem(401, "The link was revoked")
        # streams of one kind of people share what they are told
        job = services.jobs.latest.get(project.id)
        key = (project.row["version"], None if job is None else str(job.shown()))
        kind = (project.id, visitor.name == OWNER)
        told = services.told.get(kind)
        if told is None or told[0] != key:
            told = services.told[kind] = key, json.dumps(describe(project, visitor))
        return told[1]

    async def updates() -> AsyncIterator[str]:
        async for has_changed in services.hub.listen(project.id):
            try:
                state = await run_in_threadpool(state_now) if has_changed else None
            except Problem as problem:
                yield f"event: gone\ndata: {problem.status}\n\n"
                return
            yield f"data: {state}\n\n" if state else ": still here\n\n"
            # many changes in a short time are told together
            await asyncio.sleep(SECONDS_BETWEEN_EVENTS * (1 + services.hub.n_listeners / 50))

    return StreamingResponse(updates(), media_type="text/event-stream")


def describe(project: Project, visitor: Visitor | None = None) -> Row:
    """Return a project, without what would tell a visitor who judges blindly about its labels."""
    # before the database, which is changed before the state of a job
    latest = project.services.jobs.latest.get(project.id)
    job = None if latest is None else latest.shown()
    with project.store.lock:
        row = project.row
        fit = next(iter(fits_of(project, "id = ?", row["shown"])), None)
        sources = vote_sources(project)
        truths = project.store.rows(
            "SELECT count(DISTINCT task) AS n, sum(at > ?) AS later FROM judgement WHERE project"
            " = ? AND kind IN ('truth', 'known') AND NOT undone AND sample IS NULL"
            " AND value IS NOT NULL AND value != 'null'",
            *(fit["started"] if fit else "", project.id),
        )[0]
        samples = project.rows(
            "SELECT id FROM sample WHERE project = ? AND NOT closed ORDER BY id DESC"
        )
        key = key_of(project)
    known = ((fit and fit["facts"]) or {}).pop("key", None)
    if visitor is not None and visitor.name != OWNER and row["blind"]:
        if fit is not None and fit["facts"] is not None:
            fit["message"] = ""
            fit["facts"] = {name: fit["facts"][name] for name in SEEN_BLINDLY}
        # its message may name labels that changed
        if job is not None:
            job |= {"message": "", "repair": None}
    return {
        **row,
        "blind": bool(row["blind"]),
        "remote": bool(row["remote"]),
        "fit": fit,
        "n_truths": truths["n"],
        "n_new_truths": truths["later"] or 0,
        "is_stale": bool(key["sources"]) and known != key,
        "is_judge_log": any(each["reading"].get("shape") == "judges" for each in sources),
        "crashed": row["loading"] == 2,
        "samples": [each["id"] for each in samples],
        "job": job,
    }


# ---- People


class Invited(BaseModel, extra="forbid"):
    name: str = Field(min_length=1, max_length=MAX_REVIEWER_LENGTH)


def find_visitor(store: Store, session: str) -> Visitor | None:
    """Return the person who was invited on the page and has this session, if it was not revoked."""
    sql = "SELECT name, session, project FROM person WHERE session = ? AND NOT revoked"
    row = store.row(sql, session)
    return None if row is None else Visitor(**row)


@router.post("/door", dependencies=ONLY_OWNER)
def open_door(services: ServicesDep) -> dict[str, str]:
    """Let those who were invited in from other computers, until the studio ends."""
    services.door = services.door or services.open_door()
    if services.door is None:
        detail = "No port is free for it."
        raise Problem(409, "The studio cannot be opened to other computers", detail)
    return {"address": services.door[1]}


@router.get("/projects/{project:id}/people", dependencies=ONLY_OWNER)
def people(project: ProjectDep) -> dict[str, Any]:
    """Return those who were invited or judged, what each did, and where they enter."""
    door = project.services.door
    rows = project.rows("SELECT * FROM person WHERE project = ? ORDER BY name")
    everybody = progress_of(project)
    for row in rows:
        everybody.setdefault(row["name"], {})["revoked"] = bool(row["revoked"])
    found = [{"name": name, **did} for name, did in everybody.items()]
    return {"people": found, "door": door and door[1]}


@router.post("/projects/{project:id}/people", dependencies=ONLY_OWNER, status_code=201)
def invite(project: ProjectDep, who: Invited) -> dict[str, str]:
    """Invite a reviewer to this project. A second invitation of the same name replaces the first.

    Of the token, only the session that belongs to it is kept.
    """
    name, token, store = who.name.strip(), new_token(), project.store
    if not name or not name.isprintable():
        raise Problem(422, "This is not a name", "Write a name of visible characters.")
    with project.changing():
        known = store.row("SELECT project FROM person WHERE name = ?", name)
        if known is not None and known["project"] != project.id:
            detail = "Another project has a reviewer of this name; add something to it."
            raise Problem(409, "The name is taken", detail)
        store.insert("person", name=name, project=project.id, session=session_of(token), at=now())
    return {"name": name, "token": token}


@router.delete("/projects/{project:id}/people", dependencies=ONLY_OWNER, **NOTHING)
def revoke(project: ProjectDep, name: str) -> None:
    """Revoke the link of a reviewer at once. Their judgements stay."""
    with project.changing():
        sql = "UPDATE person SET revoked = 1 WHERE project = ? AND name = ?"
        project.store.run(sql, project.id, name)
