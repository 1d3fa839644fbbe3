"""Votes that programs post, joined with those that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from karat.annotations import Annotations
from karat.encoding import Names
from karat.merging import merge
from karat.readers.names import is_integer_text

__all__ = ["joined"]

Vote = Sequence[Any]  # task, annotator, label


def joined(votes: Annotations | None, posted: Sequence[Vote]) -> Annotations:
    """All votes. If an annotator votes on a task again, the newer vote counts."""
    columns = [list(column) for column in zip(*posted, strict=True)]
    if votes is None:
        return Annotations.from_arrays(*map(_objects, columns), repeated="last")
    kinds = (votes.task_names, votes.annotator_names, votes.class_names)
    alike = [_objects(_numbers(column, names)) for column, names in zip(columns, kinds, strict=True)]
    return merge(votes, Annotations.from_arrays(*alike, repeated="last"), repeated="last").votes


def _numbers(values: list[Any], names: Names) -> list[Any]:
    """The "7" of a program is a number where the file has numbers only."""
    kind = names.to_numpy().dtype.kind if isinstance(names, nw.Series) else np.asarray(names).dtype.kind
    return [int(value) if kind in "iu" and is_integer_text(value) else value for value in values]


def _objects(values: list[Any]) -> Any:
    """Names as they were posted: NumPy would make text of numbers beside text."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
