"""Routes to plan further votes: where a vote of an annotator is expected to help most."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from finegold.insight.next_votes import plan
from finegold.report.views.common import texts
from finegold.studio.routes.common import Name, ProjectId, Shown, plain_name

__all__ = ["router"]

router = APIRouter(tags=["planning"], prefix="/projects/{project}")
the_plan = partial(plan, budget=None)


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


@router.get("/plan")
def planned(project: ProjectId, shown: Shown, budget: Annotated[int, Query(ge=1, le=10_000)] = 100) -> Planned:
    """Return the tasks to collect votes for next, and the annotators to retrain or drop, as `finegold next` does."""
    found, result = shown.view(the_plan), shown.labelled
    tasks = found.ask[:budget].tolist()
    return Planned(
        ask=[
            Ask(
                task=plain_name(shown.task_name(code)),
                label=shown.class_texts[result.label_codes[code]],
                confidence=float(shown.confidence[code]),
                n_votes=int(result.votes_per_task[code]),
                gain=float(found.gain[code]),
            )
            for code in tasks
        ],
        n_open=len(found.ask),
        n_safe=int(found.safe.sum()),
        annotators=[
            Advice(annotator=texts(result.annotator_names, [one.annotator])[0], advice=one.action, why=one.why)
            for one in found.advice
        ],
    )
