"""Routes of predictions: files with class probabilities of models, which fits combine with the votes."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from finegold.errors import InputError
from finegold.studio.problems import Problem
from finegold.studio.routes.common import FILE_BODY, FileName, ProjectId, ServicesDep, sent_file
from finegold.studio.services import Services
from finegold.studio.wording import in_browser
from finegold.votes.annotations import Annotations

__all__ = ["PredictionsFile", "router"]

router = APIRouter(tags=["predictions"], prefix="/projects/{project}")


class PredictionsFile(BaseModel):
    """What was read of a file of predictions."""

    name: str
    n_tasks: int = Field(description="Number of tasks with votes that have a prediction.")
    n_without_prediction: int = Field(description="Number of tasks with votes that have none.")
    n_without_votes: int = Field(description="Number of tasks that have a prediction but no votes.")
    classes: list[str]
    confidence: float = Field(description="Mean probability of the predicted class, as the model gives it.")


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
            said = str(error).replace(str(path), name).replace(path.name, name)
            raise Problem(422, "The predictions cannot be used", in_browser(said)) from None
    return await run_in_threadpool(predictions, project, services)


@router.delete("/predictions", status_code=204, response_class=Response)
def remove_predictions(project: ProjectId, name: FileName, services: ServicesDep) -> None:
    """Remove a file of predictions; results that were computed with it stay as they are."""
    services.predictions.remove(project, name)


def _votes(services: Services, project: int) -> Annotations:
    votes = services.workspace.votes(project)
    if votes is None:
        raise Problem(409, "There are no votes yet", "Read the votes first: choose the columns, or post votes.")
    return votes
