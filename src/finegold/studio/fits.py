"""Fits: run methods, keep their results, and choose the result to show.

The first fit of a project is the majority vote, which keeps the votes; one of the fits is shown.
"""

from __future__ import annotations

import ast
import json
import os
from contextlib import suppress
from dataclasses import fields, replace
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from finegold.api.fit import fit_votes
from finegold.api.options import FitOptions
from finegold.errors import InputError
from finegold.kernels.compiling import compiling
from finegold.methods.lookup import make_method, method_class, method_names
from finegold.methods.lookup import DEFAULT_METHOD
from finegold.results.data import Step
from finegold.studio.gold import merge_truths, truths_of
from finegold.studio.problems import NO_VOTES, Problem, rename_files
from finegold.studio.rights import ONLY_OWNER, REVIEWERS_WHO_SEE
from finegold.studio.projects import Fit, Project, count_waiting, describe, fits_of
from finegold.studio.results import summarise_fit
from finegold.studio.services import FitId, JobState, Name, ProjectId, Scalar, ServicesDep, StoreDep
from finegold.studio.store import now
from finegold.studio.votes import all_votes, new_base
from finegold.studio.workspace import Browser
from finegold.votes.encoding import Codes

router = APIRouter(tags=["fits"])

# The values of settings by their declared types, and what these are called.
KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    **{"bool": ((bool,), "true or false"), "int": ((int,), "a whole number")},
    **{"float": ((int, float), "a number"), "str": ((str,), "a text")},
}


class MethodInfo(BaseModel):
    name: str
    about: str
    takes_gold: bool
    is_default: bool = Field(description="Whether it is used if no method is given.")
    settings: dict[str, Any]


class Wanted(BaseModel, extra="forbid"):
    method: str = Field(
        default=DEFAULT_METHOD, max_length=100, description="A name from /api/methods."
    )
    settings: dict[str, Scalar] = Field(default={}, description="Of the method, e.g. n_prototypes.")
    prior: int | None = Field(
        None,
        ge=1,
        le=2**53,
        description="Another project: what its result knows of annotators who vote again.",
    )
    predictions: list[Annotated[str, Field(max_length=255)]] = Field(
        [],
        max_length=20,
        description="Files in the folder with class probabilities of models, instead of those of the project.",
    )
    threads: int | None = Field(default=None, ge=1, le=1024, description="By default one per core.")


class Agreement(BaseModel):
    fits: list[int]
    shares: list[list[float]] = Field(
        description="The share of tasks to which two fits give the same label."
    )


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
    """Queue a fit of the votes with all gold that was given. Follow it by /events, or ask for it again."""
    files = [services.files.resolve(name) for name in wanted.predictions]
    declared = {
        field.name: str(field.type).removesuffix(" | None")
        for field in fields(method_class(wanted.method))
    }
    for name, value in wanted.settings.items():
        kind, expected = declared.get(name, ""), ""
        if kind.startswith("Literal"):
            allowed = ast.literal_eval(kind.removeprefix("Literal"))
            expected = "" if value in allowed else " or ".join(allowed)
        elif kind:  # arrays cannot be set in the studio
            types, expected = KINDS.get(kind, ((), "only its default"))
            expected = "" if type(value) in types else expected
        if expected:
            detail = f"{wanted.method} takes {expected} as {name}, not {value!r}."
            raise Problem(422, "A setting is not valid", detail)
    method = make_method(
        wanted.method, wanted.settings
    )  # complains at once of what it does not know
    store, workspace, prior = services.store, services.workspace, wanted.prior
    if prior == project:
        raise Problem(
            409,
            "A project cannot be its own prior",
            "Its votes would count twice; name another project.",
        )
    if prior is not None and store.project(prior)["shown"] is None:
        raise Problem(409, "The prior has no result yet", "Read its votes and fit a method first.")
    if store.project(project)["base"] is None and not count_waiting(store, project):
        raise Problem(*NO_VOTES)
    with store.changing(project):
        more = {"settings": json.dumps(wanted.settings), "state": "queued", "started": now()}
        fit = store.insert("fit", project=project, method=method.name, **more)

    def run(job: JobState) -> None:
        """Fit all votes and show the result. Earlier ones of this method and settings are dropped; their rows stay."""

        def on_step(step: Step) -> None:
            job.add_step(step)
            services.jobs.report(job)

        def say(message: str) -> None:
            job.message = message
            services.hub.notify(project)

        votes, waiting = all_votes(services, project)
        if waiting and votes is not None:
            new_base(services, project, votes, read=waiting)
        votes = workspace.votes(project)
        given = workspace.of(project, store.project(project)["base"]).codes_of(
            truths_of(store, project)
        )
        earlier = None if prior is None else workspace.shown(prior).result
        votes = replace(votes, gold=merge_truths(votes.gold, given))
        rows = store.rows(
            "SELECT name, file FROM predictions WHERE project = ? ORDER BY name", project
        )
        kept = [services.files.stored(row["file"], row["name"]) for row in rows]
        options = FitOptions(
            method=method, prior=earlier, predictions=files or kept, threads=wanted.threads
        )
        try:
            with compiling(say):
                result = fit_votes(votes, options, on_step=on_step)
        except InputError as error:  # which uses the files' own names
            raise rename_files(error, {f"{path.parent}{os.sep}": "" for path in kept}) from error
        job.message = ""
        job.check()
        browser, before = Browser(result), workspace.shown(project)
        facts = json.dumps({**summarise_fit(browser, before), "judged": len(given)})
        blob = services.files.keep(result.save, ".finegold")
        with store.changing(project):
            store.run(
                "UPDATE fit SET state = 'done', facts = ?, model = ? WHERE id = ?", facts, blob, fit
            )
            store.run("UPDATE project SET shown = ? WHERE id = ?", fit, project)
            replaced = store.rows(
                "UPDATE fit SET state = 'replaced', facts = NULL, model = NULL FROM fit AS new WHERE new.id = ? "
                "AND fit.id < new.id AND fit.project = new.project AND fit.method = new.method "
                "AND fit.settings = new.settings AND fit.state NOT IN ('queued', 'running') "
                "AND fit.id != (SELECT base FROM project WHERE id = ?) RETURNING fit.id",
                *(fit, project),
            )
        workspace.forget(
            project, [row["id"] for row in replaced]
        )  # what is said of them does not depend on what is in memory
        workspace.remember(project, fit, browser)

    services.jobs.add(project, JobState(kind="fit", fit=fit, tolerance=method.tolerance), run)
    return get_fit(project, fit, store)


