"""The labels of a result, looked up by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.io.readers.exports.export import SEVERAL
from karat.results.data import ResultData
from karat.votes.frames import to_list
from karat.votes.names import text_of

__all__ = ["Label", "Labels", "in_words_of"]


class Label(NamedTuple):
    label: Any
    confidence: float


@dataclass
class Labels:
    """Labels by the text of the task: the export may have the text "7" where the result has the number."""

    method: str
    classes: Sequence[Any]
    codes: NDArray[np.int32]  # [T]
    confidence: NDArray[np.floating[Any]]  # [T]
    row_of: dict[str, int]
    used: bool = False  # whether any task was found

    @classmethod
    def of(cls, result: ResultData) -> Labels:
        rows = {text_of(task): row for row, task in enumerate(to_list(result.task_names))}
        return cls(f"karat {result.method}", to_list(result.class_names), result.label_codes, result.confidence, rows)

    def get(self, task: Any) -> Label | None:
        """Return the label of a task, or None."""
        row = self.row_of.get(text_of(task))
        if row is None:
            return None
        self.used = True
        return Label(self.classes[self.codes[row]], float(self.confidence[row]))


def in_words_of(answers: list[Any], label: Any) -> Any:
    """Return the label as annotators wrote it: numbers as text where theirs are, several labels as a list.

    A label that no annotator gave is written like the first answer.
    """
    for answer in answers:
        if _written(answer) == text_of(label):
            return answer
    like = answers[0] if answers else label
    if isinstance(like, list):
        return text_of(label).split(SEVERAL)
    return text_of(label) if isinstance(like, str) else label


def _written(answer: Any) -> str:
    if isinstance(answer, list):
        return SEVERAL.join(sorted(map(text_of, answer)))
    return text_of(answer)
