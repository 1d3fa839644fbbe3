"""Rights: every route of the API declares who may call it besides the owner; a route that does not
is refused.

A right is a dependency of its route, so it decides where the router has parsed the project: on the
same number that the route then works with, and before a body is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import BaseRoute

from finegold.studio.problems import Problem
from finegold.studio.security import OWNER, Visitor


class Id(Convertor[int]):
    """A number in its only form: no sign, blank, zero before it, point or other digits."""

    regex = "[1-9][0-9]{0,14}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


class Place(Id):
    regex = "0|[1-9][0-9]{0,8}"


# Addresses with anything else are of no route, so the answer is 404.
register_url_convertor("id", Id())
register_url_convertor("at", Place())


@dataclass(frozen=True)
class Right:
    """Who may call a route: the owner all, reviewers only those of the project that they were
    invited to.
    """

    # may call it
    reviewers: bool
    # also while the project is judged blindly; the route leaves out what they must not see
    blind: bool

    def __call__(self, request: Request) -> None:
        visitor, project = visitor_of(request), request.path_params.get("project")
        is_owner = visitor.name == OWNER
        if not is_owner and project is not None and visitor.project not in (None, project):
            raise Problem(404, "There is no such project", "You were invited to another one.")
        if not is_owner and not self.reviewers:
            detail = "Ask the owner of the studio for anything else."
            raise Problem(403, "Reviewers judge tasks", detail)
        if project is None:
            return
        row = request.app.state.services.store.project(project)
        if not is_owner and row["blind"] and not self.blind:
            detail = "Reviewers see the votes of a task after they judged it."
            raise Problem(403, "This project is judged blindly", detail)


# What routes declare: dependencies=ONLY_OWNER, and so on.
ONLY_OWNER = [Depends(Right(reviewers=False, blind=False))]
REVIEWERS_WHO_SEE = [Depends(Right(reviewers=True, blind=False))]
REVIEWERS = [Depends(Right(reviewers=True, blind=True))]


def visitor_of(request: Request) -> Visitor:
    """Return who sent the request, as the guard found."""
    visitor: Visitor = request.scope["visitor"]
    return visitor


def right_of(route: BaseRoute) -> Right | None:
    """Return the right that a route declares."""
    declared: list[Any] = [each.dependency for each in getattr(route, "dependencies", ())]
    return next((each for each in declared if isinstance(each, Right)), None)


def check_rights(routes: Iterable[BaseRoute]) -> None:
    """Raise if a route has no right; a studio with such a route does not start."""
    for route in routes:
        if not isinstance(route, APIRoute) or right_of(route) is None:
            raise TypeError(f"the route {getattr(route, 'path', route)} declares no right")
