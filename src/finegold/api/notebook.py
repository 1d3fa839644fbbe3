"""HTML of results for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import numpy as np

from finegold.insight import n_flips
from finegold.results.data import ResultData
from finegold.votes.notebook import cell_html, meter_html, name_html, page_html, table_html

__all__ = ["result_html"]

TASKS_SHOWN, ANNOTATORS_SHOWN = 5, 3  # largest numbers shown


def result_html(result: ResultData) -> str:
    rows = [
        [
            name_html(result.task_names, i),
            name_html(result.class_names, int(result.label_codes[i])),
            meter_html(result.confidence[i]),
            cell_html(f"{result.confidence[i]:.3f}" + (" (tied)" if result.tied[i] else "")),
            cell_html(f"{result.votes_per_task[i]:,}"),
        ]
        for i in range(min(TASKS_SHOWN, len(result.label_codes)))
    ]
    return page_html(
        f"<b>{escape(result.method)}</b>: {len(result.label_codes):,} tasks, {len(result.accuracy):,} annotators, "
        f"{len(result.class_names):,} classes",
        escape(result.stopped),
        table_html(["task", "label", "", "confidence", "votes"], rows, len(result.label_codes)),
        *_flips(result),
        _annotators(result),
        *(escape(note) for note in result.notes),
    )


def _flips(result: ResultData) -> Iterable[str]:
    """Return how the labels differ from the majority vote."""
    if result.annotations is None:
        return []
    return [f"{n_flips(result):,} labels against the majority vote, {int(result.tied.sum()):,} ties"]


def _annotators(result: ResultData) -> str:
    order = np.argsort(-result.accuracy, kind="stable").tolist()
    shown = max(min(ANNOTATORS_SHOWN, len(order) // 2), 1)
    best, worst = (
        ", ".join(f"{name_html(result.annotator_names, j)} ({result.accuracy[j]:.2f})" for j in some)
        for some in (order[:shown], order[::-1][:shown])
    )
    return f"best annotators: {best}; worst: {worst}"
