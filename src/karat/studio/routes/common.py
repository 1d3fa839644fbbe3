"""What all routes share: where things are, and what they are called in addresses."""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from pydantic import AfterValidator

from karat.studio.browse import Browser
from karat.studio.services import Desk

__all__ = ["At", "FitId", "Here", "Id", "Name", "ProjectId", "Scalar", "Shown", "plain_name"]

Name = str | int | float | bool  # of a task, an annotator or a class, as JSON can say it


def _finite(value: Any) -> Any:
    """Python's own JSON allows NaN and Infinity, which are no names, and no programs but Python's read them."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("NaN and Infinity are not allowed")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("an integer must fit into 64 bits; send it as text")
    return value


def _not_blank(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise ValueError("it is blank; give a name")
    return value


Scalar = Annotated[Name, AfterValidator(_finite)]  # as a request may say it
Id = Annotated[Scalar, AfterValidator(_not_blank)]

ProjectId = Annotated[int, Path(ge=1, le=2**53, description="The number of a project.")]
FitId = Annotated[int, Path(ge=1, le=2**53, description="The number of a fit.")]
At = Annotated[int, Path(ge=0, le=2**31 - 1, description="The place of a task or an annotator, counted from zero.")]


def the_desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


Here = Annotated[Desk, Depends(the_desk)]


def the_browser(
    project: ProjectId,
    desk: Here,
    fit: Annotated[int | None, Query(ge=1, le=2**53, description="Another fit than the one that is shown.")] = None,
) -> Browser:
    if fit is not None:
        return desk.workspace.of(project, fit)
    return desk.workspace.shown(project)


Shown = Annotated[Browser, Depends(the_browser)]


def plain_name(name: Any) -> Any:
    """A name as JSON can say it: dates become text."""
    return name if isinstance(name, str | int | float | bool) else str(name)
