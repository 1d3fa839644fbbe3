"""Operations on eight adjacent numbers, for loops over a few columns.

Entering a loop of unknown length costs more than eight additions; a loop of exactly eight becomes a few vector
instructions. Arrays are flat; `at` is the index of the first of the eight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import kernel

__all__ = ["LANES", "add_lanes", "largest_lane", "scale_lanes", "shift_lanes", "sum_rows"]

LANES = 8
EIGHT = np.uint64(LANES)

Floats = NDArray[np.float64]


@kernel
def largest_lane(x: Floats, at: Any) -> float:
    largest = x[at]
    for lane in range(EIGHT):
        largest = max(largest, x[at + lane])
    return float(largest)


@kernel
def add_lanes(x: Floats, at: Any, y: Floats, y_at: Any) -> None:
    for lane in range(EIGHT):
        x[at + lane] += y[y_at + lane]


@kernel
def shift_lanes(x: Floats, at: Any, number: float) -> None:
    for lane in range(EIGHT):
        x[at + lane] += number


@kernel
def scale_lanes(x: Floats, at: Any, number: float) -> None:
    for lane in range(EIGHT):
        x[at + lane] *= number


@kernel
def sum_rows(
    x: Floats, at: Any, start: Floats, table: Floats, column: Any, width: Any, rows: Any, first: Any, end: Any
) -> None:
    """x[at:...] = start[column:...] + the sum of table[r * width + column : ...] over r in rows[first:end]."""
    for lane in range(EIGHT):
        x[at + lane] = start[column + lane]
    for vote in range(first, end):
        here = np.uint64(rows[vote]) * width + column
        for lane in range(EIGHT):
            x[at + lane] += table[here + lane]
