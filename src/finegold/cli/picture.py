"""Draw prototypes as heat maps in the terminal: the darker a cell, the more probable the vote."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["heat_map"]

SHADES = " ░▒▓█"
CELL_WIDTH = 8  # width in characters: shade, percentage, gap
MAX_NAME_LENGTH = 7


def heat_map(matrix: NDArray[np.float64], names: list[Any]) -> list[str]:
    """Return the lines of the heat map: truths in rows, votes in columns, a shade and a percentage per cell."""
    short = [_short(name) for name in names]
    margin = max(len("truth"), *map(len, short))
    head = " " * (margin + 2) + "".join(f"{name:<{CELL_WIDTH}}" for name in short)
    rows = [
        f"{name:>{margin}}  " + "".join(_cell(float(p)) for p in row) for name, row in zip(short, matrix, strict=True)
    ]
    return [line.rstrip() for line in (f"{'truth':>{margin}}  vote", head, *rows)]


def _cell(p: float) -> str:
    shade = SHADES[min(int(p * len(SHADES)), len(SHADES) - 1)]
    return f"{shade * 3}{100 * p:3.0f}".ljust(CELL_WIDTH)


def _short(name: Any) -> str:
    text = str(name)
    return text if len(text) <= MAX_NAME_LENGTH else text[: MAX_NAME_LENGTH - 1] + "…"
