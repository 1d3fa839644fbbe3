"""What was read: the classes with their votes, what was left out and why, spellings, and what looked wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finegold.report.views.common import Shown, texts
from finegold.results.data import ResultData
from finegold.votes.annotations import Annotations
from finegold.votes.findings import Finding, Hygiene
from finegold.votes.spellings import visible

__all__ = ["ClassVotes", "Reading", "Spellings", "reading"]

MAX_CLASSES = 30
MAX_GROUPS = 20


@dataclass(frozen=True)
class ClassVotes:
    name: str
    n: int
    share: float  # of the most frequent class


@dataclass(frozen=True)
class Spellings:
    """Spellings of one class and their votes; None for a truth."""

    spellings: list[tuple[str, int | None]]
    is_merged: bool


@dataclass(frozen=True)
class Reading:
    rows: int
    classes: list[ClassVotes]
    shown: Shown
    left_out: list[tuple[str, int]]
    spellings: list[Spellings]
    alarms: list[str]


def reading(result: ResultData) -> Reading:
    votes = result.annotations
    hygiene = Hygiene() if votes is None else votes.hygiene
    classes = [] if votes is None else _classes(votes)
    return Reading(
        rows=result.counts.rows,
        classes=classes,
        shown=Shown(len(classes), len(result.class_names), "number of votes", "the table of classes"),
        left_out=_left_out(result, hygiene),
        spellings=[one for finding in hygiene.findings for one in _spellings(finding)][:MAX_GROUPS],
        alarms=[_sentence(finding.text) for finding in hygiene.findings if finding.kind != "merged"],
    )


def _classes(votes: Annotations) -> list[ClassVotes]:
    counts = votes.votes_per_class
    most = np.argsort(-counts, kind="stable")[:MAX_CLASSES]
    names = map(visible, texts(votes.class_names, most))
    return [
        ClassVotes(name, int(counts[k]), float(counts[k] / counts.max())) for name, k in zip(names, most, strict=True)
    ]


def _left_out(result: ResultData, hygiene: Hygiene) -> list[tuple[str, int]]:
    """Return what was left out, why, and how often."""
    counts = result.counts
    rows = [
        ("votes without a label", counts.missing - sum(hygiene.no_vote.values())),
        *((f"“{word}”, which means no vote", n) for word, n in hygiene.no_vote.items()),
        ("repeated votes of an annotator on a task", counts.repeated),
        ("pairs of task and annotator whose repeated votes disagree", counts.disagreeing),
        ("tasks without any vote", len(result.unlabelled)),
        ("gold truths of tasks without votes", counts.gold_unused),
        *counts.left_out.items(),
    ]
    return [(what, n) for what, n in rows if n > 0]


def _spellings(finding: Finding) -> list[Spellings]:
    return [Spellings([(visible(text), n) for text, n in group], finding.kind == "merged") for group in finding.groups]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
