"""Read class probabilities of models and match them to the tasks and classes of votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

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

# of the probabilities of a task, for rounding; they are normalised then
MAX_SUM_ERROR = 0.02
FORMS = "give (tasks, array) or (tasks, array, classes), with a row per task and a column per class"
LIST_CLASSES = use(classes=Placeholder("A,B,C"), text="to list all classes")

# for messages, the tasks, the classes of the columns, and the probabilities [n, len(classes)]
Given = tuple[str, list[Any], list[Any], Any]


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
        is_list = isinstance(given, list) and given and not isinstance(given[0], Mapping)
        models = [
            (Path(each).name.split(".")[0] if isinstance(each, str | Path) else "predictions", each)
            for each in (given if is_list else [given])
        ]
    if not models:
        raise InputError("there are no predictions; give the predictions of at least one model")
    seen, outputs = Counter[str](), []
    for name, model in models:
        seen[name] += 1
        # models of one name are numbered
        is_only = [other for other, _ in models].count(name) == 1
        name = name if is_only else f"{name} {seen[name]}"
        is_tuple = isinstance(model, tuple) and not is_files(model)
        parts = _of_array(name, model, votes) if is_tuple else _of_table(model, votes)
        outputs.append(_output(name, parts, votes))
    return align(outputs, votes)


def _of_table(given: Any, votes: Annotations) -> Given:
    if isinstance(given, np.ndarray):
        problem = "an array of predictions does not say which tasks its rows belong to"
        raise InputError(f"{problem}; {FORMS}")
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
        said, known = to_list(answers.truth), to_list(votes.class_names)
        codes = _codes(said, votes)
        if MISSING in codes:
            answer = said[int(np.argmin(codes))]
            problem = f'the answer "{answer}" is not a class of the votes ({listed(known)})'
            raise InputError(problem, opened.name, [LIST_CLASSES])
        # as if it were certain
        return opened.name, to_list(answers.task), known, np.eye(len(known))[codes]
    table = opened.read(opened.columns)
    tasks = encode_ids(table[str(by_task)], opened.is_text)
    if MISSING in tasks.codes:
        place = opened.where(int(np.argmin(tasks.codes)))
        raise InputError(f"{place}: the task is missing; fill it in or remove the row")
    numbers = table.select(pl.col(map(str, classes)).cast(pl.Float64, strict=False))
    array = numbers.fill_null(np.nan).to_numpy()
    return opened.name, to_list(tasks.names.take(tasks.codes)), classes, array


def _of_array(name: str, given: tuple[Any, ...], votes: Annotations) -> Given:
    if len(given) not in (2, 3):
        raise InputError(f"the predictions {name!r} have {len(given)} parts; {FORMS}")
    tasks = to_list(Names(given[0]))
    classes = list(given[2]) if len(given) == 3 else to_list(votes.class_names)
    try:
        array = np.asarray(given[1], dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (len(tasks), len(classes)):
        known = f"{len(tasks):,} tasks and {len(classes):,} classes ({listed(classes)})"
        problem = f"the predictions {name!r} are no array of numbers for {known}"
        raise InputError(f"{problem}; {FORMS}")
    return f"the predictions {name!r}", tasks, classes, array


def _codes(classes: list[Any], votes: Annotations) -> Codes:
    """Return the codes of classes, which are spelled as the votes were if these were normalised."""
    rules = votes.hygiene
    spelled = as_classes(classes, votes.class_names, rules.normalise, rules.alias)
    return match(spelled, votes.class_names)


def _output(name: str, parts: Given, votes: Annotations) -> ModelOutput:
    """Return the probabilities in the order of the classes of the votes, after tasks and values
    were checked.
    """
    source, tasks, classes, given = parts
    if repeated := [task for task, n in Counter(map(text_of, tasks)).items() if n > 1]:
        problem = f"the task {repeated[0]} has several rows of predictions; keep one of them"
        raise InputError(problem, source)
    if (match(tasks, votes.task_names) == MISSING).all():
        seen = f"the predictions have {tasks[0]!r}, " if tasks else ""
        sides = f"{seen}the votes have {to_list(votes.task_names[:1])[0]!r}"
        problem = f"{source}: none of the {len(tasks):,} tasks has votes"
        raise InputError(f"{problem}; check that tasks are written alike ({sides})")
    known, codes = to_list(votes.class_names), _codes(classes, votes)
    for column, code in zip(classes, codes.tolist(), strict=True):
        if code == MISSING:
            problem = f'the column "{column}" is not a class of the votes ({listed(known)})'
            raise InputError(problem, source, [use(text="remove it"), LIST_CLASSES])
        if (codes == code).sum() > 1:
            problem = f'two columns are the class "{known[code]}"; remove one of them'
            raise InputError(problem, source)
    sums = given.sum(axis=1)
    # NaN, too, is not at least 0
    is_wrong = ~(given >= 0).all(axis=1) | ~(np.abs(sums - 1) <= MAX_SUM_ERROR)
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        shown = ", ".join(f"{value:.4g}" for value in given[row].tolist())
        problem = f"{shown} are not probabilities, which are at least 0 and sum to 1"
        remedies = [
            use(text="correct them (for logits, give their softmax; for percentages, a hundredth)"),
            use(text="remove the row if the model has no prediction"),
        ]
        place = f"{source}, row {row + 1:,} (task {tasks[row]})"
        raise InputError(f"{problem} ({is_wrong.sum():,} rows are like that)", place, remedies)
    # a class that it does not know: it cannot say
    ordered = np.full((len(tasks), len(known)), 1 / len(codes))
    ordered[:, codes] = given / sums[:, None]
    if lost := [each for code, each in enumerate(known) if code not in codes]:
        what = f"the model does not know {listed(lost)}, so it says nothing for or against"
        warn_user(f"{source}: {what}; add columns of 0 if it does")
    return ModelOutput(name, tasks, ordered / ordered.sum(axis=1, keepdims=True))
