"""Known truths, to compare labels with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from karat.errors import InputError
from karat.io.readers import read_truth
from karat.report.views.common import texts
from karat.results.data import ResultData
from karat.votes.encoding import MISSING, Codes, encode
from karat.votes.frames import to_list
from karat.votes.names import match, text_of

__all__ = ["Key", "read_key"]


@dataclass(frozen=True)
class Key:
    """Truths as codes. A truth that nobody voted for has a code after those of the classes."""

    codes: Codes  # [T] MISSING where the truth is not known
    names: list[str]  # names of the classes, followed by classes that occur only in the truth
    unused: int = 0  # number of truths for tasks without votes

    def judges(self, result: ResultData) -> Codes:
        """Return the truths without those that the method was given as gold."""
        return np.where(result.gold == MISSING, self.codes, np.int32(MISSING))

    def name(self, task: int) -> str | None:
        code = int(self.codes[task])
        return None if code == MISSING else self.names[code]


def read_key(result: ResultData, truth: Any) -> Key:
    """Read truths from a path, a data frame or a mapping {task: class}."""
    tasks, truths = map(to_list, read_truth(truth))
    rows, codes = match(tasks, result.task_names), match(truths, result.class_names)
    beyond, new = encode([text_of(truths[i]) for i in np.flatnonzero(codes == MISSING)])
    codes[codes == MISSING] = len(result.class_names) + beyond
    there = rows != MISSING
    if not there.any():
        raise InputError(f"none of the {len(rows):,} truths belongs to a task with votes; compare the task names")
    of_task = np.full(len(result.label_codes), MISSING, dtype=np.int32)
    of_task[rows[there]] = codes[there]
    return Key(of_task, [*texts(result.class_names), *texts(new)], int((~there).sum()))
