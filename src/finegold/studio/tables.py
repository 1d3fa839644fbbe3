"""Tables: the tasks and annotators of a result in pages, or one of them in detail."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from finegold.api.result import Result
from finegold.report.views.annotators import AnnotatorRow
from finegold.report.views.classes import shown_classes
from finegold.report.views.common import Matrix
from finegold.report.views.tasks import TaskRow
from finegold.results.matrices import matrices
from finegold.studio.browser import Browser
from finegold.studio.problems import Problem
from finegold.studio.requests import At, Name, ProjectId, Services, ServicesDep, Shown, plain_name
from finegold.studio.security import OWNER
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING

if TYPE_CHECKING:
    from finegold.studio.content import Contents

router = APIRouter(tags=["tables"], prefix="/projects/{project}")

LINE_LENGTH = 140  # of the text in a row of tasks

Codes = NDArray[np.int64]
First = Annotated[int, Query(ge=0, le=2**31 - 1, description="Number of rows to skip.")]
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
    sent_back: Annotated[bool, Query(description="Only tasks that were sent back for more votes.")] = False,
    confidence_from: Annotated[float, Query(ge=0, le=1)] = 0.0,
    confidence_to: Annotated[float, Query(ge=0, le=1)] = 1.0,
    first: First = 0,
    most: Most = 50,
) -> TaskPage:
    """Return a page of tasks with their labels."""
    given = shown.codes_of(services.gold.all(project))
    contents = services.workspace.contents_or_none(project)
    result, sure = shown.labelled, shown.confidence
    is_judged = np.zeros(len(result.label_codes), dtype=bool)
    is_judged[list(given)] = True
    masks = [
        None if label is None else result.label_codes == label,
        None if doubt is None else shown.marked(doubt),
        None if judged is None else is_judged == judged,
        shown.among([row["task"] for row in services.gold.sent_back(project)]) if sent_back else None,
        (sure >= confidence_from) & (sure <= confidence_to) if confidence_from > 0 or confidence_to < 1 else None,
        shown.named(search, contents.containing(search) if contents else ()) if search else None,
    ]
    total, codes = shown.tasks(sort, descending, first, most, masks)
    truths = {code: given.get(code, int(result.gold[code])) for code in codes}
    rows = [
        TaskLine(
            at=code,
            task=name,
            label=shown.class_texts[result.label_codes[code]],
            confidence=round(float(sure[code]), 6),
            n_votes=int(result.votes_per_task[code]),
            doubts=shown.marks(code),
            gold=None if truths[code] == MISSING else shown.class_texts[truths[code]],
            text=line,
        )
        for code, name, line in zip(codes, shown.task_texts(codes), _lines(shown, contents, codes), strict=True)
    ]
    return TaskPage(total=total, rows=rows)


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
    total, codes = shown.annotators(sort, descending, first, most, search)
    return AnnotatorPage(total=total, rows=[shown.annotator_row(code) for code in codes])


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
        row=shown.annotator_row(at),
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
    page, page_votes = codes[first : first + most].tolist(), votes[first : first + most].tolist()
    lines = _lines(shown, services.workspace.contents_or_none(project), page)
    rows = [
        VoteLine(
            at=code,
            task=name,
            vote=shown.class_texts[vote],
            label=shown.class_texts[shown.result.label_codes[code]],
            confidence=round(float(shown.confidence[code]), 6),
            text=line,
        )
        for code, name, vote, line in zip(page, shown.task_texts(page), page_votes, lines, strict=True)
    ]
    return VotePage(total=len(codes), rows=rows)


def _lines(shown: Browser, contents: Contents | None, codes: list[int]) -> list[str]:
    """Return the beginning of the content of each task."""
    if contents is None:
        return [""] * len(codes)
    return contents.lines([shown.task_name(code) for code in codes], LINE_LENGTH)


def votes_by(votes: Annotations, annotator: int) -> tuple[Codes, Codes]:
    """Return the tasks that an annotator voted on, and the classes that they voted for."""
    places = np.flatnonzero(votes.annotator == annotator)
    cells = np.searchsorted(votes.cell_ptr, places, side="right") - 1
    tasks = np.searchsorted(votes.task_ptr, cells, side="right") - 1
    return tasks.astype(np.int64), votes.cell_class[cells].astype(np.int64)


def worst_first(result: Result, tasks: Codes, votes: Codes, *, only_mistakes: bool) -> tuple[Codes, Codes]:
    """Sort votes: those for another class than the label first, and among them those with the surest label."""
    is_mistake = result.label_codes[tasks] != votes
    sure = result.confidence[tasks]
    order = np.lexsort((np.where(is_mistake, -sure, sure), ~is_mistake))
    if only_mistakes:
        order = order[: int(np.count_nonzero(is_mistake))]
    return tasks[order], votes[order]


def task_views(services: Services, project: int, shown: Browser, codes: list[int]) -> list[TaskView]:
    """Return all details of these tasks."""
    views = []
    for code, row in zip(codes, shown.task_rows(codes), strict=True):
        name = shown.task_name(code)
        gold = services.gold.of(project, name)
        view = TaskView(
            at=code,
            row=row,
            name=plain_name(name),
            gold=None if gold is None else str(gold),
            probabilities=np.round(shown.labelled.posterior[code], 6).tolist(),
            predictions=_predicted(shown, code),
            note=services.gold.note(project, name),
        )
        views.append(view)
    return views


def blinded(view: TaskView) -> TaskView:
    """Return a task without what others and the method say about it."""
    hidden: dict[str, Any] = {"label": "", "confidence": 0.0, "rival": None, "rival_probability": 0.0}
    row = replace(view.row, **hidden, reasons=[], tally=[], votes=[], votes_left_out=0)
    return view.model_copy(update={"row": row, "probabilities": [], "predictions": []})


def _predicted(shown: Browser, code: int) -> list[Predicted]:
    """Return the most probable class of each model that has a prediction for the task."""
    if shown.result.combined is None:
        return []
    predictions = shown.result.combined.predictions
    return [
        Predicted(model=model, label=shown.class_texts[int(p.argmax())], probability=round(float(p.max()), 6))
        for model, p in zip(predictions.models, predictions.probabilities[:, code], strict=True)
        if p.any()
    ]


def check_index(at: int, end: int, what: str) -> None:
    if at >= end:
        raise Problem(404, f"There is no such {what}", f"There are {end:,}; their indices start at zero.")
