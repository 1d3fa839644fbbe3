"""Results: the views of the report, and the plan for further votes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from finegold.insight.next_votes import plan
from finegold.report.views.annotators import Annotators, annotators, suspects
from finegold.report.views.classes import Classes, Prototypes, classes, prototypes
from finegold.report.views.common import Record, record, texts
from finegold.report.views.quality import Quality, quality
from finegold.report.views.trust import Trust, trust
from finegold.studio.measure import measured
from finegold.studio.requests import Name, ProjectId, ServicesDep, Shown, plain_name

router = APIRouter(prefix="/projects/{project}")
the_plan = partial(plan, budget=None)
RESULTS: dict[str, Any] = {"tags": ["results"]}


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
    accuracy_low: float = Field(description="By known truths, or by votes where they agree with the model.")
    accuracy_high: float


class Overview(BaseModel):
    """Quality of the labels and number of doubtful tasks."""

    method: str
    classes: list[str]
    quality: Quality
    doubts: DoubtCounts
    models: list[Model] = Field(description="Those whose predictions were combined with the votes.")
    n_predicted: int = Field(description="Number of tasks that were labelled from predictions only.")


@router.get("/results", **RESULTS)
def overview(project: ProjectId, shown: Shown, services: ServicesDep) -> Overview:
    doubts, combined = shown.doubts, shown.result.combined
    found = shown.view(quality)
    sample = measured(services, project, services.projects.get(project)["shown"])
    if sample is not None:  # what was measured takes the place of what is expected
        low, high, n = (sample["accuracy"][name] for name in ("low", "high", "checked"))
        headline = f"{100 * low:.1f} to {100 * high:.1f} of 100 labels are right, measured on {n:,} random tasks"
        found = replace(found, headline=headline, sentences=sample["sentences"])
    return Overview(
        method=shown.result.method,
        classes=shown.class_texts,
        quality=found,
        doubts=DoubtCounts(**{name: int(getattr(doubts, name).sum()) for name in DoubtCounts.model_fields}),
        models=[Model(**record._asdict()) for record in combined.records] if combined else [],
        n_predicted=len(combined.posterior) if combined else 0,
    )


@router.get("/results/annotators", **RESULTS)
def annotators_view(project: ProjectId, shown: Shown) -> Annotators:
    """Return the quality of all annotators, copies and spammers. /annotators lists them in pages."""
    shown.view(suspects)  # now cached: pages of annotators mark them
    return shown.view(annotators)


@router.get("/results/classes", **RESULTS)
def classes_view(project: ProjectId, shown: Shown) -> Classes:
    """Return the frequencies of the classes, and which classes are confused."""
    return shown.view(classes)


@router.get("/results/prototypes", **RESULTS)
def prototypes_view(project: ProjectId, shown: Shown) -> Prototypes | None:
    """Return the prototypes and the annotators' positions among them; null for methods without prototypes."""
    return shown.view(prototypes)


@router.get("/results/trust", **RESULTS)
def trust_view(project: ProjectId, shown: Shown) -> Trust:
    """Return how well the annotators agree."""
    return shown.view(trust)


@router.get("/results/record", **RESULTS)
def record_view(project: ProjectId, shown: Shown) -> Record:
    """Return how the result was computed, so that it can be repeated."""
    return shown.view(record)


class Ask(BaseModel):
    task: Name
    label: str = Field(description="So far.")
    confidence: float
    n_votes: int
    gain: float = Field(description="Expected increase of the probability that the label is right, from one more vote.")


class Advice(BaseModel):
    annotator: str
    advice: str = Field(description="retrain or drop")
    why: str


class Planned(BaseModel):
    ask: list[Ask] = Field(description="Tasks that need one more vote, the largest expected gain first.")
    n_open: int = Field(description="Number of tasks for which one more vote can still help.")
    n_safe: int
    annotators: list[Advice]


@router.get("/plan", tags=["planning"])
def planned(project: ProjectId, shown: Shown, budget: Annotated[int, Query(ge=1, le=10_000)] = 100) -> Planned:
    """Return the tasks to collect votes for next, and the annotators to retrain or drop, as `finegold next` does."""
    advice, result = shown.view(the_plan), shown.labelled
    return Planned(
        ask=[
            Ask(
                task=plain_name(shown.task_name(code)),
                label=shown.class_texts[result.label_codes[code]],
                confidence=float(shown.confidence[code]),
                n_votes=int(result.votes_per_task[code]),
                gain=float(advice.gain[code]),
            )
            for code in advice.ask[:budget].tolist()
        ],
        n_open=len(advice.ask),
        n_safe=int(advice.safe.sum()),
        annotators=[
            Advice(annotator=texts(result.annotator_names, [each.annotator])[0], advice=each.action, why=each.why)
            for each in advice.advice
        ],
    )
