"""Routes of results: the views of the report."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter
from pydantic import BaseModel, Field

from finegold.report.views.annotators import Annotators, annotators, suspects
from finegold.report.views.classes import Classes, Prototypes, classes, prototypes
from finegold.report.views.common import Record, record
from finegold.report.views.quality import Quality, quality
from finegold.report.views.trust import Trust, trust
from finegold.studio.routes.common import ProjectId, Shown
from finegold.studio.wording import in_browser

__all__ = ["router"]

router = APIRouter(tags=["results"], prefix="/projects/{project}/results")


class DoubtCounts(BaseModel):
    contested: int
    tied: int
    flipped: int
    any: int


class Model(BaseModel):
    """What was learned about a model."""

    model: str
    n_tasks: int = Field(description="Number of its predictions of tasks with votes.")
    n_tasks_without_votes: int
    weight: float = Field(description="1: its probabilities are calibrated; less: overconfident; 0: it is ignored.")
    accuracy: float = Field(description="Expected share of right predictions.")
    confidence: float = Field(description="Mean probability of the predicted class, as the model gives it.")


class Overview(BaseModel):
    """Quality of the labels and number of doubtful tasks."""

    method: str
    classes: list[str]
    quality: Quality
    doubts: DoubtCounts
    models: list[Model] = Field(description="Those whose predictions were combined with the votes.")
    n_predicted: int = Field(description="Number of tasks that were labelled from predictions only.")


@router.get("")
def overview(project: ProjectId, shown: Shown) -> Overview:
    found, view, combined = shown.doubts, shown.view(quality), shown.result.combined
    return Overview(
        method=shown.result.method,
        classes=shown.class_texts,
        quality=replace(view, sentences=[in_browser(sentence) for sentence in view.sentences]),
        doubts=DoubtCounts(
            **{name: int(getattr(found, name).sum()) for name in ("contested", "tied", "flipped", "any")}
        ),
        models=[Model(**record._asdict()) for record in combined.records] if combined else [],
        n_predicted=len(combined.posterior) if combined else 0,
    )


@router.get("/annotators")
def annotators_view(project: ProjectId, shown: Shown) -> Annotators:
    """Return the quality of all annotators, copies and spammers. /annotators lists them in pages."""
    shown.view(suspects)  # now cached: pages of annotators mark them
    return shown.view(annotators)


@router.get("/classes")
def classes_view(project: ProjectId, shown: Shown) -> Classes:
    """Return the frequencies of the classes, and which classes are confused."""
    return shown.view(classes)


@router.get("/prototypes")
def prototypes_view(project: ProjectId, shown: Shown) -> Prototypes | None:
    """Return the prototypes and the annotators' positions among them; null for methods without prototypes."""
    return shown.view(prototypes)


@router.get("/trust")
def trust_view(project: ProjectId, shown: Shown) -> Trust:
    """Return how well the annotators agree."""
    return shown.view(trust)


@router.get("/record")
def record_view(project: ProjectId, shown: Shown) -> Record:
    """Return how the result was computed, so that it can be repeated."""
    return shown.view(record)
