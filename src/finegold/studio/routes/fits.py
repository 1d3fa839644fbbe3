"""Routes to list methods, run fits and choose the result to show."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from finegold.methods.lookup import method_class, method_names
from finegold.methods.registry import DEFAULT_METHOD
from finegold.studio.problems import Problem
from finegold.studio.routes.common import FitId, ProjectId, Scalar, ServicesDep
from finegold.studio.routes.projects import Fit, Project, described
from finegold.studio.services import Services
from finegold.votes.encoding import Codes

__all__ = ["router"]

router = APIRouter(tags=["fits"])


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
    return [_info(name) for name in method_names()]


@router.post("/projects/{project}/fits", status_code=202)
def start_fit(project: ProjectId, wanted: Wanted, services: ServicesDep) -> Fit:
    """Queue a fit of the votes with all gold that was given. Follow it by /events, or ask for it again."""
    place = wanted.model_dump(include={"prior", "engine", "threads"})
    place["predictions"] = [services.files.resolve(name) for name in wanted.predictions]
    job = services.jobs.fit(project, wanted.method, wanted.settings, **place)
    assert job.fit is not None
    return Fit(**services.projects.fit(project, job.fit))


@router.get("/projects/{project}/fits/{fit}")
def get_fit(project: ProjectId, fit: FitId, services: ServicesDep) -> Fit:
    return Fit(**services.projects.fit(project, fit))


@router.put("/projects/{project}/fits/{fit}/shown")
def show_fit(project: ProjectId, fit: FitId, services: ServicesDep) -> Project:
    """Choose the result to show and export."""
    services.projects.show(project, fit)
    return described(services, project)


@router.post("/projects/{project}/fits/{fit}/open")
def open_again(project: ProjectId, fit: FitId, services: ServicesDep) -> Project:
    """Allow a result to be opened that crashed the studio before."""
    services.projects.open_again(project, fit)
    return described(services, project)


@router.delete("/projects/{project}/fits/{fit}", status_code=204, response_class=Response)
def cancel_or_delete(project: ProjectId, fit: FitId, services: ServicesDep) -> None:
    """Cancel a fit that is queued or running; delete one that is done."""
    found = services.projects.fit(project, fit)
    if found["state"] in ("queued", "running"):
        services.jobs.cancel(project, fit)
        return
    services.projects.delete_fit(project, fit)
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
    found = {
        fit["id"]: _labels(services, project, fit["id"])
        for fit in services.projects.fits(project)
        if fit["state"] == "done"
    }
    labels = {fit: codes for fit, codes in found.items() if codes is not None}
    return Agreement(
        fits=list(labels), shares=[[_share(one, other) for other in labels.values()] for one in labels.values()]
    )


def _labels(services: Services, project: int, fit: int) -> Codes | None:
    """Return the labels of a fit; None if it was replaced meanwhile."""
    try:
        return services.workspace.of(project, fit).result.label_codes
    except Problem:
        return None


def _share(one: Codes, other: Codes) -> float:
    return float((one == other).mean()) if len(one) == len(other) else 0.0


def _info(name: str) -> MethodInfo:
    made = method_class(name)
    about = (made.__doc__ or "").strip().partition("\n")[0]
    settings = {key: value for key, value in made().settings.items() if isinstance(value, str | int | float | bool)}
    is_default = name == DEFAULT_METHOD
    return MethodInfo(name=name, about=about, takes_gold=made.takes_gold, is_default=is_default, settings=settings)
