"""Alarms: what looks wrong in votes that could be read, with the likely cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from finegold.votes.annotations import Annotations, Repeated
from finegold.votes.findings import Finding, warn
from finegold.votes.frames import to_list
from finegold.votes.names import text_of

__all__ = ["LOOKED_AT", "Totals", "alarm", "totals_of"]

SEPARATOR = re.compile(r"[;|,]")
MANY_CLASSES = 20  # fewer are usual, even in few votes
FEW_VOTES = 20  # that one annotator may cast to try things out
MANY_DISAGREEING, SHARE_DISAGREEING = 10, 0.01
TIMES_MORE_ANNOTATORS = 3  # than tasks
LOOKED_AT = 200  # names of tasks and annotators
PERSON = re.compile(
    r"(annotator|worker|rater|judge|user|coder|expert|ann|[arwu])[-_ ]?[0-9]+|\S+@\S+|A[0-9A-Z]{10,}", re.I
)
THING = re.compile(
    r"(task|item|image|img|document|doc|question|text|sentence|sample|example|row|[tiq])[-_ ]?[0-9]+"
    r"|.+\.(jpe?g|png|gif|wav|mp3|mp4|txt|pdf)|https?://.+|\S+( \S+){4,}",
    re.I,
)


class Totals(NamedTuple):
    """What the alarms look at."""

    n_votes: int
    n_tasks: int
    n_annotators: int
    class_names: list[Any]
    votes_per_class: Callable[[], NDArray[Any]]
    tasks: Sequence[Any]  # at most LOOKED_AT names
    annotators: Sequence[Any]
    disagreeing: int = 0  # pairs of task and annotator whose repeated votes disagree


def totals_of(votes: Annotations) -> Totals:
    return Totals(
        votes.n_votes,
        votes.n_tasks,
        votes.n_annotators,
        to_list(votes.class_names),
        lambda: votes.votes_per_class,
        to_list(votes.task_names[:LOOKED_AT]),
        to_list(votes.annotator_names[:LOOKED_AT]),
        votes.counts.disagreeing,
    )


def alarm(votes: Totals, repeated: Repeated = "first") -> None:
    """Warn of what looks wrong in the votes. With another rule for repeated votes than the default, they are known."""
    found = [_many_classes(votes), _several_labels(votes), _one_annotator(votes), _swapped(votes)]
    if repeated == "first":
        found.append(_disagreeing(votes))
    for finding in filter(None, found):
        warn(finding)


def _many_classes(votes: Totals) -> Finding | None:
    n_classes = len(votes.class_names)
    if n_classes <= MANY_CLASSES or n_classes * 2 <= votes.n_votes:
        return None
    text = f"there are {n_classes:,} classes in {votes.n_votes:,} votes; the labels look like free text or measurements"
    return Finding(
        "many classes",
        f"{text}, or another column holds the labels",
        ": name it with --label NAME (label= in Python)",
    )


def _several_labels(votes: Totals) -> Finding | None:
    """Warn of cat;dog if both cat and dog occur elsewhere, alone or in other cells of this kind."""
    names = list(map(text_of, votes.class_names))
    parts = [[part.strip() for part in SEPARATOR.split(name)] for name in names]
    if not any(len(some) > 1 for some in parts):
        return None
    occurs = Counter(part for some in parts for part in set(some))
    several = [code for code, some in enumerate(parts) if len(some) > 1 and all(_is_label(one, occurs) for one in some)]
    count = int(votes.votes_per_class()[several].sum())
    if not count:
        return None
    return Finding(
        "several labels",
        f"{count:,} votes hold several labels, such as {names[several[0]]}, which is read as a class of its own",
        "; if annotators may choose several labels, say --multi (multi=True in Python)",
    )


def _is_label(part: str, occurs: Counter[str]) -> bool:
    return bool(part) and occurs[part] > 1


def _one_annotator(votes: Totals) -> Finding | None:
    if votes.n_annotators != 1 or votes.n_votes < FEW_VOTES:
        return None
    return Finding(
        "one annotator",
        f"all {votes.n_votes:,} votes are those of one annotator, {votes.annotators[0]}, so nothing can be compared",
        "; if another column names the annotators, name it with --annotator NAME (annotator= in Python)",
    )


def _swapped(votes: Totals) -> Finding | None:
    """Warn of far more annotators than tasks if their names, too, look as if both columns were swapped."""
    if votes.n_annotators < TIMES_MORE_ANNOTATORS * votes.n_tasks:
        return None
    if not _mostly(votes.tasks, PERSON) and not _mostly(votes.annotators, THING):
        return None
    return Finding(
        "swapped",
        f"there are {votes.n_annotators:,} annotators, such as {votes.annotators[0]}, for {votes.n_tasks:,} tasks, "
        f"such as {votes.tasks[0]}; perhaps the columns of tasks and annotators are swapped",
        ": name them with --task NAME and --annotator NAME (task= and annotator= in Python)",
    )


def _mostly(names: Sequence[Any], pattern: re.Pattern[str]) -> bool:
    return bool(names) and 2 * sum(pattern.fullmatch(text_of(name)) is not None for name in names) > len(names)


def _disagreeing(votes: Totals) -> Finding | None:
    if votes.disagreeing < max(MANY_DISAGREEING, SHARE_DISAGREEING * votes.n_votes):
        return None
    return Finding(
        "disagreeing",
        f"{votes.disagreeing:,} pairs of task and annotator have votes that disagree; perhaps ids of tasks or "
        "annotators are not unique, or several questions are in one table",
        " (--repeated says which votes count)",
    )
