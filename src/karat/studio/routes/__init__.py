"""The HTTP interface under /api, a file for each kind of thing."""

from __future__ import annotations

from fastapi import APIRouter

from karat.studio.problems import ProblemDetails
from karat.studio.routes.exports import router as exports
from karat.studio.routes.fits import router as fits
from karat.studio.routes.gold import router as gold
from karat.studio.routes.planning import router as planning
from karat.studio.routes.projects import router as projects
from karat.studio.routes.results import router as results
from karat.studio.routes.tables import router as tables
from karat.studio.routes.votes import router as votes

__all__ = ["api"]

REFUSALS: dict[int | str, dict[str, object]] = {
    status: {"model": ProblemDetails, "description": words}
    for status, words in {
        400: "The request cannot be understood.",
        401: "The token is missing or wrong.",
        403: "The request comes from elsewhere.",
        404: "There is no such thing.",
        409: "It does not fit the state of the project, or somebody else was faster.",
        413: "The body is larger than the upload limit.",
        422: "The request or the data are not as expected; `detail` says what to do.",
    }.items()
}


def api() -> APIRouter:
    router = APIRouter(prefix="/api", responses=REFUSALS)
    for part in (projects, votes, fits, results, tables, gold, planning, exports):
        router.include_router(part)
    return router
