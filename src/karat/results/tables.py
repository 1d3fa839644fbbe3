"""Convert a ResultData to data frames of the user's kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from karat.results.data import ModelRecord, ResultData
from karat.votes.encoding import MISSING, Names
from karat.votes.frames import kind_of, make_frame, series_like, take, to_list, to_polars

if TYPE_CHECKING:
    import polars as pl

__all__ = ["annotators_table", "labels_pieces", "labels_table", "models_table", "with_predicted_tasks"]

MOST_ROWS = 2**18  # in a chunk


def labels_table(result: ResultData, *, probabilities: bool = False) -> Any:
    """Return one row per task, in the order of the task names.

    Then come tasks with predictions only (n_votes is 0), then tasks with neither votes nor predictions.
    """
    result = with_predicted_tasks(result)
    empty = len(result.unlabelled)
    columns: dict[str, Any] = {
        "task": _joined(result),
        "label": take(result.class_names, np.append(result.label_codes, np.full(empty, MISSING, np.int32))),
        "confidence": _extended(result.confidence, empty),
        "n_votes": np.append(result.votes_per_task, np.zeros(empty, np.int64)),
        "tied": np.append(result.tied, np.zeros(empty, np.bool_)),
    }
    if probabilities:
        names = _distinct([str(name) for name in to_list(result.class_names)], set(columns))
        for k, name in enumerate(names):
            columns[name] = _extended(result.posterior[:, k], empty)
    return make_frame(columns, like=result.task_names)


def labels_pieces(result: ResultData, *, probabilities: bool = False) -> Iterator[pl.DataFrame]:
    """Yield the same table in chunks of Polars; tasks without votes are in the last chunk."""
    result = with_predicted_tasks(result)
    n_tasks = len(result.label_codes)
    rows = MOST_ROWS if _may_be_cut(result.task_names) and _may_be_cut(result.class_names) else n_tasks
    for first in range(0, n_tasks, rows):
        yield to_polars(labels_table(_cut(result, first, first + rows), probabilities=probabilities))


def annotators_table(result: ResultData) -> Any:
    columns: dict[str, Any] = {
        "annotator": result.annotator_names,
        "n_votes": result.votes_per_annotator,
        "accuracy": result.accuracy,
        "accuracy_low": result.accuracy_low,
        "accuracy_high": result.accuracy_high,
        "agreement": result.agreement,
    }
    weights = result.learned.weights
    for s in range(0 if weights is None else weights.shape[1]):
        columns[f"prototype_{s + 1}"] = np.ascontiguousarray(weights[:, s])  # type: ignore[index]
    return make_frame(columns, like=result.annotator_names)


def models_table(result: ResultData) -> Any:
    columns = {name: [getattr(one, name) for one in result.model_records] for name in ModelRecord._fields}
    return make_frame(columns, like=result.task_names)


def with_predicted_tasks(result: ResultData) -> ResultData:
    """Return the result with tasks that have predictions but no votes after those with votes."""
    n = len(result.predicted_posterior)
    if not n:
        return result
    labels = result.predicted_posterior.argmax(axis=1).astype(result.label_codes.dtype)
    return replace(
        result,
        task_names=series_like([*to_list(result.task_names), *to_list(result.predicted_names)], result.task_names),
        posterior=np.vstack([result.posterior, result.predicted_posterior]),
        label_codes=np.append(result.label_codes, labels),
        tied=np.append(result.tied, np.zeros(n, np.bool_)),
        votes_per_task=np.append(result.votes_per_task, np.zeros(n, np.int64)),
        gold=np.append(result.gold, np.full(n, MISSING, result.gold.dtype)),
        predicted_names=result.predicted_names[:0],
        predicted_posterior=result.predicted_posterior[:0],
    )


def _may_be_cut(names: Names) -> bool:
    """Return whether slices of the names always have the type of all names."""
    if isinstance(names, np.ndarray):
        return names.dtype.kind != "O" or len({type(name) for name in names}) == 1
    return bool(kind_of(names).is_polars())


def _cut(result: ResultData, first: int, end: int) -> ResultData:
    """Return the tasks from first to end; tasks without votes follow the last one."""
    is_last = end >= len(result.label_codes)
    return replace(
        result,
        task_names=result.task_names[first:end],
        posterior=result.posterior[first:end],
        label_codes=result.label_codes[first:end],
        tied=result.tied[first:end],
        votes_per_task=result.votes_per_task[first:end],
        unlabelled=result.unlabelled if is_last else result.unlabelled[:0],
    )


def _joined(result: ResultData) -> Any:
    if not len(result.unlabelled):
        return result.task_names
    everything = [*to_list(result.task_names), *to_list(result.unlabelled)]
    return series_like(everything, result.task_names)


def _extended(values: NDArray[np.float64], empty: int) -> Any:
    """Append nulls, not zeros, for tasks without votes."""
    return values if not empty else [*values.tolist(), *[None] * empty]


def _distinct(names: list[str], taken: set[str]) -> list[str]:
    """Change names of classes that are also names of other columns."""
    return [f"p({name})" if name in taken else name for name in names]
