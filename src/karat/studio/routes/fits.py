"""Fits: which methods there are, running them, and choosing whose result is shown."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from karat.methods import method_class, method_names
from karat.methods.registry import DEFAULT_METHOD
from karat.studio.problems import Problem
from karat.studio.routes.common import FitId, Here, ProjectId, Scalar
from karat.studio.routes.projects import Fit, Project, described
from karat.studio.services import Desk
from karat.votes.encoding import Codes

__all__ = ["router"]

router = APIRouter(tags=["fits"])


class MethodInfo(BaseModel):
    name: str
    about: str
    takes_gold: bool
    is_default: bool = Field(description="Whether it is fitted where none is named.")
    settings: dict[str, Any]


class Wanted(BaseModel, extra="forbid"):
    method: str = Field(default=DEFAULT_METHOD, max_length=100, description="A name from /api/methods.")
    settings: dict[str, Scalar] = Field(default={}, description="Of the method, e.g. n_prototypes.")
    prior: int | None = Field(
        default=None, ge=1, le=2**53, description="Another project: what its result knows of annotators who vote again."
    )
    engine: Literal["local", "gpu"] = Field(default="local", description="Where the fit runs.")
    threads: int | None = Field(default=None, ge=1, le=1024, description="By default one per core.")


class Agreement(BaseModel):
    fits: list[int]
    shares: list[list[float]] = Field(description="The share of tasks that two fits label alike.")


@router.get("/methods")
def methods() -> list[MethodInfo]:
    return [_info(name) for name in method_names()]


@router.post("/projects/{project}/fits", status_code=202)
def start_fit(project: ProjectId, wanted: Wanted, desk: Here) -> Fit:
    """Queue a fit of the votes with all gold that was given. Follow it by /events, or ask for it again."""
    place = wanted.model_dump(include={"prior", "engine", "threads"})
    job = desk.jobs.fit(project, wanted.method, wanted.settings, **place)
    assert job.fit is not None
    return Fit(**desk.projects.fit(project, job.fit))


@router.get("/projects/{project}/fits/{fit}")
def get_fit(project: ProjectId, fit: FitId, desk: Here) -> Fit:
    return Fit(**desk.projects.fit(project, fit))


@router.put("/projects/{project}/fits/{fit}/shown")
def show_fit(project: ProjectId, fit: FitId, desk: Here) -> Project:
    """Make this the result that is looked at and exported."""
    desk.projects.show(project, fit)
    return described(desk, project)


@router.post("/projects/{project}/fits/{fit}/open")
def open_again(project: ProjectId, fit: FitId, desk: Here) -> Project:
    """Let a result be opened that an earlier studio did not survive opening."""
    desk.projects.open_again(project, fit)
    return described(desk, project)


@router.delete("/projects/{project}/fits/{fit}", status_code=204, response_class=Response)
def cancel_or_delete(project: ProjectId, fit: FitId, desk: Here) -> None:
    """Cancel a fit that is not done; delete one that is."""
    found = desk.projects.fit(project, fit)
    if found["state"] in ("queued", "running"):
        desk.jobs.cancel(project, fit)
        return
    desk.projects.delete_fit(project, fit)
    desk.workspace.forget([fit])


@router.delete("/projects/{project}/job", status_code=204, response_class=Response)
def cancel_job(project: ProjectId, desk: Here) -> None:
    """Cancel whatever is being done for the project."""
    desk.projects.get(project)
    desk.jobs.cancel(project)


@router.get("/projects/{project}/compare")
def compare(project: ProjectId, desk: Here) -> Agreement:
    """How far the results of all fits agree."""
    desk.projects.get(project)
    found = {
        fit["id"]: _labels(desk, project, fit["id"]) for fit in desk.projects.fits(project) if fit["state"] == "done"
    }
    labels = {fit: codes for fit, codes in found.items() if codes is not None}
    return Agreement(
        fits=list(labels), shares=[[_share(one, other) for other in labels.values()] for one in labels.values()]
    )


def _labels(desk: Desk, project: int, fit: int) -> Codes | None:
    """None if the fit was replaced meanwhile."""
    try:
        return desk.workspace.of(project, fit).result.label_codes
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
