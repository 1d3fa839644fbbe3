"""Errors as problem details (RFC 9457): a title and what to do. The words of an error come from its data."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fastapi import FastAPI, Request
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


def rename_files(error: FinegoldError, names: Mapping[str, str]) -> InputError:
    """Return the error with the names that users gave to files, in place of the paths of the studio's copies."""

    def rename(text: str) -> str:
        for path, name in names.items():
            text = text.replace(path, name)
        return text

    if not isinstance(error, InputError):
        return InputError(rename(str(error)))
    remedies = [replace(remedy, when=rename(remedy.when), text=rename(remedy.text)) for remedy in error.remedies]
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


def no_votes_yet() -> Problem:
    return Problem(409, "There are no votes yet", "Read the votes first: choose the columns, or post votes.")


def problem_response(problem: Problem) -> Response:
    body = {"type": "about:blank", "title": problem.title, "status": problem.status, "detail": problem.detail}
    # Close the connection: a client that is still sending a large body would otherwise not read the response.
    headers = {"connection": "close"} if problem.status == 413 else {}
    content = json.dumps(body | problem.more, default=str)
    return Response(content, problem.status, headers, media_type="application/problem+json")


def catch_problems(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def refused(request: Request, problem: Problem) -> Response:
        return problem_response(problem)

    @app.exception_handler(FinegoldError)
    async def explained(request: Request, error: FinegoldError) -> Response:
        status = 422 if isinstance(error, InputError) else 500
        return problem_response(Problem(status, "The request failed", words_of(error)))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return problem_response(
            Problem(422, "The request is not valid", "; ".join(map(_invalid_field, error.errors())))
        )

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        response = problem_response(Problem(error.status_code, str(error.detail)))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        detail = "This is a bug in Finegold; the terminal shows the details. Please report it."
        return problem_response(Problem(500, "An unexpected error occurred", detail))

    @app.exception_handler(sqlite3.DatabaseError)
    async def damaged(request: Request, error: sqlite3.DatabaseError) -> Response:
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
            return await unexpected(request, error)
        detail = f"{error}. Stop the studio and restore the project file from a backup."
        return problem_response(Problem(507, "The project file is damaged", detail))

    @app.exception_handler(sqlite3.OperationalError)
    async def disk(request: Request, error: sqlite3.OperationalError) -> Response:
        detail = f"{error}. Check that its disk has space and can be written to."
        return problem_response(Problem(507, "The project file cannot be written", detail))


def _invalid_field(error: Any) -> str:
    return f"{'.'.join(map(str, error['loc']))}: {error['msg']}"
