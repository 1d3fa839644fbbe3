"""Annotators whose votes are correlated, and possible spammers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finegold.insight import CorrelatedAnnotators, correlated_annotators
from finegold.insight.spam import spam
from finegold.report.views.common import plain, texts
from finegold.results.data import ResultData

__all__ = ["Group", "Suspects", "suspects"]

MAX_MEMBERS = 50  # that are named in each group

# What each value of `spam.kind` means.
KINDS = {
    "one class": "nearly always votes for one class",
    "random": "votes independently of the truth",
    "inverted": "is wrong more often than by chance",
}


@dataclass(frozen=True)
class Group:
    """Annotators who agree more than their accuracy explains."""

    number: int
    members: list[str]
    members_left_out: int
    excess: float  # 0 for independent annotators, 1 for copies


@dataclass(frozen=True)
class Suspects:
    group: NDArray[np.int64]  # [W] -1 for annotators in no group
    kind: list[str]  # [W] "" for annotators who are not suspected
    groups: list[Group]
    effective: float  # effective number of independent annotators


def suspects(result: ResultData, found: CorrelatedAnnotators | None = None) -> Suspects | None:
    """None where the votes are not known."""
    if result.annotations is None:
        return None
    found = found or correlated_annotators(result)
    return Suspects(found.group, spam(result).kind.tolist(), _groups(found), found.effective)


def _groups(found: CorrelatedAnnotators) -> list[Group]:
    groups = []
    for number, excess in enumerate(plain(found.excess)):
        members = np.flatnonzero(found.group == number)
        left_out = max(len(members) - MAX_MEMBERS, 0)
        groups.append(Group(number + 1, texts(found.names, members[:MAX_MEMBERS]), left_out, excess))
    return groups
