"""Tasks and annotators in pages, and one of them in detail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from finegold.results.matrices import matrices
from finegold.results.metrics import exact_interval
from finegold.studio import judging, measuring
from finegold.studio.items import contents
from finegold.studio.loaded import Codes, LoadedResult, Mask
from finegold.studio.problems import Problem
from finegold.studio.security import OWNER, REVIEWERS, REVIEWERS_WHO_SEE, visitor_of
from finegold.studio.services import Project, ProjectDep, plain_name
from finegold.studio.store import Row, name_key
from finegold.studio.tasks import HIDDEN, view_tasks
from finegold.votes.encoding import MISSING, text_of, to_list

router = APIRouter(tags=["tables"], prefix="/projects/{project:id}")

# of the text in a row of tasks
LINE_LENGTH = 140
# votes on random tasks from which an interval is shown
LEAST_CHECKED = 5
# classes of a confusion matrix
MAX_MATRIX = 12


class Pages(BaseModel):
    fit: int | None = Field(default=None, ge=1, le=2**53)
    search: str = Field(default="", max_length=200, description="A part of the name or the text.")
    descending: bool = False
    first: int = Field(default=0, ge=0, le=2**31 - 1, description="Number of rows to skip.")
    most: int = Field(default=50, ge=1, le=500, description="Maximum number of rows.")


class TaskFilter(Pages):
    """Which tasks; several values of one filter mean any of them."""

    sort: Literal["task", "label", "confidence", "n_votes"] = "confidence"
    label: list[int] = Field(default=[], description="Indices of classes.")
    mark: list[Literal["tied", "contested", "flipped", "unanimous", "predicted"]] = []
    state: list[Literal["open", "judged", "checked", "accepted", "sent back", "commented"]] = []
    confidence_to: float = Field(default=1.0, ge=0, le=1)
    mistakes_of: int | None = Field(None, ge=0, description="Where this annotator differs.")


class AnnotatorFilter(Pages):
    sort: Literal["annotator", "accuracy", "agreement", "n_votes"] = "n_votes"


@router.get("/tasks", dependencies=REVIEWERS_WHO_SEE)
def tasks(project: ProjectDep, wanted: Annotated[TaskFilter, Query()]) -> Row:
    """Return a page of tasks with their labels."""
    shown = project.shown
    result, sure = shown.labelled, shown.confidence
    states, texts = judging.states_of(project), contents(project)
    mask = np.ones(len(sure), np.bool_)
    if wanted.label:
        sets = [code for code, options in enumerate(shown.sets) if {*options} & {*wanted.label}]
        mask &= np.isin(result.label_codes, sets)
    if wanted.mark:
        mask &= np.logical_or.reduce([shown.marks[mark] for mark in wanted.mark])
    if wanted.state:
        mask &= np.logical_or.reduce([states[state] for state in wanted.state])
    mask &= sure <= wanted.confidence_to
    if wanted.mistakes_of is not None:
        mask &= _mistakes(shown, wanted.mistakes_of)
    if wanted.search:
        found = shown.among(texts.containing(wanted.search))
        mask &= shown.containing(wanted.search, "task") | found
    keys = {
        # names are already sorted
        "task": np.arange(len(sure)),
        "label": result.label_codes,
        "confidence": sure,
        "n_votes": result.votes_per_task,
    }
    total, codes = _page(keys, wanted, mask)
    truths = judging.truth_rows(project)
    checked = measuring.checked_truths(project)
    notes = judging.notes_of(project)
    names, labels = shown.task_texts(codes), shown.label_texts(codes)
    lines = []
    for code, text, label, begin in zip(
        codes, names, labels, texts.lines(names, LINE_LENGTH), strict=True
    ):
        name = shown.task_name(code)
        key = name_key(name)
        gold = label if result.gold[code] != MISSING else None
        lines.append(
            {
                "at": code,
                "name": plain_name(name),
                "task": text,
                "label": label,
                "confidence": round(float(sure[code]), 6),
                "n_votes": int(result.votes_per_task[code]),
                "marks": shown.marks_of(code),
                "truth": measuring.words_of_label(truths[key]["value"]) if key in truths else gold,
                "checked": measuring.words_of_label(checked[key].label) if key in checked else None,
                "accepted": bool(states["accepted"][code]),
                "sent_back": bool(states["sent back"][code]),
                "comment": notes[key][-1]["value"] if key in notes else "",
                "text": begin,
            }
        )
    return {"total": total, "rows": lines}


@router.get("/tasks/{at:at}", dependencies=REVIEWERS)
def task(project: ProjectDep, at: int, request: Request) -> Row:
    """Return all details of a task, with every vote and its weight.

    Where tasks are judged blindly, a reviewer sees votes and label after their own decision.
    """
    project.shown.check(at)
    view, person = view_tasks(project, [at])[0], visitor_of(request).name
    is_own = view["judged_by"] is not None and view["judged_by"] == person
    if person == OWNER or is_own or not project.row["blind"]:
        return view
    return view | HIDDEN


@router.get("/annotators", dependencies=REVIEWERS_WHO_SEE)
def annotators(project: ProjectDep, wanted: Annotated[AnnotatorFilter, Query()]) -> Row:
    """Return a page of annotators, and whom to retrain or drop, as `finegold next` does."""
    shown, result = project.shown, project.shown.result
    keys = {
        "annotator": np.arange(len(result.annotator_accuracy)),
        "n_votes": result.votes_per_annotator,
        "accuracy": result.annotator_accuracy,
        "agreement": result.annotator_agreement,
    }
    total, codes = _page(keys, wanted, shown.containing(wanted.search, "annotator"))
    names = result.annotator_names
    advice = [
        {"annotator": text_of(names[each.annotator]), "advice": each.action, "why": each.why}
        for each in shown.advice
    ]
    rows = _lines(project, codes)
    return {"total": total, "rows": rows, "advice": advice}


def _page(keys: dict[str, Any], wanted: Any, mask: Mask) -> tuple[int, list[int]]:
    """Return how many rows the mask lets pass, and those of a page in the order of a key."""
    order = np.argsort(keys[wanted.sort], kind="stable")[:: -1 if wanted.descending else 1]
    codes = order[mask[order]]
    return len(codes), codes[wanted.first : wanted.first + wanted.most].tolist()


def _checked(project: Project) -> tuple[Codes, Codes]:
    """Return how many votes of each annotator are on random tasks that people checked, and are
    right. Tasks that were judged because they are doubtful would say less of everybody.
    """
    shown, votes = project.shown, project.shown.votes
    n = len(shown.result.annotator_accuracy)
    checked = list(measuring.checked_truths(project).values())
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


def _lines(project: Project, codes: Sequence[int]) -> list[Row]:
    result = project.shown.result
    names, suspicions = to_list(result.annotator_names), project.shown.suspicions
    n_known, right = _checked(project)
    lines = []
    for code in codes:
        low, high, n = None, None, int(n_known[code])
        if n >= LEAST_CHECKED:
            low, high = map(float, exact_interval(int(right[code]), n))
        lines.append(
            {
                "at": code,
                "annotator": text_of(names[code]),
                "n_votes": int(result.votes_per_annotator[code]),
                "accuracy": round(float(result.annotator_accuracy[code]), 4),
                "low": low,
                "high": high,
                "agreement": round(float(result.annotator_agreement[code]), 4),
                "n_known": n,
                "right": int(right[code]),
                "suspicion": suspicions[code],
            }
        )
    return lines


@router.get("/annotators/{at:at}", dependencies=REVIEWERS_WHO_SEE)
def annotator(project: ProjectDep, at: int) -> Row:
    """Return an annotator with their confusion matrix."""
    shown, result = project.shown, project.shown.result
    if at >= (n := len(result.annotator_accuracy)):
        raise Problem(404, "There is no such annotator", f"There are {n:,}, from zero.")
    matrix, classes = None, np.zeros(0, np.int64)
    if not shown.is_sets and result.learned.has_matrices:
        shares = np.bincount(result.label_codes, minlength=len(shown.classes))
        classes = np.sort(np.argsort(-shares, kind="stable")[:MAX_MATRIX])
        matrix = matrices(result, np.array([at], np.int32), classes)[0].round(4).tolist()
    return {
        "row": _lines(project, [at])[0],
        "classes": [shown.class_texts[code] for code in classes.tolist()],
        "confusion": matrix,
        "n_mistakes": int(_mistakes(shown, at).sum()),
    }


def _mistakes(shown: LoadedResult, annotator: int) -> Mask:
    """Return the tasks on which an annotator voted for another class than the label."""
    votes, result, n = shown.votes, shown.result, len(shown.labelled.label_codes)
    task, who, label = votes.votes()
    own = who == annotator
    sets = [{*options} for options in shown.sets]
    labels = result.label_codes[task[own]].tolist()
    pairs = zip(labels, label[own].tolist(), strict=True)
    is_wrong = np.array([voted not in sets[code] for code, voted in pairs], np.bool_)
    mask = np.zeros(n, np.bool_)
    mask[task[own][is_wrong]] = True
    return mask
