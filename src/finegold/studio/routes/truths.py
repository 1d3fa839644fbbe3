"""Routes of truths that come from a file: they count like judgements, under the name of the file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from finegold.errors import InputError
from finegold.io.read import read_truth
from finegold.io.tables import open_table
from finegold.studio.browse import Browser
from finegold.studio.problems import Problem
from finegold.studio.routes.common import FILE_BODY, FileName, ProjectId, ServicesDep, Shown, sent_file
from finegold.studio.services import Services
from finegold.studio.wording import in_browser
from finegold.votes.encoding import MISSING
from finegold.votes.frames import take, to_list
from finegold.votes.names import match

__all__ = ["router"]

router = APIRouter(tags=["gold"], prefix="/projects/{project}")

MAX_NAMED = 20
Column = Annotated[str | None, Query(max_length=1000, description="A column, if its name is not recognised.")]


class Imported(BaseModel):
    file: str
    read: int
    used: int = Field(description="Number of truths of tasks with votes that nobody had judged.")
    without_votes: int = Field(description="Number of truths of tasks that have no votes.")
    unknown_classes: list[str] = Field(description="Truths that are no class of the votes; these tasks were left out.")


@router.post("/truths", openapi_extra=FILE_BODY)
async def import_truths(
    project: ProjectId,
    request: Request,
    name: FileName,
    shown: Shown,
    services: ServicesDep,
    task: Column = None,
    label: Column = None,
) -> Imported:
    """Read truths from the body of the request, or from a file of the folder if the body is empty."""
    async with sent_file(request, services, name) as path:
        truths = await run_in_threadpool(_read, path, name, task, label)
    return await run_in_threadpool(_keep, services, project, shown, name, truths)


@router.delete("/truths", status_code=204, response_class=Response)
def remove_truths(project: ProjectId, name: FileName, services: ServicesDep) -> None:
    """Remove the truths of a file."""
    services.gold.remove_of(project, name)


def _read(path: Path, name: str, task: str | None, label: str | None) -> dict[Any, Any]:
    try:
        found = read_truth(str(path), task=task, label=label)
    except InputError as error:
        said = in_browser(str(error).replace(str(path), name).replace(path.name, name))
        raise Problem(422, "The truths cannot be read", said, columns=_columns(path)) from None
    return dict(zip(to_list(found.task), to_list(found.truth), strict=True))


def _columns(path: Path) -> list[str]:
    with suppress(InputError):
        return [str(column) for column in open_table(str(path)).columns]
    return []


def _keep(services: Services, project: int, shown: Browser, name: str, truths: dict[Any, Any]) -> Imported:
    result = shown.result
    tasks, labels = match(truths, result.task_names), match(truths.values(), result.class_names)
    used = np.flatnonzero((tasks != MISSING) & (labels != MISSING))
    names = to_list(take(result.task_names, tasks[used]))
    rows = [
        (task, shown.classes[label], _label(shown, code))
        for task, code, label in zip(names, tasks[used].tolist(), labels[used].tolist(), strict=True)
    ]
    unknown = {str(label) for label, code in zip(truths.values(), labels.tolist(), strict=True) if code == MISSING}
    return Imported(
        file=name,
        read=len(truths),
        used=services.gold.add_many(project, name, rows),
        without_votes=int(np.count_nonzero(tasks == MISSING)),
        unknown_classes=sorted(unknown)[:MAX_NAMED],
    )


def _label(shown: Browser, code: int) -> Any:
    """Return the label of a task if it did not come from a truth."""
    return shown.classes[shown.result.label_codes[code]] if shown.result.gold[code] == MISSING else None
