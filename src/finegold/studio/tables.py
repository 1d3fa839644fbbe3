"""Tasks and annotators: in pages, one of them in detail, and the tasks that a reviewer judges next."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Annotated, Any, Generic, Literal, TypeVar

import numpy as np
from fastapi import APIRouter, Query, Request
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from finegold.api.result import Result
from finegold.report.views.annotators import AnnotatorRow
from finegold.report.views.classes import shown_classes
from finegold.report.views.common import Matrix, texts
from finegold.report.views.tasks import TaskRow, task_rows
from finegold.results.matrices import matrices
from finegold.studio import gold
from finegold.studio.problems import Problem
from finegold.studio.rights import REVIEWERS, REVIEWERS_WHO_SEE, visitor_of
from finegold.studio.security import OWNER
from finegold.studio.services import (
    At,
    Name,
    ProjectId,
    Reviewer,
    Services,
    ServicesDep,
    Shown,
    plain_name,
)
from finegold.studio.store import name_key
from finegold.studio.workspace import Browser, Contents
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, match

router = APIRouter(tags=["tables"], prefix="/projects/{project:id}")

LINE_LENGTH = 140  # of the text in a row of tasks
LAST_ACTIONS = "SELECT * FROM action WHERE project = ? AND undone = 0 AND reviewer = ? ORDER BY id DESC LIMIT 20"

Codes = NDArray[np.int64]
First = Annotated[int, Query(ge=0, le=2**31 - 1, description="Number of rows to skip.")]
Most = Annotated[int, Query(ge=1, le=500, description="Maximum number of rows.")]
Search = Annotated[
    str,
    Query(max_length=200, description="A part of the name; of a task also a part of its content."),
]
Line = TypeVar("Line")


class Page(BaseModel, Generic[Line]):
    total: int = Field(description="Number of rows on all pages.")
    rows: list[Line]


class TaskLine(BaseModel):
    at: int
    task: str
    label: str
    confidence: float
    n_votes: int
    doubts: list[str] = Field(
        description="contested, tied or flipped; or predicted: it has predictions only."
    )
    gold: str | None = Field(description="The truth, from the file or from a person.")
    text: str = Field(description="The beginning of the task's content.")


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


class AnnotatorView(BaseModel):
    at: int
    row: AnnotatorRow
    classes: list[str] = Field(
        description="The classes of the matrix; only the most frequent ones if there are many."
    )
    confusion: Matrix | None
    support: list[int] = Field(
        description="Number of votes on tasks whose label is each of these classes."
    )
    n_mistakes: int = Field(description="Number of votes for another class than the label.")


class VoteLine(BaseModel):
    at: int = Field(description="The index of the task.")
    task: str
    vote: str
    label: str
    confidence: float = Field(description="Of the label.")
    text: str


class Queue(BaseModel):
    left: int = Field(description="Number of tasks without a truth.")
    judged: int
    skipped: int = Field(description="Number of tasks that this reviewer skipped; they come last.")
    sent_back: int = Field(description="Number of tasks that wait for more votes.")
    to_learn: int = Field(description="Number of truths that the shown result was not fitted with.")
    classes: list[Name]
    tasks: list[TaskView] = Field(
        description="The first is held for this reviewer: others get other tasks."
    )
    actions: list[gold.Action] = Field(description="What this reviewer did, the newest first.")


class ReviewerRow(BaseModel):
    reviewer: str
    judged: int
    compared: int = Field(
        description="Number of judged tasks whose label did not come from a truth."
    )
    agreed: int = Field(
        description="Number of these for which the label was the class that the reviewer chose."
    )


@router.get("/tasks", dependencies=REVIEWERS_WHO_SEE)
def tasks(
    project: ProjectId,
    shown: Shown,
    services: ServicesDep,
    search: Search = "",
    sort: Literal["task", "label", "confidence", "n_votes"] = "confidence",
    descending: bool = False,
    label: Annotated[
        int | None, Query(ge=0, le=65_535, description="The index of a class.")
    ] = None,
    doubt: Literal["contested", "tied", "flipped", "predicted"] | None = None,
    judged: Annotated[
        bool | None, Query(description="Only tasks with (or without) a truth given by a person.")
    ] = None,
    sent_back: Annotated[
        bool, Query(description="Only tasks that were sent back for more votes.")
    ] = False,
    confidence_from: Annotated[float, Query(ge=0, le=1)] = 0.0,
    confidence_to: Annotated[float, Query(ge=0, le=1)] = 1.0,
    first: First = 0,
    most: Most = 50,
) -> Page[TaskLine]:
    """Return a page of tasks with their labels."""
    given = shown.codes_of(gold.truths_of(services.store, project))
    contents = services.workspace.contents_for_tables(project)
    result, sure = shown.labelled, shown.confidence
    is_judged, names = (
        np.zeros(len(sure), dtype=bool),
        np.arange(len(sure)),
    )  # names are already sorted
    is_judged[list(given)] = True
    masks = [
        None if label is None else result.label_codes == label,
        None if doubt is None else shown.marks[doubt],
        None if judged is None else is_judged == judged,
        shown.among([row["task"] for row in gold.sent_back_tasks(services.store, project)])
        if sent_back
        else None,
        (sure >= confidence_from) & (sure <= confidence_to)
        if confidence_from > 0 or confidence_to < 1
        else None,
    ]
    if search:
        masks.append(shown.containing(search, "task") | shown.among(contents.containing(search)))
    given_masks = [mask for mask in masks if mask is not None]
    mask = np.logical_and.reduce(given_masks) if given_masks else None
    keys = {
        "task": names,
        "label": result.label_codes,
        "confidence": sure,
        "n_votes": result.votes_per_task,
    }
    total, codes = shown.page(keys, sort, descending, first, most, mask)
    truths = {code: given.get(code, int(result.gold[code])) for code in codes}
    rows = [
        TaskLine(
            **line,
            n_votes=int(result.votes_per_task[code]),
            doubts=[name for name, mask in shown.marks.items() if mask[code]],
            gold=None if truths[code] == MISSING else shown.class_texts[truths[code]],
        )
        for code, line in zip(codes, _lines(shown, contents, codes), strict=True)
    ]
    return Page(total=total, rows=rows)


@router.get("/tasks/{at:at}", dependencies=REVIEWERS)
def task(
    project: ProjectId, at: At, request: Request, shown: Shown, services: ServicesDep
) -> TaskView:
    """Return all details of a task, with every vote and its weight.

    Where tasks are judged blindly, a reviewer sees votes and label after their own decision.
    """
    check_index(at, len(shown.labelled.label_codes), "task")
    view, person = view_task(services, project, shown, at), visitor_of(request).name
    which = "SELECT reviewer FROM gold WHERE project = ? AND task = ?"
    judged = services.store.row(which, project, name_key(shown.task_name(at)))
    is_open = person == OWNER or (judged is not None and judged["reviewer"] == person)
    if is_open or not services.store.project(project)["blind"]:
        return view
    return blinded(view).model_copy(update={"gold": None})


@router.get("/annotators", dependencies=REVIEWERS_WHO_SEE)
def annotators(
    project: ProjectId,
    shown: Shown,
    search: Search = "",
    sort: Literal["annotator", "accuracy", "agreement", "n_votes"] = "accuracy",
    descending: bool = True,
    first: First = 0,
    most: Most = 50,
) -> Page[AnnotatorRow]:
    """Return a page of annotators with their expected accuracy."""
    result, n_votes, names = (
        shown.result,
        shown.result.votes_per_annotator,
        np.arange(len(shown.result.accuracy)),
    )
    keys = {
        "annotator": names,
        "n_votes": n_votes,
        "accuracy": result.accuracy,
        "agreement": result.agreement,
    }
    mask = shown.containing(search, "annotator") if search else None
    total, codes = shown.page(keys, sort, descending, first, most, mask)
    return Page(total=total, rows=shown.annotator_rows(codes))


@router.get("/annotators/{at:at}", dependencies=REVIEWERS_WHO_SEE)
def annotator(project: ProjectId, at: At, shown: Shown) -> AnnotatorView:
    """Return an annotator with their confusion matrix."""
    check_index(at, len(shown.result.accuracy), "annotator")
    result, classes = shown.result, shown_classes(shown.result)
    matrix = (
        matrices(result, np.array([at], np.int32), classes)[0]
        if result.learned.has_matrices
        else None
    )
    codes, votes = votes_by(shown.votes, at)
    labels = result.label_codes[codes]
    support = np.bincount(labels, minlength=len(result.class_names))
    return AnnotatorView(
        at=at,
        row=shown.annotator_rows([at])[0],
        classes=[shown.class_texts[code] for code in classes.tolist()],
        confusion=None if matrix is None else matrix.round(4).tolist(),
        support=support[classes].tolist(),
        n_mistakes=int(np.count_nonzero(votes != labels)),
    )


@router.get("/annotators/{at:at}/votes", dependencies=REVIEWERS_WHO_SEE)
def annotator_votes(
    project: ProjectId,
    at: At,
    shown: Shown,
    services: ServicesDep,
    mistakes: Annotated[
        bool, Query(description="Only votes for another class than the label.")
    ] = False,
    first: First = 0,
    most: Most = 50,
) -> Page[VoteLine]:
    """Return the votes of an annotator: first those for another class than the label, the surest labels first."""
    check_index(at, len(shown.result.accuracy), "annotator")
    codes, votes = votes_by(shown.votes, at)
    is_mistake, sure = shown.result.label_codes[codes] != votes, shown.result.confidence[codes]
    order = np.lexsort((np.where(is_mistake, -sure, sure), ~is_mistake))
    if mistakes:
        order = order[: int(np.count_nonzero(is_mistake))]
    page, page_votes = (each[order][first : first + most].tolist() for each in (codes, votes))
    lines = _lines(shown, services.workspace.contents_for_tables(project), page)
    rows = [
        VoteLine(**line, vote=shown.class_texts[vote])
        for line, vote in zip(lines, page_votes, strict=True)
    ]
    return Page(total=len(order), rows=rows)


def by_gain(result: Result) -> NDArray[np.int64]:
    """Return all tasks, sorted by the expected gain of knowing their truth, the largest first."""
    # A label drawn from the posterior phi is right with probability sum_k phi_k^2, and with probability 1 once the
    # truth is known. Ties are broken by the number of votes, because a truth then tells about more annotators.
    chance = np.einsum("ik,ik->i", result.posterior, result.posterior)
    return np.lexsort((-result.votes_per_task, chance))


@router.get("/next", dependencies=REVIEWERS)
def next_tasks(
    project: ProjectId,
    shown: Shown,
    services: ServicesDep,
    reviewer: Reviewer,
    most: Annotated[int, Query(ge=1, le=100)] = 10,
) -> Queue:
    """Return the tasks whose truth would improve the labels most, the best first and skipped ones last.

    Tasks that were sent back wait for more votes than they had then. Where tasks are judged blindly, their votes and
    labels are left out.
    """

    def codes_of(
        aside: dict[Any, int],
    ) -> dict[int, int]:  # without tasks that have no votes any more
        codes = match(aside, shown.result.task_names).tolist()
        return {code: n for code, n in zip(codes, aside.values(), strict=True) if code != MISSING}

    store, holds = services.store, services.holds
    skipped = codes_of(gold.tasks_aside(store, project, gold.SKIP, reviewer))
    sent_back = codes_of(gold.tasks_aside(store, project, gold.SEND_BACK))
    used, order = shown.result.gold, shown.view(by_gain)
    base = store.row(
        "SELECT facts FROM fit WHERE id = (SELECT base FROM project WHERE id = ?)", project
    )
    has_gold = (
        base is not None and json.loads(base["facts"])["gold"]
    )  # of the file; else its votes are not needed
    with holds.choosing:
        # Truths are read here: whoever judged a task meanwhile does not hold it any more.
        given = shown.codes_of(gold.truths_of(store, project))
        is_open = used == MISSING
        is_open[list(given)] = False
        n_left = int(np.count_nonzero(is_open))
        is_open[
            [
                task
                for task, n_votes in sent_back.items()
                if shown.result.votes_per_task[task] <= n_votes
            ]
        ] = False
        held = match(holds.by_others(project, reviewer), shown.result.task_names)
        is_open[held[held != MISSING]] = False
        waiting = order[is_open[order]]
        codes = waiting[np.argsort(np.isin(waiting, list(skipped)), kind="stable")][:most].tolist()
        holds.hold(project, reviewer, shown.task_name(codes[0]) if codes else None)
    tasks = [view_task(services, project, shown, code) for code in codes]
    known = services.workspace.votes(project).gold if has_gold else np.full_like(used, MISSING)
    truths = gold.merge_truths(known, given)
    return Queue(
        left=n_left,
        judged=gold.count_truths(store, project),
        skipped=len(skipped.keys() - given.keys()),
        sent_back=len(sent_back.keys() - given.keys()),
        to_learn=int(np.count_nonzero(truths != used)) if len(truths) == len(used) else len(given),
        classes=[plain_name(name) for name in shown.classes],
        tasks=[blinded(task) for task in tasks] if store.project(project)["blind"] else tasks,
        actions=[
            gold.Action(**action)
            for action in gold.rows_with_names(store, LAST_ACTIONS, project, reviewer)
        ],
    )


@router.get("/reviewers", dependencies=REVIEWERS)
def reviewers(project: ProjectId, request: Request, services: ServicesDep) -> list[ReviewerRow]:
    """Return how many tasks each reviewer judged, and how often they agreed with the labels.

    A reviewer who judges blindly sees only their own number.
    """
    rows, person = gold.judgements_of(services.store, project), visitor_of(request).name
    if person != OWNER and services.store.project(project)["blind"]:
        rows = [row | {"label_then": None} for row in rows if row["reviewer"] == person]
    judged = Counter(row["reviewer"] for row in rows)
    compared = Counter(row["reviewer"] for row in rows if row["label_then"] is not None)
    agreed = Counter(row["reviewer"] for row in rows if row["label_then"] == row["label"])
    counts = [(who, n, compared[who], agreed[who]) for who, n in judged.items()]
    return [
        ReviewerRow(reviewer=who, judged=n, compared=known, agreed=same)
        for who, n, known, same in counts
    ]


def _lines(shown: Browser, contents: Contents, codes: list[int]) -> list[dict[str, Any]]:
    """Return what every table shows of a task: its label, and the beginning of its content."""
    begins = contents.lines([shown.task_name(code) for code in codes], LINE_LENGTH)
    labels = [shown.class_texts[shown.labelled.label_codes[code]] for code in codes]
    sure = [round(float(shown.confidence[code]), 6) for code in codes]
    columns = zip(codes, texts(shown.labelled.task_names, codes), labels, sure, begins, strict=True)
    return [
        dict(zip(("at", "task", "label", "confidence", "text"), row, strict=True))
        for row in columns
    ]


def votes_by(votes: Annotations, annotator: int) -> tuple[Codes, Codes]:
    places = np.flatnonzero(votes.annotator == annotator)
    cells = np.searchsorted(votes.cell_ptr, places, side="right") - 1
    tasks = np.searchsorted(votes.task_ptr, cells, side="right") - 1
    return tasks.astype(np.int64), votes.cell_class[cells].astype(np.int64)


def view_task(services: Services, project: int, shown: Browser, code: int) -> TaskView:
    name, combined = shown.task_name(code), shown.result.combined
    key = (project, name_key(name))
    truth = services.store.row("SELECT label FROM gold WHERE project = ? AND task = ?", *key)
    note = services.store.row("SELECT text FROM note WHERE project = ? AND task = ?", *key)
    has_votes = code < len(shown.result.label_codes)
    rows_of = shown.result if has_votes else shown.labelled
    predictions = []
    if (
        combined is not None
    ):  # the most probable class of each model that has a prediction for the task
        for model, p in zip(
            combined.predictions.models, combined.predictions.probabilities[:, code], strict=True
        ):
            label, probability = shown.class_texts[int(p.argmax())], round(float(p.max()), 6)
            predictions += (
                [Predicted(model=model, label=label, probability=probability)] if p.any() else []
            )
    return TaskView(
        at=code,
        row=task_rows(rows_of, [code], shown.doubts)[0],
        name=plain_name(name),
        gold=None if truth is None else str(json.loads(truth["label"])),
        probabilities=np.round(shown.labelled.posterior[code], 6).tolist(),
        predictions=predictions,
        note="" if note is None else note["text"],
    )


def blinded(view: TaskView) -> TaskView:
    """Return a task without what others and the method say about it."""
    hidden: dict[str, Any] = {
        "label": "",
        "confidence": 0.0,
        "rival": None,
        "rival_probability": 0.0,
    }
    row = replace(view.row, **hidden, reasons=[], tally=[], votes=[], votes_left_out=0)
    return view.model_copy(update={"row": row, "probabilities": [], "predictions": []})


def check_index(at: int, end: int, what: str) -> None:
    if at >= end:
        raise Problem(
            404, f"There is no such {what}", f"There are {end:,}; their indices start at zero."
        )
