"""How well methods predict votes that were hidden from them. No truth is needed.

Votes are hidden in folds: each fold is left out once, the methods are fitted to the rest, and each hidden vote is
scored by the probability that its method gave it. Votes of one group of annotators on a task are hidden together, else
one would be read off from the others; and every task keeps some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.annotations import Annotations
from karat.encoding import MISSING, Codes, Names
from karat.predict import LEAST_PROBABILITY, likelihoods
from karat.result import Result
from karat.vote_pairs import rows_of

__all__ = ["Hidden", "Sample", "add_tempered", "draw_tasks", "first_tasks", "hide", "sample_tasks", "stack", "temper"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Sample = tuple[Annotations, NDArray[np.int64]]  # some votes, and the codes of their annotators among all
Fits = Mapping[str, Callable[[Annotations], Result]]

TEMPERATURES = (1.0, 0.7, 1.4, 2.0, 3.0)  # the first is that of scores
MOST_SHUFFLED = 2**28  # tasks: two gibibytes
NO_TASKS: Integers = np.empty(0, np.int64)
RUN = 2**16  # tasks that are tempered at once
ROUNDS = 100  # of the EM that finds the shares; small ones are left out, so that its slow tail does not matter


class Hidden(NamedTuple):
    """p[c, t, n]: what candidate c, its posterior tempered by TEMPERATURES[t], gave to hidden vote n."""

    names: list[str]
    p: Floats
    weight: Floats  # [n] how much each vote counts

    def score(self, name: str) -> tuple[float, float]:
        """The mean log-probability of a vote, and its standard error."""
        return self._mean(np.log(self.p[self.names.index(name), 0]))

    def lead(self, name: str, over: str) -> tuple[float, float]:
        """By how much one predicts better than another, and the standard error of that, vote by vote."""
        one, other = (np.log(self.p[self.names.index(who), 0]) for who in (name, over))
        return self._mean(one - other)

    def temperature(self, shares: Mapping[str, float]) -> float:
        """The temperature at which the blend predicts best."""
        w = np.array([shares.get(name, 0.0) for name in self.names])[:, None]
        scores = [self._mean(np.log((w * self.p[:, t]).sum(axis=0)))[0] for t in range(len(TEMPERATURES))]
        return TEMPERATURES[int(np.argmax(scores))]

    def _mean(self, values: Floats) -> tuple[float, float]:
        total = self.weight.sum()
        mean = float((self.weight * values).sum() / total)  # not by BLAS, whose threads cost more than they give here
        error = float(np.sqrt(((self.weight * (values - mean)) ** 2).sum()) / total)
        return mean, error


def stack(hidden: Hidden) -> dict[str, float]:
    """Shares of the candidates in the mixture that predicts the hidden votes best (EM; Yao et al. 2018)."""
    p, weight = hidden.p[:, 0], hidden.weight / hidden.weight.sum()
    shares = np.full(len(p), 1 / len(p))
    for _ in range(ROUNDS):
        joint = shares[:, None] * p
        shares = (joint / joint.sum(axis=0) * weight).sum(axis=1)
    return dict(zip(hidden.names, shares.tolist(), strict=True))


def hide(
    annotations: Annotations, fits: Fits, group: NDArray[np.int64], weights: Floats, folds: int, seed: int
) -> Hidden:
    """Fit every candidate to all folds but one, in turn, and score the votes of that one."""
    fold = _folds(annotations, group, folds, np.random.default_rng(seed))
    parts = [_score(annotations, fold == f, fits) for f in range(folds) if (fold == f).any()]
    counted = [weights[annotations.annotator[fold == f]] for f in range(folds) if (fold == f).any()]
    if not parts:
        return Hidden(list(fits), np.ones((len(fits), len(TEMPERATURES), 0)), np.empty(0))
    return Hidden(list(fits), np.concatenate(parts, axis=2), np.concatenate(counted))


def temper(posterior: Floats, temperature: float) -> Floats:
    """p^(1/T), normalised: above 1, less sure of the same label."""
    if temperature == 1.0:
        return posterior
    powers = posterior ** (1 / temperature)
    less_sure: Floats = powers / powers.sum(axis=1, keepdims=True)
    return less_sure


def add_tempered(total: Floats | None, posterior: Floats, share: float, temperature: float) -> Floats:
    """The sum of tempered posteriors, each times its share; in runs of tasks, so that no second table is made.

    A posterior that is all of the sum is tempered where it is.
    """
    if total is None:
        total = posterior if share == 1.0 else np.zeros_like(posterior)
    for first in range(0, len(posterior), RUN):
        rows = slice(first, first + RUN)
        tempered = share * temper(posterior[rows], temperature)
        total[rows] = tempered if total is posterior else total[rows] + tempered
    return total


def sample_tasks(annotations: Annotations, most_votes: int, seed: int) -> Sample:
    """All of them, or as many random tasks as have so many votes."""
    order = draw_tasks(annotations.n_tasks, most_votes + 1, seed) if annotations.n_votes > most_votes else NO_TASKS
    return first_tasks(annotations, order, most_votes)


def draw_tasks(n_tasks: int, n: int, seed: int) -> Integers:
    """So many random tasks; more of them begin with the same ones, unless there are too many tasks to shuffle."""
    rng = np.random.default_rng(seed)
    return rng.permutation(n_tasks)[:n] if n_tasks <= MOST_SHUFFLED else rng.choice(n_tasks, n, replace=False)


def first_tasks(annotations: Annotations, order: Integers, most_votes: int) -> Sample:
    """All tasks, or as many as have so many votes, in this order."""
    if annotations.n_votes <= most_votes:
        return annotations, np.arange(annotations.n_annotators)
    start, votes = rows_of(annotations, order)
    n = max(int(np.searchsorted(np.cumsum(votes), most_votes)), 1)
    some = _of_tasks(annotations, order[:n], start[:n], votes[:n])
    return some, np.asarray(some.annotator_names)


def _of_tasks(annotations: Annotations, tasks: Integers, start: Integers, votes: Integers) -> Annotations:
    """All votes of these tasks; tasks and annotators are named by their codes."""
    sorting = np.argsort(tasks)
    tasks, start, votes = tasks[sorting], start[sorting], votes[sorting]
    task = np.repeat(np.arange(len(tasks), dtype=np.int32), votes)
    rows = np.arange(votes.sum()) + (start - (np.cumsum(votes) - votes))[task]
    gold = annotations.gold[tasks]
    known = np.flatnonzero(gold != MISSING).astype(np.int32)
    return Annotations.from_codes(
        task,
        annotations.annotator[rows],
        annotations.label_of(rows).astype(np.int32),
        tasks,
        np.arange(annotations.n_annotators),
        annotations.class_names,
        gold=(known, gold[known]),
        repeated="all",
    )


def _folds(
    annotations: Annotations, group: NDArray[np.int64], folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The fold of each vote, -1 where it is never hidden: units of a task are dealt out in turn, like cards."""
    task, annotator, _ = annotations.votes()
    of_group = group[annotator]
    unit = np.where(of_group >= 0, of_group, len(group) + annotator.astype(np.int64))
    _, unit_of_vote = np.unique(task * np.int64(2 * len(group) + 1) + unit, return_inverse=True)
    unit_task = np.zeros(unit_of_vote.max() + 1, np.int64)
    unit_task[unit_of_vote] = task
    order = np.lexsort((rng.random(len(unit_task)), unit_task))
    units = np.bincount(unit_task, minlength=annotations.n_tasks)
    rank = np.empty(len(unit_task), np.int64)
    rank[order] = np.arange(len(unit_task)) - (np.cumsum(units) - units)[unit_task[order]]
    dealt = (rank + rng.integers(folds, size=annotations.n_tasks)[unit_task]) % folds
    found: NDArray[np.int64] = np.where(units[unit_task] > 1, dealt, -1)[unit_of_vote]
    return found


