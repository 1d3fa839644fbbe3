"""The web application: the API under /api, the pages, and the security middleware around both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

import finegold
from finegold.studio.problems import catch_problems
from finegold.studio.routes import api
from finegold.studio.security import POLICY, Guard, Rules
from finegold.studio.services import Services

__all__ = ["make_app"]

# With the consent of the user, pages show images and sounds of other servers. Scripts and styles stay the studio's own.
REMOTE_POLICY = POLICY.replace("img-src 'self' data:; media-src 'self'", "img-src * data:; media-src *")
STATIC = Path(__file__).with_name("static")


def make_app(services: Services, rules: Rules) -> ASGIApp:
    return Guard(inner_app(services), rules)


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
    """Return the routes of the API. All studios share them: building them takes a quarter of a second."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, generate_unique_id_function=_name_of)
    app.include_router(api())
    return app.router.routes


def _name_of(route: APIRoute) -> str:
    return route.name
