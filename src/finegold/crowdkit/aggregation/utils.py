"""Helpers of crowd-kit that its users import: normalisation, the most probable labels and
accuracies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from finegold.crowdkit.aggregation.base import check_columns
from finegold.errors import InputError

__all__ = [
    "evaluate",
    "evaluate_equal",
    "evaluate_in",
    "get_accuracy",
    "get_most_probable_labels",
    "normalize_rows",
]


def get_most_probable_labels(proba: Any) -> Any:
    """Return the most probable label of every task; the first column if several are most probable.

    Args:
        proba (pandas.DataFrame): Probabilities, with a row per task and a column per label.

    Returns:
        pandas.Series: The labels, indexed by task.
    """
    if not proba.size:
        return pd.Series([], dtype="O")
    return pd.Series(proba.columns.take(np.argmax(proba.to_numpy(), axis=1)), index=proba.index)


def normalize_rows(scores: Any) -> Any:
    """Divide every row by its sum.

    Args:
        scores (pandas.DataFrame): Scores, with a row per task and a column per label.

    Returns:
        pandas.DataFrame: The shares.
    """
    return scores.div(scores.sum(axis=1), axis=0)


def get_accuracy(data: Any, true_labels: Any, by: str | None = None) -> Any:
    """Return the share of votes that equal the truth, among the votes on tasks whose truth is
    known.

    Args:
        data: The votes, with the columns task, worker and label, and optionally weight.
        true_labels: The truths, indexed by task. A task may have several.
        by: A column by which the votes are grouped, or "true_label".

    Returns:
        float or pandas.Series: The share, or the share of every group.
    """
    check_columns(data, ("task", "worker", "label"))
    truths = set(zip(true_labels.index, true_labels, strict=True))
    pairs = zip(data["task"], data["label"], strict=True)
    right = np.array([pair in truths for pair in pairs], dtype=np.float64)
    known = data["task"].isin(true_labels.index).to_numpy()
    weight = data["weight"][known] if "weight" in data else pd.Series(1.0, index=data.index[known])
    right = right[known] * weight.to_numpy()
    if by is None:
        return right.sum() / weight.sum()
    if by == "true_label":
        group = pd.Index(true_labels.reindex(data["task"][known]), name=by)
    else:
        group = pd.Index(data[by][known], name=by)
    sums = (
        pd.DataFrame({"right": right, "all": weight.to_numpy()}, index=group).groupby(level=0).sum()
    )
    return (sums["right"] / sums["all"]).rename(None)


def evaluate_in(row: Any) -> int:
    """Return 1 if the predicted label is among the true ones.

    Args:
        row: A row with `label_pred` and `label_true`.

    Returns:
        int: 1 or 0.
    """
    return int(row["label_pred"] in row["label_true"])


def evaluate_equal(row: Any) -> int:
    """Return 1 if the predicted label equals the true one.

    Args:
        row: A row with `label_pred` and `label_true`.

    Returns:
        int: 1 or 0.
    """
    return int(row["label_pred"] == row["label_true"])


def evaluate(
    df_true: Any, df_pred: Any, evaluate_func: Callable[[Any], int] = evaluate_in
) -> float:
    """Return the share of tasks whose predicted label is right.

    Args:
        df_true (pandas.DataFrame): The true labels, in the column label, indexed by task.
        df_pred (pandas.DataFrame): The predicted labels, in the same form.
        evaluate_func (callable, default evaluate_in): Says whether a row with `label_pred` and
            `label_true` is right.

    Returns:
        float: The share of right labels among the tasks that are in both frames.
    """
    columns = [df_true["label"].rename("label_true"), df_pred["label"].rename("label_pred")]
    both = pd.concat(columns, axis=1, join="inner")
    if not len(both):
        raise InputError("the two frames have no task in common; index both by task")
    return float(both.apply(evaluate_func, axis=1).mean())
