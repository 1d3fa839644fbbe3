"""Find the name that a misspelt one probably means."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return text such as "; did you mean ptbcc?" for the end of a message, or nothing if no name is near."""
    near = difflib.get_close_matches(name.lower(), list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
