"""One task in detail: what it looks like, its votes, and what people said about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from finegold.results.matrices import evidence
from finegold.studio.items import content_of
from finegold.studio.loaded import LoadedResult
from finegold.studio.services import Project, plain_name
from finegold.studio.store import Row, name_key
from finegold.votes.encoding import text_of

# votes that are listed
MAX_VOTES = 50
# of a class without votes
MIN_SHOWN_PROBABILITY = 0.01
# what others and the method say about a task
HIDDEN: Row = {
    **{"label": "", "confidence": 0.0, "rival": None, "truth": None, "judged_by": None},
    **{"marks": [], "tally": [], "votes": [], "votes_left_out": 0, "predictions": []},
}


def view_tasks(project: Project, codes: Sequence[int]) -> list[Row]:
    result, views = project.shown, []
    for code, content in zip(codes, content_of(project, codes), strict=True):
        name = result.task_name(code)
        rows = project.rows(
            "SELECT * FROM judgement WHERE project = ? AND task = ? AND NOT undone"
            " AND sample IS NULL ORDER BY source IS NULL, id",
            name_key(name),
        )
        truths = [row for row in rows if row["kind"] in ("truth", "known")]
        truth = truths[-1] if truths and truths[-1]["value"] is not None else {}
        view = {
            "at": code,
            "name": plain_name(name),
            "task": text_of(name),
            "content": content,
            **HIDDEN,
            "label": result.label_texts([code])[0],
            "confidence": round(float(result.confidence[code]), 6),
            "n_votes": int(result.labelled.votes_per_task[code]),
            "marks": result.marks_of(code),
            "predictions": _predictions(result, code),
            "truth": truth.get("value"),
            "judged_by": truth.get("reviewer"),
            "comments": [
                {"reviewer": row["reviewer"], "at": row["at"], "text": row["value"]}
                for row in rows
                if row["kind"] == "note"
            ],
        }
        if code < len(result.result.label_codes):
            view |= _votes(result, code)
        views.append(view)
    return views


def _votes(result: LoadedResult, code: int) -> Row:
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
    listed, labels = who[:MAX_VOTES], voted[:MAX_VOTES]
    rival, weights = None, np.full(len(listed), np.nan)
    if not result.is_sets and len(p) > 1:
        label = int(data.label_codes[code])
        others = np.where(np.arange(len(p)) == label, -1.0, p)
        other = int(counts.argmax() if result.marks["flipped"][code] else others.argmax())
        rival = texts[other]
        sides = (np.full_like(labels, label), np.full_like(labels, other))
        weights = np.asarray(evidence(data, listed, labels, *sides))
    rows = [
        {
            "annotator": text_of(data.annotator_names[j]),
            "label": texts[k],
            "accuracy": round(float(data.annotator_accuracy[j]), 4),
            # how much it speaks for the label, and against the rival
            "weight": round(weight, 3) if np.isfinite(weight) else None,
        }
        for j, k, weight in zip(listed.tolist(), labels.tolist(), weights.tolist(), strict=True)
    ]
    return {
        "rival": rival,
        "tally": [
            {"label": texts[k], "votes": int(counts[k]), "probability": round(float(p[k]), 6)}
            for k in seen.tolist()
        ],
        "votes": sorted(rows, key=lambda row: -(row["weight"] or 0.0)),
        "votes_left_out": max(len(who) - MAX_VOTES, 0),
    }


def _predictions(result: LoadedResult, code: int) -> list[dict[str, Any]]:
    """Return the most probable class of each model that has a prediction for the task."""
    if result.result.combined is None:
        return []
    given = result.result.combined.predictions
    return [
        {
            "model": model,
            "label": result.class_texts[int(p.argmax())],
            "probability": round(float(p.max()), 6),
        }
        for model, p in zip(given.models, given.probabilities[:, code], strict=True)
        if p.any()
    ]
