"""Predictions: files with class probabilities of models, kept in the project. Every fit uses them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from finegold.errors import InputError
from finegold.io.predictions import read_predictions
from finegold.report.views.common import texts
from finegold.studio.problems import rename_files, warnings_in_words
from finegold.studio.services import FILE_BODY, FileName, ProjectId, Services, ServicesDep, StoreDep, sent_file
from finegold.votes.annotations import Annotations

router = APIRouter(tags=["predictions"], prefix="/projects/{project}")

REMOVE = "DELETE FROM predictions WHERE project = ? AND name = ?"


class PredictionsFile(BaseModel):
    """What was read of a file of predictions."""

    name: str
    n_tasks: int = Field(description="Number of tasks with votes that have a prediction.")
    n_without_prediction: int = Field(description="Number of tasks with votes that have none.")
    n_without_votes: int = Field(description="Number of tasks that have a prediction but no votes.")
    classes: list[str]
    confidence: float = Field(description="Mean probability of the predicted class, as the model gives it.")
    warnings: list[str] = Field(default=[], description="What looks wrong with it.")


@contextmanager
def opened_predictions(services: Services, project: int) -> Iterator[list[Path]]:
    """Yield the paths of a project's files while they are read. Error messages use the files' own names."""
    rows = services.store.rows("SELECT name, file FROM predictions WHERE project = ? ORDER BY name", project)
    paths = [services.files.stored(row["file"], row["name"]) for row in rows]
    try:
        yield paths
    except InputError as error:
        raise rename_files(error, {f"{path.parent}{os.sep}": "" for path in paths}) from error


@router.get("/predictions")
def predictions(project: ProjectId, store: StoreDep) -> list[PredictionsFile]:
    """Return what was read of each file of predictions."""
    rows = store.rows("SELECT name, facts FROM predictions WHERE project = ? ORDER BY name", project)
    return [PredictionsFile(name=row["name"], **json.loads(row["facts"])) for row in rows]


@router.post("/predictions", openapi_extra=FILE_BODY)
async def add_predictions(
    project: ProjectId, request: Request, name: FileName, services: ServicesDep
) -> list[PredictionsFile]:
    """Read class probabilities of a model: a column of tasks, and a column per class.

    They come from the body of the request, or from a file of the folder if the body is empty. All further fits combine
    them with the votes. A file of the same name is replaced.
    """
    votes = await run_in_threadpool(services.workspace.votes, project)
    async with sent_file(request, services, name, "The predictions cannot be used") as path:
        await run_in_threadpool(_add, services, project, name, path, votes)
    return await run_in_threadpool(predictions, project, services.store)


def _add(services: Services, project: int, name: str, path: Path, votes: Annotations) -> None:
    with warnings_in_words() as words:
        read = read_predictions(path, votes)
    known = read.known[0]
    n_tasks = int(known[: votes.n_tasks].sum())
    facts = {
        "n_tasks": n_tasks,
        "n_without_prediction": votes.n_tasks - n_tasks,
        "n_without_votes": len(read.task_names),
        "classes": texts(votes.class_names),
        "confidence": float(read.probabilities[0][known].max(axis=1).mean()),
        "warnings": [text.replace(str(path), name).replace(path.name, name) for text in words],
    }
    store, blob = services.store, services.store.keep_file(path)
    with store.changing(project):
        store.run(REMOVE, project, name)
        store.insert("predictions", project=project, name=name, file=blob, facts=json.dumps(facts))


@router.delete("/predictions", status_code=204, response_class=Response)
def remove_predictions(project: ProjectId, name: FileName, store: StoreDep) -> None:
    """Remove a file of predictions; results that were computed with it stay as they are."""
    with store.changing(project):
        store.run(REMOVE, project, name)
