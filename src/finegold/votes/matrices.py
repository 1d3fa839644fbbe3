"""Read votes from label matrices with one row per task and one column per annotator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finegold.errors import InputError
from finegold.votes.encoding import Codes, encode

__all__ = ["matrix_names", "matrix_votes"]


def matrix_votes(
    matrix: ArrayLike, abstain: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], tuple[int, int]]:
    """Return row, column and label of each vote, and the shape of the matrix."""
    values = _as_matrix(matrix)
    voted = _differs(values, abstain)
    if isinstance(matrix, np.ma.MaskedArray):
        voted &= ~np.ma.getmaskarray(matrix)
    row, column = np.nonzero(voted)
    return row, column, _whole(values[voted]), (values.shape[0], values.shape[1])


def matrix_names(given: Sequence[Any] | None, length: int, what: str) -> tuple[Codes, NDArray[Any]]:
    """Return the code of each row or column and the sorted names, by default numbers from 0."""
    if given is None:
        return np.arange(length, dtype=np.int32), np.arange(length)
    codes, names = encode(list(given))
    if len(codes) != length:
        raise InputError(f"{what} must have {length:,} names, one for each in the matrix, but has {len(codes):,}")
    if len(names) != length:
        raise InputError(f"{what} must be distinct names, but some are missing or repeated")
    return codes, names


def _as_matrix(matrix: Any) -> NDArray[Any]:
    if hasattr(matrix, "columns"):
        raise InputError(
            "this is a data frame, not a matrix; read it with finegold.read(frame, wide=True, missing=[-1])"
        )
    try:
        values = np.asarray(matrix)
    except ValueError as error:
        raise InputError(f"the rows of the matrix must be equally long ({error})") from None
    if values.ndim != 2:
        raise InputError(
            f"a label matrix has one row per task and one column per annotator, but the shape is {values.shape}"
        )
    is_mixed = values.dtype.kind == "U" and not isinstance(matrix, np.ndarray)  # NumPy turns [1, "a"] into text
    return np.asarray(matrix, dtype=object) if is_mixed else values


def _differs(values: NDArray[Any], abstain: Any) -> NDArray[np.bool_]:
    """Return which entries are votes. Missing values in arrays of objects are found when labels are encoded."""
    different: NDArray[np.bool_] = values != (str(abstain) if values.dtype.kind == "U" else abstain)
    if values.dtype.kind == "f":
        different = different & ~np.isnan(values)
    return different.astype(np.bool_)


def _whole(labels: NDArray[Any]) -> NDArray[Any]:
    """Convert floats to integers if all are whole, because missing values turn integers into floats."""
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.rint(labels)).all():
        return labels.astype(np.int64)
    return labels
