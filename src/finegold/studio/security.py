"""Access control. The `Guard` checks every request before the application sees it:

- The Host header must name this machine, which prevents DNS rebinding.
- The request must carry the token as a bearer token or a session cookie. The first page also takes
  the token, or a one-time code, in its address, and sets the cookie, which does not contain it.
- An invited reviewer has a token of their own. What it is good for, each route declares: see `Right`.
- A request that changes something must come from the studio's own pages, not from another site.
- The body must not exceed the upload limit. Its Content-Length is checked before it is read.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from finegold.studio.problems import Problem, problem_response

# within which the browser must open the page
CODE_SECONDS = 300
# the person who started the studio
OWNER = ""
MAX_REVIEWER_LENGTH = 100
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " media-src 'self'; frame-src 'self'; connect-src 'self'; font-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
# what a person reads whose link is not valid
CLOSED = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport"'
    ' content="width=device-width, initial-scale=1"><title>Finegold Studio</title><h1>This link'
    " does not open the studio</h1><p>It was taken back, replaced by a newer one, or is incomplete."
    " What you judged is kept. Ask the lead for a new link.</p><p>If the studio is yours: open the"
    " address that it printed when it was started.</p></html>"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def new_token() -> str:
    return secrets.token_urlsafe(32)


def is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that a host is given by; None if it is a name."""
    with suppress(ValueError):
        return ipaddress.ip_address(host)
    return None


class Visitor(NamedTuple):
    name: str
    session: str
    # the only one that they may see; None: all
    project: int | None = None


