"""Votes that programs post, joined with those that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from karat.io.readers.assemble import count_more
from karat.studio.reading import Reading
from karat.votes.annotations import Annotations
from karat.votes.encoding import Names
from karat.votes.labels import is_missing
from karat.votes.merging import merge
from karat.votes.names import is_integer_text, text_of

__all__ = ["joined"]

Vote = Sequence[Any]  # task, annotator, label


def joined(votes: Annotations | None, posted: Sequence[Vote], wishes: Reading | None) -> Annotations:
    """All votes. If an annotator votes on a task again, the newer vote counts.

    What counts as the same name, and which labels are no votes, is as in the file (or in any, if there is none).
    """
    missing = None if wishes is None else wishes.missing
    given = [(task, annotator, None if is_missing(label, missing) else label) for task, annotator, label in posted]
    if votes is not None and all(label is None for _, _, label in given):
        return count_more(votes, rows=len(given), missing=len(given))
    kinds = [None] * 3 if votes is None else [votes.task_names, votes.annotator_names, votes.class_names]
    columns = [_column(values, names) for values, names in zip(zip(*given, strict=True), kinds, strict=True)]
    new = Annotations.from_arrays(*columns, repeated="last")
    return new if votes is None else merge(votes, new, repeated="last").votes


def _column(values: Sequence[Any], names: Names | None) -> NDArray[Any]:
    """As objects: NumPy would make text of numbers beside text."""
    column = np.empty(len(values), dtype=object)
    column[:] = values if _are_floats(names) else [_as_in_a_file(value) for value in values]
    return column


def _as_in_a_file(value: Any) -> Any:
    """An integer of 64 bits or a text, so that 7, 7.0 and "7" are one name and 0.5 makes no floats of the others."""
    if value is None or isinstance(value, bool):
        return value
    text = text_of(value)
    return int(text) if is_integer_text(text) and abs(int(text)) < 2**63 else text


def _are_floats(names: Names | None) -> bool:
    if isinstance(names, nw.Series):
        return bool(names.dtype.is_float())
    return names is not None and np.asarray(names).dtype.kind == "f"
