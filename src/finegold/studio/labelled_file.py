"""The user's own table with the labels of its tasks as further columns."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars import selectors

from finegold.api.result import Result
from finegold.io.columns import TASK, candidates
from finegold.io.diagnosis import reading
from finegold.io.exports import look
from finegold.io.tables import open_sources
from finegold.studio.problems import Problem
from finegold.studio.reading import Reading, find_sources, find_tool
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list
from finegold.votes.names import text_of

__all__ = ["add_labels"]

KEY = "\ntask"  # no column of a file is called so
WITHOUT_TASKS = "It is no table with a column of tasks; take the table of labels."
ADDED = ("finegold_label", "finegold_confidence", "finegold_is_gold")


def add_labels(path: Path, options: Reading, result: Result) -> pl.DataFrame:
    """Return all rows and columns of the file in their order, and the label of each row's task."""
    sources = find_sources(path, options)
    if find_tool(look(sources), options) is not None or options.shape == "transposed":
        raise Problem(409, "Labels cannot be added to this file", WITHOUT_TASKS)
    opened = open_sources(sources)
    columns = [str(column) for column in opened.columns]
    by_task = options.task or next(iter(candidates(columns, TASK)), None)
    if by_task is None:
        raise Problem(
            409, "Labels cannot be added to this file", "It has no column of tasks; take the table of labels."
        )
    with reading(opened.sources[0]):
        rows = opened.scans[0].collect()
    key = selectors.by_name(by_task).as_expr().cast(pl.String).alias(KEY)
    named = {name: f"{name}_new" if name in columns else name for name in ADDED}
    found = rows.with_columns(key).join(_labels(result).rename(named), on=KEY, how="left", maintain_order="left")
    return found.drop(KEY)


def _labels(result: Result) -> pl.DataFrame:
    classes = [text_of(name) for name in to_list(result.class_names)]
    return pl.DataFrame(
        {
            KEY: [text_of(name) for name in to_list(result.task_names)],
            "finegold_label": [classes[code] for code in result.label_codes],
            "finegold_confidence": result.confidence,
            "finegold_is_gold": result.gold != MISSING,
        }
    )
