"""The HTTP API under /api, one module per resource."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Security
from fastapi.security import HTTPBearer

from finegold.studio.problems import ProblemDetails
from finegold.studio.routes.common import check_blind
from finegold.studio.routes.content import router as content_routes
from finegold.studio.routes.exports import router as exports_routes
from finegold.studio.routes.fits import router as fits_routes
from finegold.studio.routes.gold import router as gold_routes
from finegold.studio.routes.judges import router as judges_routes
from finegold.studio.routes.judging import router as judging_routes
from finegold.studio.routes.planning import router as planning_routes
from finegold.studio.routes.predictions import router as predictions_routes
from finegold.studio.routes.projects import router as projects_routes
from finegold.studio.routes.results import router as results_routes
from finegold.studio.routes.tables import router as tables_routes
from finegold.studio.routes.truths import router as truths_routes
from finegold.studio.routes.votes import router as votes_routes

__all__ = ["api"]

ERRORS: dict[int | str, dict[str, object]] = {
    status: {"model": ProblemDetails, "description": words}
    for status, words in {
        400: "The request cannot be understood.",
        401: "The token is missing or wrong.",
        403: "The request comes from another site, or a reviewer may not do this.",
        404: "The resource does not exist.",
        409: "The request conflicts with the current state of the project.",
        413: "The body is larger than the upload limit.",
        422: "The request or the data are not valid; `detail` says what to do.",
    }.items()
}

ROUTES = (
    projects_routes,
    votes_routes,
    fits_routes,
    results_routes,
    tables_routes,
    content_routes,
    gold_routes,
    judging_routes,
    truths_routes,
    predictions_routes,
    planning_routes,
    exports_routes,
    judges_routes,
)


def api() -> APIRouter:
    """Return the router of the API. The guard checks the token; here it is only documented."""
    token = HTTPBearer(auto_error=False, description="The token that `finegold studio` printed.")
    router = APIRouter(prefix="/api", responses=ERRORS, dependencies=[Security(token), Depends(check_blind)])
    for part in ROUTES:
        router.include_router(part)
    return router