def _score(annotations: Annotations, hidden: NDArray[np.bool_], fits: Fits) -> Floats:
    """[candidates, temperatures, hidden votes]"""
    task, annotator, label = (column[hidden] for column in annotations.votes())
    rest = _subset(annotations, ~hidden)
    scored = []
    for fit in fits.values():
        result = fit(rest)
        place = _places(result.task_names, task)
        by_truth = likelihoods(result, _places(result.annotator_names, annotator), label)
        phi = (np.vstack([temper(result.posterior, t), result.knowledge.class_prior])[place] for t in TEMPERATURES)
        scored.append([np.maximum((each * by_truth).sum(axis=1), LEAST_PROBABILITY) for each in phi])
    return np.array(scored)


def _places(names: Names, codes: Codes) -> Codes:
    """Where the codes are among the names, which are codes too; MISSING where they are not."""
    known = np.asarray(names)
    place = np.full(max(int(known.max()), int(codes.max())) + 1, MISSING, np.int32)
    place[known] = np.arange(len(known))
    found: Codes = place[codes]
    return found


def _subset(annotations: Annotations, kept: NDArray[np.bool_]) -> Annotations:
    """Some of the votes; tasks and annotators are named by their codes."""
    task, annotator, label = (column[kept] for column in annotations.votes())
    known = np.flatnonzero((annotations.gold != MISSING) & (np.bincount(task, minlength=annotations.n_tasks) > 0))
    return Annotations.from_codes(
        task,
        annotator,
        label,
        np.arange(annotations.n_tasks),
        np.arange(annotations.n_annotators),
        annotations.class_names,
        gold=(known.astype(np.int32), annotations.gold[known]),
        repeated="all",
    )
