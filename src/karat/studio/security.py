"""Who may come in, from where, and with how much.

Every request passes the guard before anything else sees it:

- the Host header must name this machine: a page on the web whose name was bent to 127.0.0.1 is sent away;
- the token must be there, in a cookie, as a bearer, or once in the address of the first page;
- a request that changes something must come from a page of our own, not from another site;
- a body may not be larger than the limit, which is known from its header before the first byte is read.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from karat.studio.problems import Problem, problem_response

__all__ = ["Guard", "Rules", "is_loopback", "new_token"]

READING = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
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
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Rules:
    """What the guard asks for."""

    token: str
    host: str
    port: int
    most_bytes: int
    public_name: str | None = None  # under which a proxy serves the studio
    first_page: str = "/"

    @property
    def cookie(self) -> str:
        """Cookies know no ports: two studios on one machine need two names."""
        return f"karat_studio_{self.port}"

    def knows_host(self, header: str) -> bool:
        """A name that only this machine has, or a bare address: nobody can bend those."""
        name, _, port = header.rpartition(":") if not header.endswith("]") and ":" in header else (header, "", "80")
        name = name.strip("[]").lower()
        if self.public_name is not None and name == self.public_name.lower():
            return True
        if port != str(self.port):
            return False
        if is_loopback(name) or name == self.host.lower():
            return True
        return not is_loopback(self.host) and (_is_address(name) or name in _own_names())

    def knows_token(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self.token.encode())


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self.app, self.rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # there are no web sockets here
        headers = Headers(scope=scope)
        send = _with_headers(send)
        problem = self._objection(scope, headers)
        if problem is not None:
            await problem_response(problem)(scope, receive, send)
        elif _token_in_address(scope):
            await _let_in(self.rules, scope, send)
        else:
            await self.app(scope, _measured(receive, self.rules.most_bytes), send)

    def _objection(self, scope: Scope, headers: Headers) -> Problem | None:
        if not self.rules.knows_host(headers.get("host", "")):
            return Problem(403, "This address is not the studio's", "Open the address that `karat studio` printed.")
        if not self._has_token(scope, headers):
            return Problem(401, "The token is missing or wrong", "Open the address that `karat studio` printed.")
        if scope["method"] not in READING and not _is_own_page(headers):
            return Problem(403, "Another site may change nothing here", "Work in the studio's own pages.")
        return _too_large(headers, self.rules.most_bytes)

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        given = [_token_in_address(scope), _bearer(headers), _cookie(headers, self.rules.cookie)]
        return any(self.rules.knows_token(token) for token in given if token)


def _token_in_address(scope: Scope) -> str:
    """Only of the first page: tokens in other addresses would end up in logs and bookmarks."""
    if scope["path"] != "/" or scope["method"] != "GET":
        return ""
    given: list[str] = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
    return given[0]


def _bearer(headers: Headers) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return str(found.value) if found else ""


def _is_own_page(headers: Headers) -> bool:
    """Browsers say where a request comes from; programs with a bearer token do not."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    return origin is None or origin.partition("://")[2] == headers.get("host")


def _too_large(headers: Headers, most: int) -> Problem | None:
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        return Problem(400, "Bad request", "The Content-Length header is no number.")
    return _refusal(most) if int(length) > most else None


def _refusal(most: int) -> Problem:
    return Problem(
        413,
        "The file is too large to be sent",
        f"At most {most / 2**20:,.0f} MiB can be sent. Put the file into the folder where the studio was started "
        "and open it there, or start the studio with a higher --upload-limit.",
    )


def _measured(receive: Receive, most: int) -> Receive:
    """A body without a length, or with a wrong one, is counted while it comes in."""
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > most:
                raise _refusal(most)
        return message

    return counting


async def _let_in(rules: Rules, scope: Scope, send: Send) -> None:
    """The token moves from the address into a cookie that no script and no other site can use."""
    cookie = f"{rules.cookie}={rules.token}; Path=/; HttpOnly; SameSite=Strict"
    headers = [(b"location", rules.first_page.encode()), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _own_names() -> set[str]:
    return {socket.gethostname().lower(), socket.getfqdn().lower()}
