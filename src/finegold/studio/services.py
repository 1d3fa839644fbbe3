"""What all routes share: the open project file with its jobs and all around it, who asks, and types of requests."""

from __future__ import annotations

import asyncio
import math
import queue
import sqlite3
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import fastapi
from fastapi import Depends, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import AfterValidator, BaseModel, Field, PrivateAttr

from finegold.errors import FinegoldError
from finegold.results.data import Step
from finegold.studio.files import Files, columns_of, safe_name
from finegold.studio.problems import Problem, rename_files, warnings_in_words, words_of
from finegold.studio.reading import choices_that_repair
from finegold.studio.rights import visitor_of
from finegold.studio.security import MAX_REVIEWER_LENGTH
from finegold.studio.store import Store
from finegold.studio.workspace import Browser, Workspace
from finegold.votes.annotations import Annotations

KEEP_ALIVE_SECONDS = (
    15.0  # without an event, after which a message is sent to detect closed connections
)
HOLD_SECONDS = 600  # after which a task that was handed to a reviewer may be handed to another
SECONDS_BETWEEN_UPDATES = 0.1
ACTIVE = ("queued", "running")  # states of jobs
MAX_STEPS = 400  # shown in the progress chart of a job


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
        return [
            task
            for (where, who), (task, end) in held
            if where == project and who != reviewer and now < end
        ]

    def hold(self, project: int, reviewer: str, task: Any | None) -> None:
        """Hold this task for the reviewer instead of the one before; None: no task."""
        self._held[project, reviewer] = (
            task,
            0.0 if task is None else time.monotonic() + HOLD_SECONDS,
        )


class Cancelled(Exception):
    """Raised inside a job that the user cancelled."""


class JobState(BaseModel):
    """The current or the last job of a project since the studio was started."""

    kind: str = Field(description="read, fit or remove")
    fit: int | None = None
    state: str = Field(default="queued", description="queued, running, done, failed or cancelled")
    message: str = ""
    rows: int = 0
    expected: int | None = None
    tolerance: float = 0.0
    steps: list[list[float | None]] = Field(default=[], description="iteration, change, bound")
    warnings: list[str] = []
    repair: dict[str, Any] | None = Field(
        default=None, description="Choices of the reading that repair what failed."
    )
    _project: int = PrivateAttr(default=0)
    _cancelled: threading.Event = PrivateAttr(default_factory=threading.Event)

    def check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def add_step(self, step: Step) -> None:
        """Add a step. Drop those of earlier restarts, and every second one when there are too many for the chart."""
        kept = (
            []
            if step.iteration == 1
            else self.steps[:: 2 if len(self.steps) >= 2 * MAX_STEPS else 1]
        )
        figures = [value if math.isfinite(value) else None for value in (step.change, step.bound)]
        self.steps = [*kept, [step.iteration, *figures]]
        self.message = ""


