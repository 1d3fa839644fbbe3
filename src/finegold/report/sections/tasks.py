"""The tasks that a person should check: contested, tied, or labelled against the majority of their
votes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finegold.insight.majority import CLOSE, flipped_tasks, margins
from finegold.report.sections.common import LABELS_TABLE, Shown, plain, texts
from finegold.report.sections.subject import Subject
from finegold.results.data import ResultData, votes_of
from finegold.results.matrices import evidence
from finegold.votes.encoding import MISSING, Names
from finegold.votes.key import Key

Mask = NDArray[np.bool_]

# of a class without votes
MIN_SHOWN_PROBABILITY = 0.01
MAX_ROWS = 200
# that are listed for each task
MAX_VOTES = 30

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
    # number of tasks for each key of REASONS
    counts: dict[str, int]
    rows: list[TaskRow]
    shown: Shown
    has_truths: bool
    # whether the weights of votes come from confusion matrices, and not from accuracies
    has_matrices: bool


def doubts(result: ResultData) -> Doubts:
    open_ = result.gold == MISSING
    margin = margins(result)[1]
    return Doubts(open_ & (margin < CLOSE), open_ & result.tied, flipped_tasks(result))


def tasks(subject: Subject) -> Tasks:
    """Return the tasks in doubt, the least confident first."""
    result, key = subject.result, subject.key
    in_doubt = doubts(result)
    codes = np.flatnonzero(in_doubt.any)
    codes = codes[np.argsort(result.confidence[codes], kind="stable")]
    chosen = codes[:MAX_ROWS].tolist()
    return Tasks(
        counts={reason: int(getattr(in_doubt, reason).sum()) for reason in REASONS},
        rows=task_rows(result, chosen, in_doubt, key),
        shown=Shown(len(chosen), len(codes), "confidence, the least confident first", LABELS_TABLE),
        has_truths=key is not None,
        has_matrices=result.learned.has_matrices,
    )


def task_rows(
    result: ResultData, codes: list[int], found: Doubts, key: Key | None = None
) -> list[TaskRow]:
    """Return all details of these tasks, in this order. `found` comes from `doubts`."""
    classes, votes = texts(result.class_names), votes_of(result)
    rows = []
    for i, name in zip(codes, texts(result.task_names, codes), strict=True):
        label, phi = int(result.label_codes[i]), result.posterior[i]
        # the annotators and the classes of all votes on the task; none on one with predictions only
        who = voted = np.empty(0, np.int32)
        if i < votes.n_tasks:
            cells = slice(votes.task_ptr[i], votes.task_ptr[i + 1])
            ends = votes.cell_ptr[cells.start : cells.stop + 1]
            who = votes.annotator[ends[0] : ends[-1]]
            voted = np.repeat(votes.cell_class[cells], np.diff(ends)).astype(np.int32)
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
        names = texts(result.annotator_names, listed)
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
