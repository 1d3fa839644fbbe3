"""Fits: read the votes of all sources, run a method with all truths that were given, keep the
result, and choose the one to show.

Truths of a project are of tasks that were chosen, most of them because they are doubtful: they
teach the method, but nothing is calibrated on them.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from finegold.api.fit import fit_votes
from finegold.api.options import FitOptions
from finegold.errors import InputError
from finegold.io.sheets import KEY
from finegold.kernels.compiling import compiling
from finegold.methods.lookup import DEFAULT_METHOD, make_method, method_class, method_names
from finegold.results.data import Step
from finegold.studio import measuring
from finegold.studio.items import collect_content
from finegold.studio.judging import truths_of
from finegold.studio.loaded import DOUBTS, Codes, LoadedResult
from finegold.studio.problems import NO_VOTES, Problem, rename_files
from finegold.studio.projects import Fit, Project, describe, fits_of
from finegold.studio.reading import Reading, advice_on, near_spellings
from finegold.studio.rights import ONLY_OWNER, REVIEWERS_WHO_SEE
from finegold.studio.services import (
    FitId,
    JobState,
    Name,
    ProjectId,
    Scalar,
    Services,
    ServicesDep,
    StoreDep,
)
from finegold.studio.store import now
from finegold.studio.votes import key_of, vote_sources, votes_of, with_truths
from finegold.votes.encoding import MISSING, text_of

router = APIRouter(tags=["fits"])

MAX_CLASSES = 60
MAX_CHANGES = 50
# times as many votes as a class have those that it may be a misspelling of
OFTEN = 5


class MethodInfo(BaseModel):
    name: str
    about: str
    takes_gold: bool
    is_default: bool
    settings: dict[str, Any]


class Wanted(BaseModel, extra="forbid"):
    method: str | None = Field(
        default=None,
        max_length=100,
        description="A name from /api/methods; by default that of the shown result.",
    )
    settings: dict[str, Scalar] = Field(default={}, description="Of the method, e.g. n_prototypes.")
    prior: int | None = Field(
        default=None,
        ge=1,
        le=2**53,
        description="Another project: what its result knows of annotators who vote again.",
    )
    threads: int | None = Field(default=None, ge=1, le=1024, description="By default one per core.")


@router.get("/methods", dependencies=ONLY_OWNER)
def methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            name=name,
            about=(method.__doc__ or "").strip().partition("\n")[0],
            takes_gold=method.takes_gold,
            is_default=name == DEFAULT_METHOD,
            settings={
                key: value for key, value in method().settings.items() if isinstance(value, Name)
            },
        )
        for name, method in ((name, method_class(name)) for name in method_names())
    ]


@router.post("/projects/{project:id}/fits", dependencies=ONLY_OWNER, status_code=202)
def start_fit(project: ProjectId, wanted: Wanted, services: ServicesDep) -> Fit:
    """Queue a fit of all votes with all truths. Follow it by /events, or ask for it again."""
    if not vote_sources(services, project):
        raise Problem(*NO_VOTES)
    if wanted.prior == project:
        detail = "Its votes would count twice; name another project."
        raise Problem(409, "A project cannot be its own prior", detail)
    if wanted.prior is not None and services.store.project(wanted.prior)["shown"] is None:
        raise Problem(409, "The prior has no result yet", "Read its votes and fit a method first.")
    fit = queue_fit(services, project, wanted)
    return get_fit(project, fit, services.store)


def queue_fit(services: Services, project: int, wanted: Wanted | None = None) -> int:
    """Queue a fit, by default as the shown result was fitted, and return its id."""
    wanted, store = wanted or Wanted(), services.store
    name, settings = wanted.method, wanted.settings
    if name is None:
        shown = store.row(
            "SELECT * FROM fit WHERE id = (SELECT shown FROM project WHERE id = ?)", project
        )
        name = shown["method"] if shown else DEFAULT_METHOD
        settings = settings or (shown["settings"] if shown else {})
    # complains at once of what it does not know
    method = make_method(name, settings)
    with store.changing(project):
        more = {"settings": settings, "state": "queued", "started": now()}
        fit = store.insert("fit", project=project, method=method.name, **more)
    services.jobs.add(
        project, JobState(fit=fit), lambda job: _run(services, project, job, method, wanted)
    )
    return fit


def _run(services: Services, project: int, job: JobState, method: Any, wanted: Wanted) -> None:
    """Fit all votes and show the result. An earlier one of this method and settings is replaced,
    unless a sample was drawn from it.
    """
    store, loaded = services.store, services.loaded

    def on_step(step: Step) -> None:
        job.add_step(step)
        services.jobs.report(job)

    def say(message: str) -> None:
        job.message = message
        services.hub.notify(project)

    key = key_of(services, project)
    # the result so far is needed for what has changed, and goes from memory first
    before = loaded.shown(project) if store.project(project)["shown"] is not None else None
    votes = votes_of(services, project, job)
    collect_contents(services, project)
    job.check()
    votes, n_truths = with_truths(votes, truths_of(store, project))
    earlier = None if wanted.prior is None else loaded.shown(wanted.prior).result
    rows = store.rows(
        "SELECT * FROM source WHERE project = ? AND kind = 'predictions' AND state = 'in'"
        " ORDER BY id",
        project,
    )
    paths = [services.files.path_of(row) for row in rows]
    try:
        options = FitOptions(
            method=method, prior=earlier, predictions=paths, threads=wanted.threads
        )
        with compiling(say):
            result = fit_votes(votes, options, on_step=on_step, calibrate=False)
    # which uses the files' own names
    except InputError as error:
        raise rename_files(error, {f"{path.parent}{os.sep}": "" for path in paths}) from error
    job.message = ""
    job.check()
    fitted = LoadedResult(result)
    measured = measuring.measure(services, project, job.fit, fitted)
    facts = summarise(fitted, before) | {
        "key": key,
        "truths": n_truths,
        "measured": None if measured is None else measured.model_dump(),
    }
    blob = services.files.keep(result.save, ".finegold")
    with store.changing(project):
        store.update("fit", job.fit, state="done", facts=facts, model=blob)
        store.update("project", project, shown=job.fit)
        replaced = store.rows(
            "UPDATE fit SET state = 'replaced', model = NULL FROM fit AS new WHERE new.id = ?"
            " AND fit.id < new.id AND fit.project = new.project AND fit.method = new.method"
            " AND fit.settings = new.settings AND fit.state = 'done'"
            " AND fit.id NOT IN (SELECT fit FROM sample) RETURNING fit.id",
            job.fit,
        )
    # what is said of them does not depend on what is in memory
    loaded.forget(project, [row["id"] for row in replaced])
    loaded.remember(project, job.fit, fitted)
    store.sweep()


def collect_contents(services: Services, project: int) -> None:
    """Keep what the votes' own tables say about the tasks."""
    for row in vote_sources(services, project):
        if row["content"] is None and not row["facts"].get("posted"):
            path = services.files.path_of(row)
            content = collect_content(path, Reading(**row["reading"]))
            if content.columns != [KEY]:
                blob = services.files.keep(content.write_parquet, ".parquet")
                services.store.update("source", row["id"], content=blob)


