"""Convert a ResultData to data frames of the user's kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, warn_user
from finegold.results.data import ResultData
from finegold.results.metrics import scale_of
from finegold.results.scores import estimate
from finegold.results.sets import annotators_of_sets, refuse_sets
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Names, text_of, to_list
from finegold.votes.frames import make_frame, to_polars

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

# in a chunk
MOST_ROWS = 2**18
# of numbers inside names, for their natural order
DIGITS = 20


def labels_table(result: ResultData, *, probabilities: bool = False) -> Any:
    """Return one row per task, in the order of the task names.

    Then come tasks with predictions only, then tasks with neither votes nor predictions.
    """
    frame = _labels_frame(with_predicted_tasks(result), probabilities, {})
    return make_frame(frame.to_dict(), like=result.task_names)


def _labels_frame(
    result: ResultData, probabilities: bool, scores: Mapping[str, Floats]
) -> pl.DataFrame:
    n, tasks = len(result.label_codes), result.task_names
    if len(result.unlabelled):
        tasks = tasks.of([*tasks, *result.unlabelled])
    is_single = result.label_sets is None
    flags = {"tied": result.tied} if is_single else {}
    flags["is_gold"] = result.gold != MISSING
    if result.combined:
        flags["predictions_only"] = result.votes_per_task == 0
    columns: dict[str, Any] = {
        "task": tasks.values[:n],
        "label" if is_single else "labels": result.label if is_single else result.label.to_list(),
        "confidence": result.confidence,
        "n_votes": result.votes_per_task,
        **flags,
        **scores,
    }
    columns |= _probabilities(result, {*columns}) if probabilities else {}
    frame: pl.DataFrame = make_frame(columns)
    # what a task without votes does not have is null, not zero
    empty = pl.DataFrame({"task": tasks.values[n:]})
    empty = empty.with_columns(n_votes=pl.lit(0, pl.Int64), **dict.fromkeys(flags, pl.lit(False)))
    return pl.concat([frame, empty], how="diagonal_relaxed") if len(empty) else frame


def _probabilities(result: ResultData, taken: set[str]) -> dict[str, Floats]:
    """Return a column of probabilities per class, called p(class) if its name is taken."""
    names = [str(name) for name in to_list(result.class_names)]
    return {
        f"p({name})" if name in taken else name: np.ascontiguousarray(result.posterior[:, k])
        for k, name in enumerate(names)
    }


def scores_table(result: ResultData) -> Any:
    """Return the score of each task on the scale of its classes, with an interval."""
    return make_frame({"task": result.task_names, **task_scores(result)}, like=result.task_names)


def task_scores(result: ResultData) -> dict[str, Floats]:
    """Return scores of tasks and their intervals on the scale; NaN for tasks without votes."""
    refuse_sets(result, "score")
    votes, scale = result.annotations, scale_of(result.class_names)
    task, annotator, label = votes.votes()
    found = estimate(task, annotator, scale[label], votes.n_tasks, votes.n_annotators)
    without = np.full(len(result.label_codes) - votes.n_tasks, np.nan)
    columns = {"score": found.value, "score_low": found.low, "score_high": found.high}
    return {
        name: np.append(values.clip(scale.min(), scale.max()), without)
        for name, values in columns.items()
    }


def labels_pieces(
    result: ResultData,
    *,
    probabilities: bool = False,
    scores: bool = False,
    for_users: bool = False,
) -> Iterator[pl.DataFrame]:
    """Yield the same table in chunks of Polars; tasks without votes are in the last chunk.

    A table for users is in the natural order of the tasks, with the user's name of their column.
    """
    result = with_predicted_tasks(result)
    n_tasks = len(result.label_codes)
    order = natural_order(result.task_names) if for_users else None
    by_task = ("task_names", "posterior", "label_codes", "tied", "votes_per_task", "gold")
    all_scores = task_scores(result) if scores else {}
    for first in range(0, n_tasks, MOST_ROWS):
        run = slice(first, first + MOST_ROWS)
        tasks = run if order is None else order[run]
        some: dict[str, Any] = {name: getattr(result, name)[tasks] for name in by_task}
        unlabelled = result.unlabelled if run.stop >= n_tasks else result.unlabelled[:0]
        piece = replace(result, **some, unlabelled=unlabelled)
        own_scores = {name: values[tasks] for name, values in all_scores.items()}
        table = _labels_frame(piece, probabilities, own_scores)
        yield own_name(table, piece.annotations, 0) if for_users else table


def annotators_for_users(result: ResultData) -> pl.DataFrame:
    """Return the table of annotators in their natural order, with the user's name of their column;
    if labels are sets, then rows for each annotator and option.
    """
    table = to_polars(annotators_table(result))
    if result.label_sets is not None:
        overall = table.insert_column(1, pl.lit(None, pl.String).alias("option"))
        table = pl.concat([overall, to_polars(annotators_of_sets(result, by_option=True))])
    elif (order := natural_order(result.annotator_names)) is not None:
        table = table[order]
    return cast(pl.DataFrame, own_name(table, result.annotations, 1))


def own_name(table: Any, votes: Annotations | None, column: int) -> Any:
    """Name the first column of a data frame as the user does, unless another column has this name."""
    frame = table
    if not isinstance(table, pl.DataFrame):
        import narwhals as nw

        frame = nw.from_native(table)
    if votes is None or votes.columns[column] in frame.columns:
        return table
    renamed = frame.rename({frame.columns[0]: votes.columns[column]})
    return renamed if frame is table else renamed.to_native()


def natural_order(names: Names) -> NDArray[np.int64] | None:
    """Return the order in which t2 comes before t10, or None if it is this one, or not of texts."""
    texts = names.values
    if texts.dtype != pl.String or texts.str.len_bytes().n_unique() == 1:
        return None
    prefix = texts.str.strip_chars_end("0123456789")
    # a10_1: pad the numbers in front, which takes longer
    if prefix.str.contains(r"\d").any():
        prefix = prefix.str.replace_all(r"(\d+)", f"{'0' * DIGITS}${{1}}")
        prefix = prefix.str.replace_all(rf"\d*(\d{{{DIGITS}}})", "${1}")
    keys = pl.DataFrame({"prefix": prefix, "length": texts.str.len_bytes(), "text": texts})
    order = keys.select(pl.arg_sort_by(keys.columns)).to_series().to_numpy().astype(np.int64)
    return None if (order[1:] > order[:-1]).all() else order


def annotators_table(result: ResultData) -> Any:
    """Return one row per annotator."""
    if result.label_sets is not None:
        return annotators_of_sets(result)
    columns: dict[str, Any] = {
        "annotator": result.annotator_names,
        "n_votes": result.votes_per_annotator,
        "accuracy": result.annotator_accuracy,
        **known_intervals(result),
        "agreement": result.annotator_agreement,
    }
    weights = result.learned.weights
    for s in range(0 if weights is None else weights.shape[1]):
        columns[f"prototype_{s + 1}"] = np.ascontiguousarray(weights[:, s])  # type: ignore[index]
    return make_frame(columns, like=result.annotator_names)


def known_intervals(result: ResultData) -> dict[str, Any]:
    """Return the columns of the intervals of accuracies, null where gold truths are too few."""
    bounds = {
        "accuracy_low": result.annotator_accuracy_low,
        "accuracy_high": result.annotator_accuracy_high,
    }
    return {name: pl.Series(values).fill_nan(None) for name, values in bounds.items()}


def with_predicted_tasks(result: ResultData) -> ResultData:
    """Return the result with the tasks that have predictions but no votes after those with votes."""
    combined = result.combined
    if combined is None or not len(combined.posterior):
        return result
    n, predictions = len(combined.posterior), combined.predictions
    labels = combined.posterior.argmax(axis=1).astype(result.label_codes.dtype)
    return replace(
        result,
        task_names=result.task_names.of([*result.task_names, *predictions.task_names]),
        posterior=np.vstack([result.posterior, combined.posterior]),
        label_codes=np.append(result.label_codes, labels),
        tied=np.append(result.tied, np.zeros(n, np.bool_)),
        votes_per_task=np.append(result.votes_per_task, np.zeros(n, np.int64)),
        gold=np.append(result.gold, np.full(n, MISSING, result.gold.dtype)),
        combined=replace(combined, posterior=combined.posterior[:0]),
    )


PURPOSES = ("huggingface", "torch", "sklearn")


def soft_labels(result: ResultData) -> Any:
    """Return one row per task with votes: the task, and the probability of each class."""
    columns = {"task": result.task_names, **_probabilities(result, {"task"})}
    return make_frame(columns, like=result.task_names)


def sample_weights(result: ResultData) -> Floats:
    """[T] Return 1 minus the entropy of each task's probabilities over the largest possible."""
    n_classes = result.posterior.shape[1]
    if n_classes < (2 if result.label_sets is None else 1):
        return np.ones(len(result.posterior))
    p = np.asarray(result.posterior, dtype=np.float64)
    entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
    most = np.log(n_classes)
    # each class is a question of its own
    if result.label_sets is not None:
        entropy -= ((1 - p) * np.log(np.maximum(1 - p, 1e-300))).sum(axis=1)
        most = n_classes * np.log(2)
    return np.asarray(np.clip(1 - entropy / most, 0.0, 1.0))


