"""One task in detail: what it looks like, its votes, and what people said about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from finegold.results.matrices import evidence
from finegold.studio.items import ContentItem, content_of
from finegold.studio.loaded import LoadedResult
from finegold.studio.services import Name, Services, plain_name
from finegold.studio.store import name_key
from finegold.votes.encoding import text_of

# votes that are listed
MAX_VOTES = 50
# of a class without votes
MIN_SHOWN_PROBABILITY = 0.01


class Vote(BaseModel):
    annotator: str
    label: str
    accuracy: float
    weight: float | None = Field(
        description="How much it speaks for the label, and against the class in question if negative."
    )


class Tally(BaseModel):
    label: str
    votes: int
    probability: float


class Comment(BaseModel):
    reviewer: str
    at: str
    text: str


class Predicted(BaseModel):
    model: str
    label: str
    probability: float


class TaskView(BaseModel):
    at: int
    name: Name
    task: str
    content: list[ContentItem]
    label: str
    confidence: float
    n_votes: int
    marks: list[str]
    rival: str | None
    tally: list[Tally]
    votes: list[Vote]
    votes_left_out: int
    predictions: list[Predicted]
    truth: Any
    judged_by: str | None
    comments: list[Comment]


def view_tasks(
    services: Services, project: int, result: LoadedResult, codes: Sequence[int]
) -> list[TaskView]:
    """Return tasks of a result with all details."""
    contents = content_of(services, project, result, codes)
    return [
        _view(services, project, result, code, content)
        for code, content in zip(codes, contents, strict=True)
    ]


def _view(
    services: Services, project: int, result: LoadedResult, code: int, content: list[ContentItem]
) -> TaskView:
    name = result.task_name(code)
    rows = services.store.rows(
        "SELECT * FROM judgement WHERE project = ? AND task = ? AND NOT undone AND sample IS NULL"
        " ORDER BY source IS NULL, id",
        *(project, name_key(name)),
    )
    truth = next((row for row in reversed(rows) if row["kind"] in ("truth", "known")), None)
    labelled, has_votes = result.labelled, code < len(result.result.label_codes)
    found = _votes(result, code) if has_votes else (None, [], [], 0)
    rival, tally, votes, left_out = found
    return TaskView(
        at=code,
        name=plain_name(name),
        task=text_of(name),
        content=content,
        label=result.label_texts([code])[0],
        confidence=round(float(result.confidence[code]), 6),
        n_votes=int(labelled.votes_per_task[code]),
        marks=[mark for mark, mask in result.marks.items() if mask[code]],
        rival=rival,
        tally=tally,
        votes=votes,
        votes_left_out=left_out,
        predictions=_predictions(result, code),
        truth=None if truth is None else truth["value"],
        judged_by=None if truth is None or truth["value"] is None else truth["reviewer"],
        comments=[
            Comment(reviewer=row["reviewer"], at=row["at"], text=row["value"])
            for row in rows
            if row["kind"] == "note"
        ],
    )


def _votes(result: LoadedResult, code: int) -> tuple[str | None, list[Tally], list[Vote], int]:
    votes, data = result.votes, result.result
    cells = slice(votes.task_ptr[code], votes.task_ptr[code + 1])
    ends = votes.cell_ptr[cells.start : cells.stop + 1]
    who = votes.annotator[ends[0] : ends[-1]]
    voted = np.repeat(votes.cell_class[cells], np.diff(ends)).astype(np.int32)
    texts = [*result.class_texts, "(none)"]
    p = np.asarray(data.posterior[code])
    counts = np.bincount(voted, minlength=len(p))[: len(p)]
    seen = np.flatnonzero((counts > 0) | (p >= MIN_SHOWN_PROBABILITY))
    seen = seen[np.lexsort((-p[seen], -counts[seen]))]
    tally = [
        Tally(label=texts[k], votes=int(counts[k]), probability=round(float(p[k]), 6))
        for k in seen.tolist()
    ]
    listed, labels = who[:MAX_VOTES], voted[:MAX_VOTES]
    rival, weights = None, np.full(len(listed), np.nan)
    if not result.is_sets and len(p) > 1:
        label = int(data.label_codes[code])
        others = np.where(np.arange(len(p)) == label, -1.0, p)
        other = int(counts.argmax() if result.marks["flipped"][code] else others.argmax())
        rival = texts[other]
        sides = (np.full_like(labels, label), np.full_like(labels, other))
        weights = np.asarray(evidence(data, listed, labels, *sides))
    names = result.result.annotator_names
    rows = [
        Vote(
            annotator=text_of(names[int(j)]),
            label=texts[k],
            accuracy=round(float(data.accuracy[j]), 4),
            weight=round(float(weight), 3) if np.isfinite(weight) else None,
        )
        for j, k, weight in zip(listed.tolist(), labels.tolist(), weights.tolist(), strict=True)
    ]
    rows.sort(key=lambda row: -(row.weight or 0.0))
    return rival, tally, rows, max(len(who) - MAX_VOTES, 0)


def _predictions(result: LoadedResult, code: int) -> list[Predicted]:
    """Return the most probable class of each model that has a prediction for the task."""
    combined, found = result.result.combined, []
    if combined is not None:
        given = combined.predictions
        for model, p in zip(given.models, given.probabilities[:, code], strict=True):
            if p.any():
                label, most = result.class_texts[int(p.argmax())], round(float(p.max()), 6)
                found.append(Predicted(model=model, label=label, probability=most))
    return found


def blinded(view: TaskView) -> TaskView:
    """Return a task without what others and the method say about it."""
    nothing: dict[str, Any] = {
        **{"label": "", "confidence": 0.0, "rival": None, "truth": None, "judged_by": None},
        **{"marks": [], "tally": [], "votes": [], "votes_left_out": 0, "predictions": []},
    }
    return view.model_copy(update=nothing)
