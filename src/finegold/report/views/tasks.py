"""The tasks that a person should check: contested, tied, or labelled against the majority of their
votes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finegold.insight.majority import CLOSE, flipped_tasks, margins
from finegold.report.views.common import LABELS_TABLE, Shown, as_sentence, plain, texts
from finegold.results.data import ResultData
from finegold.results.matrices import evidence
from finegold.votes.encoding import MISSING, Names
from finegold.votes.hygiene import Hygiene
from finegold.votes.key import Key
from finegold.votes.labels import visible

Mask = NDArray[np.bool_]

# of a class without votes
MIN_SHOWN_PROBABILITY = 0.01
MAX_ROWS = 200
# that are listed for each task
MAX_VOTES = 30
WITHOUT_VOTES = (
    "This model was saved by an older version of Finegold, without its votes: fit again to include"
    " them."
)

# The reasons for doubt, each with its meaning.
REASONS = {
    "contested": (
        f"the label is less than {100 * CLOSE:.0f} percentage points more probable than the next"
        " class"
    ),
    "tied": "several classes are equally probable",
    "flipped": (
        "another class has more votes than the label: the method gives the minority more weight"
    ),
}


@dataclass(frozen=True)
class VoteRow:
    annotator: str
    label: str
    accuracy: float
    # log odds of the task's label against its rival
    weight: float


@dataclass(frozen=True)
class Tally:
    """A class with votes or with a relevant probability."""

    label: str
    votes: int
    probability: float


@dataclass(frozen=True)
class TaskRow:
    code: int
    task: str
    label: str
    confidence: float
    # the runner-up, or the majority's class if the label is another
    rival: str | None
    rival_probability: float
    n_votes: int
    # keys of REASONS
    reasons: list[str]
    gold: bool
    truth: str | None
    right: bool | None
    tally: list[Tally]
    votes: list[VoteRow]
    votes_left_out: int


@dataclass(frozen=True)
class Doubts:
    """Masks over all tasks. Tasks with gold are never in doubt."""

    contested: Mask
    tied: Mask
    flipped: Mask

    @property
    def any(self) -> Mask:
        return self.contested | self.tied | self.flipped


@dataclass(frozen=True)
class Tasks:
    n_contested: int
    n_tied: int
    n_flipped: int
    n_any: int
    # expected number of wrong labels among these
    errors_any: float
    # expected number of wrong labels among all tasks
    errors: float
    rows: list[TaskRow]
    shown: Shown
    # why votes are not shown
    absent: str | None


def doubts(result: ResultData) -> Doubts:
    open_ = result.gold == MISSING
    margin = margins(result)[1]
    flipped = (
        np.zeros(len(open_), np.bool_) if result.annotations is None else flipped_tasks(result)
    )
    return Doubts(open_ & (margin < CLOSE), open_ & result.tied, flipped)


def tasks(result: ResultData, key: Key | None = None, *, most: int = MAX_ROWS) -> Tasks:
    """Return the view of the tasks, the least confident first."""
    in_doubt = doubts(result)
    codes = np.flatnonzero(in_doubt.any)
    codes = codes[np.argsort(result.confidence[codes], kind="stable")]
    wrong = np.where(result.gold == MISSING, 1 - result.confidence, 0.0)
    return Tasks(
        n_contested=int(in_doubt.contested.sum()),
        n_tied=int(in_doubt.tied.sum()),
        n_flipped=int(in_doubt.flipped.sum()),
        n_any=len(codes),
        errors_any=float(wrong[codes].sum()),
        errors=float(wrong.sum()),
        rows=task_rows(result, codes[:most].tolist(), in_doubt, key),
        shown=Shown(
            min(most, len(codes)), len(codes), "confidence, the least confident first", LABELS_TABLE
        ),
        absent=None if result.annotations is not None else WITHOUT_VOTES,
    )


def task_rows(
    result: ResultData, codes: list[int], found: Doubts, key: Key | None = None
) -> list[TaskRow]:
    """Return all details of these tasks, in this order. `found` comes from `doubts`."""
    classes = texts(result.class_names)
    rows = []
    for i, name in zip(codes, texts(result.task_names, codes), strict=True):
        label, phi = int(result.label_codes[i]), result.posterior[i]
        # the annotators and the classes of all votes on the task
        who = voted = np.empty(0, np.int32)
        if i < (votes := result.annotations).n_tasks:
            cells = slice(votes.task_ptr[i], votes.task_ptr[i + 1])
            ends = votes.cell_ptr[cells.start : cells.stop + 1]
            who, voted = (
                votes.annotator[ends[0] : ends[-1]],
                np.repeat(votes.cell_class[cells], np.diff(ends)),
            )
            voted = voted.astype(np.int32)
        counts = np.bincount(voted, minlength=len(classes))
        # the class with most votes if it is not the label, else the second most probable class
        rival = None
        if len(phi) > 1:
            others = np.where(np.arange(len(phi)) == label, -1.0, phi)
            rival = int(counts.argmax() if found.flipped[i] else others.argmax())
        truth = None
        if key is not None and key.codes[i] != MISSING:
            truth = texts(Names([key.class_names[key.codes[i]]]))[0]
        listed, listed_votes = who[:MAX_VOTES], voted[:MAX_VOTES]
        sides = (
            np.full_like(listed_votes, side) for side in (label, label if rival is None else rival)
        )
        weights = plain(evidence(result, listed, listed_votes, *sides))
        names = texts(result.annotator_names, listed) if len(listed) else []
        accuracies, voted_for = plain(result.accuracy[listed]), [classes[k] for k in listed_votes]
        vote_rows = list(map(VoteRow, names, voted_for, accuracies, weights))
        seen = np.flatnonzero((counts > 0) | (phi >= MIN_SHOWN_PROBABILITY))
        # the class with most votes first
        seen = seen[np.lexsort((-phi[seen], -counts[seen]))]
        rows.append(
            TaskRow(
                code=i,
                task=name,
                label=classes[label],
                confidence=plain(phi[label]),
                rival=None if rival is None else classes[rival],
                rival_probability=0.0 if rival is None else plain(phi[rival]),
                n_votes=int(result.votes_per_task[i]),
                reasons=[reason for reason in REASONS if getattr(found, reason)[i]],
                gold=bool(result.gold[i] != MISSING),
                truth=truth,
                right=None if key is None or truth is None else bool(key.codes[i] == label),
                tally=[Tally(classes[k], int(counts[k]), plain(phi[k])) for k in seen.tolist()],
                # the strongest support for the label first
                votes=sorted(vote_rows, key=lambda row: -row.weight),
                votes_left_out=max(len(who) - MAX_VOTES, 0),
            )
        )
    return rows


MAX_CLASSES = 30
MAX_GROUPS = 20


@dataclass(frozen=True)
class ClassVotes:
    name: str
    n: int
    # of the most frequent class
    share: float


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
    votes, counts = result.annotations, result.counts
    hygiene, classes = Hygiene(), []
    if votes is not None:
        hygiene, n = votes.hygiene, votes.votes_per_class
        most = np.argsort(-n, kind="stable")[:MAX_CLASSES]
        names = map(visible, texts(votes.class_names, most))
        classes = [
            ClassVotes(name, int(n[k]), float(n[k] / n.max()))
            for name, k in zip(names, most, strict=True)
        ]
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
    return Reading(
        rows=counts.rows,
        classes=classes,
        shown=Shown(
            len(classes), len(result.class_names), "number of votes", "the table of classes"
        ),
        left_out=[(what, n) for what, n in left_out if n > 0],
        spellings=spellings[:MAX_GROUPS],
        alarms=[
            as_sentence(finding.text) for finding in hygiene.findings if finding.kind != "merged"
        ],
    )
