"""Join the votes that programs post with the votes of a project."""

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


def joined(votes: Annotations | None, posted: Sequence[Vote], options: Reading | None) -> Annotations:
    """Return all votes. If an annotator votes on a task again, the newer vote counts.

    Names are matched, and missing labels recognised, as in the project's file (or as in any file, if there is none).
    """
    missing = None if options is None else options.missing
    given = [(task, annotator, None if is_missing(label, missing) else label) for task, annotator, label in posted]
    if votes is not None and all(label is None for _, _, label in given):
        return count_more(votes, rows=len(given), missing=len(given))
    kinds = [None] * 3 if votes is None else [votes.task_names, votes.annotator_names, votes.class_names]
    columns = [_column(values, names) for values, names in zip(zip(*given, strict=True), kinds, strict=True)]
    new = Annotations.from_arrays(*columns, repeated="last")
    return new if votes is None else merge(votes, new, repeated="last").votes


def _column(values: Sequence[Any], names: Names | None) -> NDArray[Any]:
    """Return an object array: otherwise NumPy would convert numbers to text where both occur."""
    column = np.empty(len(values), dtype=object)
    column[:] = values if _are_floats(names) else [_as_in_a_file(value) for value in values]
    return column


def _as_in_a_file(value: Any) -> Any:
    """Return a 64-bit integer or a text, so that 7, 7.0 and "7" are one name and 0.5 does not make others floats."""
    if value is None or isinstance(value, bool):
        return value
    text = text_of(value)
    return int(text) if is_integer_text(text) and abs(int(text)) < 2**63 else text


def _are_floats(names: Names | None) -> bool:
    if isinstance(names, nw.Series):
        return bool(names.dtype.is_float())
    return names is not None and np.asarray(names).dtype.kind == "f"
