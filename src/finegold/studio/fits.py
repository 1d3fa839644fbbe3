"""Fits: run methods, keep their results, and choose the result to show."""

from __future__ import annotations

import ast
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from finegold.api.result import Result
from finegold.methods.lookup import method_class, method_names
from finegold.methods.registry import DEFAULT_METHOD
from finegold.studio.browser import Browser
from finegold.studio.problems import Problem
from finegold.studio.projects import Fit, Project, Projects, describe, now
from finegold.studio.reading import advice_on, near_spellings
from finegold.studio.requests import FitId, ProjectId, Scalar, ServicesDep
from finegold.studio.store import Row
from finegold.votes.encoding import MISSING, Codes, to_list
from finegold.votes.frames import take
from finegold.votes.hygiene import Hygiene

router = APIRouter(tags=["fits"])

MAX_EXAMPLES = 50
OFTEN = 5  # times as many votes as a class have those that it may be a misspelling of
PLAIN = (str, int, float, bool)  # settings that the form can show
DAMAGED = (
    "It may be damaged or need more memory than is available. It is opened again only if you ask for it; "
    "reading the votes again replaces it."
)


class Fits:
    """The fits of a project. The first is the majority vote, which keeps the votes; one of them is shown."""

    def __init__(self, projects: Projects) -> None:
        self.projects, self.store = projects, projects.store

    def all(self, project: int) -> list[Row]:
        """Return all fits except those that a newer fit replaced."""
        which = "SELECT * FROM fit WHERE project = ? AND state != 'replaced' ORDER BY id"
        return [_plain_fit(row) for row in self.store.rows(which, project)]

    def get(self, project: int, fit: int) -> Row:
        row = self.store.row("SELECT * FROM fit WHERE project = ? AND id = ?", project, fit)
        if row is None:
            raise Problem(404, "There is no such fit", "It may have been deleted.")
        return _plain_fit(row)

    def add(self, project: int, method: str, settings: dict[str, Any]) -> int:
        with self.projects.changing(project):
            insert = "INSERT INTO fit (project, method, settings, state, started) VALUES (?, ?, ?, 'queued', ?)"
            return self.store.run(insert, project, method, json.dumps(settings), now())

    def set_state(self, project: int, fit: int, state: str, message: str = "") -> None:
        with self.projects.changing(project):
            self.store.run("UPDATE fit SET state = ?, message = ? WHERE id = ?", state, message, fit)

    def finish(self, project: int, fit: int, model: Path, facts: dict[str, Any]) -> None:
        """Store the result of a fit, show it, and drop earlier results of the same method and settings."""
        blob = self.store.keep_file(model)
        with self.projects.changing(project):
            self.store.own(blob)
            done = "UPDATE fit SET state = 'done', facts = ?, model = ? WHERE id = ?"
            self.store.run(done, json.dumps(facts), blob, fit)
            self.store.run("UPDATE project SET shown = ? WHERE id = ?", fit, project)
            self._drop_results(
                "SELECT old.id, old.model FROM fit AS old JOIN fit AS new ON new.id = ? WHERE old.id < new.id "
                "AND old.project = new.project AND old.method = new.method AND old.settings = new.settings "
                "AND old.state NOT IN ('queued', 'running') AND old.id != (SELECT base FROM project WHERE id = ?)",
                *(fit, project),
            )

    def show(self, project: int, fit: int) -> None:
        with self.projects.changing(project):
            if self.get(project, fit)["state"] != "done":
                raise Problem(409, "This fit has no result", "Choose one that has finished.")
            self.store.run("UPDATE project SET shown = ? WHERE id = ?", fit, project)

    def delete(self, project: int, fit: int) -> None:
        with self.projects.changing(project):
            row, old = self.projects.get(project), self.get(project, fit)
            if fit in (row["base"], row["shown"]):
                raise Problem(409, "This result is in use", "Show another one first; the majority vote always stays.")
            self.store.run("DELETE FROM fit WHERE id = ?", fit)
            self.store.run("DELETE FROM blob WHERE id = ?", old["model"])

    def replace_votes(
        self, project: int, model: Path, facts: Row, reading: Any = None, read: Iterable[int] = (), removed: int = 0
    ) -> int:
        """Store new votes with their majority vote, and drop the fits of the old ones.

        The votes were read again, joined with the batches `read`, or read without the batch `removed`.
        """
        blob = self.store.keep_file(model)
        with self.projects.changing(project):
            self.store.own(blob)
            self._drop_all_results(project)
            base = self.store.run(
                "INSERT INTO fit (project, method, settings, state, started, facts, model) "
                "VALUES (?, 'mv', '{}', 'done', ?, ?, ?)",
                *(project, now(), json.dumps(facts), blob),
            )
            self.store.run("UPDATE project SET base = ?, shown = ? WHERE id = ?", base, base, project)
            if reading is not None:  # posted votes must be joined with those of the file again
                new = json.dumps(reading)
                self.store.run("UPDATE project SET reading = ?, failure = NULL WHERE id = ?", new, project)
                self.store.run("UPDATE posted SET taken = 0 WHERE project = ?", project)
            for batch in read:
                self.store.run("UPDATE posted SET taken = 1 WHERE id = ?", batch)
            self.store.run("DELETE FROM posted WHERE project = ? AND id = ?", project, removed)
        return base

    def remove_all_votes(self, project: int, batch: int) -> None:
        """Remove the only batch of a project that has no other votes."""
        with self.projects.changing(project):
            self._drop_all_results(project)
            self.store.run("DELETE FROM posted WHERE project = ? AND id = ?", project, batch)

    def _drop_all_results(self, project: int) -> None:
        self.store.run("UPDATE project SET shown = NULL, base = NULL WHERE id = ?", project)
        which = "SELECT id, model FROM fit WHERE project = ? AND state NOT IN ('queued', 'running')"
        self._drop_results(which, project)

    def _drop_results(self, which: str, *values: Any) -> None:
        """Drop the results of fits, but keep their rows, so that clients can still request their state."""
        for fit in self.store.rows(which, *values):
            self.store.run("UPDATE fit SET state = 'replaced', facts = NULL, model = NULL WHERE id = ?", fit["id"])
            self.store.run("DELETE FROM blob WHERE id = ?", fit["model"])

    @contextmanager
    def opening(self, project: int, fit: int) -> Iterator[None]:
        """Mark a result on disk while it is opened. A result that crashes the studio is not opened again."""
        if self.is_damaged(fit):
            raise Problem(409, "The studio ended while it opened this result", DAMAGED, project=project, fit=fit)
        more = "INSERT INTO opening (fit, threads) VALUES (?, 1) ON CONFLICT DO UPDATE SET threads = threads + 1"
        self.store.run(more, fit)
        try:
            yield
        finally:
            with suppress(sqlite3.ProgrammingError):  # the studio was closed meanwhile
                self.store.run("UPDATE opening SET threads = threads - 1 WHERE fit = ?", fit)
                self.store.run("DELETE FROM opening WHERE fit = ? AND threads = 0", fit)

    def is_damaged(self, fit: int | None) -> bool:
        """Return whether opening this result crashed the studio before."""
        return self.store.row("SELECT 1 FROM opening WHERE fit = ? AND crashed", fit) is not None

    def open_again(self, project: int, fit: int) -> None:
        """Allow a result to be opened that crashed the studio before."""
        with self.projects.changing(project):
            self.store.run("DELETE FROM opening WHERE fit = ?", self.get(project, fit)["id"])


