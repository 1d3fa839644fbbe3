"""Background jobs that read votes and fit methods: one at a time, in a thread. Each can be cancelled."""

from __future__ import annotations

import json
import queue
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from finegold.api.job import Job
from finegold.api.result import Result
from finegold.errors import FinegoldError, FinegoldWarning
from finegold.kernels.compiling import compiling
from finegold.methods.lookup import make_method
from finegold.results.data import Step
from finegold.studio.browser import Browser
from finegold.studio.fits import check_settings, summarise_fit
from finegold.studio.judging import add_truths
from finegold.studio.problems import Problem, no_votes_yet, words_of
from finegold.studio.reading import Reading, choices_that_repair, read_votes
from finegold.studio.requests import Services
from finegold.studio.votes import join_posted
from finegold.studio.workspace import compact
from finegold.votes.annotations import Annotations

SECONDS_BETWEEN_UPDATES = 0.1
MAX_STEPS = 400  # shown in the progress chart of a job


class Cancelled(Exception):
    """Raised inside a job that the user cancelled."""


@dataclass
class BackgroundJob:
    """The current or the last job of a project."""

    project: int
    kind: str  # read, fit or remove
    fit: int | None = None
    state: str = "queued"  # queued, running, done, failed, cancelled
    message: str = ""
    rows: int = 0
    expected: int | None = None
    steps: list[Step] = field(default_factory=list)
    tolerance: float = 0.0
    warnings: list[str] = field(default_factory=list)
    repair: dict[str, Any] | None = None  # choices of the reading that would repair what failed
    cancelled: threading.Event = field(default_factory=threading.Event, repr=False)

    def add_step(self, step: Step) -> None:
        """Add a step. When there are too many for the chart, drop every second of the earlier ones.

        Steps of earlier restarts are removed.
        """
        if step.iteration == 1:
            self.steps = []
        if len(self.steps) >= 2 * MAX_STEPS:
            self.steps = self.steps[::2]
        self.steps.append(step)

    @property
    def is_active(self) -> bool:
        return self.state in ("queued", "running")


