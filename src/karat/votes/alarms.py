"""Alarms: what looks wrong in votes that could be read, with the likely cause."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.errors import KaratWarning
from karat.votes.annotations import Annotations, Repeated
from karat.votes.frames import to_list
from karat.votes.names import text_of

__all__ = ["alarm"]

SEPARATOR = re.compile(r"[;|,]")
MANY_CLASSES = 20  # fewer are usual, even in few votes
FEW_VOTES = 20  # that one annotator may cast to try things out
MANY_DISAGREEING, SHARE_DISAGREEING = 10, 0.01


def alarm(votes: Annotations, repeated: Repeated = "first") -> None:
    """Warn of what looks wrong in the votes. With another rule for repeated votes than the default, they are known."""
    found = [_many_classes(votes), _several_labels(votes), _one_annotator(votes)]
    if repeated == "first":
        found.append(_disagreeing(votes))
    for text in filter(None, found):
        warnings.warn(text, KaratWarning, stacklevel=5)


def _many_classes(votes: Annotations) -> str | None:
    if votes.n_classes <= MANY_CLASSES or votes.n_classes * 2 <= votes.n_votes:
        return None
    return (
        f"there are {votes.n_classes:,} classes in {votes.n_votes:,} votes; the labels look like free text or "
        "measurements, or another column holds the labels: name it with --label NAME (label= in Python)"
    )


def _several_labels(votes: Annotations) -> str | None:
    """Warn of cat;dog if both cat and dog occur elsewhere, alone or in other cells of this kind."""
    names = list(map(text_of, to_list(votes.class_names)))
    parts = [[part.strip() for part in SEPARATOR.split(name)] for name in names]
    if not any(len(some) > 1 for some in parts):
        return None
    occurs = Counter(part for some in parts for part in set(some))
    several = [code for code, some in enumerate(parts) if len(some) > 1 and all(_is_label(one, occurs) for one in some)]
    count = int(_votes_per_class(votes)[several].sum())
    if not count:
        return None
    return (
        f"{count:,} votes hold several labels, such as {names[several[0]]}, which is read as a class of its own; if "
        "annotators may choose several labels, give each label a task with the classes yes and no"
    )


def _is_label(part: str, occurs: Counter[str]) -> bool:
    return bool(part) and occurs[part] > 1


def _votes_per_class(votes: Annotations) -> NDArray[Any]:
    counts: NDArray[Any] = np.bincount(votes.cell_class, np.diff(votes.cell_ptr), minlength=votes.n_classes)
    return counts


def _one_annotator(votes: Annotations) -> str | None:
    if votes.n_annotators != 1 or votes.n_votes < FEW_VOTES:
        return None
    return (
        f"all {votes.n_votes:,} votes are those of one annotator, {to_list(votes.annotator_names)[0]}, so nothing can "
        "be compared; if another column names the annotators, name it with --annotator NAME (annotator= in Python)"
    )


def _disagreeing(votes: Annotations) -> str | None:
    count = votes.counts.disagreeing
    if count < max(MANY_DISAGREEING, SHARE_DISAGREEING * votes.n_votes):
        return None
    return (
        f"{count:,} pairs of task and annotator have votes that disagree; perhaps ids of tasks or annotators are not "
        "unique, or several questions are in one table (--repeated says which votes count)"
    )
