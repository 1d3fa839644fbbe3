"""Plan the next votes: tasks to ask about, tasks that are safe, annotators to retrain or drop.

The gain of a task is the expected increase, with one more vote, of the probability that a label
drawn from its posterior is right. The probability of the most probable label is not an alternative:
it does not change if one vote cannot change the label, although two could, so nearly all tasks
would have the same gain. The next annotator is drawn in proportion to the votes cast so far, among
those who have not voted on the task; annotators of similar accuracy form a few groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from finegold.errors import InputError
from finegold.insight.spam import spam
from finegold.insight.votes import Flags, Floats, Integers, add_up, single_labels
from finegold.kernels.compiling import in_threads
from finegold.results.data import ResultData, suggested_accuracies
from finegold.results.matrices import group_matrices, votes_by_truth
from finegold.results.tables import own_name, with_predicted_tasks
from finegold.votes.encoding import MISSING, match, to_list
from finegold.votes.frames import make_frame

# in a notebook; groups of annotators
TASKS_SHOWN, N_GROUPS = 5, 8
# annotators with fewer votes get no advice: bench/trust/promises.py
MIN_VOTES = 20
# between what their votes suggest at most and the usual accuracy
MIN_GAP = 0.05
# expected votes on tasks of a class, below which its confusion is not named
MIN_CASES = 10


class Advice(NamedTuple):
    """Drop an annotator whose votes are useless, retrain one who is clearly worse than usual."""

    annotator: int
    action: str
    why: str


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Where the next votes are worth most: the result of `finegold.next_votes`.

    Attributes:
        result (Result): The result that the plan is for.
        gain (ndarray of shape (T,)): How much one more vote is expected to raise the chance that a
            label drawn from the posterior is right.
        ask (ndarray of int): Positions of the tasks to ask about, those with the largest gain
            first, no more than the budget.
        safe (ndarray of shape (T,)): Whether the label of a task has the required probability.
        exhausted (ndarray of shape (T,)): Whether everybody has voted on a task that is not safe.
        advice: Annotators to retrain or to drop, and why.
    """

    result: ResultData
    gain: Floats
    ask: Integers
    safe: Flags
    exhausted: Flags
    advice: list[Advice]

    def __repr__(self) -> str:
        ask, safe, some = len(self.ask), int(self.safe.sum()), len(self.advice)
        return f"Plan({ask:,} tasks to ask about, {safe:,} safe; {some:,} annotators to look after)"

    def _repr_html_(self) -> str:
        from finegold.insight.notebook import frame_html

        names = to_list(self.result.annotator_names)
        title = f"<b>Plan</b>: {len(self.ask):,} tasks to ask about, {int(self.safe.sum()):,} safe"
        advice = [f"{each.action} {names[each.annotator]}: {each.why}" for each in self.advice]
        return frame_html(title, self.tasks(), advice[:TASKS_SHOWN], most=TASKS_SHOWN)

    def tasks(self) -> Any:
        """Return the tasks to ask about.

        Returns:
            DataFrame: With the columns task, label (so far), confidence, n_votes and gain, the
                largest gain first.
        """
        return self._table(self.ask)

    def safe_tasks(self) -> Any:
        """Return the tasks that need no further vote.

        Returns:
            DataFrame: With the same columns as `tasks`, the most probable labels first.
        """
        safe = np.flatnonzero(self.safe)
        return self._table(safe[np.argsort(-self.result.confidence[safe], kind="stable")])

    def annotators(self) -> Any:
        """Return the annotators to retrain or to drop.

        Returns:
            DataFrame: With one row per annotator: their votes, their accuracy and the reason.
        """
        result = self.result
        who = np.array([each.annotator for each in self.advice], dtype=np.int64)
        columns = {
            "annotator": result.annotator_names.take(who.astype(np.int32)),
            "advice": [each.action for each in self.advice],
            "n_votes": result.votes_per_annotator[who],
            "accuracy": result.annotator_accuracy[who],
            "why": [each.why for each in self.advice],
        }
        return own_name(make_frame(columns, like=result.annotator_names), result.annotations, 1)

    def _table(self, tasks: Integers) -> Any:
        result, labels = self.result, self.result.label_codes[tasks]
        is_single = result.label_sets is None
        columns = {
            "task": result.task_names[tasks],
            "label": result.class_names.take(labels) if is_single else result.label[tasks],
            "confidence": result.confidence[tasks],
            "n_votes": result.votes_per_task[tasks],
            "gain": self.gain[tasks],
        }
        return own_name(make_frame(columns, like=result.task_names), result.annotations, 0)


def plan(
    result: ResultData,
    budget: int | None = None,
    *,
    annotators: Sequence[Any] | None = None,
    safe: float = 0.95,
) -> Plan:
    """Plan the next votes, as `finegold.next_votes` does."""
    if budget is not None and not (isinstance(budget, int | np.integer) and budget >= 1):
        raise InputError(f"budget must be a whole number, at least 1 vote, not {budget!r}")
    if not 0 < safe <= 1:
        raise InputError(f"safe must be a probability, not {safe}")
    result = with_predicted_tasks(result)
    asked = single_labels(result)
    gain, nobody = expected_gains(asked, annotators)
    # one more annotator answers all options of a task
    if asked is not result:
        shape = result.posterior.shape
        gain, nobody = gain.reshape(shape).sum(axis=1), nobody.reshape(shape).max(axis=1)
    is_safe = (result.confidence >= safe) | (result.gold != MISSING)
    tasks = np.flatnonzero(~(is_safe | nobody))
    # equal gains by their number of votes
    tasks = tasks[np.lexsort((result.votes_per_task[tasks], -gain[tasks]))][:budget]
    return Plan(result, gain, tasks, is_safe, nobody & ~is_safe, advice_on_annotators(asked))


