"""Routes that list the tasks and annotators of a result in pages, or return one of them in detail."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from finegold.report.views.annotators import AnnotatorRow
from finegold.report.views.classes import shown_classes
from finegold.report.views.common import Matrix
from finegold.report.views.tasks import TaskRow
from finegold.results.matrices import matrices
from finegold.studio.annotator_votes import votes_by, worst_first
from finegold.studio.browse import AnnotatorQuery, Browser, TaskQuery
from finegold.studio.problems import Problem
from finegold.studio.routes.common import At, Name, ProjectId, ServicesDep, Shown, plain_name
from finegold.studio.security import OWNER
from finegold.studio.services import Services
from finegold.votes.encoding import MISSING

__all__ = ["blinded", "check_index", "router", "task_lines", "task_views"]

router = APIRouter(tags=["tables"], prefix="/projects/{project}")

MAX_INDEX = 2**31 - 1
LINE_LENGTH = 140  # of the text in a row of tasks
First = Annotated[int, Query(ge=0, le=MAX_INDEX, description="Number of rows to skip.")]
Most = Annotated[int, Query(ge=1, le=500, description="Maximum number of rows.")]
Search = Annotated[str, Query(max_length=200, description="A part of the name; of a task also a part of its content.")]


class TaskLine(BaseModel):
    at: int
    task: str
    label: str
    confidence: float
    n_votes: int
    doubts: list[str] = Field(description="contested, tied or flipped; or predicted: it has predictions only.")
    gold: str | None = Field(description="The truth, from the file or from a person.")
    text: str = Field(description="The beginning of the task's content.")


class TaskPage(BaseModel):
    total: int
    rows: list[TaskLine]


class Predicted(BaseModel):
    model: str
    label: str
    probability: float = Field(description="As the model gives it.")


class TaskView(BaseModel):
    at: int
    row: TaskRow
    name: Name = Field(description="The name as it is in the data: the number 7 is not the text 7.")
    gold: str | None
    probabilities: list[float] = Field(description="The probability of each class, in their order.")
    predictions: list[Predicted] = Field(description="What models say about the task.")
    note: str = Field(description="What reviewers wrote about the task.")


class AnnotatorPage(BaseModel):
    total: int
    rows: list[AnnotatorRow]


class AnnotatorView(BaseModel):
    at: int
    row: AnnotatorRow
    classes: list[str] = Field(description="The classes of the matrix; only the most frequent ones if there are many.")
    confusion: Matrix | None
    support: list[int] = Field(description="Number of votes on tasks whose label is each of these classes.")
    n_mistakes: int = Field(description="Number of votes for another class than the label.")


class VoteLine(BaseModel):
    at: int = Field(description="The index of the task.")
    task: str
    vote: str
    label: str
    confidence: float = Field(description="Of the label.")
    text: str


class VotePage(BaseModel):
    total: int
    rows: list[VoteLine]


@router.get("/tasks")
def tasks(
    project: ProjectId,
    shown: Shown,
    services: ServicesDep,
    search: Search = "",
    sort: Literal["task", "label", "confidence", "n_votes"] = "confidence",
    descending: bool = False,
    label: Annotated[int | None, Query(ge=0, le=65_535, description="The index of a class.")] = None,
    doubt: Literal["contested", "tied", "flipped", "predicted"] | None = None,
    judged: Annotated[bool | None, Query(description="Only tasks with (or without) a truth given by a person.")] = None,
    confidence_from: Annotated[float, Query(ge=0, le=1)] = 0.0,
    confidence_to: Annotated[float, Query(ge=0, le=1)] = 1.0,
    first: First = 0,
    most: Most = 50,
) -> TaskPage:
    """Return a page of tasks with their labels."""
    given = shown.codes_of(services.gold.all(project))
    query = TaskQuery(search, sort, descending, label, doubt, judged, confidence_from, confidence_to, first, most)
    contents = services.workspace.contents_or_none(project)
    page = shown.tasks(query, given, contents.containing(search) if contents and search else ())
    lines = contents.lines([shown.task_name(code) for code in page.codes], LINE_LENGTH) if contents else []
    return TaskPage(total=page.total, rows=task_lines(shown, page.codes, given, lines))


@router.get("/tasks/{at}")
def task(project: ProjectId, at: At, request: Request, shown: Shown, services: ServicesDep) -> TaskView:
    """Return all details of a task, with every vote and its weight.

    Where tasks are judged blindly, a reviewer sees votes and label after their own decision.
    """
    check_index(at, len(shown.labelled.label_codes), "task")
    view = task_views(services, project, shown, [at])[0]
    person = request.scope.get("reviewer") or OWNER
    is_open = person == OWNER or services.gold.reviewer_of(project, shown.task_name(at)) == person
    return view if is_open or not services.projects.get(project)["blind"] else blinded(view)


@router.get("/annotators")
def annotators(
    project: ProjectId,
    shown: Shown,
    search: Search = "",
    sort: Literal["annotator", "accuracy", "agreement", "n_votes"] = "accuracy",
    descending: bool = True,
    first: First = 0,
    most: Most = 50,
) -> AnnotatorPage:
    """Return a page of annotators with their expected accuracy."""
    page = shown.annotators(AnnotatorQuery(search, sort, descending, first, most))
    return AnnotatorPage(total=page.total, rows=shown.annotator_rows(page.codes))


@router.get("/annotators/{at}")
def annotator(project: ProjectId, at: At, shown: Shown) -> AnnotatorView:
    """Return an annotator with their confusion matrix."""
    check_index(at, len(shown.result.accuracy), "annotator")
    result, classes = shown.result, shown_classes(shown.result)
    found = matrices(result, np.array([at], np.int32), classes)[0] if result.learned.has_matrices else None
    tasks_, votes = votes_by(shown.votes, at)
    labels = result.label_codes[tasks_]
    support = np.bincount(labels, minlength=len(result.class_names))
    return AnnotatorView(
        at=at,
        row=shown.annotator_rows([at])[0],
        classes=[shown.class_texts[code] for code in classes.tolist()],
        confusion=None if found is None else found.round(4).tolist(),
        support=support[classes].tolist(),
        n_mistakes=int(np.count_nonzero(votes != labels)),
    )


@router.get("/annotators/{at}/votes")
def annotator_votes(
    project: ProjectId,
    at: At,
    shown: Shown,
    services: ServicesDep,
    mistakes: Annotated[bool, Query(description="Only votes for another class than the label.")] = False,
    first: First = 0,
    most: Most = 50,
) -> VotePage:
    """Return the votes of an annotator: first those for another class than the label, the surest labels first."""
    check_index(at, len(shown.result.accuracy), "annotator")
    codes, votes = worst_first(shown.result, *votes_by(shown.votes, at), only_mistakes=mistakes)
    page, said = codes[first : first + most].tolist(), votes[first : first + most].tolist()
    contents = services.workspace.contents_or_none(project)
    lines = contents.lines([shown.task_name(code) for code in page], LINE_LENGTH) if contents else [""] * len(page)
    rows = zip(page, shown.task_texts(page), said, lines, strict=True)
    return VotePage(total=len(codes), rows=[_vote_line(shown, *row) for row in rows])


def _vote_line(shown: Browser, code: int, name: str, vote: int, line: str) -> VoteLine:
    label = shown.class_texts[shown.result.label_codes[code]]
    sure = round(float(shown.confidence[code]), 6)
    return VoteLine(at=code, task=name, vote=shown.class_texts[vote], label=label, confidence=sure, text=line)


def task_views(services: Services, project: int, shown: Browser, codes: list[int]) -> list[TaskView]:
    rows = shown.task_rows(codes)
    return [_task_view(services, project, shown, code, row) for code, row in zip(codes, rows, strict=True)]


def blinded(view: TaskView) -> TaskView:
    """Return a task without what others and the method say about it."""
    hidden: dict[str, Any] = {"label": "", "confidence": 0.0, "rival": None, "rival_probability": 0.0}
    row = replace(view.row, **hidden, reasons=[], tally=[], votes=[], votes_left_out=0)
    return view.model_copy(update={"row": row, "probabilities": [], "predictions": []})


def _task_view(services: Services, project: int, shown: Browser, code: int, row: TaskRow) -> TaskView:
    name = shown.task_name(code)
    gold = services.gold.of(project, name)
    return TaskView(
        at=code,
        row=row,
        name=plain_name(name),
        gold=None if gold is None else str(gold),
        probabilities=np.round(shown.labelled.posterior[code], 6).tolist(),
        predictions=_predicted(shown, code),
        note=services.gold.note(project, name),
    )


def _predicted(shown: Browser, code: int) -> list[Predicted]:
    """Return the most probable class of each model that has a prediction for the task."""
    if shown.result.combined is None:
        return []
    found = shown.result.combined.predictions
    return [
        Predicted(model=model, label=shown.class_texts[int(p.argmax())], probability=round(float(p.max()), 6))
        for model, p in zip(found.models, found.probabilities[:, code], strict=True)
        if p.any()
    ]


def task_lines(shown: Browser, codes: list[int], given: dict[int, int], lines: list[str]) -> list[TaskLine]:
    result = shown.labelled
    lines = lines or [""] * len(codes)
    return [
        TaskLine(
            at=code,
            task=name,
            label=shown.class_texts[result.label_codes[code]],
            confidence=round(float(shown.confidence[code]), 6),
            n_votes=int(result.votes_per_task[code]),
            doubts=shown.marks(code),
            gold=_gold(shown, code, given),
            text=line,
        )
        for code, name, line in zip(codes, shown.task_texts(codes), lines, strict=True)
    ]


def _gold(shown: Browser, code: int, given: dict[int, int]) -> str | None:
    truth = given.get(code, int(shown.labelled.gold[code]))
    return None if truth == MISSING else shown.class_texts[truth]


def check_index(at: int, end: int, what: str) -> None:
    if at >= end:
        raise Problem(404, f"There is no such {what}", f"There are {end:,}; their indices start at zero.")
