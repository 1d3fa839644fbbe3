"""Background jobs, such as reading votes and fitting: one at a time, in a thread. Each can be cancelled."""

from __future__ import annotations

import math
import queue
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, Field, PrivateAttr

from finegold.errors import FinegoldError
from finegold.results.data import Step
from finegold.studio.problems import Problem, warnings_in_words, words_of
from finegold.studio.reading import choices_that_repair
from finegold.studio.store import Store

SECONDS_BETWEEN_UPDATES = 0.1
MAX_STEPS = 400  # shown in the progress chart of a job


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
        default=None, description="Choices of the reading that would repair what failed."
    )
    _project: int = PrivateAttr(default=0)
    _cancelled: threading.Event = PrivateAttr(default_factory=threading.Event)

    @property
    def is_active(self) -> bool:
        return self.state in ("queued", "running")

    def check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def add_step(self, step: Step) -> None:
        """Add a step. Drop those of earlier restarts, and every second one when there are too many for the chart."""
        kept = [] if step.iteration == 1 else self.steps[:: 2 if len(self.steps) >= 2 * MAX_STEPS else 1]
        figures = [value if math.isfinite(value) else None for value in (step.change, step.bound)]
        self.steps = [*kept, [step.iteration, *figures]]
        self.message = ""


class Jobs:
    """A queue of jobs and the thread that runs them."""

    def __init__(self, store: Store, notify: Callable[[int], None]) -> None:
        """`notify` is called with a project when its job changes."""
        self.store, self.notify = store, notify
        self._queue: queue.Queue[tuple[JobState, Callable[[JobState], None]] | None] = queue.Queue()
        self._of_project: dict[int, JobState] = {}
        self._last_update = 0.0
        self._thread = threading.Thread(target=self._run_queue, name="finegold-studio-jobs", daemon=True)
        self._thread.start()

    def of(self, project: int) -> JobState | None:
        return self._of_project.get(project)

    def close(self) -> None:
        for job in list(self._of_project.values()):
            job._cancelled.set()
        self._queue.put(None)
        self._thread.join(timeout=10)

    def add(self, project: int, job: JobState, work: Callable[[JobState], None]) -> None:
        job._project = project
        if not (current := self.of(project)) or not current.is_active:
            self._of_project[project] = job
        self._queue.put((job, work))
        self.notify(project)

    def active(self, project: int) -> list[JobState]:
        waiting = [entry[0] for entry in list(self._queue.queue) if entry is not None]
        jobs = [job for job in waiting if job._project == project]
        return [job for job in [*jobs, *filter(None, [self.of(project)])] if job.is_active]

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
        while (entry := self._queue.get()) is not None:
            job, work = entry
            self._of_project[job._project] = job
            with warnings_in_words() as words:
                state, message = self._run(job, work)
            job.warnings = words
            self._set(job, state, message)
            self.notify(job._project)

    def _run(self, job: JobState, work: Callable[[JobState], None]) -> tuple[str, str]:
        """Run a job and return its last state and message; no exception of a job ends the studio."""
        try:
            self._set(job, "running")
            job.check()
            work(job)
        except Cancelled:
            return "cancelled", ""
        except (FinegoldError, Problem) as error:
            job.repair = choices_that_repair(error)
            return "failed", f"{error}. {error.detail}" if isinstance(error, Problem) else words_of(error)
        except Exception as error:
            traceback.print_exc()
            return "failed", f"unexpected error ({type(error).__name__}: {error}); please report it"
        return "done", ""

    def _set(self, job: JobState, state: str, message: str = "") -> None:
        """Set the state, at last: who reads the job and then the database sees all that belongs to the state."""
        with suppress(Problem):  # the project was deleted meanwhile
            if job.fit is not None and state != "done":  # a fit is done when its result is stored
                with self.store.changing(job._project):
                    self.store.run("UPDATE fit SET state = ?, message = ? WHERE id = ?", state, message, job.fit)
            elif job.kind == "read" and state == "failed":
                with self.store.changing(job._project):
                    self.store.run("UPDATE project SET failure = ? WHERE id = ?", message, job._project)
        job.message, job.state = message, state
