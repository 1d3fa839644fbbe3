"""Labels for training: probabilities, weights and splits by agreement."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from finegold.results.data import ResultData, votes_of
from finegold.results.tables import distinct
from finegold.votes.frames import make_frame, polars_column, polars_series, to_list

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PURPOSES", "sample_weights", "soft_labels", "training_metadata", "training_table"]

Floats = NDArray[np.float64]

PURPOSES = ("huggingface", "torch", "sklearn")
SPLITS = ("unanimous", "majority", "disputed")


def soft_labels(result: ResultData) -> Any:
    """Return one row per task with votes: the task, and the probability of each class."""
    names = distinct([str(name) for name in to_list(result.class_names)], {"task"})
    columns = {name: np.ascontiguousarray(result.posterior[:, k]) for k, name in enumerate(names)}
    return make_frame({"task": result.task_names, **columns}, like=result.task_names)


def sample_weights(result: ResultData) -> Floats:
    """[T] Return 1 minus the entropy of each task's probabilities, in units of the largest possible entropy."""
    n_classes = result.posterior.shape[1]
    if n_classes < 2:
        return np.ones(len(result.posterior))
    p = np.asarray(result.posterior, dtype=np.float64)
    entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
    weights: Floats = np.clip(1 - entropy / np.log(n_classes), 0.0, 1.0)
    return weights


def share_for_label(result: ResultData) -> Floats:
    """[T] Return the share of each task's votes that are for its label."""
    task, _, label = votes_of(result).votes()
    agree = np.bincount(task[label == result.label_codes[task]], minlength=len(result.label_codes))
    share: Floats = agree / result.votes_per_task
    return share


def training_table(result: ResultData, purpose: str) -> pl.DataFrame:
    """Return the table that `finegold export --for PURPOSE` writes: one row per task with votes."""
    import polars as pl

    names, share = result.task_names, share_for_label(result)
    tasks = polars_column(names) if isinstance(names, nw.Series) else polars_series(to_list(names))
    split = np.where(share == 1, SPLITS[0], np.where(share > 0.5, SPLITS[1], SPLITS[2]))
    return pl.DataFrame(
        {
            "task": tasks,
            **_labels(result, purpose),
            "weight": sample_weights(result).astype(np.float32),
            "agreement": share.astype(np.float32),
            "split": split,
        }
    )


def _labels(result: ResultData, purpose: str) -> dict[str, Any]:
    """Return the columns with labels and probabilities: a column per class for scikit-learn, otherwise a list."""
    import polars as pl

    classes = [str(name) for name in to_list(result.class_names)]
    if purpose == "sklearn":
        columns = {f"p({name})": np.ascontiguousarray(result.posterior[:, k]) for k, name in enumerate(classes)}
        return {"label": polars_series(to_list(result.label)), **columns}
    p = np.ascontiguousarray(result.posterior, dtype=np.float32)
    lists = pl.Series(p, dtype=pl.Array(pl.Float32, p.shape[1]))
    names = pl.Series(classes, dtype=pl.String).gather(result.label_codes)
    both = {"label": result.label_codes.astype(np.int64), "label_name": names}
    return {**both, "probabilities": lists if purpose == "torch" else lists.arr.to_list()}


def training_metadata(result: ResultData) -> dict[str, str]:
    """Return the metadata of the file: the classes, in the order of the probabilities."""
    classes = [str(name) for name in to_list(result.class_names)]
    return {"finegold": json.dumps({"method": result.method, "classes": classes}, ensure_ascii=False)}
