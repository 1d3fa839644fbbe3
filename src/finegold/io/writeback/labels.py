"""The labels of a result, looked up by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.io.exports.base import SEVERAL
from finegold.results.data import ResultData
from finegold.votes.frames import to_list
from finegold.votes.names import text_of

__all__ = ["Label", "Labels", "in_words_of"]


class Label(NamedTuple):
    label: Any
    confidence: float


@dataclass
class Labels:
    """Labels by the text of the task: the export may have the text "7" where the result has the number."""

    method: str
    labels: Sequence[Any]  # [T] names of classes, or lists of options
    confidence: NDArray[np.floating[Any]]  # [T]
    row_of: dict[str, int]
    used: bool = False  # whether any task was found

    @classmethod
    def of(cls, result: ResultData) -> Labels:
        rows = {text_of(task): row for row, task in enumerate(to_list(result.task_names))}
        labels = to_list(result.label) if result.label_sets is None else result.sets()
        return cls(f"finegold {result.method}", labels, result.confidence, rows)

    def get(self, task: Any) -> Label | None:
        """Return the label of a task, or None."""
        row = self.row_of.get(text_of(task))
        if row is None:
            return None
        self.used = True
        return Label(self.labels[row], float(self.confidence[row]))


def in_words_of(answers: list[Any], label: Any) -> Any:
    """Return the label as annotators wrote it: numbers as text where theirs are, several labels as a list.

    A label that no annotator gave is written like the first answer.
    """
    if isinstance(label, list):
        return _set_in_words_of(answers, label)
    for answer in answers:
        if _written(answer) == text_of(label):
            return answer
    like = answers[0] if answers else label
    if isinstance(like, list):
        return text_of(label).split(SEVERAL)
    return text_of(label) if isinstance(like, str) else label


def _set_in_words_of(answers: list[Any], options: list[str]) -> list[Any]:
    """Return the options of a set as annotators wrote them: numbers as numbers where theirs are."""
    parts = [part for answer in answers for part in (answer if isinstance(answer, list) else [answer])]
    word_of = {text_of(part): part for part in parts if not isinstance(part, list | dict)}
    return [word_of.get(option, option) for option in options]


def _written(answer: Any) -> str:
    if isinstance(answer, list):
        return SEVERAL.join(sorted(map(text_of, answer)))
    return text_of(answer)
