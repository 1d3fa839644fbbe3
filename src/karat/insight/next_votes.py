"""Where the next votes are worth most: tasks to ask about, tasks that are safe, annotators to look after.

The gain of a task is how much one more vote is expected to raise the chance that a label drawn from its posterior is
right (kernels/gain.py), under who may vote next: each annotator as likely as they voted so far, and nobody twice on
a task. The chance that the most probable label is right would not do: it does not move where one vote cannot
overturn the label, though two could, so that nearly all tasks would look alike.

Annotators are taken in a few groups of alike accuracy, so that a million tasks take a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from karat.errors import InputError
from karat.kernels.expected_gain import expected_gain
from karat.kernels.parallel import in_threads, ranges
from karat.results.data import ResultData
from karat.results.predictions import group_matrices, votes_by_truth
from karat.votes.encoding import MISSING, look_up
from karat.votes.frames import make_frame, take, to_list

__all__ = ["Advice", "Plan", "expected_gains", "plan"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

GROUPS = 8  # of annotators
FEWEST_VOTES = 10  # of an annotator whom one may judge
NO_HELP = 0.1  # an annotator whose vote is worth less than this share of a usual one is no help
DOUBT = 0.05  # votes that chance explains at least so well may be chance
LEAST_SEEN = 0.5  # votes, in expectation, that make a class count as seen
LEAST_LEFT = 1e-12  # rounding is no annotator
ROOM = 2**22  # numbers in the confusion matrices that are worked on at once


class Advice(NamedTuple):
    """Drop: the votes say hardly anything. Retrain: they say something, but are clearly worse than usual."""

    annotator: int
    action: str
    why: str


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Where the next votes are worth most: the result of `Result.next`.

    Attributes
    ----------
    result : Result
        The result that the plan is for.
    gain : ndarray of shape (T,)
        How much one more vote is expected to raise the chance that a label drawn from the posterior is right.
    ask : ndarray of int
        Positions of the tasks to ask about, those with the largest gain first, no more than the budget.
    safe : ndarray of shape (T,)
        Whether the label of a task is as probable as was asked for.
    exhausted : ndarray of shape (T,)
        Whether everybody has voted on a task that is not safe.
    advice : list of Advice
        Annotators to retrain or to drop, and why.
    """

    result: ResultData
    gain: Floats
    ask: Codes
    safe: NDArray[np.bool_]
    exhausted: NDArray[np.bool_]
    advice: list[Advice]

    def __repr__(self) -> str:
        ask, safe, look_after = len(self.ask), int(self.safe.sum()), len(self.advice)
        return f"Plan({ask:,} tasks to ask about, {safe:,} safe; {look_after:,} annotators to look after)"

    def tasks(self) -> Any:
        """Return the tasks to ask about.

        Returns
        -------
        DataFrame
            With the columns task, label (so far), confidence, n_votes and gain, the largest gain first.
        """
        return self._table(self.ask)

    def safe_tasks(self) -> Any:
        """Return the tasks that need no further vote.

        Returns
        -------
        DataFrame
            With the same columns as `tasks`, the most probable labels first.
        """
        safe = np.flatnonzero(self.safe)
        return self._table(safe[np.argsort(-self.result.confidence[safe], kind="stable")])

    def annotators(self) -> Any:
        """Return the annotators to retrain or to drop.

        Returns
        -------
        DataFrame
            A row per annotator, with their votes, their accuracy and the reason.
        """
        result, who = self.result, np.array([one.annotator for one in self.advice], dtype=np.int64)
        columns = {
            "annotator": take(result.annotator_names, who.astype(np.int32)),
            "advice": [one.action for one in self.advice],
            "n_votes": result.votes_per_annotator[who],
            "accuracy": result.accuracy[who],
            "why": [one.why for one in self.advice],
        }
        return make_frame(columns, like=result.annotator_names)

    def _table(self, tasks: Codes) -> Any:
        result = self.result
        columns = {
            "task": result.task_names[tasks],
            "label": take(result.class_names, result.label_codes[tasks]),
            "confidence": result.confidence[tasks],
            "n_votes": result.votes_per_task[tasks],
            "gain": self.gain[tasks],
        }
        return make_frame(columns, like=result.task_names)


