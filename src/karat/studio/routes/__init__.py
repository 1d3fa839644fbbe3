"""The HTTP interface under /api, a file for each kind of thing."""

from __future__ import annotations

from fastapi import APIRouter, Security
from fastapi.security import HTTPBearer

from karat.studio.problems import ProblemDetails
from karat.studio.routes.exports import router as exports_routes
from karat.studio.routes.fits import router as fits_routes
from karat.studio.routes.gold import router as gold_routes
from karat.studio.routes.planning import router as planning_routes
from karat.studio.routes.projects import router as projects_routes
from karat.studio.routes.results import router as results_routes
from karat.studio.routes.tables import router as tables_routes
from karat.studio.routes.votes import router as votes_routes

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

ROUTES = (
    projects_routes,
    votes_routes,
    fits_routes,
    results_routes,
    tables_routes,
    gold_routes,
    planning_routes,
    exports_routes,
)


def api() -> APIRouter:
    """The guard has asked for the token already; here it is described."""
    token = HTTPBearer(auto_error=False, description="The token that `karat studio` printed.")
    router = APIRouter(prefix="/api", responses=REFUSALS, dependencies=[Security(token)])
    for part in ROUTES:
        router.include_router(part)
    return router
