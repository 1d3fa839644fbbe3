"""Result -> data frames of the user's kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.encoding import MISSING
from karat.frames import make_frame, series_like, take, to_list
from karat.result import Result

__all__ = ["annotators_table", "labels_table"]


def labels_table(result: Result, *, probabilities: bool = False) -> Any:
    """A row a task, in the order of their names; tasks without any vote come last, without a label."""
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


def annotators_table(result: Result) -> Any:
    columns: dict[str, Any] = {
        "annotator": result.annotator_names,
        "n_votes": result.votes_per_annotator,
        "accuracy": result.accuracy,
        "accuracy_low": result.accuracy_low,
        "accuracy_high": result.accuracy_high,
        "agreement": result.agreement,
    }
    weights = result.knowledge.weights
    for s in range(0 if weights is None else weights.shape[1]):
        columns[f"prototype_{s + 1}"] = np.ascontiguousarray(weights[:, s])  # type: ignore[index]
    return make_frame(columns, like=result.annotator_names)


def _joined(result: Result) -> Any:
    if not len(result.unlabelled):
        return result.task_names
    everything = [*to_list(result.task_names), *to_list(result.unlabelled)]
    return series_like(everything, result.task_names)


def _extended(values: NDArray[np.float64], empty: int) -> Any:
    """Nothing is known of tasks without votes: null, not zero."""
    return values if not empty else [*values.tolist(), *[None] * empty]


def _distinct(names: list[str], taken: set[str]) -> list[str]:
    """A class may be called like a column."""
    return [f"p({name})" if name in taken else name for name in names]
