"""Cells that hold sets of labels: find them, and split them into options."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.votes.encoding import text_of

__all__ = ["NOTHING", "SEPARATORS", "as_cell", "hold_sets", "known_options", "options_of", "separator_of"]

NOTHING = "[]"  # the annotator saw the task and chose no option
SEPARATORS = (";", "|", ",")  # the first one that occurs separates the options of a column
CLEAR_SEPARATORS = (";", "|")  # commas occur in ordinary labels, such as Paris, Texas


def as_cell(options: Iterable[Any]) -> str:
    """Write a list or set of options as text that `options_of` reads."""
    return json.dumps([text_of(option) for option in options], ensure_ascii=False)


def separator_of(cells: Sequence[str]) -> str:
    """Return the character between the options of these cells."""
    plain = [cell for cell in cells if _listed(cell) is None]
    return next((mark for mark in SEPARATORS if any(mark in cell for cell in plain)), SEPARATORS[0])


def options_of(cell: str, separator: str) -> list[str]:
    """Return the options of a cell: a list in JSON or Python, or options with a separator between."""
    listed = _listed(cell)
    parts = cell.split(separator) if listed is None else listed
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def known_options(cell: str, known: set[str]) -> list[str]:
    """Return the options of a cell that was written apart from the votes, whose options are known."""
    if cell.strip() in known:
        return [cell.strip()]
    splits = [options_of(cell, mark) for mark in SEPARATORS]
    return next((options for options in splits if known.issuperset(options)), options_of(cell, separator_of([cell])))


def hold_sets(cells: Sequence[str], counts: NDArray[np.int64], *, of_export: bool = False) -> bool:
    """Return whether distinct cells, which occur so often, are sets: lists, or options with ; or | in most votes.

    An export writes | between the labels of one answer, so one such answer is enough if any of its labels occurs again.
    """
    if not any(mark in cell for cell in cells for mark in (*CLEAR_SEPARATORS, "[", "{")):
        return False
    separator = separator_of(cells)
    parts = [options_of(cell, separator) for cell in cells]
    several = np.array([len(some) > 1 for some in parts], dtype=bool)
    listed = np.array([_listed(cell) is not None for cell in cells], dtype=bool)
    plain = several & ~listed if separator in CLEAR_SEPARATORS else np.zeros(len(cells), dtype=bool)
    total = counts.sum()
    if 2 * counts[listed].sum() > total or (listed & several).any():
        return True
    if 2 * counts[plain].sum() > total:
        return bool(2 * counts[plain & (_recurring(parts) == 1)].sum() > total)
    return of_export and bool((plain & (_recurring(parts) > 0)).any())


def _recurring(parts: list[list[str]]) -> NDArray[np.float64]:
    """Return the share of each cell's options that occur in another cell, too."""
    occurs = Counter(option for some in parts for option in some)
    return np.array([sum(occurs[option] > 1 for option in some) / max(len(some), 1) for some in parts])


def _listed(cell: str) -> list[str] | None:
    """Return the items of a list or set such as ["a", "b"] or {'a', 'b'}, or None for any other text."""
    text = cell.strip()
    if not text.startswith(("[", "{")) or not text.endswith(("]", "}")):
        return None
    found = _parsed(text)
    if not isinstance(found, list | set) or not all(isinstance(item, str | int | float) for item in found):
        return None
    return [text_of(item) for item in found]


def _parsed(text: str) -> Any:
    """Parse JSON or a Python literal, which runs nothing. Return None for any other text."""
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return None
