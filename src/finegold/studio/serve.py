"""The web application and its server: check the options, choose a port, open the browser."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Security
from fastapi.responses import FileResponse, Response
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles

import finegold
from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.report.html import stylesheet
from finegold.studio import (
    exports,
    fits,
    items,
    judging,
    measuring,
    pages,
    projects,
    sources,
    tables,
)
from finegold.studio.problems import HANDLERS
from finegold.studio.security import POLICY, Guard, Rules, check_rights, is_loopback, new_token
from finegold.studio.services import Services

STATIC = Path(__file__).with_name("static")
RESOURCES = (projects, sources, fits, pages, tables, items, judging, measuring, exports)
ROUTERS = [resource.router for resource in RESOURCES]
# With the consent of the user, pages show images and sounds of other servers. Scripts and styles
# stay the studio's own.
REMOTE_POLICY = POLICY.replace(
    "img-src 'self' data:; media-src 'self'", "img-src * data:; media-src *"
)
# of a route, as its id in the schema
NAME_OF = attrgetter("name")
ABOUT = (
    "Send votes, fit, fetch labels. Every request needs the token: `Authorization: Bearer TOKEN`."
    " Errors are problem details (RFC 9457)."
)
# listening on all interfaces; browsers cannot open these addresses
ALL_INTERFACES = ("0.0.0.0", "::")
# when other computers can reach the studio
MIN_TOKEN_LENGTH = 16
# that reviewers on other computers reach first
DOOR_PORT = 8484


def make_app(services: Services) -> FastAPI:
    """Return the application without the guard."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        yield
        services.close()

    app = FastAPI(
        title="Finegold Studio",
        version=finegold.__version__,
        description=ABOUT,
        openapi_url="/api/openapi.json",
        # these pages would load scripts from other servers
        docs_url=None,
        redoc_url=None,
        lifespan=running,
        redirect_slashes=False,
        generate_unique_id_function=NAME_OF,
        exception_handlers=HANDLERS,
    )
    app.state.services = services
    # the guard checks the token; here it is only documented
    token = HTTPBearer(auto_error=False, description="The token that `finegold studio` printed.")
    for router in ROUTERS:
        check_rights(router.routes)
        app.include_router(router, prefix="/api", dependencies=[Security(token)])
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        loads_remote = services.store.row("SELECT 1 FROM project WHERE remote") is not None
        headers = {"content-security-policy": REMOTE_POLICY} if loads_remote else {}
        return FileResponse(STATIC / "index.html", headers=headers)

    @app.get("/report.css", include_in_schema=False)
    def styles() -> Response:
        return Response(stylesheet(), media_type="text/css")

    return app


@dataclass(frozen=True)
class Plan:
    """The checked options of `finegold studio`."""

    project: Path
    folder: Path
    # relative to the folder
    file: str | None
    rules: Rules

    @property
    def is_local(self) -> bool:
        return is_loopback(self.rules.host) and self.rules.public_name is None

    @property
    def link(self) -> str:
        return f"{self.address}/?token={self.rules.token}"

    @property
    def address(self) -> str:
        name = socket.gethostname() if self.rules.host in ALL_INTERFACES else self.rules.host
        name = f"[{name}]" if ":" in name else name
        return f"http://{name}:{self.rules.port}"


def plan(
    file: str | None = None,
    project: str | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    most_bytes: int = 2**30,
    public_name: str | None = None,
) -> Plan:
    """Check the options of `finegold studio`; raise an InputError if one is not valid or safe."""
    path = None if file is None else Path(file).expanduser()
    if path is not None and not path.is_file():
        remedy = Remedy(text="name a file with votes, or start the studio without one")
        raise InputError(f"there is no file {file}", remedies=[remedy])
    folder, name = Path.cwd(), "finegold.studio"
    # the project lies beside the data
    if path is not None:
        folder, name = path.resolve().parent, f"{path.name.partition('.')[0] or 'votes'}.studio"
    where = folder / name if project is None else Path(project).expanduser()
    if not where.parent.is_dir():
        remedy = Remedy(text="create it first")
        problem = f"there is no folder {where.parent} for the project file"
        raise InputError(problem, remedies=[remedy])
    token = _checked_token(token, public_name or host)
    port = _free_port(host, port)
    rules = Rules(token, host, port, most_bytes, public_name)
    return Plan(where.resolve(), folder, None if path is None else path.resolve().name, rules)


