"""Tasks and annotators in pages, and one of them in detail."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

import numpy as np
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from finegold.api.result import Result
from finegold.insight.spam import KINDS, spam
from finegold.results.matrices import matrices
from finegold.results.metrics import exact_interval
from finegold.studio import judging, measuring
from finegold.studio.items import contents
from finegold.studio.loaded import Codes, LoadedResult, Mask
from finegold.studio.problems import Problem
from finegold.studio.rights import REVIEWERS, REVIEWERS_WHO_SEE, visitor_of
from finegold.studio.security import OWNER
from finegold.studio.services import At, Name, ProjectId, Services, ServicesDep, Shown, plain_name
from finegold.studio.store import name_key
from finegold.studio.tasks import TaskView, blinded, view_tasks
from finegold.votes.encoding import MISSING, text_of, to_list

router = APIRouter(tags=["tables"], prefix="/projects/{project:id}")

# of the text in a row of tasks
LINE_LENGTH = 140
# votes on random tasks from which an interval is shown
LEAST_CHECKED = 5
# classes of a confusion matrix
MAX_MATRIX = 12
Line = TypeVar("Line")
Mark = Literal["tied", "contested", "flipped", "unanimous", "predicted"]


class Pages(BaseModel):
    search: str = Field(default="", max_length=200, description="A part of the name or the text.")
    descending: bool = False
    first: int = Field(default=0, ge=0, le=2**31 - 1, description="Number of rows to skip.")
    most: int = Field(default=50, ge=1, le=500, description="Maximum number of rows.")


class TaskFilter(Pages):
    """Which tasks; several values of one filter mean any of them."""

    fit: int | None = Field(default=None, ge=1, le=2**53)
    sort: Literal["task", "label", "confidence", "n_votes"] = "confidence"
    label: list[int] = Field(default=[], description="Indices of classes.")
    mark: list[Mark] = []
    state: list[Literal["open", "judged", "checked", "accepted", "sent back", "commented"]] = []
    confidence_from: float = Field(default=0.0, ge=0, le=1)
    confidence_to: float = Field(default=1.0, ge=0, le=1)


class AnnotatorFilter(Pages):
    fit: int | None = Field(default=None, ge=1, le=2**53)
    sort: Literal["annotator", "accuracy", "agreement", "n_votes"] = "n_votes"


class VoteFilter(Pages):
    fit: int | None = Field(default=None, ge=1, le=2**53)
    mistakes: bool = Field(
        default=False, description="Only votes for another class than the label."
    )


class Page(BaseModel, Generic[Line]):
    total: int
    rows: list[Line]


class TaskLine(BaseModel):
    at: int
    name: Name
    task: str
    label: str
    confidence: float
    n_votes: int
    marks: list[str]
    truth: str | None
    checked: str | None
    accepted: bool
    sent_back: bool
    comment: str
    text: str


class AnnotatorLine(BaseModel):
    at: int
    annotator: str
    n_votes: int
    accuracy: float
    low: float | None
    high: float | None
    agreement: float
    n_known: int
    right: int
    suspicion: str


class AnnotatorView(BaseModel):
    row: AnnotatorLine
    classes: list[str]
    confusion: list[list[float]] | None
    n_mistakes: int


class VoteLine(BaseModel):
    at: int
    task: str
    vote: str
    label: str
    confidence: float
    text: str


@router.get("/tasks", dependencies=REVIEWERS_WHO_SEE)
def tasks(
    project: ProjectId,
    shown: Shown,
    services: ServicesDep,
    wanted: Annotated[TaskFilter, Query()],
) -> Page[TaskLine]:
    """Return a page of tasks with their labels."""
    store, result = services.store, shown.labelled
    truths = judging.truth_rows(store, project)
    checked = measuring.checked_truths(services, project)
    notes = judging.notes_of(store, project)
    back = judging.set_aside(store, project, "send_back")
    accepted = measuring.accepted_mask(services, project, shown)
    states: dict[str, Mask] = {
        "judged": shown.among([row["task"] for row in truths.values()]) | (result.gold != MISSING),
        "checked": shown.among([each.task for each in checked.values()]),
        "accepted": accepted,
        "sent back": shown.among([row["task"] for row in back.values()]),
        "commented": shown.among([rows[0]["task"] for rows in notes.values()]),
    }
    states["open"] = ~(states["judged"] | states["checked"] | accepted)
    masks = []
    if wanted.label:
        sets = [code for code, options in enumerate(shown.sets) if {*options} & {*wanted.label}]
        masks.append(np.isin(result.label_codes, sets))
    if wanted.mark:
        masks.append(np.logical_or.reduce([shown.marks[mark] for mark in wanted.mark]))
    if wanted.state:
        masks.append(np.logical_or.reduce([states[state] for state in wanted.state]))
    sure = shown.confidence
    if wanted.confidence_from > 0 or wanted.confidence_to < 1:
        masks.append((sure >= wanted.confidence_from) & (sure <= wanted.confidence_to))
    texts = contents(services, project)
    if wanted.search:
        found = shown.among(texts.containing(wanted.search))
        masks.append(shown.containing(wanted.search, "task") | found)
    keys = {
        # names are already sorted
        "task": np.arange(len(sure)),
        "label": result.label_codes,
        "confidence": sure,
        "n_votes": result.votes_per_task,
    }
    mask = np.logical_and.reduce(masks) if masks else None
    span = (wanted.first, wanted.most)
    total, codes = shown.page("task", keys, wanted.sort, wanted.descending, *span, mask)
    lines = []
    names = shown.task_texts(codes)
    begins = texts.lines(names, LINE_LENGTH)
    for code, text, label, begin in zip(
        codes, names, shown.label_texts(codes), begins, strict=True
    ):
        name = shown.task_name(code)
        key = name_key(name)
        gold = label if result.gold[code] != MISSING else None
        lines.append(
            TaskLine(
                at=code,
                name=plain_name(name),
                task=text,
                label=label,
                confidence=round(float(sure[code]), 6),
                n_votes=int(result.votes_per_task[code]),
                marks=[mark for mark, inside in shown.marks.items() if inside[code]],
                truth=_words(truths[key]["value"]) if key in truths else gold,
                checked=_words(checked[key].label) if key in checked else None,
                accepted=bool(accepted[code]),
                sent_back=key in back,
                comment=notes[key][-1]["value"] if key in notes else "",
                text=begin,
            )
        )
    return Page(total=total, rows=lines)


def _words(label: object) -> str:
    return ", ".join(map(text_of, label)) if isinstance(label, list) else text_of(label)


@router.get("/tasks/{at:at}", dependencies=REVIEWERS)
def task(
    project: ProjectId, at: At, request: Request, shown: Shown, services: ServicesDep
) -> TaskView:
    """Return all details of a task, with every vote and its weight.

    Where tasks are judged blindly, a reviewer sees votes and label after their own decision.
    """
    check_index(at, len(shown.labelled.label_codes), "task")
    view, person = view_tasks(services, project, shown, [at])[0], visitor_of(request).name
    is_own = view.judged_by is not None and view.judged_by == person
    if person == OWNER or is_own or not services.store.project(project)["blind"]:
        return view
    return blinded(view)


@router.get("/annotators", dependencies=REVIEWERS_WHO_SEE)
def annotators(
    project: ProjectId,
    shown: Shown,
    services: ServicesDep,
    wanted: Annotated[AnnotatorFilter, Query()],
) -> Page[AnnotatorLine]:
    """Return a page of annotators with their expected accuracy."""
    result = shown.result
    keys = {
        "annotator": np.arange(len(result.accuracy)),
        "n_votes": result.votes_per_annotator,
        "accuracy": result.accuracy,
        "agreement": result.agreement,
    }
    mask = shown.containing(wanted.search, "annotator") if wanted.search else None
    span = (wanted.first, wanted.most)
    total, codes = shown.page("annotator", keys, wanted.sort, wanted.descending, *span, mask)
    return Page(total=total, rows=_lines(services, project, shown, codes))


def _checked(services: Services, project: int, shown: LoadedResult) -> tuple[Codes, Codes]:
    """Return how many votes of each annotator are on random tasks that people checked, and are
    right. Tasks that were judged because they are doubtful would say less of everybody.
    """
    n, votes = len(shown.result.accuracy), shown.votes
    checked = list(measuring.checked_truths(services, project).values())
    if shown.is_sets or not checked:
        return np.zeros(n, np.int64), np.zeros(n, np.int64)
    truth = np.full(votes.n_tasks, MISSING, np.int64)
    place = {name: code for code, name in enumerate(shown.class_texts)}
    codes = shown.codes_of([each.task for each in checked]).tolist()
    for code, each in zip(codes, checked, strict=True):
        if 0 <= code < votes.n_tasks:
            truth[code] = place.get(text_of(each.label), -2)
    task, who, label = votes.votes()
    known = truth[task] != MISSING
    right = known & (truth[task] == label)
    return np.bincount(who[known], minlength=n), np.bincount(who[right], minlength=n)


def _suspicions(result: Result) -> list[str]:
    return [] if result.label_sets is not None else list(spam(result).kind)


def _lines(
    services: Services, project: int, shown: LoadedResult, codes: list[int]
) -> list[AnnotatorLine]:
    result = shown.result
    n_known, right = _checked(services, project, shown)
    kinds = shown.view(_suspicions)
    names = to_list(result.annotator_names)

    def bounds(code: int) -> tuple[float | None, float | None]:
        if (n := int(n_known[code])) < LEAST_CHECKED:
            return None, None
        low, high = exact_interval(int(right[code]), n)
        return float(low), float(high)

    return [
        AnnotatorLine(
            at=code,
            annotator=text_of(names[code]),
            n_votes=int(result.votes_per_annotator[code]),
            accuracy=round(float(result.accuracy[code]), 4),
            low=bounds(code)[0],
            high=bounds(code)[1],
            agreement=round(float(result.agreement[code]), 4),
            n_known=int(n_known[code]),
            right=int(right[code]),
            suspicion=KINDS.get(kinds[code], "") if kinds else "",
        )
        for code in codes
    ]


@router.get("/annotators/{at:at}", dependencies=REVIEWERS_WHO_SEE)
def annotator(project: ProjectId, at: At, shown: Shown, services: ServicesDep) -> AnnotatorView:
    """Return an annotator with their confusion matrix."""
    result = shown.result
    check_index(at, len(result.accuracy), "annotator")
    wrong, matrix, classes = 0, None, np.zeros(0, np.int64)
    if not shown.is_sets:
        codes, votes = _votes_by(shown, at)
        wrong = int((votes != result.label_codes[codes]).sum())
        shares = np.bincount(result.label_codes, minlength=len(shown.classes))
        classes = np.sort(np.argsort(-shares, kind="stable")[:MAX_MATRIX])
        if result.learned.has_matrices:
            found = matrices(result, np.array([at], np.int32), classes)[0]
            matrix = np.asarray(found).round(4).tolist()
    return AnnotatorView(
        row=_lines(services, project, shown, [at])[0],
        classes=[shown.class_texts[code] for code in classes.tolist()],
        confusion=matrix,
        n_mistakes=wrong,
    )


@router.get("/annotators/{at:at}/votes", dependencies=REVIEWERS_WHO_SEE)
def annotator_votes(
    project: ProjectId,
    at: At,
    shown: Shown,
    services: ServicesDep,
    wanted: Annotated[VoteFilter, Query()],
) -> Page[VoteLine]:
    """Return the votes of an annotator: first those for another class than the label, the surest
    labels first.
    """
    check_index(at, len(shown.result.accuracy), "annotator")
    codes, votes = _votes_by(shown, at)
    sure = shown.result.confidence[codes]
    if shown.is_sets:
        chosen = [{*options} for options in shown.sets]
        labels = shown.result.label_codes[codes].tolist()
        pairs = zip(labels, votes.tolist(), strict=True)
        is_mistake = np.array([vote not in chosen[label] for label, vote in pairs], np.bool_)
    else:
        is_mistake = shown.result.label_codes[codes] != votes
    order = np.lexsort((np.where(is_mistake, -sure, sure), ~is_mistake))
    if wanted.mistakes:
        order = order[: int(np.count_nonzero(is_mistake))]
    page = order[wanted.first : wanted.first + wanted.most]
    at_tasks = codes[page].tolist()
    names = shown.task_texts(at_tasks)
    class_texts = [*shown.class_texts, "(none)"]
    rows = zip(
        at_tasks,
        names,
        votes[page].tolist(),
        shown.label_texts(at_tasks),
        contents(services, project).lines(names, LINE_LENGTH),
        strict=True,
    )
    lines = [
        VoteLine(
            at=code,
            task=name,
            vote=class_texts[vote],
            label=label,
            confidence=round(float(shown.confidence[code]), 6),
            text=text,
        )
        for code, name, vote, label, text in rows
    ]
    return Page(total=len(order), rows=lines)


def _votes_by(shown: LoadedResult, annotator: int) -> tuple[Codes, Codes]:
    """Return the tasks and the classes of an annotator's votes."""
    votes = shown.votes
    places = np.flatnonzero(votes.annotator == annotator)
    cells = np.searchsorted(votes.cell_ptr, places, side="right") - 1
    codes = np.searchsorted(votes.task_ptr, cells, side="right") - 1
    return codes.astype(np.int64), votes.cell_class[cells].astype(np.int64)


def check_index(at: int, end: int, what: str) -> None:
    if at >= end:
        detail = f"There are {end:,}; their indices start at zero."
        raise Problem(404, f"There is no such {what}", detail)
