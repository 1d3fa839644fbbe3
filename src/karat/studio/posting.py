"""Votes that programs post, joined with those that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from karat.annotations import Annotations
from karat.merging import merge

__all__ = ["joined"]

Vote = Sequence[Any]  # task, annotator, label


def joined(votes: Annotations | None, posted: Sequence[Vote]) -> Annotations:
    """All votes. If an annotator votes on a task again, the newer vote counts."""
    columns = [_objects(list(column)) for column in zip(*posted, strict=True)]
    new = Annotations.from_arrays(*columns, repeated="last")
    return new if votes is None else merge(votes, new, repeated="last").votes


def _objects(values: list[Any]) -> Any:
    """Names as they were posted: NumPy would make text of numbers beside text."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
