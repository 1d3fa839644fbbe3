"""Ratings in ordered classes, and numbers: where tasks are on the scale."""

from __future__ import annotations

import numpy as np

from finegold.insight.votes import Floats
from finegold.report.sections.common import LABELS_TABLE, Shown, Subject, View, plain, texts
from finegold.results.metrics import scale_of
from finegold.results.tables import task_scores
from finegold.votes.encoding import Names

# more lines cannot be told apart in a chart
MAX_LINES = 40


def scores(subject: Subject) -> View:
    """Return the tasks whose scores are least certain, the highest score first."""
    result, rest = subject.result, f"{LABELS_TABLE} with --ordered"
    scale, (value, low, high) = scale_of(result.class_names), task_scores(result).values()
    view = values(result.task_names, value, low, high, "score", rest)
    ends = (float(scale.min()), float(scale.max()))
    return view | {"ends": ends, "range": ends}


def values(
    names: Names,
    value: Floats,
    low: Floats,
    high: Floats,
    what: str = "value",
    rest: str = "the table of values (finegold numbers -o FILE)",
) -> View:
    """Return the tasks whose values are least certain, the highest value first."""
    known = np.flatnonzero(np.isfinite(value))
    widest = known[np.argsort((low - high)[known], kind="stable")][:MAX_LINES]
    chosen = widest[np.argsort(-value[widest], kind="stable")]
    columns = (plain(column[chosen]) for column in (value, low, high))
    words = f"{what}, of those with the widest intervals"
    return {
        "what": what,
        # of the axis, and of all tasks
        "ends": (float(np.nanmin(low)), float(np.nanmax(high))),
        "range": (float(np.nanmin(value)), float(np.nanmax(value))),
        "mean": float(value[known].mean()),
        "width": float(np.median((high - low)[known])),
        # task, value, and the ends of its interval
        "rows": list(zip(texts(names, chosen), *columns, strict=True)),
        "shown": Shown(len(chosen), len(known), words, rest),
    }
