"""What was read: votes by class, what was left out, spellings, and what looks wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finegold.report.sections.common import Shown, as_sentence, texts
from finegold.report.sections.subject import Subject
from finegold.results.data import votes_of
from finegold.votes.labels import visible

MAX_CLASSES = 30
MAX_GROUPS = 20


@dataclass(frozen=True)
class Spellings:
    """Spellings of one class and their votes; None for a truth."""

    spellings: list[tuple[str, int | None]]
    is_merged: bool


@dataclass(frozen=True)
class Reading:
    n_rows: int
    n_votes: int
    n_annotators: int
    n_tasks: int
    n_classes: int
    n_gold: int
    # name, number of votes
    classes: list[tuple[str, int]]
    shown: Shown
    left_out: list[tuple[str, int]]
    spellings: list[Spellings]
    alarms: list[str]


def reading(subject: Subject) -> Reading:
    result, votes = subject.result, votes_of(subject.result)
    counts, hygiene, n = result.counts, votes.hygiene, votes.votes_per_class
    most = np.argsort(-n, kind="stable")[:MAX_CLASSES]
    left_out = [
        ("votes without a label", counts.missing - sum(hygiene.no_vote.values())),
        *((f"“{word}”, which means no vote", n) for word, n in hygiene.no_vote.items()),
        ("repeated votes of an annotator on a task", counts.repeated),
        ("pairs of task and annotator whose repeated votes disagree", counts.disagreeing),
        ("tasks without any vote", len(result.unlabelled)),
        ("gold truths of tasks without votes", counts.gold_unused),
        *counts.left_out.items(),
    ]
    spellings = [
        Spellings([(visible(text), n) for text, n in group], finding.kind == "merged")
        for finding in hygiene.findings
        for group in finding.groups
    ]
    names = map(visible, texts(votes.class_names, most))
    return Reading(
        n_rows=counts.rows,
        n_votes=votes.n_votes,
        n_annotators=votes.n_annotators,
        n_tasks=votes.n_tasks,
        n_classes=votes.n_classes,
        n_gold=int((votes.gold >= 0).sum()),
        classes=list(zip(names, n[most].tolist(), strict=True)),
        shown=Shown(len(most), votes.n_classes, "number of votes", "the table of classes"),
        left_out=[(what, n) for what, n in left_out if n > 0],
        spellings=spellings[:MAX_GROUPS],
        alarms=[
            as_sentence(finding.text) for finding in hygiene.findings if finding.kind != "merged"
        ],
    )
