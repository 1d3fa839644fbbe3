"""Krippendorff's alpha, Fleiss' kappa and Gwet's AC1 from cells: m votes for a class out of the n of a task.

A coefficient is (observed - chance) / (1 - chance). Standard errors are those of the infinitesimal jackknife: the
derivative of the coefficient by the weight of each task, squared and summed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from karat.votes.annotations import Annotations

__all__ = ["Cells", "Estimate", "ac1", "alpha", "by_annotator", "by_class", "cells_of", "fleiss", "observed", "ranks"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROOM = 2**22  # numbers in a table [annotators, K]; more annotators are worked on in runs


class Cells(NamedTuple):
    """The cells of `Annotations`, with what a coefficient asks of each."""

    m: Floats  # [C] votes of the cell
    n: Floats  # [C] votes of its task
    task: Integers  # [C]
    label: Integers  # [C] its class
    per_task: Floats  # [T] votes of each task
    n_classes: int

    def by_class(self, values: Floats) -> Floats:
        return add_up(self.label, values, self.n_classes)

    def by_task(self, values: Floats) -> Floats:
        return add_up(self.task, values, len(self.per_task))


class Estimate(NamedTuple):
    value: float
    error: float  # standard error


def cells_of(votes: Annotations) -> Cells:
    task = np.repeat(np.arange(votes.n_tasks), np.diff(votes.task_ptr))
    n = votes.votes_per_task.astype(np.float64)
    m = np.diff(votes.cell_ptr).astype(np.float64)
    return Cells(m, n[task], task, votes.cell_class.astype(np.int64), n, votes.n_classes)


def observed(cells: Cells) -> float:
    """The share of pairs of votes that agree, mean over the tasks that have a pair."""
    several = cells.per_task >= 2
    return float(_agreeing(cells)[several].mean()) if several.any() else np.nan


def alpha(cells: Cells, scale: Floats | None = None) -> Estimate:
    """1 - (N - 1) A / B: A sums the distances of votes on a task, B those in a heap of all N votes.

    Tasks with a single vote do not count.
    Two classes are 1 apart, or on a scale (x - x')^2, so that their sums follow from those of x and x^2.
    """
    m = np.where(cells.n >= 2, cells.m, 0.0)
    n, totals = cells.by_task(m), cells.by_class(m)
    apart = _distances(n, cells.by_task, m, cells.label, scale) / np.maximum(n - 1, 1)
    N, A, B = n.sum(), apart.sum(), _distances(n.sum(), np.sum, totals, np.arange(cells.n_classes), scale)
    if B <= 0:
        return Estimate(np.nan, np.nan)
    in_heap = 2 * cells.by_task(m * _from_all(totals, scale)[cells.label])
    moved = (A * n + (N - 1) * apart) / B - (N - 1) * A * in_heap / B**2
    return Estimate(float(1 - (N - 1) * A / B), _spread(moved, int((n > 0).sum())))


def ranks(cells: Cells) -> Floats:
    """[K] the scale of ordered classes: the middle of each, when all votes on tasks with a pair stand in a row."""
    totals = cells.by_class(np.where(cells.n >= 2, cells.m, 0.0))
    return np.cumsum(totals) - totals / 2


def fleiss(cells: Cells) -> Estimate:
    """Chance: two votes drawn from the mean shares of the classes are alike."""
    shares = _class_shares(cells)
    return _beyond_chance(cells, float((shares**2).sum()), 2 * shares)


def ac1(cells: Cells) -> Estimate:
    """Chance: somebody guesses among K classes, as often as the shares are mixed."""
    shares, others = _class_shares(cells), max(cells.n_classes - 1, 1)
    return _beyond_chance(cells, float((shares * (1 - shares)).sum()) / others, (1 - 2 * shares) / others)


def by_class(cells: Cells) -> dict[str, Floats]:
    """The same coefficients where only one class is told from all others."""
    several = cells.n >= 2
    pairs = np.where(several, cells.m * (cells.n - cells.m), 0.0)
    tasks = (cells.per_task >= 2).sum()
    totals = cells.by_class(np.where(several, cells.m, 0.0))
    N, shares = totals.sum(), _class_shares(cells)
    differing = cells.by_class(2 * pairs / np.maximum(cells.n * (cells.n - 1), 1))
    with np.errstate(invalid="ignore", divide="ignore"):  # NaN where a class never or always was voted for
        agreed = 1 - differing / tasks
        return {
            "share": shares,
            "observed": agreed,
            "alpha": 1 - (N - 1) * cells.by_class(pairs / np.maximum(cells.n - 1, 1)) / (totals * (N - totals)),
            "fleiss": _corrected(agreed, shares**2 + (1 - shares) ** 2),
            "ac1": _corrected(agreed, 2 * shares * (1 - shares)),
        }


class VotesOf(NamedTuple):
    """Votes of some annotators, in the order of tasks."""

    task: Integers  # [v]
    who: Integers  # [v] numbered from 0
    label: Integers  # [v]
    m: Floats  # [v] votes of the cell
    n: Floats  # [v] votes of the task
    shape: tuple[int, int]  # annotators, classes

    def table(self, weight: Floats) -> Floats:
        """[annotators, K] the weights of their votes, by class."""
        return table_of(self.who, self.label, weight, *self.shape)

    def of_tasks(self, cells: Cells, weight: Floats) -> Floats:
        """[annotators, K] the votes of all on their tasks, each task weighted by the annotator's vote there."""
        n_tasks = len(cells.per_task)
        voted = csr_array((weight, (self.who, self.task)), shape=(self.shape[0], n_tasks))
        counts = csr_array((cells.m, (cells.task, cells.label)), shape=(n_tasks, cells.n_classes))
        table: Floats = (voted @ counts).toarray()
        return table


def by_annotator(votes: Annotations) -> dict[str, NDArray[np.generic]]:
    """Each against the other votes on the same tasks: kappa with either side's own shares, and alpha without them."""
    cells = cells_of(votes)
    parts = [_of_annotators(some, cells) for some in _runs_of_annotators(votes, cells)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _runs_of_annotators(votes: Annotations, cells: Cells) -> Iterator[VotesOf]:
    """The votes of as many annotators at a time as have room for a table [annotators, K]."""
    W, K = votes.n_annotators, votes.n_classes
    by_annotator = np.argsort(votes.annotator, kind="stable")
    end = np.cumsum(np.bincount(votes.annotator, minlength=W))
    step = max(ROOM // K, 1)
    for first in range(0, W, step):
        last = min(first + step, W)
        place = by_annotator[end[first - 1] if first else 0 : end[last - 1]]
        cell = np.searchsorted(votes.cell_ptr, place, side="right") - 1
        who = votes.annotator[place].astype(np.int64) - first
        yield VotesOf(cells.task[cell], who, cells.label[cell], cells.m[cell], cells.n[cell], (last - first, K))


def _of_annotators(some: VotesOf, cells: Cells) -> dict[str, NDArray[np.generic]]:
    W, several, others = some.shape[0], some.n >= 2, np.maximum(some.n - 1, 1)
    shared = np.bincount(some.who[several], minlength=W)
    weight = np.where(several, 1 / others, 0.0)
    own, theirs = some.table(np.where(several, 1.0, 0.0)), some.of_tasks(cells, weight) - some.table(weight)
    with np.errstate(invalid="ignore", divide="ignore"):  # NaN for those who share no task
        agreed = np.bincount(some.who, np.where(several, (some.m - 1) / others, 0.0), minlength=W) / shared
        chance = (own * theirs).sum(axis=1) / shared**2
        return {
            "n_shared": shared,
            "observed": agreed,
            "kappa": _corrected(agreed, chance),
            "alpha_without": _alpha_without(some, cells),
        }


def _alpha_without(some: VotesOf, cells: Cells) -> Floats:
    """Alpha after one annotator's votes are gone; a task of two votes goes with either."""
    W, n, squares = some.shape[0], cells.per_task, cells.by_task(cells.m**2)
    differing = np.where(n >= 2, (n**2 - squares) / np.maximum(n - 1, 1), 0.0)
    left, squares_left = some.n - 1, squares[some.task] - 2 * some.m + 1
    after = np.where(left >= 2, (left**2 - squares_left) / np.maximum(left - 1, 1), 0.0)
    A = differing.sum() + np.bincount(some.who, after - differing[some.task], minlength=W)
    gone = some.table(np.where(some.n >= 3, 1.0, 0.0)) + some.of_tasks(cells, np.where(some.n == 2, 1.0, 0.0))
    totals = cells.by_class(np.where(cells.n >= 2, cells.m, 0.0)) - gone
    N = totals.sum(axis=1)
    without: Floats = 1 - (N - 1) * A / (N**2 - (totals**2).sum(axis=1))
    return without


def _distances(n: Any, add: Any, m: Floats, label: Integers, scale: Floats | None) -> Any:
    """Summed over every two votes, both ways round; `add` sums over the cells of a task, or over all classes."""
    if scale is None:
        return n**2 - add(m**2)
    x = scale[label]
    return 2 * (n * add(m * x**2) - add(m * x) ** 2)


def _from_all(totals: Floats, scale: Floats | None) -> Floats:
    """[K] the distances of each class from all votes of the heap."""
    if scale is None:
        return np.asarray(totals.sum() - totals)
    sums = totals.sum(), (totals * scale).sum(), (totals * scale**2).sum()
    return np.asarray(sums[0] * scale**2 - 2 * scale * sums[1] + sums[2])


def _agreeing(cells: Cells) -> Floats:
    """[T] the share of agreeing pairs; 0 where there is no pair."""
    return cells.by_task(cells.m * (cells.m - 1) / np.maximum(cells.n * (cells.n - 1), 1))


def _class_shares(cells: Cells) -> Floats:
    """[K] the mean over tasks of each class's share of the votes."""
    return cells.by_class(cells.m / cells.n) / len(cells.per_task)


def _beyond_chance(cells: Cells, chance: float, slope: Floats) -> Estimate:
    """`slope` is the derivative of chance by each class's share."""
    several = cells.per_task >= 2
    if not several.any() or chance >= 1:
        return Estimate(np.nan, np.nan)
    agreed = _agreeing(cells)
    mean = agreed[several].mean()
    by_agreement = np.where(several, agreed - mean, 0.0) / several.sum()
    by_chance = cells.by_task(slope[cells.label] * cells.m / cells.n)
    by_chance = (by_chance - by_chance.mean()) / len(agreed)
    moved = (by_agreement * (1 - chance) - by_chance * (1 - mean)) / (1 - chance) ** 2
    return Estimate(float((mean - chance) / (1 - chance)), _spread(moved, len(agreed)))


def _spread(moved: Floats, tasks: int) -> float:
    """The standard error, from how far each task moves the coefficient."""
    return float(np.sqrt((moved**2).sum() * tasks / (tasks - 1))) if tasks > 1 else np.nan


def _corrected(agreed: Floats, chance: Floats) -> Floats:
    return (agreed - chance) / (1 - chance)


def add_up(place: Integers, values: Floats, n: int) -> Floats:
    """[n] the sum of the values at each place."""
    sums: Floats = np.bincount(place, values, minlength=n).astype(np.float64, copy=False)
    return sums


def table_of(row: Integers, column: Integers, values: Floats, n_rows: int, n_columns: int) -> Floats:
    """The same in two dimensions."""
    return add_up(row * n_columns + column, values, n_rows * n_columns).reshape(n_rows, n_columns)
