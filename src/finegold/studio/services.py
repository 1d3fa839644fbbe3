"""What all routes share: the open project file with everything around it, who asks, and the types of requests."""

from __future__ import annotations

import asyncio
import math
import pathlib
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import AfterValidator

from finegold.errors import FinegoldError, InputError
from finegold.io.tables import open_table
from finegold.studio.files import Files, safe_name
from finegold.studio.jobs import Jobs
from finegold.studio.problems import Problem, rename_files, words_of
from finegold.studio.security import OWNER, Visitor, may_read_blindly
from finegold.studio.store import Store
from finegold.studio.workspace import Browser, Workspace

KEEP_ALIVE_SECONDS = 15.0  # without an event, after which a message is sent to detect closed connections
HOLD_SECONDS = 600  # after which a task that was handed to a reviewer may be handed to another


class Hub:
    """Tell open tabs which project changed, from any thread; they request the new state themselves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = set()
        self._closed = False

    def notify(self, project: int | None) -> None:
        """Wake the listeners of a project (None: all)."""
        with self._lock:
            listeners = list(self._listeners)
        for loop, event, wanted in listeners:
            if project in (None, wanted) and not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    def close(self) -> None:
        """End all listeners, so that a server that stops does not wait for open tabs."""
        self._closed = True
        self.notify(None)

    async def listen(self, project: int) -> AsyncIterator[bool]:
        """Yield True when the project has changed, once for several changes, and False as a keep-alive."""
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


class Holds:
    """The tasks that reviewers have on their screens, so that no two are handed the same one at the same time."""

    def __init__(self) -> None:
        self.choosing = threading.Lock()  # held while a reviewer chooses a task
        self._held: dict[tuple[int, str], tuple[Any, float]] = {}  # project, reviewer -> task, end

    def by_others(self, project: int, reviewer: str) -> list[Any]:
        now, held = time.monotonic(), self._held.items()
        return [task for (where, who), (task, end) in held if where == project and who != reviewer and now < end]

    def hold(self, project: int, reviewer: str, task: Any | None) -> None:
        """Hold this task for the reviewer instead of the one before."""
        if task is None:
            self._held.pop((project, reviewer), None)
        else:
            self._held[project, reviewer] = (task, time.monotonic() + HOLD_SECONDS)


class Services:
    """One open project file with everything that works on it."""

    def __init__(self, project_file: pathlib.Path, folder: pathlib.Path, most_bytes: int, file: str | None = None):
        self.most_bytes = most_bytes
        self.hub, self.holds = Hub(), Holds()
        self.store = Store(project_file, self.hub.notify)
        self.files = Files(folder, self.store, also=file)
        self.workspace = Workspace(self.store, self.files)
        self.jobs = Jobs(self.store, self.hub.notify)
        self.judge_views: dict[tuple[int, int], dict[str, Any]] = {}  # the newest ones, by project and version
        self.judge_lock = threading.Lock()

    def warm_up(self) -> None:
        """Load the newest result in the background while the browser starts."""
        threading.Thread(target=self._load_newest, name="finegold-studio-warm-up", daemon=True).start()

    def _load_newest(self) -> None:
        newest = self.store.row("SELECT id, shown FROM project WHERE shown NOT NULL ORDER BY id DESC")
        if newest is None:
            return
        opening = self.workspace.opening(newest["id"], newest["shown"])
        with suppress(FinegoldError, Problem, sqlite3.Error, OSError), opening:  # the next request reports it
            self.workspace.shown(newest["id"]).doubts  # noqa: B018 (fills the cache)

    def close(self) -> None:
        self.hub.close()
        self.jobs.close()
        self.files.close()
        self.store.close()


Name = str | int | float | bool  # the name of a task, an annotator or a class, as in JSON


def plain_name(name: Any) -> Any:
    """Convert a name to a JSON value; dates become text."""
    return name if isinstance(name, str | int | float | bool) else str(name)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):  # Python's JSON parser accepts them
        raise ValueError("NaN and Infinity are not allowed")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("an integer must fit into 64 bits; send it as text")
    return value


def _not_blank(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise ValueError("it is blank; give a name")
    return value


Scalar = Annotated[Name, AfterValidator(_finite)]  # a name in a request
Id = Annotated[Scalar, AfterValidator(_not_blank)]
ProjectId = Annotated[int, Path(ge=1, le=2**53, description="The id of a project.")]
FitId = Annotated[int, Path(ge=1, le=2**53, description="The id of a fit.")]
At = Annotated[int, Path(ge=0, le=2**31 - 1, description="The index of a task or an annotator, from zero.")]
FileName = Annotated[str, Query(min_length=1, max_length=200, description="The name of the file.")]
FILE_BODY = {"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}}
MAX_REVIEWER_LENGTH = 100


def get_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(get_services)]


def get_store(services: ServicesDep) -> Store:
    return services.store


StoreDep = Annotated[Store, Depends(get_store)]


def get_reviewer(
    request: Request,
    x_finegold_reviewer: Annotated[
        str, Header(max_length=1000, description="Your name, percent-encoded; a reviewer's own token is stronger.")
    ] = "",
) -> str:
    """Return the name that belongs to the token, or else the name that the client gives."""
    name: str = visitor_of(request).name or unquote(x_finegold_reviewer)
    return name.strip()[:MAX_REVIEWER_LENGTH]


Reviewer = Annotated[str, Depends(get_reviewer)]


def get_browser(
    project: ProjectId,
    services: ServicesDep,
    fit: Annotated[int | None, Query(ge=1, le=2**53, description="A fit; by default the one that is shown.")] = None,
) -> Browser:
    return services.workspace.shown(project) if fit is None else services.workspace.of(project, fit)


Shown = Annotated[Browser, Depends(get_browser)]


def visitor_of(request: Request) -> Visitor:
    """Return who sent the request; without the guard, in tests, the owner."""
    visitor: Visitor = request.scope.get("visitor") or Visitor(OWNER, "")
    return visitor


def check_visitor(request: Request, services: ServicesDep) -> None:
    """Refuse other projects to a reviewer who was invited to one, and votes and labels to one who judges blindly."""
    visitor, project = visitor_of(request), request.path_params.get("project", "")
    if not project.isdecimal() or len(project) > 18:  # which the route refuses
        return
    if visitor.project not in (None, int(project)):
        raise Problem(404, "There is no such project", "You were invited to another one.")
    row = services.store.project(int(project))
    if row["blind"] and visitor.name != OWNER and not may_read_blindly(request.method, request.scope["path"]):
        raise Problem(403, "This project is judged blindly", "Reviewers see the votes of a task after they judged it.")


@asynccontextmanager
async def sent_file(request: Request, services: Services, name: str, refused: str) -> AsyncIterator[pathlib.Path]:
    """Yield the body of the request as a file, or else a file of the folder. `refused` is the title of an error."""
    sent = services.files.temporary(f"-{safe_name(name)}")
    try:
        with sent.open("wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
        path = sent if sent.stat().st_size else services.files.resolve(name)
        try:
            yield path
        except FinegoldError as error:
            detail = words_of(rename_files(error, {str(path): name, path.name: name}))
            raise Problem(422, refused, detail, columns=await run_in_threadpool(columns_of, path)) from None
    finally:
        sent.unlink(missing_ok=True)


def columns_of(path: pathlib.Path) -> list[str]:
    """Return the names of the columns of a table; none if it cannot be read."""
    with suppress(InputError):
        return [str(column) for column in open_table(str(path)).columns]
    return []
