"""Read class probabilities of models and match them to the tasks and classes of votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, use, warn_user
from finegold.io.columns import TASK, WIDE_TASK, candidates, columns_of, find_columns
from finegold.io.source import is_files
from finegold.io.tables import open_table
from finegold.io.truth import read_truth
from finegold.votes.annotations import Annotations, Predictions
from finegold.votes.encoding import (
    MISSING,
    Codes,
    Names,
    encode_ids,
    listed,
    match,
    text_of,
    to_list,
)
from finegold.votes.labels import as_classes
from finegold.votes.merging import ModelOutput, align

Floats = NDArray[np.float64]

# of the probabilities of a task, for rounding; they are normalised then
MAX_SUM_ERROR = 0.02
FORMS = "give (tasks, array) or (tasks, array, classes), with a row per task and a column per class"
LIST_CLASSES = use(classes=Placeholder("A,B,C"), text="to list all classes")


class Model(NamedTuple):
    """The predictions of one model, as they were given."""

    name: str
    # for messages
    source: str
    tasks: list[Any]
    # of the columns
    classes: list[Any]
    # [n, len(classes)]
    probabilities: Floats

    def row(self, row: int) -> str:
        return f"{self.source}, row {row + 1:,} (task {self.tasks[row]})"


def read_predictions(given: Any, votes: Annotations) -> Predictions:
    """Read the predictions of one or more models.

    Args:
        given (path, data frame, tuple, mapping or list): One model: a table with a column of tasks
            and one for each class, or a tuple (tasks, array) or (tasks, array, classes). Several: a
            mapping of their names to them, or a list of them.
        votes: The votes, whose classes the predictions must have.

    Returns:
        The probabilities, in the order of the classes of the votes.

    Raises:
        InputError: If classes do not match, if values are not probabilities, or if no task is one
            of the votes.
    """
    if isinstance(given, Mapping) and not candidates(given, WIDE_TASK):
        models = [(str(name), model) for name, model in given.items()]
    else:
        several = given if _is_list_of_models(given) else [given]
        files = [isinstance(model, str | Path) for model in several]
        models = [
            (Path(model).name.split(".")[0] if is_file else "predictions", model)
            for model, is_file in zip(several, files, strict=True)
        ]
    if not models:
        raise InputError("there are no predictions; give the predictions of at least one model")
    seen: Counter[str] = Counter()
    outputs = []
    for name, model in models:
        seen[name] += 1
        # models of one name are numbered
        is_only = [other for other, _ in models].count(name) == 1
        read = _model(name if is_only else f"{name} {seen[name]}", model, votes)
        outputs.append(_check_output(read, votes))
    return align(outputs, votes)


def _is_list_of_models(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and not isinstance(given[0], Mapping)


def _model(name: str, given: Any, votes: Annotations) -> Model:
    if isinstance(given, np.ndarray):
        problem = "an array of predictions does not say which tasks its rows belong to"
        raise InputError(f"{problem}; {FORMS}")
    if isinstance(given, tuple) and not is_files(given):
        return _of_array(name, given, votes)
    opened = open_table(given)
    # as in the votes
    named = votes.columns[0] if votes.columns[0] in opened.columns else None
    role = TASK if candidates(opened.columns, TASK) else replace(WIDE_TASK, option="")
    with columns_of(opened):
        by_task = find_columns(opened.columns, {role: named})[0]
    classes = [column for column in opened.columns if column != by_task]
    # answers without probabilities
    if len(classes) == 1 and _codes(classes, votes)[0] == MISSING:
        answers = read_truth(given, task=by_task, label=classes[0])
        said, known = _codes(to_list(answers.truth), votes), to_list(votes.class_names)
        if (unknown := np.flatnonzero(said == MISSING)).size:
            answer = to_list(answers.truth)[unknown[0]]
            problem = f'the answer "{answer}" is not a class of the votes ({listed(known)})'
            raise InputError(problem, opened.name, [LIST_CLASSES])
        # as if it were certain
        return Model(name, opened.name, to_list(answers.task), known, np.eye(len(known))[said])
    table = opened.read(opened.columns)
    tasks = encode_ids(table[str(by_task)], opened.is_text)
    if (tasks.codes == MISSING).any():
        row = int(np.argmin(tasks.codes))
        raise InputError(f"{opened.where(row)}: the task is missing; fill it in or remove the row")
    texts = [table[str(column)] for column in classes]
    columns = [text.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy() for text in texts]
    array = np.column_stack(columns) if columns else np.empty((len(tasks.codes), 0))
    names = to_list(tasks.names)
    return Model(name, opened.name, [names[code] for code in tasks.codes.tolist()], classes, array)


def _codes(classes: list[Any], votes: Annotations) -> Codes:
    """Return the codes of classes, which are spelled as the votes were if these were normalised."""
    rules = votes.hygiene
    spelled = as_classes(classes, votes.class_names, rules.normalise, rules.alias)
    return match(spelled, votes.class_names)


def _of_array(name: str, given: tuple[Any, ...], votes: Annotations) -> Model:
    source = f"the predictions {name!r}" if name != "predictions" else "the predictions"
    if len(given) not in (2, 3):
        raise InputError(f"{source} have {len(given)} parts; {FORMS}")
    classes = to_list(votes.class_names) if len(given) == 2 else list(given[2])
    tasks = to_list(Names(given[0]))
    try:
        array = np.asarray(given[1], dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{source} are not an array of numbers; {FORMS}") from None
    if array.shape != (len(tasks), len(classes)):
        known = f"{len(tasks):,} tasks and {len(classes):,} classes ({listed(classes)})"
        problem = f"{source} are an array of shape {array.shape}, but there are {known}"
        raise InputError(f"{problem}; {FORMS}")
    return Model(name, source, tasks, classes, array)


def _check_output(model: Model, votes: Annotations) -> ModelOutput:
    """Return the probabilities in the order of the classes of the votes, after tasks and values
    were checked.
    """
    _check_tasks(model, votes)
    known, codes = to_list(votes.class_names), _codes(model.classes, votes)
    for column, code in zip(model.classes, codes.tolist(), strict=True):
        if code == MISSING:
            problem = f'the column "{column}" is not a class of the votes ({listed(known)})'
            raise InputError(problem, model.source, [use(text="remove it"), LIST_CLASSES])
        if (codes == code).sum() > 1:
            problem = f'two columns are the class "{known[code]}"; remove one of them'
            raise InputError(problem, model.source)
    given = model.probabilities
    for wrong, what in ((np.isnan(given), "missing or not a number"), (given < 0, "negative")):
        if wrong.any():
            row, k = np.argwhere(wrong)[0].tolist()
            value = "" if np.isnan(given[row, k]) else f" ({given[row, k]:.4g})"
            problem = f'the probability of "{known[codes[k]]}" is {what}{value}'
            remedy = "correct it (for logits, give their softmax), or remove the row if the model"
            raise InputError(f"{model.row(row)}: {problem}; {remedy} has no prediction")
    sums = given.sum(axis=1)
    uneven = np.flatnonzero(~(np.abs(sums - 1) <= MAX_SUM_ERROR))
    if uneven.size:
        row = int(uneven[0])
        more = f"; {uneven.size:,} rows are like that" if uneven.size > 1 else ""
        problem = f"the probabilities sum to {sums[row]:.4g}, not to 1{more}"
        remedy = "Give probabilities (for logits, their softmax; for percentages, a hundredth)"
        raise InputError(f"{model.row(row)}: {problem}. {remedy}")
    # a class that it does not know: it cannot say
    ordered = np.full((len(model.tasks), len(known)), 1 / len(codes))
    ordered[:, codes] = given / sums[:, None]
    if lost := [name for code, name in enumerate(known) if code not in codes]:
        what = f"the model does not know {listed(lost)}, so it says nothing for or against"
        _warn(f"{model.source}: {what}; add columns of 0 if it does")
    return ModelOutput(model.name, model.tasks, ordered / ordered.sum(axis=1, keepdims=True))


def _check_tasks(model: Model, votes: Annotations) -> None:
    """Refuse tasks that have several rows or are none of the votes, and warn of ids that look
    shifted.
    """
    first: dict[str, int] = {}
    for row, task in enumerate(model.tasks):
        if first.setdefault(text_of(task), row) != row:
            problem = "the task has several rows of predictions; keep one of them"
            raise InputError(f"{model.row(row)}: {problem}")
    places = match(model.tasks, votes.task_names)
    n_unvoted = int((places == MISSING).sum())
    n_without = votes.n_tasks - len(np.unique(places[places != MISSING]))
    if n_unvoted == len(places):
        seen = f"the predictions have {model.tasks[0]!r}, " if model.tasks else ""
        sides = f"{seen}the votes have {to_list(votes.task_names[:1])[0]!r}"
        problem = f"{model.source}: none of the {len(model.tasks):,} tasks has votes"
        raise InputError(f"{problem}; check that tasks are written alike ({sides})")
    are_most = 2 * n_unvoted > len(places) and 2 * n_without > votes.n_tasks
    # as many on both sides: ids are shifted
    if n_unvoted and (n_unvoted == n_without or are_most):
        example = model.tasks[int(np.argmax(places == MISSING))]
        _warn(
            f"{model.source}: {n_unvoted:,} tasks have no votes, such as {example!r}, and"
            f" {n_without:,} tasks with votes have no predictions; check that tasks are written"
            " and numbered alike"
        )


def _warn(text: str) -> None:
    warn_user(text)