def _checked_token(token: str | None, host: str) -> str:
    """Return the token, or a new one where only this computer can reach the studio."""
    words = f"with at least {MIN_TOKEN_LENGTH} characters that nobody can guess"
    remedies = [use(token=Placeholder("TEXT"), text=words)]
    if token is None and not is_loopback(host):
        problem = (
            f"{host} lets other computers reach the studio: anybody with the token can read and"
            " change the project and the data files of its folder, and the token travels"
            " unencrypted. If you want that, choose a secret of your own, and best put the studio"
            " behind a proxy with HTTPS"
        )
        raise InputError(problem, remedies=remedies)
    token = new_token() if token is None else token
    if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable():
        problem = "the token is too short or has characters other than plain ones"
        raise InputError(problem, remedies=remedies)
    if not set(token).isdisjoint(' ";,\\&#+%'):
        problem = 'the token must not contain blanks or any of " ; , \\ & # + %'
        raise InputError(f"{problem}, which addresses cannot hold", remedies=remedies)
    return token


def _free_port(host: str, port: int | None) -> int:
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            # on Windows, it would share a port that is in use
            if sys.platform != "win32":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port or 0))
            return int(probe.getsockname()[1])
    except (OSError, OverflowError) as error:
        problem = f"the studio cannot listen on {host}, port {port}: {error}"
        raise InputError(problem, remedies=[use(port=Placeholder("N"))]) from None


class Server(uvicorn.Server):
    """A server that closes open event streams first when it stops; they would keep it running."""

    def __init__(self, services: Services, rules: Rules) -> None:
        app = Guard(make_app(services), rules, partial(projects.find_visitor, services.store))
        options: Any = {"host": rules.host, "port": rules.port, "server_header": False}
        # addresses may contain the token
        options |= {"log_level": "warning", "access_log": False}
        super().__init__(uvicorn.Config(app, timeout_graceful_shutdown=3, **options))
        self.services = services

    def handle_exit(self, sig: int, frame: object) -> None:
        self.services.hub.close()
        # uvicorn asks for a frame or None
        super().handle_exit(sig, frame)  # type: ignore[arg-type]


def open_door(services: Services, rules: Rules) -> tuple[Server, str] | None:
    """Let invited reviewers on other computers in by a second server on all interfaces, and return
    it with its address; None if the studio is open itself. The owner's token opens nothing there.
    """
    if not is_loopback(rules.host):
        return None
    try:
        port = _free_port("0.0.0.0", DOOR_PORT)
    except InputError:
        port = _free_port("0.0.0.0", None)
    # a token that nobody knows in place of the owner's
    server = Server(services, replace(rules, host="0.0.0.0", port=port, token=new_token()))
    threading.Thread(target=server.run, name="finegold-studio-door", daemon=True).start()
    return server, f"http://{_own_address()}:{port}"


def _own_address() -> str:
    """Return this computer's address in its network. Nothing is sent."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("10.255.255.255", 1))
        return str(probe.getsockname()[0])
    return socket.gethostname()


def serve(wanted: Plan, *, open_browser: bool) -> None:
    rules = wanted.rules
    services = Services(wanted.project, wanted.folder, rules.most_bytes, wanted.file)
    services.open_door = partial(open_door, services, rules)
    try:
        if wanted.file is not None:
            rules = replace(rules, first_page=f"/#/p/{_project_of(services, wanted.file)}")
        warm_up = threading.Thread(target=services.load_newest, daemon=True)
        warm_up.start()
        server = Server(services, rules)

        def open_when_up() -> None:
            while not server.started:
                time.sleep(0.05)
            webbrowser.open(f"{wanted.address}/?code={rules.codes.new()}")

        if open_browser:
            threading.Thread(target=open_when_up, daemon=True).start()
        # the terminal was closed
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, server.handle_exit)
        # uvicorn raises it again after it has shut down
        with suppress(KeyboardInterrupt):
            server.run()
    finally:
        services.close()


def _project_of(services: Services, file: str) -> int:
    """Return the project of a file of the folder, by default a new one with the file as a draft."""
    known = services.store.row("SELECT project FROM source WHERE place = ? ORDER BY id DESC", file)
    if known is not None:
        return int(known["project"])
    project = projects.create_project(services, file)
    with services.files.temporary() as nothing:
        nothing.touch()
        sources.add_source(project, file, nothing)
    return project.id
