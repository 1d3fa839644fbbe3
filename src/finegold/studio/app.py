"""The web application: the API under /api, the pages, and the security middleware around both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from operator import attrgetter
from pathlib import Path

from fastapi import APIRouter, Depends, FastAPI, Security
from fastapi.responses import FileResponse
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

import finegold
from finegold.studio import content, exports, fits, gold, measure, predictions, projects, results, tables, votes
from finegold.studio.problems import ProblemDetails, catch_problems
from finegold.studio.security import POLICY, Guard, Rules
from finegold.studio.services import Services, check_visitor

STATIC = Path(__file__).with_name("static")
RESOURCES = (projects, votes, content, fits, results, tables, gold, predictions, exports, measure)
# With the consent of the user, pages show images and sounds of other servers. Scripts and styles stay the studio's own.
REMOTE_POLICY = POLICY.replace("img-src 'self' data:; media-src 'self'", "img-src * data:; media-src *")
NAME_OF = attrgetter("name")  # of a route, as its id in the schema
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


def make_app(services: Services, rules: Rules) -> ASGIApp:
    return Guard(inner_app(services), rules, partial(projects.find_visitor, services.store))


def inner_app(services: Services) -> FastAPI:
    """Return the application without the security middleware, for tests."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        yield
        services.close()

    app = FastAPI(
        title="Finegold Studio",
        version=finegold.__version__,
        description="Post votes, fit, fetch labels. Every request needs the token: `Authorization: Bearer TOKEN`.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages would load scripts from other servers
        redoc_url=None,
        lifespan=running,
        generate_unique_id_function=NAME_OF,
    )
    app.state.services = services
    catch_problems(app)
    app.router.routes.extend(_api_routes())
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        loads_remote = services.store.row("SELECT 1 FROM project WHERE remote") is not None
        headers = {"content-security-policy": REMOTE_POLICY} if loads_remote else {}
        return FileResponse(STATIC / "index.html", headers=headers)

    return app


@cache
def _api_routes() -> list[BaseRoute]:
    """Return the routes of the API. All studios share them: building them takes a quarter of a second."""
    # The guard checks the token; here it is only documented.
    token = HTTPBearer(auto_error=False, description="The token that `finegold studio` printed.")
    api = APIRouter(prefix="/api", responses=ERRORS, dependencies=[Security(token), Depends(check_visitor)])
    for resource in RESOURCES:
        api.include_router(resource.router)
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, generate_unique_id_function=NAME_OF)
    app.include_router(api)
    return app.router.routes
