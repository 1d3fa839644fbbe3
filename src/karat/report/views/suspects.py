"""Annotators who copy from each other, and those who vote without looking."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from karat.encoding import MISSING
from karat.result import Result

__all__ = ["Group", "Suspects", "suspects"]


@dataclass(frozen=True)
class Group:
    """Annotators who agree more than their skill explains."""

    number: int
    members: list[str]
    excess: float  # 0 for independent annotators, 1 for copies


@dataclass(frozen=True)
class Suspects:
    group: NDArray[np.int64]  # [W] MISSING for those who are in none
    kind: list[str]  # [W] "" for those who are not suspected
    groups: list[Group] = field(default_factory=list)
    effective: float | None = None  # how many independent annotators they are worth
    warnings: list[str] = field(default_factory=list)


def suspects(result: Result) -> Suspects:
    n = len(result.accuracy)
    return Suspects(np.full(n, MISSING), [""] * n)