@router.get("/projects/{project:id}/fits/{fit:id}", dependencies=REVIEWERS_WHO_SEE)
def get_fit(project: ProjectId, fit: FitId, store: StoreDep) -> Fit:
    found = fits_of(store, project, "id = ?", fit)
    if not found:
        raise Problem(404, "There is no such fit", "It may have been deleted.")
    return found[0]


@router.put("/projects/{project:id}/fits/{fit:id}/shown", dependencies=ONLY_OWNER)
def show_fit(project: ProjectId, fit: FitId, services: ServicesDep) -> Project:
    """Choose the result to show and export."""
    store = services.store
    with store.changing(project):
        if get_fit(project, fit, store).state != "done":
            raise Problem(409, "This fit has no result", "Choose one that has finished.")
        store.update("project", project, shown=fit)
    return describe(services, project)


@router.delete(
    "/projects/{project:id}/fits/{fit:id}",
    dependencies=ONLY_OWNER,
    status_code=204,
    response_class=Response,
)
def cancel_or_drop(project: ProjectId, fit: FitId, services: ServicesDep) -> None:
    """Cancel a fit that is queued or running; drop the result of one that is done."""
    store = services.store
    if get_fit(project, fit, store).state in ("queued", "running"):
        services.jobs.cancel(project, fit)
        return
    with store.changing(project):
        if fit == store.project(project)["shown"]:
            raise Problem(409, "This result is in use", "Show another one first.")
        if store.row("SELECT 1 FROM sample WHERE fit = ?", fit) is not None:
            raise Problem(409, "A sample was drawn from this result", "It is kept for its answers.")
        store.update("fit", fit, state="replaced", model=None)
    services.loaded.forget(project, [fit])
    store.sweep()


