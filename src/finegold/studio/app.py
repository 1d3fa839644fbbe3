"""The web application: the API under /api, the pages, and the security middleware around both."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Depends, FastAPI, Security
from fastapi.responses import FileResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

import finegold
from finegold.errors import FinegoldError
from finegold.studio import (
    arrivals,
    content,
    exports,
    fits,
    gold,
    items,
    judges,
    judging,
    measure,
    people,
    predictions,
    projects,
    results,
    tables,
    votes,
)
from finegold.studio.files import Files
from finegold.studio.jobs import Jobs
from finegold.studio.problems import Problem, ProblemDetails, catch_problems
from finegold.studio.requests import check_blind
from finegold.studio.security import POLICY, Guard, Rules
from finegold.studio.store import Store
from finegold.studio.workspace import Workspace

STATIC = Path(__file__).with_name("static")
RESOURCES = (
    projects,
    votes,
    arrivals,
    items,
    fits,
    results,
    tables,
    content,
    gold,
    judging,
    predictions,
    exports,
    judges,
    measure,
    people,
)
# With the consent of the user, pages show images and sounds of other servers. Scripts and styles stay the studio's own.
REMOTE_POLICY = POLICY.replace("img-src 'self' data:; media-src 'self'", "img-src * data:; media-src *")
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


class Services:
    """All services around one open project file."""

    def __init__(self, project_file: Path, folder: Path, most_bytes: int, file: str | None = None) -> None:
        self.most_bytes = most_bytes
        self.hub = projects.Hub()
        self.store = Store(project_file)
        self.files = Files(folder, self.store, also=file)
        self.projects = projects.Projects(self.store, self.hub)
        self.fits = fits.Fits(self.projects)
        self.posted = votes.PostedVotes(self.projects)
        self.gold = gold.Gold(self.projects)
        self.holds = judging.Holds()
        self.judges = judges.JudgeViews(self.projects, self.files, self.gold)
        self.audits = measure.Audits(self.projects)
        self.people = people.People(self.projects)
        self.items = items.Items(self.projects, self.files)
        self.workspace = Workspace(self.projects, self.fits, self.files)
        self.predictions = predictions.ModelPredictions(self.projects, self.files)
        self.jobs = Jobs(self)

    def warm_up(self) -> None:
        """Load the newest result in the background while the browser starts."""
        threading.Thread(target=self._load_newest, name="finegold-studio-warm-up", daemon=True).start()

    def _load_newest(self) -> None:
        newest = next((row for row in self.projects.all() if row["shown"] is not None), None)
        if newest is None:
            return
        opening = self.fits.opening(newest["id"], newest["shown"])
        with suppress(FinegoldError, Problem, sqlite3.Error, OSError), opening:  # the next request reports it
            self.workspace.shown(newest["id"]).doubts  # noqa: B018 (fills the cache)

    def close(self) -> None:
        self.hub.close()
        self.jobs.close()
        self.files.close()
        self.store.close()


def make_app(services: Services, rules: Rules) -> ASGIApp:
    return Guard(inner_app(services), rules, services.people.find)


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
        generate_unique_id_function=_name_of,
    )
    app.state.services = services
    catch_problems(app)
    app.router.routes.extend(_api_routes())
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        headers = {"content-security-policy": REMOTE_POLICY} if services.projects.loads_remote() else {}
        return FileResponse(STATIC / "index.html", headers=headers)

    return app


@cache
def _api_routes() -> list[BaseRoute]:
    """Return the routes of the API. All studios share them: building them takes a quarter of a second.

    The guard checks the token; here it is only documented.
    """
    token = HTTPBearer(auto_error=False, description="The token that `finegold studio` printed.")
    api = APIRouter(prefix="/api", responses=ERRORS, dependencies=[Security(token), Depends(check_blind)])
    for resource in RESOURCES:
        api.include_router(resource.router)
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, generate_unique_id_function=_name_of)
    app.include_router(api)
    return app.router.routes


def _name_of(route: APIRoute) -> str:
    return route.name
