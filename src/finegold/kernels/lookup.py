"""Map integers to codes: with an array if the values are close together, with a hash table if not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.jit import kernel

__all__ = ["EMPTY", "add_names", "codes_in_range", "first_rows", "mark", "refill"]

EMPTY = -1
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads adjacent values

Integers = NDArray[np.int32] | NDArray[np.int64]


@kernel
def mark(values: Integers, low: int, present: NDArray[np.bool_]) -> None:
    """Set present[v - low] for every value v."""
    for v in values:
        present[v - low] = True


@kernel
def codes_in_range(values: Integers, low: int, code_of: NDArray[np.int32], codes: NDArray[np.int32]) -> None:
    for row in range(values.size):
        codes[row] = code_of[values[row] - low]


def first_rows(codes: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """[n] Return the first row with each code."""
    rows = np.empty(n, np.int64)
    rows[codes[::-1]] = np.arange(codes.size - 1, -1, -1)  # of repeated indices, NumPy keeps the last
    return rows


@kernel
def find_slot(value: Any, table: NDArray[np.int32], names: NDArray[np.int64], shift: int) -> Any:
    """Return the slot of the value's code in the table, or the first free slot for it."""
    slot = np.int64((np.uint64(value) * SPREAD) >> np.uint64(shift))
    while table[slot] != EMPTY and names[table[slot]] != value:
        slot = (slot + 1) & (table.size - 1)
    return slot


@kernel
def refill(table: NDArray[np.int32], names: NDArray[np.int64], n: int, shift: int) -> None:
    """Insert n known names into an empty table of 2^(64 - shift) slots."""
    for code in range(n):
        table[find_slot(names[code], table, names, shift)] = code


@kernel
def add_names(
    values: Integers,
    first: int,
    table: NDArray[np.int32],  # IN/OUT
    names: NDArray[np.int64],  # IN/OUT half as long as the table, so that the table never fills up
    n: int,  # number of names so far
    shift: int,
    codes: NDArray[np.int32],  # OUT
) -> tuple[int, int]:
    """Assign codes by first appearance, from row `first` on, until full. Return the numbers of rows done and names."""
    for row in range(first, values.size):
        value = np.int64(values[row])
        slot = find_slot(value, table, names, shift)
        if table[slot] == EMPTY:
            if n == names.size:
                return row, n
            table[slot], names[n] = n, value
            n += 1
        codes[row] = table[slot]
    return values.size, n
