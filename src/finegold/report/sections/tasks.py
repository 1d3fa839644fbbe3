"""The tasks that a person should check: contested, tied, or labelled against the majority of their
votes.
"""

from __future__ import annotations

import numpy as np

from finegold.insight.majority import CLOSE, flipped_tasks, margins
from finegold.insight.votes import Flags
from finegold.report.sections.common import LABELS_TABLE, Shown, Subject, View, plain, texts
from finegold.results.data import ResultData
from finegold.results.matrices import evidence
from finegold.votes.annotations import votes_on
from finegold.votes.encoding import MISSING, Names
from finegold.votes.key import Key

# of a class without votes
MIN_SHOWN_PROBABILITY = 0.01
MAX_ROWS = 200
# that are listed for each task
MAX_VOTES = 30

# The reasons for doubt, each with its meaning.
REASONS = {
    "contested": f"the label leads the next class by less than {100 * CLOSE:.0f} percentage points",
    "tied": "several classes are equally probable",
    "flipped": "another class has more votes: the method gives the minority more weight",
}


def doubts(result: ResultData) -> dict[str, Flags]:
    """[T] Return the tasks in doubt for each of REASONS; those with gold never are."""
    open_, margin = result.gold == MISSING, margins(result)[1]
    close, tied = open_ & (margin < CLOSE), open_ & result.tied
    return {"contested": close, "tied": tied, "flipped": flipped_tasks(result)}


def tasks(subject: Subject) -> View:
    """Return the tasks in doubt, the least confident first."""
    result, in_doubt = subject.result, doubts(subject.result)
    codes = np.flatnonzero(np.any([*in_doubt.values()], axis=0))
    codes = codes[np.argsort(result.confidence[codes], kind="stable")]
    chosen, classes = codes[:MAX_ROWS], texts(result.class_names)
    names = texts(result.task_names, chosen)
    order = "confidence, the least confident first"
    return {
        "counts": {reason: int(mask.sum()) for reason, mask in in_doubt.items() if mask.any()},
        "rows": [
            {"task": name, **_row(result, i, classes, in_doubt, subject.key)}
            for i, name in zip(chosen.tolist(), names, strict=True)
        ],
        "shown": Shown(len(chosen), len(codes), order, LABELS_TABLE),
        "has_truths": subject.key is not None,
        # whether the weights of votes come from confusion matrices, and not from accuracies
        "has_matrices": result.learned.has_matrices,
    }


def _row(
    result: ResultData, i: int, classes: list[str], found: dict[str, Flags], key: Key | None
) -> View:
    """Return all details of a task."""
    votes, label, phi = result.annotations, int(result.label_codes[i]), result.posterior[i]
    # the annotators and the classes of all votes on the task; none on one with predictions only
    who = voted = np.empty(0, np.int32)
    if i < votes.n_tasks:
        _, who, voted = votes_on(votes, np.array([i]))
    counts = np.bincount(voted, minlength=len(classes))
    # the class with most votes if it is not the label, else the second most probable class
    rival = None
    if len(phi) > 1:
        others = np.where(np.arange(len(phi)) == label, -1.0, phi)
        rival = int(counts.argmax() if found["flipped"][i] else others.argmax())
    truth = MISSING if key is None else key.codes[i]
    listed, labels = who[:MAX_VOTES], voted[:MAX_VOTES]
    against = np.full_like(labels, label if rival is None else rival)
    weights = plain(evidence(result, listed, labels, np.full_like(labels, label), against))
    # the strongest support for the label first
    order = np.argsort(-np.asarray(weights), kind="stable").tolist()
    names, accuracies = (
        texts(result.annotator_names, listed),
        plain(result.annotator_accuracy[listed]),
    )
    seen = np.flatnonzero((counts > 0) | (phi >= MIN_SHOWN_PROBABILITY))
    # the class with most votes first
    seen = seen[np.lexsort((-phi[seen], -counts[seen]))]
    return {
        "label": classes[label],
        "confidence": plain(phi[label]),
        "rival": None if rival is None else classes[rival],
        "rival_probability": 0.0 if rival is None else plain(phi[rival]),
        "n_votes": int(result.votes_per_task[i]),
        "reasons": [reason for reason, mask in found.items() if mask[i]],
        "truth": None if key is None or truth < 0 else texts(Names([key.class_names[truth]]))[0],
        "right": bool(truth == label),
        # classes with votes or with a relevant probability: name, votes, probability
        "tally": [(classes[k], int(counts[k]), plain(phi[k])) for k in seen.tolist()],
        # annotator, label, accuracy, log odds of the task's label against its rival
        "votes": [(names[v], classes[labels[v]], accuracies[v], weights[v]) for v in order],
        "votes_left_out": max(len(who) - MAX_VOTES, 0),
    }
