"""Names -> integer codes. After this, nothing in the core sees a name again."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["MISSING", "Codes", "Names", "as_column", "encode", "encode_integers", "look_up"]

MISSING = -1

Codes = NDArray[np.int32]


class Names(Protocol):
    """Distinct names in sorted order: a NumPy array, or a series of the user's data-frame library."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...


def as_column(values: ArrayLike) -> NDArray[Any]:
    """A one-dimensional array that keeps what is in it: NumPy's own strings would turn [1, "a"] into
    ["1", "a"], and drop zeros at the end of a text."""
    column = np.asarray(values)
    if column.dtype.kind == "U" and not isinstance(values, np.ndarray):
        items = list(values)  # type: ignore[arg-type]  # a sequence, or NumPy would not have made strings of it
        column = np.empty(len(items), dtype=object)
        column[:] = items
    return column.reshape(-1)


def encode(values: ArrayLike) -> tuple[Codes, NDArray[Any]]:
    """Codes into the sorted distinct names, MISSING where a value is None, NaN or NaT; and those names."""
    column = as_column(values)
    if column.dtype.kind in "iub":
        return encode_integers(column)
    if column.dtype.kind == "O":
        return _encode_objects(column)
    missing = _is_missing(column)
    names, inverse = np.unique(column[~missing], return_inverse=True)
    codes = np.full(column.size, MISSING, dtype=np.int32)
    codes[~missing] = inverse
    return codes, names


def encode_integers(column: NDArray[Any]) -> tuple[Codes, NDArray[Any]]:
    """Integers of a narrow range are counted, not sorted."""
    if column.size == 0:
        return np.empty(0, np.int32), column
    low, high = int(column.min()), int(column.max())
    if column.dtype.kind == "b" or high - low > 4 * column.size + 1000:
        names, inverse = np.unique(column, return_inverse=True)
        return inverse.astype(np.int32), names
    wide = column.astype(np.int64) if column.dtype.itemsize < 8 else column  # int8: 100 - -100 overflows
    offset = (wide - wide.dtype.type(low)).astype(np.int64, copy=False)
    present = np.zeros(high - low + 1, dtype=bool)
    present[offset] = True
    code_of = np.cumsum(present, dtype=np.int32) - np.int32(1)
    names = (np.flatnonzero(present) + low).astype(column.dtype)
    return code_of[offset], names


def look_up(values: ArrayLike, names: Names) -> Codes:
    """The codes of values among names; MISSING where a value is not there."""
    code_of = {name: code for code, name in enumerate(np.asarray(names, dtype=object).tolist())}
    found = [code_of.get(value, MISSING) for value in np.asarray(values, dtype=object).tolist()]
    return np.array(found, dtype=np.int32)


def _encode_objects(column: NDArray[Any]) -> tuple[Codes, NDArray[Any]]:
    items = column.tolist()
    distinct = {item for item in items if not _absent(item)}
    try:
        ordered = sorted(distinct)
    except TypeError:  # mixed kinds: by kind, then by value
        ordered = sorted(distinct, key=lambda item: (type(item).__name__, str(item)))
    names = np.empty(len(ordered), dtype=object)
    names[:] = ordered
    code_of = {name: code for code, name in enumerate(ordered)}
    return np.array([code_of.get(item, MISSING) for item in items], dtype=np.int32), names


def _is_missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind in "fmM":
        return np.asarray(column != column)  # NaN and NaT differ from themselves
    return np.zeros(column.size, dtype=bool)


def _absent(item: object) -> bool:
    return item is None or item != item  # NaN differs from itself
