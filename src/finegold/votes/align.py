"""Match the tasks of predictions to the tasks of votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING
from finegold.votes.frames import series_like, to_list
from finegold.votes.names import match, text_of
from finegold.votes.predictions import Predictions

__all__ = ["ModelOutput", "align", "outputs_of"]


class ModelOutput(NamedTuple):
    """The predictions of one model: distinct tasks, and probabilities in the order of the classes of the votes."""

    name: str
    tasks: list[Any]
    probabilities: NDArray[np.float64]  # [n, K]


def align(outputs: Sequence[ModelOutput], votes: Annotations) -> Predictions:
    """Return the predictions in the order of the tasks with votes, followed by the tasks without votes."""
    places = [match(output.tasks, votes.task_names) for output in outputs]
    others = [np.flatnonzero(place == MISSING).tolist() for place in places]
    new = {text_of(one.tasks[row]): one.tasks[row] for one, rows in zip(outputs, others, strict=True) for row in rows}
    names = sorted(new.values(), key=_numbers_first)
    row_of = {text_of(name): votes.n_tasks + row for row, name in enumerate(names)}
    aligned = np.zeros((len(outputs), votes.n_tasks + len(names), votes.n_classes))
    for model, (output, place, rows) in enumerate(zip(outputs, places, others, strict=True)):
        place = place.astype(np.int64)
        place[rows] = [row_of[text_of(output.tasks[row])] for row in rows]
        aligned[model, place] = output.probabilities
    return Predictions([output.name for output in outputs], aligned, series_like(names, votes.task_names))


def outputs_of(predictions: Predictions, votes: Annotations) -> list[ModelOutput]:
    """Return predictions that were aligned with these votes as they were before `align`."""
    tasks = [*to_list(votes.task_names), *to_list(predictions.task_names)]
    return [
        ModelOutput(name, [tasks[row] for row in np.flatnonzero(known).tolist()], probabilities[known])
        for name, probabilities, known in zip(
            predictions.models, predictions.probabilities, predictions.known, strict=True
        )
    ]


def _numbers_first(task: Any) -> tuple[bool, Any]:
    return (False, task) if isinstance(task, int | float) else (True, str(task))
