"""Which labels are votes, and what is said of those that are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from finegold.votes.findings import Finding, count_no_votes, warn
from finegold.votes.frames import to_list
from finegold.votes.labels import drop_missing, is_missing
from finegold.votes.names import Coded, is_blank, text_of

__all__ = ["no_votes", "votes_in", "warn_of_doubtful"]

DOUBTFUL = frozenset(["none", "-", "?"])  # mean "no vote" by default, but may be a class


def votes_in(cells: Coded, missing: Sequence[Any] | None, is_wide: bool = False) -> Coded:
    """Return the labels that are votes. Warn of words that may be classes, and of -1 if `is_wide`."""
    found = drop_missing(cells, missing)
    words = no_votes(cells, found, missing)
    count_no_votes(words)
    if missing is None:
        warn_of_doubtful(words)
    if missing is None and is_wide:
        _warn_of_minus_one(cells)
    return found


def no_votes(cells: Coded, votes: Coded, missing: Sequence[Any] | None) -> dict[str, int]:
    """Return how often each word that means "no vote" occurs."""
    if len(cells.names) == len(votes.names):
        return {}
    names = to_list(cells.names)
    words = [(code, name) for code, name in enumerate(names) if not is_blank(name) and is_missing(name, missing)]
    return {text_of(name): int(np.count_nonzero(cells.codes == code)) for code, name in words}


def warn_of_doubtful(counts: Mapping[str, int]) -> None:
    found = {name: count for name, count in counts.items() if name.casefold() in DOUBTFUL}
    if found:
        words = ", ".join(f'"{name}" ({count:,})' for name, count in found.items())
        remedy = "; --keep-missing (keep_missing=True in Python) keeps them as classes"
        warn(Finding("no vote", f'the labels {words} are taken as "no vote"', remedy))


def _warn_of_minus_one(cells: Coded) -> None:
    codes = [code for code, name in enumerate(to_list(cells.names)) if text_of(name) == "-1"]
    if codes:
        count = int(np.count_nonzero(cells.codes == codes[0]))
        remedy = ", say --missing -1 (missing=[-1] in Python)"
        text = f'the label -1 ({count:,}) is read as a class; if it means "no vote", as in label matrices of Snorkel'
        warn(Finding("minus one", text, remedy))