class Jobs:
    """A queue of jobs and the thread that runs them."""

    def __init__(self, services: Services) -> None:
        self.projects, self.fits, self.posted = services.projects, services.fits, services.posted
        self.workspace, self.predictions, self.gold = services.workspace, services.predictions, services.gold
        self._queue: queue.Queue[tuple[BackgroundJob, Callable[[BackgroundJob], None]] | None] = queue.Queue()
        self._of_project: dict[int, BackgroundJob] = {}
        self._last_update = 0.0
        self._thread = threading.Thread(target=self._run_queue, name="finegold-studio-jobs", daemon=True)
        self._thread.start()

    def of(self, project: int) -> BackgroundJob | None:
        """Return the current or the last job of a project."""
        return self._of_project.get(project)

    def close(self) -> None:
        for job in list(self._of_project.values()):
            job.cancelled.set()
        self._queue.put(None)
        self._thread.join(timeout=10)

    def read(self, project: int, options: Reading) -> BackgroundJob:
        """Read the votes of a project's file, and compute the majority vote as the first result.

        A project without a file reads its posted votes again.
        """
        if any(job.is_active for job in self._all(project)):
            raise Problem(409, "Something is still running", "Wait until it is done, or cancel it.")
        return self._add(BackgroundJob(project, "read"), lambda job: self._read(job, options))

    def fit(
        self, project: int, method: str, settings: dict[str, Any], *, prior: int | None = None, **options: Any
    ) -> BackgroundJob:
        """Queue a fit. `prior` is another project; `options` are the engine, threads and predictions of a `Job`."""
        check_settings(method, settings)
        chosen = make_method(method, settings)  # complains at once of what it does not know
        if prior == project:
            raise Problem(
                409, "A project cannot be its own prior", "Its votes would count twice; name another project."
            )
        if prior is not None and self.projects.get(prior)["shown"] is None:
            raise Problem(409, "The prior has no result yet", "Read its votes and fit a method first.")
        if self.projects.get(project)["base"] is None and not self.posted.n_waiting(project):
            raise no_votes_yet()
        fit = self.fits.add(project, chosen.name, settings)
        job = BackgroundJob(project, "fit", fit=fit, tolerance=chosen.tolerance)
        return self._add(job, lambda job: self._fit(job, Job(None, method=chosen, **options), prior))

    def remove_batch(self, project: int, batch: int) -> BackgroundJob:
        """Remove posted votes, after the queued jobs that may use them."""
        return self._add(BackgroundJob(project, "remove"), lambda job: self._remove(job, batch))

    def cancel(self, project: int, fit: int | None = None) -> None:
        """Cancel the job of this fit, or all jobs of the project. Finished jobs are not changed."""
        for job in self._all(project):
            if job.is_active and fit in (None, job.fit):
                job.cancelled.set()

    def _all(self, project: int) -> list[BackgroundJob]:
        waiting = [entry[0] for entry in list(self._queue.queue) if entry is not None]
        current = self._of_project.get(project)
        return [job for job in [*waiting, *([current] if current else [])] if job.project == project]

    def _add(self, job: BackgroundJob, work: Callable[[BackgroundJob], None]) -> BackgroundJob:
        if not (current := self._of_project.get(job.project)) or not current.is_active:
            self._of_project[job.project] = job
        self._queue.put((job, work))
        self.projects.hub.notify(job.project)
        return job

    def _run_queue(self) -> None:
        while (entry := self._queue.get()) is not None:
            job, work = entry
            self._of_project[job.project] = job
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", FinegoldWarning)
                state, message = self._run(job, work)
            job.warnings = [words_of(each.message) for each in caught if issubclass(each.category, FinegoldWarning)]
            self._set(job, state, message)
            self.projects.hub.notify(job.project)

    def _run(self, job: BackgroundJob, work: Callable[[BackgroundJob], None]) -> tuple[str, str]:
        """Run a job and return its last state and message; no exception of a job ends the studio."""
        try:
            self._set(job, "running")
            _check(job)
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

    def _set(self, job: BackgroundJob, state: str, message: str = "") -> None:
        """Set the state, at last: who reads the job and then the database sees all that belongs to the state."""
        with suppress(Problem):  # the project was deleted meanwhile
            if job.fit is not None and state != "done":  # a fit is done when its result is stored
                self.fits.set_state(job.project, job.fit, state, message)
            elif job.kind == "read" and state == "failed":
                self.projects.set_failure(job.project, message)
        job.message, job.state = message, state

    def _read(self, job: BackgroundJob, options: Reading) -> None:
        if self.projects.get(job.project)["file"] is not None:
            self._new_base(job, self._votes_of_file(job, options), reading=options.model_dump())
            return
        read, posted = self.posted.votes(job.project, all_but=0)
        self._new_base(job, join_posted(None, posted, options), reading=options.model_dump(), read=read)

    def _votes_of_file(self, job: BackgroundJob, options: Reading) -> Annotations:
        def watch(progress: Any) -> None:
            job.rows, job.expected = progress.rows, progress.expected
            self._notify(job)

        with self.workspace.files.of(self.projects.get(job.project), again=True) as path:
            votes = read_votes(path, options, watch)
            _check(job)
            self.workspace.keep_content(job.project, path, options)
        _check(job)
        return votes

    def _remove(self, job: BackgroundJob, batch: int) -> None:
        """Remove a batch. If it is waiting, delete it; if it was used, read the votes again without it."""
        used = [row["id"] for row in self.posted.batches(job.project) if row["taken"]]
        options = self._read_options(job.project)
        has_file = options is not None and self.projects.get(job.project)["file"] is not None
        if batch not in used:
            self.posted.remove_waiting(job.project, batch)
        elif not has_file and used == [batch]:
            earlier = [fit["id"] for fit in self.fits.all(job.project)]
            self.fits.remove_all_votes(job.project, batch)
            self.workspace.forget(earlier)
        else:
            votes = self._votes_of_file(job, options) if has_file and options is not None else None
            read, posted = self.posted.votes(job.project, all_but=batch)
            self._new_base(job, join_posted(votes, posted, options), read=read, removed=batch)

    def _read_options(self, project: int) -> Reading | None:
        """Return the options that the file was read with; None for posted votes."""
        reading = self.projects.get(project)["reading"]
        return None if reading is None else Reading(**json.loads(reading))

    def _new_base(self, job: BackgroundJob, votes: Annotations, **changes: Any) -> None:
        """Store new votes with their majority vote. `changes` are passed on to `Projects.replace_votes`."""
        majority = Job(votes, method="mv").run()
        model = self._saved(majority, f"base-{job.project}")
        earlier = [fit["id"] for fit in self.fits.all(job.project)]
        browser = Browser(compact(majority))
        base = self.fits.replace_votes(job.project, model, summarise_fit(browser), **changes)
        model.unlink()
        self.workspace.forget(earlier)
        self.workspace.remember(base, browser)

    def _fit(self, job: BackgroundJob, wanted: Job, prior: int | None) -> None:
        def on_step(step: Step) -> None:
            job.add_step(step)
            job.message = ""
            self._notify(job)

        def say(message: str) -> None:
            job.message = message
            self.projects.hub.notify(job.project)

        votes = self._votes(job)
        base = self.workspace.of(job.project, self.projects.get(job.project)["base"])
        given = base.codes_of(self.gold.all(job.project))  # the truths that people gave
        earlier = None if prior is None else self.workspace.shown(prior).result
        votes = replace(votes, gold=add_truths(votes.gold, given))
        with compiling(say), self.predictions.opened(job.project) as kept:
            more: dict[str, Any] = {"prior": earlier, "on_step": on_step, "predictions": wanted.predictions or kept}
            result = replace(wanted, votes=votes, **more).run()
        job.message = ""
        _check(job)
        self._keep(job, result, len(given))

    def _votes(self, job: BackgroundJob) -> Annotations:
        """Return the votes of the project, including those posted since the last fit."""
        batches, posted = self.posted.votes(job.project)
        if posted:
            votes = join_posted(self.workspace.votes(job.project), posted, self._read_options(job.project))
            self._new_base(job, votes, read=batches)
        known = self.workspace.votes(job.project)
        if known is None:
            raise no_votes_yet()
        return known

    def _keep(self, job: BackgroundJob, result: Result, judged: int) -> None:
        assert job.fit is not None
        browser, before = Browser(compact(result)), self.workspace.shown(job.project)
        model = self._saved(result, f"fit-{job.fit}")
        facts = {**summarise_fit(browser, before), "judged": judged}
        self.fits.finish(job.project, job.fit, model, facts)
        model.unlink()
        self.workspace.remember(job.fit, browser)

    def _saved(self, result: Result, name: str) -> Any:
        path = self.workspace.files.scratch / f"{name}.finegold"
        result.save(path)
        return path

    def _notify(self, job: BackgroundJob) -> None:
        """Notify listeners, at most once per SECONDS_BETWEEN_UPDATES."""
        _check(job)
        if time.monotonic() - self._last_update > SECONDS_BETWEEN_UPDATES:
            self._last_update = time.monotonic()
            self.projects.hub.notify(job.project)


def _check(job: BackgroundJob) -> None:
    if job.cancelled.is_set():
        raise Cancelled
