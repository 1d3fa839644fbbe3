"""Prototypes as a picture in the terminal: the darker, the more probable."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["heat_map"]

SHADES = " ░▒▓█"
CELL = 8  # characters of a cell: shade, percentage, gap
LONGEST_NAME = 7


def heat_map(matrix: NDArray[np.float64], names: list[Any]) -> list[str]:
    """Lines: truth in rows, votes in columns, each cell a shade and a percentage."""
    short = [_short(name) for name in names]
    margin = max(len("truth"), *map(len, short))
    head = " " * (margin + 2) + "".join(f"{name:<{CELL}}" for name in short)
    rows = [
        f"{name:>{margin}}  " + "".join(_cell(float(p)) for p in row) for name, row in zip(short, matrix, strict=True)
    ]
    return [line.rstrip() for line in (f"{'truth':>{margin}}  vote", head, *rows)]


def _cell(p: float) -> str:
    shade = SHADES[min(int(p * len(SHADES)), len(SHADES) - 1)]
    return f"{shade * 3}{100 * p:3.0f}".ljust(CELL)


def _short(name: Any) -> str:
    text = str(name)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
