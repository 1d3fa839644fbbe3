"""Fits: read the votes of all sources, run a method with all truths that were given, and keep the
result.

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
from finegold.studio.loaded import LoadedResult
from finegold.studio.problems import NO_VOTES, Problem, rename_files
from finegold.studio.reading import advice_on, near_spellings
from finegold.studio.security import ONLY_OWNER
from finegold.studio.services import Job, Project, ProjectDep, Scalar
from finegold.studio.store import Row, now
from finegold.studio.votes import key_of, vote_sources, votes_of, with_truths

router = APIRouter(tags=["fits"])

MAX_CLASSES = 60
# times as many votes as a class have those that it may be a misspelling of
OFTEN = 5


class Wanted(BaseModel, extra="forbid"):
    method: str | None = Field(
        None, max_length=100, description="A name of /api/methods; by default that of the labels."
    )
    settings: dict[str, Scalar] = Field({}, description="Of the method, e.g. n_prototypes.")


@router.get("/methods", dependencies=ONLY_OWNER)
def methods() -> list[dict[str, Any]]:
    found = {name: (method_class(name).__doc__ or "").strip() for name in method_names()}
    return [
        {"name": name, "about": words.partition("\n")[0], "is_default": name == DEFAULT_METHOD}
        for name, words in found.items()
    ]


def fits_of(project: Project, condition: str = "state != 'replaced'", *values: Any) -> list[Row]:
    """Return the fits of a project, by default all except those that a newer fit replaced."""
    return project.rows(f"SELECT * FROM fit WHERE project = ? AND {condition} ORDER BY id", *values)


@router.get("/projects/{project:id}/fits", dependencies=ONLY_OWNER)
def fits(project: ProjectDep) -> list[Row]:
    """Return the fits that have a result or are under way."""
    return fits_of(project)


@router.post("/projects/{project:id}/fits", dependencies=ONLY_OWNER, status_code=202)
def start_fit(project: ProjectDep, wanted: Wanted) -> dict[str, int]:
    """Queue a fit of all votes with all truths. Follow it by /events, or ask for the project."""
    if not vote_sources(project):
        raise Problem(*NO_VOTES)
    return {"id": queue_fit(project, wanted.method, wanted.settings)}


def queue_fit(
    project: Project, name: str | None = None, settings: dict[str, Any] | None = None
) -> int:
    """Queue a fit, by default as the shown result was fitted, and return its id."""
    if name is None:
        shown = next(iter(fits_of(project, "id = ?", project.row["shown"])), None)
        name = shown["method"] if shown else DEFAULT_METHOD
        settings = settings or (shown["settings"] if shown else {})
    # complains at once of what it does not know
    method = make_method(name, settings or {})
    with project.changing():
        more = {"settings": settings or {}, "state": "queued", "started": now()}
        fit = project.store.insert("fit", project=project.id, method=method.name, **more)
    services = project.services
    job = Job(project.id, fit)
    services.jobs.add(job, lambda job: _run(Project(services, project.id), job, method))
    return fit


def _run(project: Project, job: Job, method: Any) -> None:
    """Fit all votes and show the result, which replaces one of its method without a sample."""
    store, loaded = project.store, project.services.loaded

    def on_step(step: Step) -> None:
        job.step, job.message = step.iteration, ""
        project.services.jobs.report(job)

    def say(message: str) -> None:
        job.message = message
        project.services.hub.notify(project.id)

    key = key_of(project)
    votes = votes_of(project, job)
    collect_contents(project)
    job.check()
    votes, n_truths = with_truths(votes, truths_of(project))
    rows = project.rows(
        "SELECT * FROM source WHERE project = ? AND kind = 'predictions' AND state = 'in'"
        " ORDER BY id"
    )
    paths = [project.files.path_of(row) for row in rows]
    try:
        with compiling(say):
            options = FitOptions(method=method, predictions=paths)
            result = fit_votes(votes, options, on_step=on_step, calibrate=False)
    # which uses the files' own names
    except InputError as error:
        raise rename_files(error, {f"{path.parent}{os.sep}": "" for path in paths}) from error
    job.message = ""
    job.check()
    project.shown = LoadedResult(result, job.fit)
    facts = summarise(project.shown) | {"key": key, "truths": n_truths}
    facts["measured"] = measuring.measure(project)
    blob = project.files.keep(result.save, ".finegold")
    with project.changing():
        store.update("fit", job.fit, state="done", facts=facts, model=blob)
        store.update("project", project.id, shown=job.fit)
        replaced = store.rows(
            "UPDATE fit SET state = 'replaced', model = NULL FROM fit AS new WHERE new.id = ?"
            " AND fit.id < new.id AND fit.project = new.project AND fit.method = new.method"
            " AND fit.settings = new.settings AND fit.state = 'done'"
            " AND fit.id NOT IN (SELECT fit FROM sample) RETURNING fit.id",
            job.fit,
        )
    # what is said of them does not depend on what is in memory
    loaded.forget(project.id, [row["id"] for row in replaced])
    loaded.remember(project.id, project.shown)
    store.sweep()


def collect_contents(project: Project) -> None:
    """Keep what the votes' own tables say about the tasks."""
    for row in vote_sources(project):
        if row["content"] is None:
            content = collect_content(project.files.path_of(row), row["reading"])
            if content.columns != [KEY]:
                blob = project.files.keep(content.write_parquet, ".parquet")
                project.store.update("source", row["id"], content=blob)


@router.delete(
    "/projects/{project:id}/job", dependencies=ONLY_OWNER, status_code=204, response_class=Response
)
def cancel_job(project: ProjectDep) -> None:
    """Cancel the fits of the project that are queued or running."""
    project.services.jobs.cancel(project.id)


# ---- Facts


def summarise(fitted: LoadedResult) -> dict[str, Any]:
    result, votes = fitted.result, fitted.votes
    findings = [
        {
            "kind": each.kind,
            "text": each.text,
            "groups": each.groups,
            "advice": advice_on(each.remedies),
        }
        for each in votes.hygiene.findings
    ]
    n, names = votes.votes_per_class, fitted.class_texts
    most = [code for code in np.argsort(-n, kind="stable").tolist() if code < len(names)]
    counted = [[names[code], int(n[code])] for code in most[:MAX_CLASSES]]
    return {
        "n_tasks": len(result.label_codes),
        "n_votes": votes.n_votes,
        "n_annotators": len(result.annotator_accuracy),
        "n_classes": len(result.class_names),
        "n_unlabelled": len(result.unlabelled),
        "is_sets": fitted.is_sets,
        "notes": list(result.notes),
        "counts": asdict(result.counts),
        "no_vote": votes.hygiene.no_vote,
        "findings": findings,
        "classes": counted,
        "near": _near(counted),
    }


def _near(counted: list[list[Any]]) -> dict[str, str]:
    """Return rare classes that look like a misspelling of frequent ones."""
    near: dict[str, str] = {}
    for name, n in counted:
        others = [other for other, more in counted if more >= OFTEN * n and other not in near]
        near |= near_spellings([name], others)
    return near
