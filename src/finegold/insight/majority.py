"""Compare labels with the majority vote: flipped tasks and the reasons, and contested tasks.

A task is flipped if its label has fewer votes than another class. A label that shares the most
votes with other classes is not a flip, and neither is a gold truth. Every count of flips uses this
definition (`finegold.kernels.cells.outvoted`).

The weight of a vote says how strongly it supports one class over another: log P(vote | one) - log
P(vote | other), from what the method learned about the annotator. Methods use votes in different
ways (PTBCC weighs prototypes for each task), so the weights explain the posterior of a task but
need not add up to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from finegold.errors import InputError
from finegold.insight.votes import Flags, Floats, single_labels
from finegold.kernels.cells import outvoted
from finegold.results.data import TASKS_PER_RUN, ResultData
from finegold.results.matrices import LEAST_PROBABILITY, evidence
from finegold.results.sets import outvoted_sets
from finegold.votes.annotations import Annotations, kernel_votes, votes_on
from finegold.votes.encoding import MISSING, Codes, listed, match, to_list
from finegold.votes.frames import make_frame

# of the tasks, from which a warning says how many labels depend on the rule for ties
TIED_SHARE = 0.3
# a label is contested if it leads the next class by less
CLOSE = 0.2
# number of annotators named on each side of a flip
MAX_NAMED = 3


def n_flips(result: ResultData) -> int:
    """Return the number of flipped tasks."""
    return int(np.count_nonzero(flipped_tasks(result)))


def flipped_tasks(result: ResultData) -> Flags:
    """[T] Return whether the label has fewer votes than another class; False for gold truths."""
    # A set of labels is flipped if this holds for any of its options.
    if result.label_sets is not None:
        return outvoted_sets(result)
    votes = result.annotations
    is_flipped = np.empty(votes.n_tasks, np.bool_)
    outvoted(kernel_votes(votes), votes.gold, result.label_codes, is_flipped)
    return is_flipped


def flips(result: ResultData) -> Any:
    """Return one row per flipped task, the most confident first, with the reasons."""
    result = single_labels(result)
    votes = result.annotations
    tasks = np.flatnonzero(flipped_tasks(result))
    tasks = tasks[np.argsort(-result.confidence[tasks], kind="stable")]
    label = result.label_codes[tasks]
    # [flipped tasks, K]
    position, who, voted = votes_on(result.annotations, tasks)
    shape = (len(tasks), votes.n_classes)
    n = np.bincount(position * shape[1] + voted, minlength=shape[0] * shape[1]).reshape(shape)
    majority = n.argmax(axis=1).astype(np.int32) if len(tasks) else label
    weight = evidence(result, who, voted, label[position], majority[position])
    names = [str(name) for name in to_list(result.annotator_names)]
    parts: list[list[tuple[float, str]]] = [[] for _ in tasks]
    for row, j, w in zip(position, who, weight.tolist(), strict=True):
        parts[row].append((w, names[j]))
    frequent = _prior_weight(result, label, majority).tolist()
    reasons = [_in_words(each, share) for each, share in zip(parts, frequent, strict=True)]
    at = np.arange(len(tasks))
    columns = {
        "task": result.task_names.take(tasks.astype(np.int32)),
        "majority": result.class_names.take(majority),
        "label": result.class_names.take(label),
        "confidence": result.confidence[tasks],
        "votes_majority": n[at, majority],
        "votes_label": n[at, label],
        "n_votes": result.votes_per_task[tasks],
        "why": np.array(reasons, dtype=np.str_),
    }
    return make_frame(columns, like=result.task_names)


def _in_words(parts: list[tuple[float, str]], class_shares: float) -> str:
    """Write the weights of votes for and against a label, the strongest first."""
    pro = sorted((part for part in parts if part[0] > 0), reverse=True)
    contra = sorted(part for part in parts if part[0] <= 0)
    said = []
    for side, some in (("for", pro), ("against", contra)):
        shown = listed((f"{name} {weight:+.1f}" for weight, name in some), MAX_NAMED)
        said += [f"{side}: {shown}"] if some else []
    return "; ".join([*said, f"class shares {class_shares:+.1f}"])


def contested(result: ResultData, below: float = CLOSE) -> Any:
    """Return the tasks whose label leads the next class by less than `below`, closest first."""
    result = single_labels(result)
    runner_up, margin = margins(result)
    tasks = np.flatnonzero((margin < below) & (result.gold == MISSING))
    tasks = tasks[np.argsort(margin[tasks], kind="stable")]
    columns = {
        "task": result.task_names.take(tasks.astype(np.int32)),
        "label": result.class_names.take(result.label_codes[tasks]),
        "runner_up": result.class_names.take(runner_up[tasks]),
        "confidence": result.confidence[tasks],
        "margin": margin[tasks],
        "n_votes": result.votes_per_task[tasks],
        "tied": result.tied[tasks],
    }
    return make_frame(columns, like=result.task_names)


def why(result: ResultData, task: Any, against: Any = None) -> Any:
    """Return one row per vote on this task; the first compares how frequent both classes are."""
    result = single_labels(result)
    code = int(match([task], result.task_names)[0])
    if code == MISSING:
        raise InputError(f"there is no task {task!r} with votes")
    label, (_, who, voted) = (
        result.label_codes[code],
        votes_on(result.annotations, np.array([code])),
    )
    if against is None:
        other = int(np.bincount(voted).argmax())
        other = other if other != label else int(margins(result)[0][code])
    elif (other := int(match([against], result.class_names)[0])) == MISSING:
        raise InputError(f"there is no class {against!r}; there are {to_list(result.class_names)}")
    sides = (np.full_like(voted, label), np.full_like(voted, other))
    weight = evidence(result, who, voted, *sides)
    order = np.argsort(-weight, kind="stable")
    columns = {
        "annotator": result.annotator_names.take(np.append(np.int32(MISSING), who[order])),
        "vote": result.class_names.take(np.append(np.int32(MISSING), voted[order])),
        "weight": np.append(_prior_weight(result, label, other), weight[order]),
        "accuracy": [None, *result.annotator_accuracy[who[order]].tolist()],
    }
    return make_frame(columns, like=result.annotator_names)


def margins(result: ResultData) -> tuple[Codes, Floats]:
    """[T] Return the most probable class other than the label, and by how much the label leads it."""
    rest = result.posterior.copy()
    np.put_along_axis(rest, result.label_codes[:, None].astype(np.int64), -1.0, axis=1)
    runner_up = rest.argmax(axis=1).astype(np.int32)
    # with a single class there is no other
    second = np.maximum(rest.max(axis=1), 0.0)
    return runner_up, result.confidence - second


def _prior_weight(result: ResultData, label: Codes, other: Codes | int) -> Floats:
    shares = np.log(np.maximum(result.learned.class_prior, LEAST_PROBABILITY))
    return np.asarray(shares[label] - shares[other])


# What the votes on a task say.
VOTED = {
    "unanimous": "all votes agree",
    "majority": "most votes are for one class",
    "tied": "the votes are tied",
    "single": "there is one vote",
}


class Voted(NamedTuple):
    """The number of tasks of each kind of VOTED."""

    unanimous: int
    majority: int
    tied: int
    single: int


def what_was_voted(votes: Annotations, tasks: Flags | None = None) -> Voted:
    """Return what the votes on these tasks, or on all, say without any method."""
    counts = np.zeros(4, np.int64)
    for start in range(0, votes.n_tasks, TASKS_PER_RUN):
        run = slice(start, start + TASKS_PER_RUN)
        ptr = votes.task_ptr[start : run.stop + 1].astype(np.int64)
        size, first = np.diff(votes.cell_ptr[ptr[0] : ptr[-1] + 1]), ptr[:-1] - ptr[0]
        most = np.repeat(np.maximum.reduceat(size, first), np.diff(ptr))
        is_tied = np.add.reduceat(size == most, first, dtype=np.int64) > 1
        is_single, is_one_class = np.add.reduceat(size, first) == 1, np.diff(ptr) == 1
        kinds = (is_one_class & ~is_single, ~is_one_class & ~is_tied, is_tied, is_single)
        counted = True if tasks is None else tasks[run]
        counts += np.count_nonzero(np.array(kinds) & counted, axis=1)
    return Voted(*counts.tolist())


def voted_in_words(voted: Voted) -> str:
    """Return a sentence: on how many tasks votes agree, and how to know what is right."""
    said = [f"{n:,} {VOTED[kind]}" for kind, n in voted._asdict().items() if n]
    first, _, rest = "; on ".join(said).partition(" ")
    return f"On {first} of {sum(voted):,} tasks {rest}"


def tie_warnings(result: ResultData) -> list[str]:
    """Warn if the votes of many tasks are tied: their labels depend on how the method breaks ties."""
    # the labels of one set have equally many votes
    if result.annotations.multi:
        return []
    tied = what_was_voted(result.annotations).tied
    if tied < max(TIED_SHARE * len(result.label_codes), 2):
        return []
    return [
        f"the votes of {tied:,} of {len(result.label_codes):,} tasks are tied: these labels depend"
        " on which annotators the method trusts, so ask for one more vote on each, or check some"
        " (finegold sample)"
    ]