def training_table(
    result: ResultData,
    purpose: str,
    validation: float = 0.1,
    groups: Mapping[Any, Any] | None = None,
) -> pl.DataFrame:
    """Return the table that `Result.export` writes for a purpose: one row per task with votes.

    Tasks and groups with small hashes are for validation: tasks that are added later move no other
    task.
    """
    advice = "`Result.soft_labels` has the probability of each option"
    refuse_sets(result, f"single label to train on; {advice}")
    task, _, label = result.annotations.votes()
    agree = np.bincount(task[label == result.label_codes[task]], minlength=len(result.label_codes))
    # of each task's votes for its label
    share = agree / result.votes_per_task
    classes = [str(name) for name in to_list(result.class_names)]
    columns: dict[str, Any] = {"task": result.task_names.values}
    # a column per class, otherwise a list
    if purpose == "sklearn":
        columns["label"] = result.label.values
        columns |= _probabilities(result, {*classes})
    else:
        p = np.ascontiguousarray(result.posterior, dtype=np.float32)
        lists = pl.Series(p, dtype=pl.Array(pl.Float32, p.shape[1]))
        columns["label"] = result.label_codes.astype(np.int64)
        columns["label_name"] = pl.Series(classes, dtype=pl.String).gather(result.label_codes)
        columns["probabilities"] = lists if purpose == "torch" else lists.arr.to_list()
    columns["weight"] = sample_weights(result).astype(np.float32)
    columns["agreement"] = share.astype(np.float32)
    disputed = np.where(share > 0.5, "majority", "disputed")
    columns["consensus"] = np.where(share == 1, "unanimous", disputed)
    # what is kept together
    keys = [text_of(name) for name in to_list(result.task_names)]
    if groups is not None:
        known = {name: group for name, group in groups.items() if group is not None}
        group_of = {text_of(name): text_of(group) for name, group in known.items()}
        columns["group"] = pl.Series([group_of.get(key) for key in keys], dtype=pl.String)
        if (alone := columns["group"].null_count()) == len(keys):
            raise InputError("no task has a group; check that tasks are written alike")
        if alone:
            warn_user(f"tasks without a group, each a group of its own: {alone:,}")
        keys = [f"group {group_of[key]}" if key in group_of else key for key in keys]
    hashes = (blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest() for key in keys)
    is_chosen = [int.from_bytes(digest) < validation * 2**64 for digest in hashes]
    columns["split"] = np.where(is_chosen, "validation", "train")
    return cast(pl.DataFrame, own_name(pl.DataFrame(columns), result.annotations, 0))


def training_metadata(result: ResultData) -> dict[str, str]:
    """Return the metadata of the file: the classes, in the order of the probabilities."""
    classes = [str(name) for name in to_list(result.class_names)]
    return {
        "finegold": json.dumps({"method": result.method, "classes": classes}, ensure_ascii=False)
    }