def _plain_fit(row: Row) -> Row:
    return {**row, "settings": json.loads(row["settings"]), "facts": json.loads(row["facts"] or "null")}


def summarise_fit(browser: Browser, before: Browser | None = None) -> dict[str, Any]:
    """Summarise a result, and what changed since the result shown before if both have the same votes."""
    result = browser.result
    bound = result.steps[-1].bound
    return {
        "n_tasks": len(result.label_codes),
        "n_votes": int(result.votes_per_task.sum()),
        "n_annotators": len(result.accuracy),
        "n_classes": len(result.class_names),
        "n_unlabelled": len(result.unlabelled),
        "mean_confidence": float(result.confidence.mean()),
        "tied": int(browser.doubts.tied.sum()),
        "flipped": int(browser.doubts.flipped.sum()),
        "contested": int(browser.doubts.contested.sum()),
        "gold": int((result.gold != MISSING).sum()),
        "iterations": result.iterations,
        "converged": result.converged,
        "stopped": result.stopped,
        "bound": bound if math.isfinite(bound) else None,
        "seconds": result.seconds,
        "notes": list(result.notes),
        "counts": asdict(result.counts),
        "hygiene": _hygiene(result),
        "changes": _changes(browser, before) if before is not None else None,
    }


def _hygiene(result: Result) -> dict[str, Any]:
    """Return what the reader noticed, and the classes with the most votes."""
    if result.annotations is None:
        return {**Hygiene().as_json(), "classes": []}
    votes = result.annotations.votes_per_class
    most = np.argsort(-votes, kind="stable")[:MAX_EXAMPLES]
    names = to_list(take(result.class_names, most.astype(np.int32)))
    counted = [[str(name), int(votes[code])] for name, code in zip(names, most, strict=True)]
    hygiene = result.annotations.hygiene
    findings = [
        {"kind": each.kind, "text": each.text, "groups": each.groups, "advice": advice_on(each.remedies)}
        for each in hygiene.findings
    ]
    return {**hygiene.as_json(), "findings": findings, "classes": counted, "near": _near(counted)}