class Jobs:
    """A queue of jobs and the thread that runs them."""

    def __init__(self, store: Store, notify: Callable[[int], None]) -> None:
        """`notify` is called with a project when its job changes."""
        self.store, self.notify = store, notify
        self._queue: queue.Queue[tuple[JobState, Callable[[JobState], None]] | None] = queue.Queue()
        self.latest: dict[int, JobState] = {}  # by project
        self._last_update = 0.0
        self._thread = threading.Thread(
            target=self._run_queue, name="finegold-studio-jobs", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        for job in list(self.latest.values()):
            job._cancelled.set()
        self._queue.put(None)
        self._thread.join(timeout=10)

    def add(self, project: int, job: JobState, work: Callable[[JobState], None]) -> None:
        job._project = project
        current = self.latest.get(project)
        if current is None or current.state not in ACTIVE:
            self.latest[project] = job
        self._queue.put((job, work))
        self.notify(project)

    def active(self, project: int) -> list[JobState]:
        waiting = [entry[0] for entry in list(self._queue.queue) if entry is not None]
        jobs = [job for job in [*waiting, *list(self.latest.values())] if job._project == project]
        return [job for job in jobs if job.state in ACTIVE]

    def cancel(self, project: int, fit: int | None = None) -> None:
        """Cancel the job of this fit, or all jobs of the project. Finished jobs are not changed."""
        for job in self.active(project):
            if fit in (None, job.fit):
                job._cancelled.set()

    def report(self, job: JobState) -> None:
        """Tell open tabs that a job made progress, at most once per SECONDS_BETWEEN_UPDATES; end a cancelled one."""
        job.check()
        if time.monotonic() - self._last_update > SECONDS_BETWEEN_UPDATES:
            self._last_update = time.monotonic()
            self.notify(job._project)

    def _run_queue(self) -> None:
        """Run one job after another; no exception of a job ends the studio."""
        while (entry := self._queue.get()) is not None:
            job, work = entry
            self.latest[job._project] = job
            state, message = "done", ""
            with warnings_in_words() as words:
                try:
                    self._set(job, "running")
                    job.check()
                    work(job)
                except Cancelled:
                    state = "cancelled"
                except (FinegoldError, Problem) as error:
                    job.repair, state = choices_that_repair(error), "failed"
                    message = (
                        f"{error}. {error.detail}"
                        if isinstance(error, Problem)
                        else words_of(error)
                    )
                except Exception as error:
                    traceback.print_exc()
                    state, message = (
                        "failed",
                        f"unexpected error ({type(error).__name__}: {error}); please report it",
                    )
            job.warnings = words
            self._set(job, state, message)
            self.notify(job._project)

    def _set(self, job: JobState, state: str, message: str = "") -> None:
        """Set the state, at last: who reads the job and then the database sees all that belongs to the state."""
        with suppress(Problem):  # the project was deleted meanwhile
            if job.fit is not None and state != "done":  # a fit is done when its result is stored
                with self.store.changing(job._project):
                    self.store.run(
                        "UPDATE fit SET state = ?, message = ? WHERE id = ?",
                        state,
                        message,
                        job.fit,
                    )
            elif job.kind == "read" and state == "failed":
                with self.store.changing(job._project):
                    self.store.run(
                        "UPDATE project SET failure = ? WHERE id = ?", message, job._project
                    )
        job.message, job.state = message, state


class Services:
    """One open project file with everything that works on it."""

    def __init__(self, project_file: Path, folder: Path, most_bytes: int, file: str | None = None):
        self.most_bytes = most_bytes
        self.hub, self.holds = Hub(), Holds()
        self.store = Store(project_file, self.hub.notify)
        self.files = Files(folder, self.store, also=file)
        self.workspace = Workspace(self.store, self.files)
        self.jobs = Jobs(self.store, self.hub.notify)
        self.judge_views: dict[
            tuple[int, int], dict[str, Any]
        ] = {}  # the newest ones, by project and version
        self.judge_lock = threading.Lock()

    def load_newest(self) -> None:
        """Load the newest result, in the background while the browser starts."""
        newest = self.store.row(
            "SELECT id, shown FROM project WHERE shown NOT NULL ORDER BY id DESC"
        )
        if newest is not None:
            opening = self.workspace.opening(newest["id"], newest["shown"])
            with (
                suppress(FinegoldError, Problem, sqlite3.Error, OSError),
                opening,
            ):  # the next request reports it
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


def _check_finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):  # Python's JSON parser accepts them
        raise ValueError("NaN and Infinity are not allowed")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("an integer must fit into 64 bits; send it as text")
    return value


Scalar = Annotated[Name, AfterValidator(_check_finite)]  # a name in a request
ProjectId = Annotated[int, fastapi.Path(ge=1, le=2**53, description="The id of a project.")]
FitId = Annotated[int, fastapi.Path(ge=1, le=2**53, description="The id of a fit.")]
At = Annotated[
    int,
    fastapi.Path(ge=0, le=2**31 - 1, description="The index of a task or an annotator, from zero."),
]
FileName = Annotated[str, Query(min_length=1, max_length=200, description="The name of the file.")]


def get_services(request: Request) -> Any:
    return request.app.state.services


ServicesDep = Annotated[Services, Depends(get_services)]


def get_store(services: ServicesDep) -> Store:
    return services.store


StoreDep = Annotated[Store, Depends(get_store)]


def get_reviewer(
    request: Request,
    x_finegold_reviewer: Annotated[
        str,
        Header(
            max_length=1000,
            description="Your name, percent-encoded; a reviewer's own token is stronger.",
        ),
    ] = "",
) -> str:
    """Return the name that belongs to the token, or else the name that the client gives."""
    name: str = visitor_of(request).name or unquote(x_finegold_reviewer)
    return name.strip()[:MAX_REVIEWER_LENGTH]


Reviewer = Annotated[str, Depends(get_reviewer)]


def get_browser(
    project: ProjectId,
    services: ServicesDep,
    fit: Annotated[
        int | None, Query(ge=1, le=2**53, description="A fit; by default the one that is shown.")
    ] = None,
) -> Browser:
    return services.workspace.shown(project) if fit is None else services.workspace.of(project, fit)


Shown = Annotated[Browser, Depends(get_browser)]


def get_votes(project: ProjectId, services: ServicesDep) -> Annotations:
    return services.workspace.votes(project)


VotesDep = Annotated[Annotations, Depends(get_votes)]


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


def sent_file(refused: str, *, or_folder: bool = False) -> Any:
    """Return a dependency: the body of a request, or else a file of the folder. `refused` is the title of errors."""

    def find_file(name: FileName, body: Received, services: ServicesDep) -> Iterator[Path]:
        files = services.files
        folder = files.subfolder(name) if or_folder else None
        path = folder or (body if body.stat().st_size else files.resolve(name))
        try:
            yield path
        except FinegoldError as error:
            detail = words_of(rename_files(error, {str(path): name, path.name: name}))
            raise Problem(422, refused, detail, columns=columns_of(path)) from None

    return Depends(find_file)
