"""Helpers that several views use: names as text, how much of a list is shown, intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from finegold.votes.encoding import Names
from finegold.votes.frames import take, to_list

__all__ = [
    "ANNOTATORS_TABLE",
    "LABELS_TABLE",
    "Floats",
    "Matrix",
    "Shown",
    "percent",
    "plain",
    "share_interval",
    "texts",
    "thousands",
]

Floats = NDArray[np.float64]
Matrix = list[list[float]]  # truth in rows, vote in columns

NARROW_SPACE = "\u202f"  # a narrow no-break space: 95 %
MAX_NAME_LENGTH = 200  # some tasks are named by their whole text
DIGITS = 4  # enough for a probability, and keeps the file small

# The tables that hold what a list of the report leaves out. The report does not write them.
ANNOTATORS_TABLE = "the table of annotators (finegold aggregate --annotators FILE)"
LABELS_TABLE = "the table of labels (finegold aggregate -o FILE)"


@dataclass(frozen=True)
class Shown:
    """How much of a list is shown, in which order, and where the rest is."""

    shown: int
    total: int
    order: str
    rest: str

    @property
    def is_cut(self) -> bool:
        return self.shown < self.total

    @property
    def words(self) -> str:
        if not self.is_cut:
            return f"All {self.total:,}, ordered by {self.order}."
        return f"{self.shown:,} of {self.total:,} shown, ordered by {self.order}; the rest is in {self.rest}."


def texts(names: Names, codes: ArrayLike | None = None) -> list[str]:
    """Return the names of these codes (default: all) as visible text, shortened if they are long."""
    chosen = names if codes is None else take(names, np.asarray(codes, dtype=np.int32))
    return [_visible(name) for name in to_list(chosen)]


def _visible(name: object) -> str:
    text = str(name)
    if len(text) > MAX_NAME_LENGTH:
        return f"{text[: MAX_NAME_LENGTH - 1]}…"
    return text if text.strip() else "(blank)"


def plain(values: ArrayLike) -> Any:
    """Convert to rounded floats for JSON: a number, a list or a list of lists."""
    return np.asarray(values, dtype=float).round(DIGITS).tolist()


def share_interval(right: float, n: float) -> tuple[float, float]:
    """Return the 95 % Jeffreys interval of a share, after `right` successes of n."""
    low, high = betaincinv(right + 0.5, n - right + 0.5, [0.025, 0.975])
    return float(low), float(high)


def percent(share: float, digits: int = 0) -> str:
    """Format a share, e.g. 94 %. It is never rounded to 100 % or 0 % unless it is exactly that."""
    text = f"{100 * share:.{digits}f}"
    least = 10.0**-digits
    if share < 1 and float(text) >= 100:
        return f"over {100 - least:.{digits}f}{NARROW_SPACE}%"
    if share > 0 and float(text) <= 0:
        return f"under {least:.{digits}f}{NARROW_SPACE}%"
    return f"{text}{NARROW_SPACE}%"


def thousands(number: float) -> str:
    return f"{number:,.0f}"
