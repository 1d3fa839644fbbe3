"""Who may come in, from where, and with how much.

Every request passes the guard before anything else sees it:

- the Host header must name this machine: a page on the web whose name was bent to 127.0.0.1 is sent away;
- the token must be there, as a bearer or once in the address of the first page, which gives the browser a session: a
  cookie that is not the token. A one-time code in that address does the same, once;
- a request that changes something must come from a page of our own, not from another site;
- a body may not be larger than the limit, which is known from its header before the first byte is read.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import time
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from karat.studio.problems import Problem, problem_response

__all__ = ["Codes", "Guard", "Rules", "is_loopback", "new_token"]

CODE_SECONDS = 300  # in which a browser must have started

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


class Codes:
    """Codes that let in once. The arguments of a browser, which other users can list, hold such a code and no token."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}

    def new(self) -> str:
        code = new_token()
        self._ends[code] = time.monotonic() + CODE_SECONDS
        return code

    def use(self, code: str) -> bool:
        """Whether it was good; from now on it is not."""
        return time.monotonic() < self._ends.pop(code, float("-inf"))


@dataclass(frozen=True)
class Rules:
    """What the guard asks for."""

    token: str
    host: str
    port: int
    most_bytes: int
    public_name: str | None = None  # under which a proxy serves the studio
    first_page: str = "/"
    codes: Codes = field(default_factory=Codes)

    @property
    def session(self) -> str:
        """The cookie's value: it follows from the token, so that open tabs survive a restart, and does not tell it."""
        return hmac.new(self.token.encode(), b"karat studio session", "sha256").hexdigest()

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

    def knows_session(self, cookie: str) -> bool:
        return secrets.compare_digest(cookie.encode(), self.session.encode())


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
        problem = self._wrong_host(headers)
        enters = problem is None and self._enters(scope)
        problem = problem or self._objection(scope, headers, enters)
        if problem is not None:
            await problem_response(problem)(scope, receive, send)
        elif enters:
            await _let_in(self.rules, scope, send)
        else:
            await self.app(scope, _measured(receive, self.rules.most_bytes), send)

    def _wrong_host(self, headers: Headers) -> Problem | None:
        if self.rules.knows_host(headers.get("host", "")):
            return None
        return Problem(403, "This address is not the studio's", "Open the address that `karat studio` printed.")

    def _enters(self, scope: Scope) -> bool:
        """Whether the address of the first page holds the token or a code, which is used up now."""
        return self.rules.knows_token(_in_address(scope, "token")) or self.rules.codes.use(_in_address(scope, "code"))

    def _objection(self, scope: Scope, headers: Headers, enters: bool) -> Problem | None:
        if not enters and not self._is_in(headers):
            return Problem(401, "The token is missing or wrong", "Open the address that `karat studio` printed.")
        if scope["method"] not in READING and not _is_own_page(headers):
            return Problem(403, "Another site may change nothing here", "Work in the studio's own pages.")
        return _too_large(headers, self.rules.most_bytes)

    def _is_in(self, headers: Headers) -> bool:
        cookie = _cookie(headers, self.rules.cookie)
        return self.rules.knows_token(_bearer(headers)) or self.rules.knows_session(cookie)


def _in_address(scope: Scope, name: str) -> str:
    """Only of the first page: tokens in other addresses would end up in logs and bookmarks."""
    if scope["path"] != "/" or scope["method"] != "GET":
        return ""
    given: list[str] = parse_qs(scope["query_string"].decode("latin-1")).get(name, [""])
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
    """The browser gets a cookie that no script and no other site can use."""
    cookie = f"{rules.cookie}={rules.session}; Path=/; HttpOnly; SameSite=Strict"
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