def _near(counted: list[list[Any]]) -> dict[str, str]:
    """Return rare classes that look like a misspelled frequent one, and that one."""
    near: dict[str, str] = {}
    for name, n in counted:
        others = [other for other, more in counted if more >= OFTEN * n and other not in near]
        near |= near_spellings([name], others)
    return near


def _changes(browser: Browser, before: Browser) -> dict[str, Any] | None:
    now, then = browser.result, before.result
    if len(now.label_codes) != len(then.label_codes) or browser.classes != before.classes:
        return None
    changed = np.flatnonzero(now.label_codes != then.label_codes)
    judged, shown = now.gold != MISSING, changed[:MAX_EXAMPLES].tolist()
    return {
        "method": then.method,
        "labels": len(changed),
        "beyond_gold": int(np.count_nonzero(~judged[changed])),
        "confidence_before": float(then.confidence.mean()),
        "examples": [
            {"task": code, "name": name, "before": int(then.label_codes[code]), "after": int(now.label_codes[code])}
            for code, name in zip(shown, browser.task_texts(shown), strict=True)
        ],
    }


KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}
WORDS = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text"}
LITERAL = "Literal"


def check_settings(method: str, settings: dict[str, Any]) -> None:
    """Refuse values of the wrong type. `make_method` refuses unknown settings."""
    declared = {field.name: str(field.type) for field in fields(method_class(method))}
    for name, value in settings.items():
        if name in declared and (expected := _objection(declared[name].removesuffix(" | None"), value)):
            raise Problem(422, "A setting is not valid", f"{method} takes {expected} as {name}, not {value!r}.")


def _objection(kind: str, value: Any) -> str:
    """Return what is expected instead of the value; an empty text if the value is valid."""
    if kind.startswith(LITERAL):
        allowed = ast.literal_eval(kind.removeprefix(LITERAL))
        return "" if value in allowed else " or ".join(allowed)
    if kind not in KINDS:
        return "only its default"  # arrays cannot be set in the studio
    return "" if type(value) in KINDS[kind] else WORDS[kind]


class MethodInfo(BaseModel):
    name: str
    about: str
    takes_gold: bool
    is_default: bool = Field(description="Whether it is used if no method is given.")
    settings: dict[str, Any]


