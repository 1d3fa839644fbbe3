"""Helpers that several sections use: names as text, shares, how much of a list is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finegold.votes.encoding import Names, to_list

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# truth in rows, vote in columns
Matrix = list[list[float]]

# a narrow no-break space: 95 %
NARROW_SPACE = "\u202f"
# some tasks are named by their whole text
MAX_NAME_LENGTH = 200
# enough for a probability, and keeps the file small
DIGITS = 4

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
        return (
            f"{self.shown:,} of {self.total:,} shown, ordered by {self.order}; the rest is in"
            f" {self.rest}."
        )


def texts(names: Names, codes: ArrayLike | None = None) -> list[str]:
    """Return the names of these codes (default: all) as visible text, shortened if they are long."""
    chosen = names if codes is None else names.take(np.asarray(codes, dtype=np.int32))
    shown = [text if text.strip() else "(blank)" for text in map(str, to_list(chosen))]
    return [clip(text, MAX_NAME_LENGTH) for text in shown]


def clip(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def plain(values: ArrayLike) -> Any:
    """Convert to rounded floats for JSON: a number, a list or a list of lists."""
    return np.asarray(values, dtype=float).round(DIGITS).tolist()


def percent(share: float, digits: int = 0) -> str:
    """Format a share, e.g. 94 %. It is never rounded to 100 % or 0 % unless it is exactly that."""
    text = f"{100 * share:.{digits}f}"
    least = 10.0**-digits
    if share < 1 and float(text) >= 100:
        return f"over {100 - least:.{digits}f}{NARROW_SPACE}%"
    if share > 0 and float(text) <= 0:
        return f"under {least:.{digits}f}{NARROW_SPACE}%"
    return f"{text}{NARROW_SPACE}%"


def as_sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