@router.delete(
    "/projects/{project:id}/job", dependencies=ONLY_OWNER, status_code=204, response_class=Response
)
def cancel_job(project: ProjectId, services: ServicesDep) -> None:
    """Cancel the current job of the project."""
    services.jobs.cancel(project)


# ---- Facts


def summarise(fitted: LoadedResult, before: LoadedResult | None = None) -> dict[str, Any]:
    """Summarise a result, how it was read, and what changed since the one shown before."""
    result, votes = fitted.result, fitted.votes
    hygiene = votes.hygiene
    findings = [
        {
            "kind": each.kind,
            "text": each.text,
            "groups": each.groups,
            "advice": advice_on(each.remedies),
        }
        for each in hygiene.findings
    ]
    counted = _count_classes(fitted)
    return {
        "n_tasks": len(result.label_codes),
        "n_votes": votes.n_votes,
        "n_annotators": len(result.accuracy),
        "n_classes": len(result.class_names),
        "n_unlabelled": len(result.unlabelled),
        "n_predicted": int(fitted.marks["predicted"].sum()),
        "is_sets": fitted.is_sets,
        "marks": {name: int(mask.sum()) for name, mask in fitted.marks.items()},
        "doubtful": int(np.logical_or.reduce([fitted.marks[name] for name in DOUBTS]).sum()),
        "gold": int((result.gold != MISSING).sum()),
        "stopped": result.stopped,
        "seconds": result.seconds,
        "notes": list(result.notes),
        "counts": asdict(result.counts),
        "no_vote": hygiene.no_vote,
        "findings": findings,
        "classes": counted,
        "near": _near(counted),
        "changes": None if before is None else _changes(fitted, before),
    }


def _count_classes(fitted: LoadedResult) -> list[list[Any]]:
    """Return the classes with the most votes and their numbers."""
    n = fitted.votes.votes_per_class
    names = fitted.class_texts
    most = [code for code in np.argsort(-n, kind="stable").tolist() if code < len(names)]
    return [[names[code], int(n[code])] for code in most[:MAX_CLASSES]]


def _near(counted: list[list[Any]]) -> dict[str, str]:
    """Return rare classes that look like a misspelling of frequent ones."""
    near: dict[str, str] = {}
    for name, n in counted:
        others = [other for other, more in counted if more >= OFTEN * n and other not in near]
        near |= near_spellings([name], others)
    return near


def _changes(fitted: LoadedResult, before: LoadedResult) -> dict[str, Any]:
    """Return how many labels changed of the tasks that both results have."""
    codes: Codes = before.places_of(fitted)
    both = np.flatnonzero(codes != MISSING)
    was = np.array(before.label_texts(codes[both]), dtype=object)
    now_texts = np.array(fitted.label_texts(both), dtype=object)
    changed = np.flatnonzero(was != now_texts)
    names = fitted.task_texts(both[changed[:MAX_CHANGES]].tolist())
    return {
        "fit": before.fit,
        "labels": len(changed),
        "compared": len(both),
        "examples": [
            {"task": name, "before": text_of(was[place]), "after": text_of(now_texts[place])}
            for name, place in zip(names, changed[:MAX_CHANGES].tolist(), strict=True)
        ],
    }