def plan(
    result: ResultData, budget: int | None = None, *, annotators: Sequence[Any] | None = None, safe: float = 0.95
) -> Plan:
    """What `ResultData.next` does."""
    if budget is not None and not (isinstance(budget, int | np.integer) and budget >= 1):
        raise InputError(f"budget must be a whole number, at least 1 vote, not {budget!r}")
    if not 0 < safe <= 1:
        raise InputError(f"safe must be a probability, not {safe}")
    gain, nobody = expected_gains(result, annotators)
    is_safe = (result.confidence >= safe) | (result.gold != MISSING)
    ask = _best(gain, np.flatnonzero(~(is_safe | nobody)), result.votes_per_task, budget)
    return Plan(result, gain, ask, is_safe, nobody & ~is_safe, _advice(result))


def _best(gain: Floats, tasks: Codes, votes: NDArray[np.int64], budget: int | None) -> Codes:
    """These tasks by gain, the first as many as the budget allows; of equal ones those with fewer votes."""
    if budget is not None and budget < len(tasks):
        tasks = np.sort(tasks[np.argpartition(-gain[tasks], budget - 1)[:budget]])
    return tasks[np.lexsort((votes[tasks], -gain[tasks]))]


def expected_gains(result: ResultData, annotators: Sequence[Any] | None = None) -> tuple[Floats, NDArray[np.bool_]]:
    """[T] the gain of one more vote, and on which tasks nobody who may vote is left."""
    activity = _activity(result, annotators)
    group = _groups(result.accuracy, activity)
    n_groups = int(group.max()) + 1
    matrices = np.ascontiguousarray(group_matrices(result, activity, group, n_groups).transpose(0, 2, 1))
    left = _left(result, activity, group, n_groups)
    gain = np.empty(len(left))

    def work(part: tuple[int, int]) -> None:
        rows = slice(*part)
        expected_gain(_less_sure(result.posterior[rows]), matrices, left[rows], gain[rows])

    in_threads(work, ranges(len(gain)))
    return gain, left.sum(axis=1) == 0


def _less_sure(posterior: Floats) -> Floats:
    """Of tasks with few votes a method is too sure: what it knows of annotators is taken for certain (docs/next.md)."""
    roots = np.sqrt(posterior, dtype=np.float64)
    less_sure: Floats = roots / roots.sum(axis=1, keepdims=True)
    return less_sure


def _activity(result: ResultData, annotators: Sequence[Any] | None) -> Floats:
    """[W] how likely each annotator is to vote next: by their votes so far, or only those named."""
    votes: Floats = result.votes_per_annotator / result.votes_per_annotator.sum()
    if annotators is None:
        return votes
    codes = look_up(list(annotators), result.annotator_names)
    if (codes == MISSING).any():
        raise InputError(f"there is no annotator {list(annotators)[int(np.argmin(codes))]!r}")
    named: Floats = np.zeros_like(votes)
    named[codes] = votes[codes] / votes[codes].sum()
    return named


def _groups(accuracy: Floats, activity: Floats) -> NDArray[np.int64]:
    """[W] annotators by accuracy, in groups that are about equally likely to vote."""
    order = np.argsort(accuracy, kind="stable")
    before = np.cumsum(activity[order]) - activity[order] / 2
    _, numbered = np.unique(np.minimum((before * GROUPS).astype(np.int64), GROUPS - 1), return_inverse=True)
    group = np.empty(len(order), np.int64)
    group[order] = numbered
    return group


def _left(result: ResultData, activity: Floats, group: NDArray[np.int64], n_groups: int) -> Floats:
    """[T, G] how likely a vote of each group is, without those who have voted on the task."""
    n_tasks = len(result.posterior)
    whole = np.bincount(group, activity, n_groups).astype(np.float64)
    if result.annotations is None:
        raise InputError("this model was saved without its votes; fit again with this Karat and save it")
    task, annotator, _ = result.annotations.votes()
    voted = np.bincount(task * np.int64(n_groups) + group[annotator], activity[annotator], n_tasks * n_groups)
    left: Floats = whole - voted.reshape(n_tasks, n_groups)
    left[left < LEAST_LEFT] = 0.0
    return left


