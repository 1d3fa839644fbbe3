"""What all routes share: where things are, and what they are called in addresses."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request

from karat.studio.browse import Browser
from karat.studio.desk import Desk

__all__ = ["At", "FitId", "Here", "Name", "ProjectId", "Shown", "plain_name"]

Name = str | int | float | bool  # of a task, an annotator or a class, as JSON can say it

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
