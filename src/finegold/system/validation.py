"""Validate arrays from a file before they are passed to compiled code, which does not check indices.

A `Field` gives the shape of an array, in names of sizes (T tasks, W annotators, K classes, S prototypes), its
dtype kind and the range of its values. An array that does not match raises a ValueError, to
which the caller adds the name of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Field", "check", "check_alike", "check_rows", "check_steps", "check_votes"]

FLOAT_SIZES = (4, 8)  # the sizes that compiled code supports
MAX_SUM_ERROR = 1e-3  # the allowed deviation of a sum of 32-bit probabilities from one


class Field(NamedTuple):
    shape: str  # one letter or digit per dimension; ".": any shape
    kinds: str  # kinds of NumPy dtypes: "b" booleans, "iu" integers, "f" floats
    low: float = -np.inf
    high: float | str = np.inf  # or the name of a size; values must be below it
    may_be_nan: bool = False


def check(arrays: Mapping[str, NDArray[Any]], fields: Mapping[str, Field], sizes: dict[str, int]) -> None:
    """Check the arrays that have a field. A size that is not in `sizes` is taken from the first array that has it."""
    for name, field in fields.items():
        if name in arrays:
            _check_shape(name, arrays[name], field, sizes)
            _check_values(name, arrays[name], field, sizes)


def check_rows(name: str, probabilities: NDArray[Any]) -> None:
    """Check that the rows sum to one."""
    sums = probabilities.sum(axis=-1, dtype=np.float64)
    _require(bool((np.abs(sums - 1) <= MAX_SUM_ERROR).all()), name, "has rows that do not sum to one")


def check_alike(name: str, values: NDArray[Any], template: NDArray[Any], *, same_integers: bool) -> None:
    """Check shape, kind and NaNs against the template; with `same_integers`, integers must be equal."""
    _require(values.shape == template.shape, name, f"has shape {values.shape}, not {template.shape}")
    if values.dtype.kind == "f":
        _require(not np.isnan(values).any() or bool(np.isnan(template).any()), name, "holds NaN")
    elif same_integers:
        _require(np.array_equal(values, template), name, "does not match the votes")
    alike = values.dtype.kind == template.dtype.kind or (values.size == 1 and values.dtype.kind in "iuf")
    _require(alike, name, f"holds {values.dtype}, not {template.dtype}")


def check_steps(steps: NDArray[Any]) -> None:
    """Check the steps: one row per sweep with restart, iteration, change and bound, which may be NaN."""
    check({"steps": steps}, {"steps": Field("N4", "f", may_be_nan=True)}, {})
    _require(len(steps) > 0, "steps", "is empty")
    check({"steps": steps[:, :2]}, {"steps": Field("N2", "f", 0, 2.0**53)}, {})


def check_votes(
    task_ptr: NDArray[Any],
    cell_ptr: NDArray[Any],
    cell_class: NDArray[Any],
    annotator: NDArray[Any],
    gold: NDArray[Any],
    sizes: Mapping[str, int],
) -> None:
    """Check the arrays of `Annotations` for everything that kernels rely on."""
    _check_pointers("task_ptr", task_ptr, sizes["T"], len(cell_class))
    _check_pointers("cell_ptr", cell_ptr, len(cell_class), len(annotator))
    check(
        {"cell_class": cell_class, "annotator": annotator, "gold": gold},
        {
            "cell_class": Field("C", "u", 0, "K"),
            "annotator": Field("L", "iu", 0, "W"),
            "gold": Field("T", "i", -1, "K"),
        },
        dict(sizes),
    )
    rises = cell_class[1:] > cell_class[:-1]
    rises[task_ptr[1:-1] - 1] = True  # the first class of a task may be smaller
    _require(bool(rises.all()), "cell_class", "has a class twice in a task, or classes that are not in order")


def _check_pointers(name: str, pointers: NDArray[Any], n: int, end: int) -> None:
    _require(pointers.dtype == np.int64 and pointers.shape == (n + 1,), name, f"is not {n + 1} integers")
    grows = pointers[0] == 0 and pointers[-1] == end and bool((pointers[1:] > pointers[:-1]).all())
    _require(grows, name, f"does not grow from 0 to {end}")


def _check_shape(name: str, array: NDArray[Any], field: Field, sizes: dict[str, int]) -> None:
    known = array.dtype.kind in field.kinds and (array.dtype.kind != "f" or array.dtype.itemsize in FLOAT_SIZES)
    _require(known, name, f"holds {array.dtype}")
    if field.shape == ".":
        return
    _require(array.ndim == len(field.shape), name, f"has {array.ndim} dimensions, not {len(field.shape)}")
    pairs = zip(field.shape, array.shape, strict=True)
    expected = tuple(int(size) if size.isdigit() else sizes.setdefault(size, found) for size, found in pairs)
    _require(array.shape == expected, name, f"has shape {array.shape}, not {expected}")


def _check_values(name: str, array: NDArray[Any], field: Field, sizes: dict[str, int]) -> None:
    if array.dtype.kind == "b" or not array.size or field.may_be_nan:
        return
    _require(bool(np.isfinite(array).all()), name, "holds NaN or infinity")
    high = sizes[field.high] - 1 if isinstance(field.high, str) else field.high
    inside = bool(array.min() >= field.low and array.max() <= high)
    _require(inside, name, f"has values outside {field.low} to {high}")


def _require(holds: bool, name: str, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"{name} {otherwise}")
