"""Errors as problem details (RFC 9457): a title and what to do, in words for the pages."""

from __future__ import annotations

import json
import sqlite3
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from finegold.errors import FinegoldError, FinegoldWarning, InputError


class Problem(Exception):
    def __init__(self, status: int, title: str, detail: str = "", **more: Any) -> None:
        super().__init__(title)
        self.status, self.title, self.detail, self.more = status, title, detail, more


NO_VOTES = (409, "There are no votes yet", "Add a file with votes.")


def words_of(message: object) -> str:
    """Return what an error or a warning says on a page, which has buttons in place of options."""
    if not isinstance(message, InputError | FinegoldWarning):
        return str(message)
    actions = [remedy for remedy in message.remedies if remedy.text and not remedy.options]
    return str(InputError(message.problem, getattr(message, "where", ""), actions))


# Python's own way of catching warnings is not for threads: one that ends would restore the filters
# under the others.
_LOCK, _CAUGHT = threading.Lock(), ExitStack()
_LISTS: dict[int, list[str]] = {}


def _hear(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    words = _LISTS.get(threading.get_ident())
    if words is not None and issubclass(category, FinegoldWarning):
        words.append(words_of(message))


@contextmanager
def warnings_in_words() -> Iterator[list[str]]:
    """Yield a list that gets the warnings of the block in this thread, in words for the pages."""
    words: list[str] = []
    thread = threading.get_ident()
    with _LOCK:
        if not _LISTS:
            _CAUGHT.enter_context(warnings.catch_warnings())
            warnings.simplefilter("always", FinegoldWarning)
            warnings.showwarning = _hear
        _LISTS[thread] = words
    try:
        yield words
    finally:
        with _LOCK:
            _LISTS.pop(thread, None)
            if not _LISTS:
                _CAUGHT.close()


def rename_files(error: FinegoldError, names: Mapping[str, str]) -> InputError:
    """Return the error with the names that users gave to files, not the paths of their copies."""

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


def problem_response(problem: Problem) -> Response:
    body = {"type": "about:blank", "title": problem.title, "status": problem.status}
    content = json.dumps(body | {"detail": problem.detail} | problem.more, default=str)
    # A client that is still sending a large body would otherwise not read the response.
    headers = {"connection": "close"} if problem.status == 413 else {}
    return Response(content, problem.status, headers, media_type="application/problem+json")


def _problem_of(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case InputError():
            return Problem(422, "The request failed", words_of(error))
        case FinegoldError():
            return Problem(500, "The request failed", str(error))
        case RequestValidationError():
            wrong = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
            return Problem(422, "The request is not valid", "; ".join(wrong))
        case ClientDisconnect():
            return Problem(400, "The request was not sent to its end")
        case HTTPException():
            return Problem(error.status_code, str(error.detail))
        case sqlite3.OperationalError():
            detail = f"{error}. Check that its disk has space and can be written to."
            return Problem(507, "The project file cannot be written", detail)
        case sqlite3.DatabaseError() if type(error) is sqlite3.DatabaseError:
            detail = f"{error}. Stop the studio and restore the project file from a backup."
            return Problem(507, "The project file is damaged", detail)
    detail = "This is a bug in Finegold; the terminal shows the details. Please report it."
    return Problem(500, "An unexpected error occurred", detail)


async def handle_error(request: Request, error: Exception) -> Response:
    response = problem_response(_problem_of(error))
    response.headers.update(getattr(error, "headers", None) or {})  # of an HTTPException
    return response


# Starlette prints the traceback of errors that are handled as an Exception, and of no others.
KNOWN = (Problem, FinegoldError, RequestValidationError, HTTPException, sqlite3.DatabaseError)
HANDLERS: dict[int | type[Exception], Any] = dict.fromkeys(
    (*KNOWN, ClientDisconnect, Exception), handle_error
)
