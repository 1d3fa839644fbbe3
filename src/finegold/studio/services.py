"""What all routes share: the open project file with its jobs and all around it, and who asks."""

from __future__ import annotations

import asyncio
import math
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import AfterValidator

from finegold.errors import FinegoldError
from finegold.studio.files import Files, safe_name
from finegold.studio.loaded import Loaded, LoadedResult
from finegold.studio.problems import Problem, warnings_in_words, words_of
from finegold.studio.reading import choices_that_repair
from finegold.studio.security import MAX_REVIEWER_LENGTH, visitor_of
from finegold.studio.store import Row, Store
from finegold.votes.annotations import Annotations

# without an event, after which a message is sent to detect closed connections
KEEP_ALIVE_SECONDS = 15.0
# after which a task that was handed to a reviewer may be handed to another
HOLD_SECONDS = 600
SECONDS_BETWEEN_UPDATES = 0.1
# states of jobs
ACTIVE = ("queued", "running")


class Hub:
    """Tell open tabs which project changed, from any thread; they ask for its new state then."""

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

    @property
    def n_listeners(self) -> int:
        return len(self._listeners)

    def close(self) -> None:
        """End all listeners, so that a server that stops does not wait for open tabs."""
        self._closed = True
        self.notify(None)

    async def listen(self, project: int) -> AsyncIterator[bool]:
        """Yield True when the project has changed, and False as a keep-alive."""
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
    """The tasks on the screens of reviewers, so that no two are handed the same at a time."""

    def __init__(self) -> None:
        # held while a reviewer chooses a task
        self.choosing = threading.Lock()
        # queue, reviewer -> task, end
        self._held: dict[tuple[Any, str], tuple[Any, float]] = {}

    def by_others(self, queue: Any, reviewer: str) -> list[Any]:
        now = time.monotonic()
        return [
            task
            for (where, who), (task, end) in self._held.items()
            if where == queue and who != reviewer and now < end
        ]

    def of(self, queue: Any, reviewer: str) -> Any | None:
        """Return the task that was handed to the reviewer from this queue."""
        return self._held.get((queue, reviewer), (None, 0.0))[0]

    def hold(self, queue: Any, reviewer: str, task: Any | None) -> None:
        end = 0.0 if task is None else time.monotonic() + HOLD_SECONDS
        self._held[queue, reviewer] = (task, end)


class Cancelled(Exception):
    """Raised inside a job that the user cancelled."""


@dataclass(eq=False)
class Job:
    """A fit that is computed, or was since the studio was started."""

    project: int
    fit: int
    state: str = "queued"
    message: str = ""
    # rows that were read, and the last step of the method
    rows: int = 0
    step: int = 0
    # choices of the form that would repair what failed
    repair: dict[str, Any] | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        if self.cancelled.is_set():
            raise Cancelled

    def shown(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "cancelled"}


class Jobs:
    """Jobs, which run one after the other."""

    def __init__(self, store: Store, notify: Callable[[int], None]) -> None:
        """`notify` is called with a project when its job changes."""
        self.store, self.notify = store, notify
        # by project, and those that are not over
        self.latest: dict[int, Job] = {}
        self._active: list[Job] = []
        self._last_update = 0.0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="finegold-studio-jobs")

    def close(self) -> None:
        for job in list(self._active):
            job.cancelled.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def add(self, job: Job, work: Callable[[Job], None]) -> None:
        if job.project not in self.latest or self.latest[job.project].state not in ACTIVE:
            self.latest[job.project] = job
        self._active.append(job)
        self._pool.submit(self._run, job, work)
        self.notify(job.project)

    def cancel(self, project: int) -> None:
        for job in list(self._active):
            if job.project == project:
                job.cancelled.set()

    def report(self, job: Job) -> None:
        """Tell open tabs of progress, if it is time for it; end a cancelled job."""
        job.check()
        if time.monotonic() - self._last_update > SECONDS_BETWEEN_UPDATES:
            self._last_update = time.monotonic()
            self.notify(job.project)

    def _run(self, job: Job, work: Callable[[Job], None]) -> None:
        """Run a job; no exception in it ends the studio."""
        self.latest[job.project] = job
        state, message = "done", ""
        try:
            self._set(job, "running")
            job.check()
            # the page shows what is warned of among the findings
            with warnings_in_words():
                work(job)
        except Cancelled:
            state = "cancelled"
        except (FinegoldError, Problem) as error:
            job.repair, state, message = choices_that_repair(error), "failed", words_of(error)
            if isinstance(error, Problem):
                message = f"{error}. {error.detail}"
        except Exception as error:
            traceback.print_exc()
            state = "failed"
            message = f"unexpected error ({type(error).__name__}: {error}); please report it"
        self._active.remove(job)
        self._set(job, state, message)
        self.notify(job.project)

    def _set(self, job: Job, state: str, message: str = "") -> None:
        """Set the state, which comes last: the database then has all that belongs to it."""
        # The project may have been deleted meanwhile. A fit is done when its result is stored.
        with suppress(Problem):
            if state != "done":
                with self.store.changing(job.project):
                    self.store.update("fit", job.fit, state=state, message=message)
        job.message, job.state = message, state