class Wanted(BaseModel, extra="forbid"):
    method: str = Field(default=DEFAULT_METHOD, max_length=100, description="A name from /api/methods.")
    settings: dict[str, Scalar] = Field(default={}, description="Of the method, e.g. n_prototypes.")
    prior: int | None = Field(
        default=None, ge=1, le=2**53, description="Another project: what its result knows of annotators who vote again."
    )
    predictions: list[Annotated[str, Field(max_length=255)]] = Field(
        default=[],
        max_length=20,
        description="Files in the folder with class probabilities of models, instead of those of the project.",
    )
    engine: Literal["local", "gpu"] = Field(default="local", description="Where the fit runs.")
    threads: int | None = Field(default=None, ge=1, le=1024, description="By default one per core.")


class Agreement(BaseModel):
    fits: list[int]
    shares: list[list[float]] = Field(description="The share of tasks to which two fits give the same label.")


@router.get("/methods")
def methods() -> list[MethodInfo]:
    listed = []
    for name in method_names():
        method = method_class(name)
        info = MethodInfo(
            name=name,
            about=(method.__doc__ or "").strip().partition("\n")[0],
            takes_gold=method.takes_gold,
            is_default=name == DEFAULT_METHOD,
            settings={key: value for key, value in method().settings.items() if isinstance(value, PLAIN)},
        )
        listed.append(info)
    return listed


@router.post("/projects/{project}/fits", status_code=202)
def start_fit(project: ProjectId, wanted: Wanted, services: ServicesDep) -> Fit:
    """Queue a fit of the votes with all gold that was given. Follow it by /events, or ask for it again."""
    options = wanted.model_dump(include={"prior", "engine", "threads"})
    options["predictions"] = [services.files.resolve(name) for name in wanted.predictions]
    job = services.jobs.fit(project, wanted.method, wanted.settings, **options)
    assert job.fit is not None
    return Fit(**services.fits.get(project, job.fit))


@router.get("/projects/{project}/fits/{fit}")
def get_fit(project: ProjectId, fit: FitId, services: ServicesDep) -> Fit:
    return Fit(**services.fits.get(project, fit))


@router.put("/projects/{project}/fits/{fit}/shown")
def show_fit(project: ProjectId, fit: FitId, services: ServicesDep) -> Project:
    """Choose the result to show and export."""
    services.fits.show(project, fit)
    return describe(services, project)


@router.post("/projects/{project}/fits/{fit}/open")
def open_again(project: ProjectId, fit: FitId, services: ServicesDep) -> Project:
    """Allow a result to be opened that crashed the studio before."""
    services.fits.open_again(project, fit)
    return describe(services, project)


@router.delete("/projects/{project}/fits/{fit}", status_code=204, response_class=Response)
def cancel_or_delete(project: ProjectId, fit: FitId, services: ServicesDep) -> None:
    """Cancel a fit that is queued or running; delete one that is done."""
    row = services.fits.get(project, fit)
    if row["state"] in ("queued", "running"):
        services.jobs.cancel(project, fit)
        return
    services.fits.delete(project, fit)
    services.workspace.forget([fit])


@router.delete("/projects/{project}/job", status_code=204, response_class=Response)
def cancel_job(project: ProjectId, services: ServicesDep) -> None:
    """Cancel the current job of the project."""
    services.projects.get(project)
    services.jobs.cancel(project)


@router.get("/projects/{project}/compare")
def compare(project: ProjectId, services: ServicesDep) -> Agreement:
    """Compare the labels of all finished fits."""
    services.projects.get(project)
    labels: dict[int, Codes] = {}
    for fit in services.fits.all(project):
        with suppress(Problem):  # it was replaced meanwhile
            if fit["state"] == "done":
                labels[fit["id"]] = services.workspace.of(project, fit["id"]).result.label_codes

    def share(first: Codes, second: Codes) -> float:
        return float((first == second).mean()) if len(first) == len(second) else 0.0

    shares = [[share(first, second) for second in labels.values()] for first in labels.values()]
    return Agreement(fits=list(labels), shares=shares)
