"""Tables of a MultiResult."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from finegold.results.multi import QUALITY_ANSWERS, SEPARATOR, MultiResult
from finegold.results.tables import distinct, natural_order, own_name
from finegold.votes.encoding import MISSING
from finegold.votes.frames import make_frame, series_like, to_list, to_polars

if TYPE_CHECKING:
    import polars as pl

__all__ = ["annotators_for_users", "annotators_table", "labels_for_users", "labels_table"]

Floats = NDArray[np.float64]


def labels_table(result: MultiResult, *, probabilities: bool = False) -> Any:
    """Return one row per task; tasks without votes come last, without labels."""
    empty = len(result.unlabelled)
    tasks = result.task_names
    if empty:
        tasks = series_like([*to_list(tasks), *to_list(result.unlabelled)], tasks)
    columns: dict[str, Any] = {
        "task": tasks,
        "labels": [SEPARATOR.join(labels) for labels in result.sets()] + [None] * empty,
        "confidence": [*result.confidence.tolist(), *[None] * empty],
        "n_votes": np.append(result.votes_per_task, np.zeros(empty, np.int64)),
    }
    if probabilities:
        found = result.probabilities()
        for code, name in enumerate(distinct(result.option_names, {*columns, "is_gold"})):
            columns[name] = [*found[:, code].tolist(), *[None] * empty]
    return make_frame(columns, like=result.task_names)


def labels_for_users(result: MultiResult, *, probabilities: bool = False) -> pl.DataFrame:
    """Return the table with the column `is_gold`, in natural order, with the user's name of the column of tasks."""
    import polars as pl

    table = to_polars(labels_table(result, probabilities=probabilities))
    is_gold = np.append(result.votes.gold != MISSING, np.zeros(len(result.unlabelled), np.bool_))
    table = table.insert_column(table.columns.index("n_votes") + 1, pl.Series("is_gold", is_gold))
    order = natural_order(result.task_names)
    if order is not None:
        table = table[np.append(order, np.arange(len(order), len(table)))]
    return own_name(table, result.votes, 0)


def annotators_for_users(result: MultiResult) -> pl.DataFrame:
    """Return one row per annotator, and below one row per annotator and option; `option` is null in the first."""
    import polars as pl

    overall, by_option = (to_polars(annotators_table(result, by_option=one)) for one in (False, True))
    overall = overall.insert_column(1, pl.lit(None, pl.String).alias("option"))
    return own_name(pl.concat([overall, by_option]), result.votes, 1)


def annotators_table(result: MultiResult, *, by_option: bool = False) -> Any:
    right, chosen, asked = result.quality
    names, n_answers = result.annotator_names, result.answers.per_annotator
    answers = np.repeat(n_answers[:, None], right.shape[1], axis=1).astype(np.float64)
    overall = _rates(right.sum(1), chosen.sum(1), asked.sum(1), answers.sum(1))
    if not by_option:
        return make_frame({"annotator": names, "n_answers": n_answers, **overall}, like=names)
    columns = {
        "annotator": names[np.repeat(np.arange(len(names)), right.shape[1])],
        "option": result.option_names * len(names),
        "n_answers": np.repeat(n_answers, right.shape[1]),
        **_rates(right, chosen, asked, answers, overall),
    }
    return make_frame(columns, like=names)


def _rates(
    right: Floats, chosen: Floats, asked: Floats, answers: Floats, overall: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the shares; those of one option are drawn toward the annotator's own over all options."""
    wrong, left_out = answers - asked, answers - asked - (chosen - right)
    pairs = {"sensitivity": (right, asked), "specificity": (left_out, wrong), "precision": (right, chosen)}
    found: dict[str, Any] = {"n_chosen": np.ravel(chosen).astype(np.int64)}
    for name, (part, whole) in pairs.items():
        toward, weight = (0.5, 1.0) if overall is None else (overall[name][:, None], QUALITY_ANSWERS)
        found[name] = np.ravel((part + weight * toward) / (whole + weight))
    return found
