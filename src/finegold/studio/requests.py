"""Types and dependencies that all routes use."""

from __future__ import annotations

import math
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import AfterValidator

from finegold.studio.browser import Browser
from finegold.studio.files import safe_name
from finegold.studio.problems import Problem
from finegold.studio.security import OWNER, Visitor, may_read_blindly

if TYPE_CHECKING:
    from finegold.studio.app import Services as Services
else:
    Services = Any  # FastAPI evaluates annotations; the services themselves import the routes' modules


Name = str | int | float | bool  # the name of a task, an annotator or a class, as in JSON


def _finite(value: Any) -> Any:
    """Refuse NaN and Infinity, which Python's JSON parser accepts, and integers of more than 64 bits."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("NaN and Infinity are not allowed")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("an integer must fit into 64 bits; send it as text")
    return value


def _not_blank(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise ValueError("it is blank; give a name")
    return value


Scalar = Annotated[Name, AfterValidator(_finite)]  # a name in a request
Id = Annotated[Scalar, AfterValidator(_not_blank)]

ProjectId = Annotated[int, Path(ge=1, le=2**53, description="The id of a project.")]
FitId = Annotated[int, Path(ge=1, le=2**53, description="The id of a fit.")]
At = Annotated[int, Path(ge=0, le=2**31 - 1, description="The index of a task or an annotator, from zero.")]


FileName = Annotated[str, Query(min_length=1, max_length=200, description="The name of the file.")]
FILE_BODY = {"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}}


def get_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(get_services)]

MAX_REVIEWER_LENGTH = 100


def get_reviewer(
    request: Request,
    x_finegold_reviewer: Annotated[
        str, Header(max_length=1000, description="Your name, percent-encoded; a reviewer's own token is stronger.")
    ] = "",
) -> str:
    """Return the name that belongs to the token, or else the name that the client gives."""
    name: str = request.scope.get("reviewer") or unquote(x_finegold_reviewer)
    return name.strip()[:MAX_REVIEWER_LENGTH]


Reviewer = Annotated[str, Depends(get_reviewer)]


def get_browser(
    project: ProjectId,
    services: ServicesDep,
    fit: Annotated[int | None, Query(ge=1, le=2**53, description="A fit; by default the one that is shown.")] = None,
) -> Browser:
    if fit is not None:
        return services.workspace.of(project, fit)
    return services.workspace.shown(project)


Shown = Annotated[Browser, Depends(get_browser)]


def visitor_of(request: Request) -> Visitor:
    """Return who sent the request; without the guard, in tests, the owner."""
    visitor: Visitor = request.scope.get("visitor") or Visitor(request.scope.get("reviewer") or OWNER, "")
    return visitor


def check_blind(request: Request, services: ServicesDep) -> None:
    """Refuse to show votes and labels to a reviewer who judges blindly, and other projects to one who was invited."""
    project, only = request.path_params.get("project"), visitor_of(request).project
    if project is not None and only is not None and int(project) != only:
        raise Problem(404, "There is no such project", "You were invited to another one.")
    project, person = request.path_params.get("project"), request.scope.get("reviewer", OWNER)
    if project is None or person == OWNER or may_read_blindly(request.method, request.scope["path"]):
        return
    if services.projects.get(int(project))["blind"]:
        raise Problem(403, "This project is judged blindly", "Reviewers see the votes of a task after they judged it.")


def plain_name(name: Any) -> Any:
    """Convert a name to a JSON value; dates become text."""
    return name if isinstance(name, str | int | float | bool) else str(name)


@asynccontextmanager
async def sent_file(request: Request, services: Services, name: str) -> AsyncIterator[pathlib.Path]:
    """Yield the body of the request as a file, or the file of the folder if the body is empty."""
    sent = services.files.temporary(f"-{safe_name(name)}")
    try:
        with sent.open("wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
        yield sent if sent.stat().st_size else services.files.resolve(name)
    finally:
        sent.unlink(missing_ok=True)