def expected_gains(
    result: ResultData, annotators: Sequence[Any] | None = None
) -> tuple[Floats, Flags]:
    """[T] Return the gain of one more vote, and whether every annotator has voted."""
    activity: Floats = result.votes_per_annotator / result.votes_per_annotator.sum()
    if annotators is not None:
        codes = match(list(annotators), result.annotator_names)
        if (codes == MISSING).any():
            raise InputError(f"there is no annotator {list(annotators)[int(np.argmin(codes))]!r}")
        is_named = np.isin(np.arange(len(activity)), codes)
        activity = np.where(is_named, activity / activity[is_named].sum(), 0.0)
    group = _groups(result.annotator_accuracy, activity)
    n_groups = int(group.max()) + 1
    matrices = group_matrices(result, activity, group, n_groups)
    task, annotator, _ = result.annotations.votes()
    n_tasks, cell = len(result.posterior), task * np.int64(n_groups) + group[annotator]
    voted = add_up(cell, activity[annotator], n_tasks * n_groups).reshape(n_tasks, n_groups)
    # [T, G] of a vote from each group, without rounding errors
    left = np.maximum((add_up(group, activity, n_groups) - voted).round(12), 0.0)
    gain = np.empty(n_tasks)

    def work(part: tuple[int, int]) -> None:
        rows = slice(*part)
        # methods are overconfident on tasks with few votes (docs/guides/next_votes.md)
        roots = np.sqrt(result.posterior[rows], dtype=np.float64)
        gain[rows] = _gains(roots / roots.sum(axis=1, keepdims=True), matrices, left[rows])

    step = 2**18
    in_threads(work, [(first, min(first + step, n_tasks)) for first in range(0, n_tasks, step)])
    return gain, left.sum(axis=1) == 0


def _gains(phi: Floats, matrices: Floats, left: Floats) -> Floats:
    """[T] Return sum_g left_ig sum_l (sum_k (phi_ik c_gkl)^2) / (sum_k phi_ik c_gkl) / sum_g left_ig
    - sum_k phi_ik^2 for matrices c [G, K, K]; 0 if no annotator is left to vote.
    """
    squared, after = phi**2, np.zeros(len(phi))
    for weight, matrix in zip(left.T, matrices, strict=True):
        p = phi @ matrix
        after += weight * ((squared @ matrix**2) / np.maximum(p, 1e-300)).sum(axis=1)
    mass = left.sum(axis=1)
    gain = after / np.where(mass > 0, mass, 1) - squared.sum(axis=1)
    return np.where(mass > 0, np.maximum(gain, 0.0), 0.0)


def _groups(accuracy: Floats, activity: Floats) -> Integers:
    """[W] Group annotators by accuracy; groups are about equally likely to vote."""
    order = np.argsort(accuracy, kind="stable")
    before = np.cumsum(activity[order]) - activity[order] / 2
    group = np.empty(len(order), np.int64)
    group[order] = np.minimum((before * N_GROUPS).astype(np.int64), N_GROUPS - 1)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def advice_on_annotators(result: ResultData) -> list[Advice]:
    """Return advice on annotators who are clearly less accurate than the median."""
    n_votes, accuracy = result.votes_per_annotator, result.annotator_accuracy
    judged = n_votes >= MIN_VOTES
    usual = float(np.median(accuracy[judged])) if judged.any() else 0.0
    worse = np.flatnonzero(judged & (suggested_accuracies(result)[1] < usual - MIN_GAP))
    if not worse.size:
        return []
    kinds, names, advice = spam(result).kind, to_list(result.class_names), []
    for j in worse[np.argsort(accuracy[worse], kind="stable")].tolist():
        share = f"{accuracy[j]:.0%} of {n_votes[j]:,} votes"
        right = f"judged by the labels, right in {share}, where {usual:.0%} is usual"
        if kinds[j] in ("one class", "random"):
            advice.append(Advice(j, "drop", f"{right}; the votes hardly depend on the truth"))
            continue
        mine = np.where(np.arange(len(accuracy)) == j, 0, MISSING)
        counts = votes_by_truth(result.annotations, result.posterior, mine)[0]
        seen = counts.sum(axis=1)
        errors = np.where(seen[:, None] >= MIN_CASES, counts * (1 - np.eye(len(counts))), 0.0)
        if errors.any():
            k, vote = divmod(int(errors.argmax()), len(counts))
            cases = f"in {errors[k, vote] / seen[k]:.0%} of about {seen[k]:.0f} cases of {names[k]}"
            right += f"; votes {names[vote]} {cases}"
        advice.append(Advice(j, "retrain", right))
    return advice
