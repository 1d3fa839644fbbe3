"""Errors as problem details (RFC 9457): a title and what to do. The words of an error come from its data."""

from __future__ import annotations

import json
import sqlite3
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from finegold.errors import FinegoldError, FinegoldWarning, InputError, sentence


def words_of(message: object) -> str:
    """Return what an error or a warning says on a page: options are left out, because the page has buttons for them."""
    if not isinstance(message, InputError | FinegoldWarning):
        return str(message)
    actions = [remedy for remedy in message.remedies if remedy.text and not remedy.options]
    return sentence(message.problem, getattr(message, "where", ""), actions)


class _Ears:
    """Hears the warnings of each thread. Python's own way of catching them is not for threads: one
    that ends would restore the filters under the others.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here = threading.local()
        self._n_open = 0
        self._caught = warnings.catch_warnings()

    def open(self, words: list[str]) -> None:
        self._here.lists = [*getattr(self._here, "lists", []), words]
        with self._lock:
            self._n_open += 1
            if self._n_open == 1:
                self._caught = warnings.catch_warnings()
                self._caught.__enter__()
                warnings.simplefilter("always", FinegoldWarning)
                warnings.showwarning = self._hear

    def close(self) -> None:
        self._here.lists = self._here.lists[:-1]
        with self._lock:
            self._n_open -= 1
            if self._n_open == 0:
                self._caught.__exit__(None, None, None)

    def _hear(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        lists = getattr(self._here, "lists", [])
        if lists and issubclass(category, FinegoldWarning):
            lists[-1].append(words_of(message))


_EARS = _Ears()


@contextmanager
def warnings_in_words() -> Iterator[list[str]]:
    """Yield a list that gets the warnings of the block in this thread, in words for the pages."""
    words: list[str] = []
    _EARS.open(words)
    try:
        yield words
    finally:
        _EARS.close()


def rename_files(error: FinegoldError, names: Mapping[str, str]) -> InputError:
    """Return the error with the names that users gave to files, in place of the paths of the studio's copies."""

    def rename(text: str) -> str:
        for path, name in names.items():
            text = text.replace(path, name)
        return text

    if not isinstance(error, InputError):
        return InputError(rename(str(error)))
    remedies = [
        replace(remedy, when=rename(remedy.when), text=rename(remedy.text))
        for remedy in error.remedies
    ]
    return InputError(rename(error.problem), rename(error.where or ""), remedies)


class ProblemDetails(BaseModel):
    """The body of every error response."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""


class Problem(Exception):
    """An error with its HTTP status."""

    def __init__(self, status: int, title: str, detail: str = "", **more: Any) -> None:
        super().__init__(title)
        self.status, self.title, self.detail, self.more = status, title, detail, more


NO_VOTES = (
    409,
    "There are no votes yet",
    "Read the votes first: choose the columns, or post votes.",
)


def problem_response(problem: Problem) -> Response:
    body = {
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
    }
    # Close the connection: a client that is still sending a large body would otherwise not read the response.
    headers = {"connection": "close"} if problem.status == 413 else {}
    content = json.dumps(body | problem.more, default=str)
    return Response(content, problem.status, headers, media_type="application/problem+json")


async def handle_error(request: Request, error: Exception) -> Response:
    match error:
        case Problem():
            problem = error
        case FinegoldError():
            problem = Problem(
                422 if isinstance(error, InputError) else 500, "The request failed", words_of(error)
            )
        case RequestValidationError():
            fields = [
                f"{'.'.join(map(str, field['loc']))}: {field['msg']}" for field in error.errors()
            ]
            problem = Problem(422, "The request is not valid", "; ".join(fields))
        case HTTPException():
            problem = Problem(error.status_code, str(error.detail))
        case sqlite3.OperationalError():
            detail = f"{error}. Check that its disk has space and can be written to."
            problem = Problem(507, "The project file cannot be written", detail)
        case sqlite3.DatabaseError() if not isinstance(
            error, sqlite3.IntegrityError | sqlite3.ProgrammingError
        ):
            detail = f"{error}. Stop the studio and restore the project file from a backup."
            problem = Problem(507, "The project file is damaged", detail)
        case _:
            detail = "This is a bug in Finegold; the terminal shows the details. Please report it."
            problem = Problem(500, "An unexpected error occurred", detail)
    response = problem_response(problem)
    response.headers.update(getattr(error, "headers", None) or {})  # of an HTTPException
    return response


# Starlette prints the traceback of errors that are handled as an Exception, and of no others.
ERRORS = (
    Problem,
    FinegoldError,
    RequestValidationError,
    HTTPException,
    sqlite3.DatabaseError,
    Exception,
)
HANDLERS: dict[int | type[Exception], Any] = dict.fromkeys(ERRORS, handle_error)
