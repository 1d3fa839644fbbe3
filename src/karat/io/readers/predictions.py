"""Read class probabilities of models and match them to the tasks and classes of votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.errors import InputError
from karat.io.readers.columns import TASK, WIDE_TASK, candidates, columns_of, find_columns
from karat.io.readers.files import is_files
from karat.io.readers.table import open_table
from karat.votes.annotations import Annotations
from karat.votes.encoding import MISSING, as_column, look_up
from karat.votes.frames import polars_column, series_like, to_list
from karat.votes.labels import listed
from karat.votes.names import match, text_of
from karat.votes.predictions import Predictions
from karat.votes.spellings import as_classes

__all__ = ["read_predictions"]

Floats = NDArray[np.float64]

MAX_SUM_ERROR = 0.02  # of the probabilities of a task, for rounding; they are normalised then
TUPLES = "a tuple of predictions is (tasks, array) or (tasks, array, classes)"


class Model(NamedTuple):
    """The predictions of one model, as they were given."""

    name: str
    source: str  # for messages
    tasks: list[Any]
    classes: list[Any]  # of the columns
    probabilities: Floats  # [n, len(classes)]

    def row(self, row: int) -> str:
        return f"{self.source}, row {row + 1:,} (task {self.tasks[row]})"


def read_predictions(given: Any, votes: Annotations) -> Predictions:
    """Read the predictions of one or more models.

    Parameters
    ----------
    given : path, data frame, tuple, mapping or list
        One model: a table with a column of tasks and one for each class, or a tuple (tasks, array) or (tasks, array,
        classes). Several: a list of such models, or a mapping of their names to them.
    votes : Annotations
        The votes, whose classes the predictions must have.

    Returns
    -------
    Predictions
        The probabilities, in the order of the classes of the votes.

    Raises
    ------
    InputError
        If classes do not match, if values are not probabilities, or if no task is one of the votes.
    """
    models = [_model(name, one, votes) for name, one in _by_name(given).items()]
    checked = [_checked(model, votes) for model in models]
    places = [_places(model, votes) for model in models]
    new = {text_of(task): task for one in zip(models, places, strict=True) for task in _unmatched(*one)}
    names = series_like(sorted(new.values(), key=_sort_key), votes.task_names)
    aligned = [_aligned(*one, names, votes) for one in zip(models, places, checked, strict=True)]
    return Predictions([model.name for model in models], aligned, names)


def _sort_key(task: Any) -> tuple[bool, Any]:
    """Return a key that sorts numbers before text."""
    return (False, task) if isinstance(task, int | float) else (True, str(task))


def _by_name(given: Any) -> dict[str, Any]:
    """Return the models by name; those without a name are numbered."""
    if isinstance(given, Mapping) and not candidates(given, WIDE_TASK):
        models = {str(name): one for name, one in given.items()}
    elif isinstance(given, list) and given and not isinstance(given[0], Mapping):
        models = _numbered(given)
    else:
        models = _numbered([given])
    if not models:
        raise InputError("there are no predictions; give the predictions of at least one model")
    return models


def _numbered(given: Sequence[Any]) -> dict[str, Any]:
    names = [_stem(one) or "predictions" for one in given]
    return {
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}": one
        for i, (name, one) in enumerate(zip(names, given, strict=True))
    }


def _stem(given: Any) -> str:
    return Path(given).name.split(".")[0] if isinstance(given, str | Path) else ""


def _model(name: str, given: Any, votes: Annotations) -> Model:
    if isinstance(given, tuple) and not is_files(given):
        return _of_array(name, given, votes)
    opened = open_table(given)
    with columns_of(opened.name):
        role = TASK if candidates(opened.columns, TASK) else WIDE_TASK
        by_task = find_columns(opened.columns, {role: None})[0]
        classes = [column for column in opened.columns if column != by_task]
    table = opened.load(opened.columns, [by_task])
    tasks = table.ids(by_task)
    if (tasks.codes == MISSING).any():
        row = int(np.argmin(tasks.codes))
        raise InputError(f"{table.where(row)}: the task is missing; fill it in or remove the row")
    columns = [_numbers(polars_column(table.column(column))) for column in classes]
    probabilities = np.column_stack(columns) if columns else np.empty((len(tasks.codes), 0))
    names = to_list(tasks.names)
    return Model(name, opened.name, [names[code] for code in tasks.codes.tolist()], classes, probabilities)


def _numbers(column: pl.Series) -> Floats:
    """Return the values as numbers; NaN where there is none."""
    numbers: Floats = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return numbers


def _of_array(name: str, given: tuple[Any, ...], votes: Annotations) -> Model:
    source = f"the predictions {name!r}" if name != "predictions" else "the predictions"
    if len(given) not in (2, 3):
        raise InputError(f"{source} have {len(given)} parts; {TUPLES}")
    tasks, array = as_column(given[0]).tolist(), np.asarray(given[1], dtype=np.float64)
    classes = to_list(votes.class_names) if len(given) == 2 else list(given[2])
    if array.ndim != 2 or len(array) != len(tasks) or array.shape[1] != len(classes):
        raise InputError(
            f"{source} are an array of shape {array.shape}, but there are {len(tasks):,} tasks and "
            f"{len(classes):,} classes ({listed(classes)}); {TUPLES}, with a row per task and a column per class"
        )
    return Model(name, source, tasks, classes, array)


def _checked(model: Model, votes: Annotations) -> Floats:
    """[n, K] Return the probabilities in the order of the classes of the votes."""
    known, rules = to_list(votes.class_names), votes.hygiene
    place = match(as_classes(model.classes, votes.class_names, rules.normalise, rules.alias), votes.class_names)
    for column, code in zip(model.classes, place.tolist(), strict=True):
        if code == MISSING:
            raise InputError(
                f'{model.source}: the column "{column}" is not a class of the votes ({listed(known)}); remove it, or '
                "list all classes with --classes (classes= in Python)"
            )
        if (place == code).sum() > 1:
            raise InputError(f'{model.source}: two columns are the class "{known[code]}"; remove one of them')
    if lost := [name for code, name in enumerate(known) if code not in place]:
        raise InputError(
            f'{model.source}: there is no column for the class "{lost[0]}"; add one, with 0 if the model never '
            f"predicts it. Expected a task column and a column for each of {listed(known)}"
        )
    ordered = np.empty((len(model.tasks), len(known)))
    ordered[:, place] = model.probabilities
    return _normalised(model, ordered, known)


def _normalised(model: Model, probabilities: Floats, classes: list[Any]) -> Floats:
    _refuse(model, probabilities, classes, np.isnan(probabilities), "is missing or not a number")
    _refuse(model, probabilities, classes, probabilities < 0, "is negative")
    sums = probabilities.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= MAX_SUM_ERROR))
    if wrong.size:
        row = int(wrong[0])
        more = f"; {wrong.size:,} rows are like that" if wrong.size > 1 else ""
        raise InputError(
            f"{model.row(row)}: the probabilities sum to {sums[row]:.4g}, not to 1{more}. "
            "Give probabilities (for logits, their softmax)"
        )
    return np.asarray(probabilities / sums[:, None])


def _refuse(model: Model, probabilities: Floats, classes: list[Any], wrong: NDArray[np.bool_], what: str) -> None:
    if not wrong.any():
        return
    row, k = np.argwhere(wrong)[0].tolist()
    value = "" if np.isnan(probabilities[row, k]) else f" ({probabilities[row, k]:.4g})"
    raise InputError(
        f'{model.row(row)}: the probability of "{classes[k]}" {what}{value}; correct it, or remove the row if the '
        "model has no prediction"
    )


def _places(model: Model, votes: Annotations) -> NDArray[np.int32]:
    """[n] Return the position of each task among the tasks with votes, MISSING for others."""
    texts = [text_of(task) for task in model.tasks]
    if len(set(texts)) < len(texts):
        seen: set[str] = set()
        row = next(i for i, text in enumerate(texts) if text in seen or seen.add(text))
        raise InputError(f"{model.row(row)}: the task has several rows of predictions; keep one of them")
    place: NDArray[np.int32] = match(model.tasks, votes.task_names)
    if (place == MISSING).all():
        raise InputError(
            f"{model.source}: none of the {len(place):,} tasks has votes; check that tasks are written alike (the "
            f"predictions have {model.tasks[0]!r}, the votes have {to_list(votes.task_names[:1])[0]!r})"
        )
    return place


def _unmatched(model: Model, place: NDArray[np.int32]) -> list[Any]:
    return [model.tasks[row] for row in np.flatnonzero(place == MISSING).tolist()]


def _aligned(model: Model, place: NDArray[np.int32], checked: Floats, new: Any, votes: Annotations) -> Floats:
    """[T + P, K] Return the probabilities in the order of tasks with votes and then those without."""
    aligned = np.full((votes.n_tasks + len(new), votes.n_classes), np.nan)
    others = np.flatnonzero(place == MISSING)
    rows = place.astype(np.int64)
    rows[others] = votes.n_tasks + look_up([model.tasks[row] for row in others.tolist()], new)
    aligned[rows] = checked
    return aligned
