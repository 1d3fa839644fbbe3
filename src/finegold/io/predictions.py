"""Read class probabilities of models and match them to the tasks and classes of votes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import FinegoldWarning, InputError, Placeholder, use
from finegold.io.columns import LABEL, TASK, WIDE_TASK, candidates, columns_of, find_columns
from finegold.io.source import is_files
from finegold.io.tables import open_table
from finegold.io.truth import Truth, read_truth
from finegold.votes.annotations import Annotations, Predictions
from finegold.votes.encoding import MISSING, as_column, text_of, to_list
from finegold.votes.labels import as_classes, listed
from finegold.votes.merging import ModelOutput, align
from finegold.votes.names import match

Floats = NDArray[np.float64]

SURE_OF_ANSWERS = 0.9  # probability of an answer of a model without probabilities
MAX_SUM_ERROR = 0.02  # of the probabilities of a task, for rounding; they are normalised then
FORMS = "give (tasks, array) or (tasks, array, classes), with a row per task and a column per class"


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
        classes); in place of the array, the output of a Hugging Face pipeline with all scores. Several: a list of such
        models, or a mapping of their names to them.
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
    models = [_model(name, model, votes) for name, model in _by_name(given).items()]
    for model in models:
        _check_tasks(model, votes)
    return align([ModelOutput(model.name, model.tasks, _checked(model, votes)) for model in models], votes)


def _by_name(given: Any) -> dict[str, Any]:
    """Return the models by name; those without a name are numbered."""
    if isinstance(given, Mapping) and not candidates(given, WIDE_TASK):
        models = {str(name): model for name, model in given.items()}
    elif isinstance(given, list) and given and not isinstance(given[0], Mapping):
        models = _numbered(given)
    else:
        models = _numbered([given])
    if not models:
        raise InputError("there are no predictions; give the predictions of at least one model")
    return models


def _numbered(given: Sequence[Any]) -> dict[str, Any]:
    names = [_stem(model) or "predictions" for model in given]
    return {
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}": model
        for i, (name, model) in enumerate(zip(names, given, strict=True))
    }


def _stem(given: Any) -> str:
    return Path(given).name.split(".")[0] if isinstance(given, str | Path) else ""


def _model(name: str, given: Any, votes: Annotations) -> Model:
    if isinstance(given, np.ndarray):
        raise InputError(f"an array of predictions does not say which tasks its rows belong to; {FORMS}")
    if isinstance(given, tuple) and not is_files(given):
        return _of_array(name, given, votes)
    opened = open_table(given)
    named = votes.columns[0] if votes.columns[0] in opened.columns else None  # as in the votes
    role = TASK if candidates(opened.columns, TASK) else replace(WIDE_TASK, option="")
    with columns_of(opened.name):
        by_task = find_columns(opened.columns, {role: named})[0]
    classes = [column for column in opened.columns if column != by_task]
    if len(answers := candidates(classes, LABEL)) == 1 and len(classes) == 1:
        return _of_answers(name, opened.name, read_truth(given, task=by_task, label=answers[0]), votes)
    table = opened.load(opened.columns, [by_task])
    tasks = table.ids(by_task)
    if (tasks.codes == MISSING).any():
        row = int(np.argmin(tasks.codes))
        raise InputError(f"{table.where(row)}: the task is missing; fill it in or remove the row")
    columns = [_numbers(table.columns[column].values) for column in classes]
    probabilities = np.column_stack(columns) if columns else np.empty((len(tasks.codes), 0))
    names = to_list(tasks.names)
    return Model(name, opened.name, [names[code] for code in tasks.codes.tolist()], classes, probabilities)


def _of_answers(name: str, source: str, answers: Truth, votes: Annotations) -> Model:
    """Return the answers of a model that gives no probabilities, each with SURE_OF_ANSWERS."""
    known, rules = to_list(votes.class_names), votes.hygiene
    said = match(as_classes(to_list(answers.truth), votes.class_names, rules.normalise, rules.alias), votes.class_names)
    if (unknown := np.flatnonzero(said == MISSING)).size:
        answer = to_list(answers.truth)[int(unknown[0])]
        remedies = [use(classes=Placeholder("A,B,C"), text="to list all classes")]
        raise InputError(f'the answer "{answer}" is not a class of the votes ({listed(known)})', source, remedies)
    p = np.full((len(said), len(known)), (1 - SURE_OF_ANSWERS) / max(len(known) - 1, 1))
    p[np.arange(len(said)), said] = SURE_OF_ANSWERS if len(known) > 1 else 1.0
    return Model(name, source, to_list(answers.task), known, p)


def _numbers(column: pl.Series) -> Floats:
    """Return the values as numbers; NaN where there is none."""
    numbers: Floats = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return numbers


def _of_array(name: str, given: tuple[Any, ...], votes: Annotations) -> Model:
    source = f"the predictions {name!r}" if name != "predictions" else "the predictions"
    if len(given) not in (2, 3):
        raise InputError(f"{source} have {len(given)} parts; {FORMS}")
    classes = to_list(votes.class_names) if len(given) == 2 else list(given[2])
    tasks, output = as_column(given[0]).tolist(), given[1]
    if _is_pipeline_output(output):
        classes = sorted({str(score["label"]) for row in output for score in row})
        output = [_scores(row, classes) for row in output]
    try:
        array = np.asarray(output, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{source} are not an array of numbers; {FORMS}") from None
    if array.ndim != 2 or len(array) != len(tasks) or array.shape[1] != len(classes):
        raise InputError(
            f"{source} are an array of shape {array.shape}, but there are {len(tasks):,} tasks and "
            f"{len(classes):,} classes ({listed(classes)}); {FORMS}"
        )
    return Model(name, source, tasks, classes, array)


def _is_pipeline_output(output: Any) -> bool:
    """Return whether each row is a list of {"label": ..., "score": ...}, as of a Hugging Face pipeline."""
    rows = output if isinstance(output, list) and output else [None]
    return all(
        isinstance(row, list) and all(isinstance(score, dict) and "score" in score for score in row) for row in rows
    )


def _scores(row: list[dict[str, Any]], classes: list[str]) -> list[float]:
    scores = {str(score["label"]): float(score["score"]) for score in row}
    return [scores.get(name, float("nan")) for name in classes]


def _checked(model: Model, votes: Annotations) -> Floats:
    """[n, K] Return the probabilities in the order of the classes of the votes."""
    known, rules = to_list(votes.class_names), votes.hygiene
    codes = match(as_classes(model.classes, votes.class_names, rules.normalise, rules.alias), votes.class_names)
    for column, code in zip(model.classes, codes.tolist(), strict=True):
        if code == MISSING:
            problem = f'the column "{column}" is not a class of the votes ({listed(known)})'
            remedies = [use(text="remove it"), use(classes=Placeholder("A,B,C"), text="to list all classes")]
            raise InputError(problem, model.source, remedies)
        if (codes == code).sum() > 1:
            raise InputError(f'{model.source}: two columns are the class "{known[code]}"; remove one of them')
    given = _normalised(model, model.probabilities, [known[code] for code in codes.tolist()])
    ordered = np.full((len(model.tasks), len(known)), 1 / len(codes))  # a class that it does not know: it cannot say
    ordered[:, codes] = given
    if lost := [name for code, name in enumerate(known) if code not in codes]:
        what = f"the model does not know {listed(lost)}, so it says nothing for or against"
        warnings.warn(f"{model.source}: {what}; add columns of 0 if it does", FinegoldWarning, stacklevel=2)
    return np.asarray(ordered / ordered.sum(axis=1, keepdims=True))


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


def _check_tasks(model: Model, votes: Annotations) -> None:
    """Refuse tasks with two rows, and predictions of which no task has votes."""
    first: dict[str, int] = {}
    for row, task in enumerate(model.tasks):
        if first.setdefault(text_of(task), row) != row:
            raise InputError(f"{model.row(row)}: the task has several rows of predictions; keep one of them")
    codes = match(model.tasks, votes.task_names)
    n_unvoted, n_without = int((codes == MISSING).sum()), votes.n_tasks - len(np.unique(codes[codes != MISSING]))
    are_most = 2 * n_unvoted > len(codes) and 2 * n_without > votes.n_tasks
    if 0 < n_unvoted < len(codes) and (n_unvoted == n_without or are_most):  # as many on both sides: ids are shifted
        other = model.tasks[int(np.argmax(codes == MISSING))]
        text = (
            f"{model.source}: {n_unvoted:,} tasks have no votes, such as {other!r}, and {n_without:,} tasks with votes "
        )
        text = f"{text}have no predictions; check that tasks are written and numbered alike"
        warnings.warn(text, FinegoldWarning, stacklevel=2)
    if n_unvoted == len(codes):
        seen = f"the predictions have {model.tasks[0]!r}, " if model.tasks else ""
        raise InputError(
            f"{model.source}: none of the {len(model.tasks):,} tasks has votes; check that tasks are written alike "
            f"({seen}the votes have {to_list(votes.task_names[:1])[0]!r})"
        )
