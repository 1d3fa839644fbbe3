"""What auto decided by: how well each candidate predicted votes that were hidden from it, and its share of the labels.

A result keeps it among its settings, as plain values, so that files and JSON have it, too.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Candidate", "Choice"]


@dataclass(frozen=True)
class Candidate:
    """One of the methods that auto chose among."""

    name: str
    score: float  # the mean log-probability that it gave to a hidden vote
    error: float  # the standard error of that
    share: float  # in the blend


@dataclass(frozen=True)
class Choice:
    hidden_votes: int
    candidates: list[Candidate]  # those who predicted best first

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Choice:
        return cls(kept["hidden_votes"], [Candidate(**one) for one in kept["candidates"]])