class Services:
    """One open project file with everything that works on it."""

    def __init__(self, project_file: Path, folder: Path, most_bytes: int, file: str | None = None):
        self.most_bytes = most_bytes
        self.hub, self.holds = Hub(), Holds()
        self.store = Store(project_file, self.hub.notify)
        self.files = Files(folder, self.store, also=file)
        self.loaded = Loaded(self.store, self.files)
        self.jobs = Jobs(self.store, self.hub.notify)
        # the votes of files that were read, the newest last
        self.parts: dict[str, Annotations] = {}
        # the newest event of each project, for the owner and for reviewers, and what it depends on
        self.told: dict[tuple[int, bool], tuple[Any, str]] = {}
        # opens the studio to reviewers on other computers; set by the server
        self.open_door: Callable[[], tuple[Any, str] | None] = lambda: None
        # that server and its address
        self.door: tuple[Any, str] | None = None

    def load_newest(self) -> None:
        """Load the newest result, in the background while the browser starts."""
        newest = self.store.row("SELECT id FROM project WHERE shown NOT NULL ORDER BY id DESC")
        if newest is not None:
            # the next request reports what is wrong
            with suppress(Exception):
                self.loaded.shown(newest["id"]).warm_up()

    def close(self) -> None:
        if self.door is not None:
            self.door[0].should_exit = True
        self.hub.close()
        self.jobs.close()
        self.files.close()
        self.store.close()


class Project:
    """A project in one request or one job."""

    def __init__(self, services: Services, project: int, fit: int | None = None) -> None:
        """`fit` is the result that is looked at, by default the one that is shown to all."""
        self.services, self.id, self._fit = services, project, fit
        self.store, self.files = services.store, services.files

    @property
    def row(self) -> Row:
        return self.store.project(self.id)

    @cached_property
    def shown(self) -> LoadedResult:
        loaded = self.services.loaded
        return loaded.shown(self.id) if self._fit is None else loaded.of(self.id, self._fit)

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return rows by a statement whose first value is the project."""
        return self.store.rows(sql, self.id, *values)

    def changing(self, version: int | None = None) -> AbstractContextManager[None]:
        """Commit the changes of the block together as a new version."""
        return self.store.changing(self.id, version)


# the name of a task, an annotator or a class, as in JSON
Name = str | int | float | bool


def plain_name(name: Any) -> Any:
    """Convert a name to a JSON value; dates become text."""
    return name if isinstance(name, Name) else str(name)


def _check_finite(value: Any) -> Any:
    # Python's JSON parser accepts them
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("NaN and Infinity are not allowed")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("an integer must fit into 64 bits; send it as text")
    return value


# a name in a request
Scalar = Annotated[Name, AfterValidator(_check_finite)]
FileName = Annotated[str, Query(min_length=1, max_length=200, description="The name of the file.")]


def get_services(request: Request) -> Any:
    return request.app.state.services


ServicesDep = Annotated[Services, Depends(get_services)]


def get_reviewer(
    request: Request,
    x_finegold_reviewer: Annotated[str, Header(max_length=1000, description="Your name.")] = "",
) -> str:
    """Return the name of the token, or else the one that the client gives, percent-encoded."""
    name: str = visitor_of(request).name or unquote(x_finegold_reviewer)
    return name.strip()[:MAX_REVIEWER_LENGTH]


Reviewer = Annotated[str, Depends(get_reviewer)]


def get_project(
    project: int,
    services: ServicesDep,
    fit: Annotated[int | None, Query(ge=1, le=2**53, description="By default, the shown.")] = None,
) -> Project:
    return Project(services, project, fit)


ProjectDep = Annotated[Project, Depends(get_project)]


async def receive_file(
    request: Request, name: FileName, services: ServicesDep
) -> AsyncIterator[Path]:
    """Yield the body of a request as a file, which is removed at the end."""
    with services.files.temporary(f"-{safe_name(name)}") as path:
        with path.open("wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
        yield path


Received = Annotated[Path, Depends(receive_file)]
