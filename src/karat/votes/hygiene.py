"""Labels as people write them: what is said of them when they become classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from karat.errors import KaratWarning
from karat.votes.frames import to_list
from karat.votes.labels import drop_missing
from karat.votes.names import Coded, text_of

__all__ = ["votes_in"]

DOUBTFUL = frozenset(["none", "-", "?"])  # mean "no vote" by default, but may be a class


def votes_in(cells: Coded, missing: Sequence[Any] | None, is_wide: bool = False) -> Coded:
    """Return the labels that are votes. Warn of words that may be classes, and of -1 if `is_wide`."""
    if missing is None:
        _warn_of_doubtful(cells)
    if missing is None and is_wide:
        _warn_of_minus_one(cells)
    return drop_missing(cells, missing)


def _warn_of_doubtful(cells: Coded) -> None:
    if found := _counts(cells, DOUBTFUL):
        words = ", ".join(f'"{name}" ({count:,})' for name, count in found.items())
        remedy = "--keep-missing (keep_missing=True in Python) keeps them as classes"
        _warn(f'the labels {words} are taken as "no vote"; {remedy}')


def _warn_of_minus_one(cells: Coded) -> None:
    for count in _counts(cells, frozenset(["-1"])).values():
        remedy = "say --missing -1 (missing=[-1] in Python)"
        _warn(
            f"the label -1 ({count:,}) is read as a class; "
            f'if it means "no vote", as in label matrices of Snorkel, {remedy}'
        )


def _counts(cells: Coded, words: frozenset[str]) -> dict[str, int]:
    """Return how often labels that are one of these words occur."""
    found = [(code, name) for code, name in enumerate(map(text_of, to_list(cells.names))) if name.casefold() in words]
    return {name: int(np.count_nonzero(cells.codes == code)) for code, name in found}


def _warn(text: str) -> None:
    warnings.warn(text, KaratWarning, stacklevel=6)
