"""Ratings in ordered classes, and numbers: where tasks are on the scale, and what annotators are like."""

from __future__ import annotations

import numpy as np
import polars as pl

from finegold.insight.votes import Floats
from finegold.report.sections.common import LABELS_TABLE, Shown, Subject, View, plain, texts
from finegold.results.metrics import scale_of
from finegold.results.tables import task_scores
from finegold.votes.encoding import Names

# more lines cannot be told apart in a chart
MAX_LINES = 40


def scores(subject: Subject) -> View:
    """Return the tasks whose scores are least certain, the highest score first."""
    scale, columns = scale_of(subject.result.class_names), task_scores(subject.result)
    view = values(subject.result.task_names, *columns.values())
    words = "score, of those with the widest intervals"
    shown = view["shown"]._replace(order=words, rest=f"{LABELS_TABLE} with --ordered")
    ends = (float(scale.min()), float(scale.max()))
    return view | {"what": "score", "ends": ends, "range": ends, "shown": shown}


def values(names: Names, value: Floats, low: Floats, high: Floats) -> View:
    """Return the tasks whose values are least certain, the highest value first."""
    known = np.flatnonzero(np.isfinite(value))
    widest = known[np.argsort((low - high)[known], kind="stable")][:MAX_LINES]
    chosen = widest[np.argsort(-value[widest], kind="stable")]
    ends = (plain(column[chosen]) for column in (value, low, high))
    rest = "the table of values (finegold numbers -o FILE)"
    words = "value, of those with the widest intervals"
    return {
        "what": "value",
        # of the axis, and of all tasks
        "ends": (float(np.nanmin(low)), float(np.nanmax(high))),
        "range": (float(np.nanmin(value)), float(np.nanmax(value))),
        "mean": float(value[known].mean()),
        "width": float(np.median((high - low)[known])),
        # task, value, and the ends of its interval
        "rows": list(zip(texts(names, chosen), *ends, strict=True)),
        "shown": Shown(len(chosen), len(known), words, rest),
    }


def raters(annotators: pl.DataFrame) -> View:
    """Return the annotators, the one with the least noise first."""
    rows = annotators.sort("noise").to_dicts()
    names = texts(Names([row["annotator"] for row in rows]))
    charted = rows[:MAX_LINES]
    return {
        "rows": [row | {"annotator": name} for row, name in zip(rows, names, strict=True)],
        "n_charted": len(charted),
        "reach": max(abs(row["bias"]) + row["noise"] for row in charted),
    }
