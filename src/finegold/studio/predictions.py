"""Predictions: files with class probabilities of models, kept in the project. Every fit uses them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from finegold.errors import FinegoldWarning, InputError
from finegold.io.predictions import read_predictions
from finegold.report.views.common import texts
from finegold.studio.files import Files
from finegold.studio.problems import Problem, no_votes_yet, rename_files, words_of
from finegold.studio.requests import FILE_BODY, FileName, ProjectId, Services, ServicesDep, sent_file
from finegold.studio.store import Row
from finegold.votes.annotations import Annotations

if TYPE_CHECKING:
    from finegold.studio.projects import Projects

router = APIRouter(tags=["predictions"], prefix="/projects/{project}")


class ModelPredictions:
    """The files of each project, by name."""

    def __init__(self, projects: Projects, files: Files) -> None:
        self.projects, self.store, self.files = projects, projects.store, files

    def all(self, project: int) -> list[Row]:
        """Return what was read of each file."""
        rows = self.store.rows("SELECT name, facts FROM predictions WHERE project = ? ORDER BY name", project)
        return [{"name": row["name"], **json.loads(row["facts"])} for row in rows]

    def add(self, project: int, name: str, path: Path, votes: Annotations) -> None:
        """Keep a file, instead of one of the same name. Raise an InputError if it does not fit the votes."""
        facts = _facts(path, name, votes)
        blob = self.store.keep_file(path)
        with self.projects.changing(project):
            self._delete(project, name)
            self.store.own(blob)
            self.store.run("INSERT INTO predictions VALUES (?, ?, ?, ?)", project, name, blob, json.dumps(facts))

    def remove(self, project: int, name: str) -> None:
        with self.projects.changing(project):
            self._delete(project, name)

    @contextmanager
    def opened(self, project: int) -> Iterator[list[Path]]:
        """Yield the paths of the files while they are read. Error messages use the files' own names."""
        rows = self.store.rows("SELECT name, file FROM predictions WHERE project = ? ORDER BY name", project)
        paths = [self.files.stored(row["file"], row["name"]) for row in rows]
        try:
            yield paths
        except InputError as error:
            raise rename_files(error, {f"{path.parent}{os.sep}": "" for path in paths}) from error

    def _delete(self, project: int, name: str) -> None:
        row = self.store.row("SELECT file FROM predictions WHERE project = ? AND name = ?", project, name)
        if row is not None:
            self.store.run("DELETE FROM predictions WHERE project = ? AND name = ?", project, name)
            self.store.run("DELETE FROM blob WHERE id = ?", row["file"])


def _facts(path: Path, name: str, votes: Annotations) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FinegoldWarning)
        predictions = read_predictions(path, votes)
    said = [words_of(each.message) for each in caught if issubclass(each.category, FinegoldWarning)]
    known = predictions.known[0]
    n_tasks = int(known[: votes.n_tasks].sum())
    return {
        "n_tasks": n_tasks,
        "n_without_prediction": votes.n_tasks - n_tasks,
        "n_without_votes": len(predictions.task_names),
        "classes": texts(votes.class_names),
        "confidence": float(predictions.probabilities[0][known].max(axis=1).mean()),
        "warnings": [text.replace(str(path), name).replace(path.name, name) for text in said],
    }


class PredictionsFile(BaseModel):
    """What was read of a file of predictions."""

    name: str
    n_tasks: int = Field(description="Number of tasks with votes that have a prediction.")
    n_without_prediction: int = Field(description="Number of tasks with votes that have none.")
    n_without_votes: int = Field(description="Number of tasks that have a prediction but no votes.")
    classes: list[str]
    confidence: float = Field(description="Mean probability of the predicted class, as the model gives it.")
    warnings: list[str] = Field(default=[], description="What looks wrong with it.")


@router.get("/predictions")
def predictions(project: ProjectId, services: ServicesDep) -> list[PredictionsFile]:
    """Return what was read of each file of predictions."""
    services.projects.get(project)
    return [PredictionsFile(**row) for row in services.predictions.all(project)]


@router.post("/predictions", openapi_extra=FILE_BODY)
async def add_predictions(
    project: ProjectId, request: Request, name: FileName, services: ServicesDep
) -> list[PredictionsFile]:
    """Read class probabilities of a model: a column of tasks, and a column per class.

    They come from the body of the request, or from a file of the folder if the body is empty. All further fits combine
    them with the votes. A file of the same name is replaced.
    """
    votes = await run_in_threadpool(_votes, services, project)
    async with sent_file(request, services, name) as path:
        try:
            await run_in_threadpool(services.predictions.add, project, name, path, votes)
        except InputError as error:
            detail = words_of(rename_files(error, {str(path): name, path.name: name}))
            raise Problem(422, "The predictions cannot be used", detail) from None
    return await run_in_threadpool(predictions, project, services)


@router.delete("/predictions", status_code=204, response_class=Response)
def remove_predictions(project: ProjectId, name: FileName, services: ServicesDep) -> None:
    """Remove a file of predictions; results that were computed with it stay as they are."""
    services.predictions.remove(project, name)


def _votes(services: Services, project: int) -> Annotations:
    votes = services.workspace.votes(project)
    if votes is None:
        raise no_votes_yet()
    return votes