class Codes:
    """One-time login codes: other users can list a browser's arguments, which hold no token so."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}

    def new(self) -> str:
        code = new_token()
        self._ends[code] = time.monotonic() + CODE_SECONDS
        return code

    def use(self, code: str) -> bool:
        """Return whether the code is valid, and invalidate it."""
        return time.monotonic() < self._ends.pop(code, float("-inf"))


@dataclass(frozen=True)
class Rules:
    token: str
    host: str
    port: int
    most_bytes: int
    # the host name of the studio behind a proxy
    public_name: str | None = None
    first_page: str = "/"
    codes: Codes = field(default_factory=Codes)

    def knows_host(self, header: str) -> bool:
        """Return whether the Host header names this machine in a way that DNS cannot rebind."""
        name, _, port = (
            header.rpartition(":")
            if not header.endswith("]") and ":" in header
            else (header, "", "80")
        )
        name = name.strip("[]").lower()
        if not name:
            return False
        if self.public_name is not None and name == self.public_name.lower():
            return True
        if port != str(self.port):
            return False
        if is_loopback(name) or name == self.host.lower():
            return True
        own_names = {socket.gethostname().lower(), socket.getfqdn().lower()}
        return not is_loopback(self.host) and (_address(name) is not None or name in own_names)


def session_of(token: str) -> str:
    """Return the session cookie of a token: valid after a restart, without revealing the token."""
    return hmac.new(token.encode(), b"finegold studio session", "sha256").hexdigest()


class Guard:
    """The outermost ASGI middleware of the application."""

    def __init__(
        self, app: ASGIApp, rules: Rules, invited: Callable[[str], Visitor | None]
    ) -> None:
        """`invited` returns the person who was invited on the page and has this session."""
        self.app, self.rules, self.invited = app, rules, invited
        # browsers share cookies between the ports of a host
        self.cookie = f"finegold_studio_{rules.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        # the studio has no web sockets
        if scope["type"] != "http":
            return
        headers, n_bytes = Headers(scope=scope), 0

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent: Any = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    sent.setdefault(name, value)
            await send(message)

        async def receive_limited() -> Message:
            """Count the bytes as they arrive, for bodies with no or a wrong Content-Length."""
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            self._check_size(n_bytes)
            return message

        answer: Any
        try:
            if not self.rules.knows_host(headers.get("host", "")):
                detail = "Open the address that the studio printed."
                raise Problem(403, "This address is not the studio's", detail)
            newcomer = self._logs_in(scope)
            visitor = newcomer or self._logged_in(headers)
            self._check(scope, headers, visitor)
            answer = self.app if newcomer is None else self._welcome(newcomer)
        except Problem as problem:
            is_page = scope["path"] == "/" and problem.status == 401
            answer, visitor = problem_response(problem), None
            if is_page:
                answer = HTMLResponse(CLOSED, 401)
        await answer({**scope, "visitor": visitor}, receive_limited, send_with_headers)

    def _welcome(self, newcomer: Visitor) -> Response:
        """Set the session cookie, which scripts and other sites cannot use; go to the first page."""
        page = self.rules.first_page if newcomer.project is None else f"/#/p/{newcomer.project}"
        cookie = f"{self.cookie}={newcomer.session}; Path=/; HttpOnly; SameSite=Strict"
        return Response(None, 303, {"location": page, "set-cookie": cookie})

    def _logs_in(self, scope: Scope) -> Visitor | None:
        """Return whose token is in the address of the first page, or the owner for a valid code."""
        # Tokens in other addresses would end up in logs and bookmarks.
        if scope["path"] != "/" or scope["method"] != "GET":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1"))
        if self.rules.codes.use(given.get("code", [""])[0]):
            return Visitor(OWNER, session_of(self.rules.token))
        return self._known(session_of(given.get("token", [""])[0]))

    def _logged_in(self, headers: Headers) -> Visitor | None:
        kind, _, token = headers.get("authorization", "").partition(" ")
        visitor = self._known(session_of(token.strip())) if kind.lower() == "bearer" else None
        if visitor is not None:
            return visitor
        with suppress(CookieError):
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
            return self._known(str(cookie.value)) if cookie else None
        return None

    def _known(self, session: str) -> Visitor | None:
        """Return whose session it is, in a time that does not tell how much of a secret fits."""
        own = session_of(self.rules.token)
        if secrets.compare_digest(session.encode(), own.encode()):
            return Visitor(OWNER, session)
        return self.invited(session)

    def _check(self, scope: Scope, headers: Headers, visitor: Visitor | None) -> None:
        """Refuse a request without a token, of another site, with an odd address, or too large."""
        if visitor is None:
            detail = "Open the address that the studio printed."
            raise Problem(401, "The token is missing or wrong", detail)
        if not scope["path"].isprintable():
            raise Problem(404, "There is no such page")
        if scope["method"] not in SAFE_METHODS:
            # Browsers send the origin of a page; other programs do not.
            origin, site = headers.get("origin"), headers.get("sec-fetch-site")
            is_own_page = origin is None or origin.partition("://")[2] == headers.get("host")
            if not is_own_page or site not in (None, "same-origin", "none"):
                detail = "Use the studio's own pages."
                raise Problem(403, "Requests from other sites are refused", detail)
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            raise Problem(400, "Bad request", "The Content-Length header is not a number.")
        self._check_size(int(length))

    def _check_size(self, n_bytes: int) -> None:
        if n_bytes > (most := self.rules.most_bytes):
            detail = (
                f"At most {most / 2**20:,.0f} MiB can be sent. Put the file into the folder where"
                " the studio was started and open it there, or ask its owner to start it with a"
                " higher limit."
            )
            raise Problem(413, "The file is too large to be sent", detail)


# ---- Rights

# Every route of the API declares who may call it besides the owner. A right is a dependency of its
# route, so it decides where the router has parsed the project: on the same number that the route
# then works with, and before a body is read.


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
    """Who may call a route: the owner all, reviewers only those of their project."""

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
    declared: list[Any] = [each.dependency for each in getattr(route, "dependencies", ())]
    return next((each for each in declared if isinstance(each, Right)), None)


def check_rights(routes: Iterable[BaseRoute]) -> None:
    """Raise if a route has no right; a studio with such a route does not start."""
    for route in routes:
        if not isinstance(route, APIRoute) or right_of(route) is None:
            raise TypeError(f"the route {getattr(route, 'path', route)} declares no right")