@router.get("/projects/{project:id}/fits/{fit:id}", dependencies=REVIEWERS_WHO_SEE)
def get_fit(project: ProjectId, fit: FitId, store: StoreDep) -> Fit:
    rows = fits_of(store, project, "id = ?", fit)
    if not rows:
        raise Problem(404, "There is no such fit", "It may have been deleted.")
    return rows[0]


@router.put("/projects/{project:id}/fits/{fit:id}/shown", dependencies=ONLY_OWNER)
def show_fit(project: ProjectId, fit: FitId, services: ServicesDep) -> Project:
    """Choose the result to show and export."""
    store = services.store
    with store.changing(project):
        if get_fit(project, fit, store).state != "done":
            raise Problem(409, "This fit has no result", "Choose one that has finished.")
        store.run("UPDATE project SET shown = ? WHERE id = ?", fit, project)
    return describe(services, project)


@router.post("/projects/{project:id}/fits/{fit:id}/open", dependencies=ONLY_OWNER)
def open_again(project: ProjectId, fit: FitId, services: ServicesDep) -> Project:
    """Allow a result to be opened that crashed the studio before."""
    with services.store.changing(project):
        services.store.run(
            "DELETE FROM opening WHERE fit = ?", get_fit(project, fit, services.store).id
        )
    return describe(services, project)


@router.delete(
    "/projects/{project:id}/fits/{fit:id}",
    dependencies=ONLY_OWNER,
    status_code=204,
    response_class=Response,
)
def cancel_or_delete(project: ProjectId, fit: FitId, services: ServicesDep) -> None:
    """Cancel a fit that is queued or running; delete one that is done."""
    store = services.store
    if get_fit(project, fit, store).state in ("queued", "running"):
        services.jobs.cancel(project, fit)
        return
    with store.changing(project):
        row = store.project(project)
        if fit in (row["base"], row["shown"]):
            raise Problem(
                409,
                "This result is in use",
                "Show another one first; the majority vote always stays.",
            )
        store.run("DELETE FROM fit WHERE id = ?", fit)
    services.workspace.forget(project, [fit])


@router.delete(
    "/projects/{project:id}/job", dependencies=ONLY_OWNER, status_code=204, response_class=Response
)
def cancel_job(project: ProjectId, services: ServicesDep) -> None:
    """Cancel the current job of the project."""
    services.jobs.cancel(project)


@router.get("/projects/{project:id}/compare", dependencies=REVIEWERS_WHO_SEE)
def compare(project: ProjectId, services: ServicesDep) -> Agreement:
    """Compare the labels of all finished fits."""

    def share(first: Codes, second: Codes) -> float:
        return float((first == second).mean()) if len(first) == len(second) else 0.0

    labels: dict[int, Codes] = {}
    for fit in fits_of(services.store, project, "state = 'done'"):
        with suppress(Problem):  # it was replaced meanwhile
            labels[fit.id] = services.workspace.of(project, fit.id).result.label_codes
    shares = [[share(first, second) for second in labels.values()] for first in labels.values()]
    return Agreement(fits=list(labels), shares=shares)