def _advice(result: ResultData) -> list[Advice]:
    """Of annotators who are clearly less accurate than the median of all."""
    judged = result.votes_per_annotator >= FEWEST_VOTES
    if not judged.any():
        return []
    usual = float(np.median(result.accuracy[judged]))
    worse = np.flatnonzero(judged & (result.accuracy_high < usual))
    if not worse.size:
        return []
    worse = worse[np.argsort(result.accuracy[worse], kind="stable")]
    least = NO_HELP * _usual_worth(result)
    step = max(ROOM // len(result.class_names) ** 2, 1)
    runs = (worse[first : first + step] for first in range(0, len(worse), step))
    return [one for some in runs for one in _judge_some(result, some, usual, least)]


def _judge_some(result: ResultData, annotators: Codes, usual: float, least: float) -> list[Advice]:
    """Advice on these annotators; a vote must be worth `least` to be of help."""
    counts = votes_by_truth(result, annotators)
    no_help = _by_chance(counts) | (_worth(_shares(counts), result) < least)
    return [_judge(result, int(j), n, usual, bool(no)) for j, n, no in zip(annotators, counts, no_help, strict=True)]


def _by_chance(counts: Floats) -> NDArray[np.bool_]:
    """[n] whether votes and truths may as well be independent (chi-squared)."""
    n, rows, columns = counts.sum(axis=(1, 2)), counts.sum(axis=2), counts.sum(axis=1)
    expected = rows[:, :, None] * columns[:, None, :] / n[:, None, None]
    distance = np.divide((counts - expected) ** 2, expected, out=np.zeros_like(counts), where=expected > 0)
    freedom = ((rows > LEAST_SEEN).sum(axis=1) - 1) * ((columns > LEAST_SEEN).sum(axis=1) - 1)
    chance: NDArray[np.bool_] = (freedom < 1) | (chdtrc(np.maximum(freedom, 1), distance.sum(axis=(1, 2))) > DOUBT)
    return chance


def _usual_worth(result: ResultData) -> float:
    """Of a vote by anybody."""
    everybody = group_matrices(result, _activity(result, None), np.zeros(len(result.accuracy), np.int64), 1)
    return float(_worth(everybody, result)[0])


def _worth(matrices: Floats, result: ResultData) -> Floats:
    """[n] the gain of a vote on a task of which nothing is known."""
    tau = result.learned.class_prior
    joint = tau[:, None] * matrices
    p = np.maximum(joint.sum(axis=1), 1e-300)
    worth: Floats = ((joint**2).sum(axis=1) / p).sum(axis=1) - (tau**2).sum()
    return worth


def _shares(counts: Floats) -> Floats:
    """Confusion matrices; where a truth was hardly seen, as all votes of the annotator."""
    blind = counts.sum(axis=1, keepdims=True) / counts.sum(axis=(1, 2), keepdims=True)
    shares: Floats = (counts + blind) / (counts.sum(axis=2, keepdims=True) + 1)
    return shares


def _judge(result: ResultData, j: int, counts: Floats, usual: float, no_help: bool) -> Advice:
    low, high, votes = result.accuracy_low[j], result.accuracy_high[j], result.votes_per_annotator[j]
    right = f"right in {low:.0%} to {high:.0%} of {votes:,} votes, where {usual:.0%} is usual"
    if no_help:
        return Advice(j, "drop", f"{right}; the votes hardly depend on the truth")
    errors = counts * (1 - np.eye(len(counts)))
    k, vote = np.unravel_index(int(errors.argmax()), errors.shape)
    names, seen = to_list(result.class_names), counts[k].sum()
    share = errors[k, vote] / max(seen, 1e-300)
    return Advice(j, "retrain", f"{right}; votes {names[vote]} in {share:.0%} of about {seen:.0f} cases of {names[k]}")
