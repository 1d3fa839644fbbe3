"""Known truths in the codes of some votes, to judge labels by."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from karat.errors import InputError, KaratWarning
from karat.io.readers import read_truth
from karat.votes.annotations import Annotations
from karat.votes.encoding import MISSING, Codes, encode
from karat.votes.frames import to_list
from karat.votes.names import match, text_of

__all__ = ["Key", "read_key"]


class Key(NamedTuple):
    """The truths in codes; a truth that nobody voted for has a code beyond those of the classes."""

    codes: Codes  # [T]
    n_classes: int
    unused: int  # truths of tasks without votes


def read_key(votes: Annotations, truth: Any, task: str | None = None, label: str | None = None) -> Key:
    """Read the truths and match them to the tasks and classes of the votes."""
    tasks, truths = map(to_list, read_truth(truth, task=task, label=label))
    rows, codes = match(tasks, votes.task_names), match(truths, votes.class_names)
    beyond, new = encode([text_of(truths[i]) for i in np.flatnonzero(codes == MISSING)])
    codes[codes == MISSING] = votes.n_classes + beyond
    there = rows != MISSING
    if not there.any():
        where = f" in {truth}" if isinstance(truth, str | Path) else ""
        raise InputError(f"none of the {_truths(len(rows))}{where} belongs to a task with votes")
    if not there.all():
        words = f"{_truths(int((~there).sum()))} of tasks without votes cannot be judged and do not count"
        warnings.warn(words, KaratWarning, stacklevel=3)
    of_task = np.full(votes.n_tasks, MISSING, dtype=np.int32)
    of_task[rows[there]] = codes[there]
    return Key(of_task, votes.n_classes + len(new), int((~there).sum()))


def _truths(number: int) -> str:
    return f"{number:,} truth{'' if number == 1 else 's'}"
