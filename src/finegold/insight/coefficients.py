"""Krippendorff's alpha, Fleiss' kappa and Gwet's AC1 from cells: m of a task's n votes are for one
class.

A coefficient is (observed - chance) / (1 - chance). Standard errors come from the infinitesimal
jackknife: the derivative of the coefficient with respect to the weight of each task is squared and
summed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.insight.votes import Floats, Integers
from finegold.votes.annotations import Annotations

# numbers in a table [annotators, K]; more annotators are processed in batches
MAX_TABLE_SIZE = 2**22


class Cells(NamedTuple):
    """The cells of `Annotations`, with the counts that the coefficients need."""

    # [C] number of votes in the cell
    m: Floats
    # [C] number of votes on the cell's task
    n: Floats
    # [C]
    task: Integers
    # [C] class of the cell
    label: Integers
    # [T] number of votes on each task
    per_task: Floats
    n_classes: int

    def by_class(self, values: Floats) -> Floats:
        return add_up(self.label, values, self.n_classes)

    def by_task(self, values: Floats) -> Floats:
        return add_up(self.task, values, len(self.per_task))


class Estimate(NamedTuple):
    value: float
    # standard error
    error: float


def cells_of(votes: Annotations) -> Cells:
    task = np.repeat(np.arange(votes.n_tasks), np.diff(votes.task_ptr))
    n = votes.votes_per_task.astype(np.float64)
    m = np.diff(votes.cell_ptr).astype(np.float64)
    return Cells(m, n[task], task, votes.cell_class.astype(np.int64), n, votes.n_classes)


def observed_agreement(cells: Cells) -> float:
    """Return the share of pairs of votes that agree, as the mean over tasks with at least two
    votes.
    """
    several = cells.per_task >= 2
    return float(_agreeing(cells)[several].mean()) if several.any() else np.nan


def alpha(cells: Cells, scale: Floats | None = None) -> Estimate:
    """Return Krippendorff's alpha, 1 - (N - 1) A / B."""
    # A sums the distances between votes on the same task, B the distances between any two of the N
    # votes. Tasks with a single vote are left out. The distance between two classes is 1, or (x -
    # x')^2 if they have a scale; such sums follow from the sums of x and x^2.
    m = np.where(cells.n >= 2, cells.m, 0.0)
    n, totals = cells.by_task(m), cells.by_class(m)
    N = n.sum()
    if scale is None:
        within, B, from_all = (
            n**2 - cells.by_task(m**2),
            N**2 - np.sum(totals**2),
            totals.sum() - totals,
        )
    else:
        x, sums = scale[cells.label], [np.sum(totals * scale**power) for power in range(3)]
        within = 2 * (n * cells.by_task(m * x**2) - cells.by_task(m * x) ** 2)
        B = 2 * (N * sums[2] - sums[1] ** 2)
        from_all = sums[0] * scale**2 - 2 * scale * sums[1] + sums[2]
    if B <= 0:
        return Estimate(np.nan, np.nan)
    apart = within / np.maximum(n - 1, 1)
    A, among_all_votes = apart.sum(), 2 * cells.by_task(m * from_all[cells.label])
    influence = (A * n + (N - 1) * apart) / B - (N - 1) * A * among_all_votes / B**2
    return Estimate(float(1 - (N - 1) * A / B), _jackknife_error(influence, int((n > 0).sum())))


def ranks(cells: Cells) -> Floats:
    """[K] Return the scale of ordered classes: the mean rank of each class among all votes on tasks
    with two votes.
    """
    totals = cells.by_class(np.where(cells.n >= 2, cells.m, 0.0))
    return np.cumsum(totals) - totals / 2


def fleiss(cells: Cells) -> Estimate:
    """Return Fleiss' kappa. Chance agreement: two votes drawn from the mean class shares are equal."""
    shares = _class_shares(cells)
    return _chance_corrected_estimate(cells, float((shares**2).sum()), 2 * shares)


def ac1(cells: Cells) -> Estimate:
    """Return Gwet's AC1. Chance agreement: annotators guess among K classes, more often if the
    shares are even.
    """
    shares, others = _class_shares(cells), max(cells.n_classes - 1, 1)
    return _chance_corrected_estimate(
        cells, float((shares * (1 - shares)).sum()) / others, (1 - 2 * shares) / others
    )


def by_class(cells: Cells) -> dict[str, Floats]:
    """Return the same coefficients for each class against all other classes."""
    several = cells.n >= 2
    pairs = np.where(several, cells.m * (cells.n - cells.m), 0.0)
    tasks = (cells.per_task >= 2).sum()
    totals = cells.by_class(np.where(several, cells.m, 0.0))
    N, shares = totals.sum(), _class_shares(cells)
    differing = cells.by_class(2 * pairs / np.maximum(cells.n * (cells.n - 1), 1))
    # NaN for a class with no votes or with all votes
    with np.errstate(invalid="ignore", divide="ignore"):
        agreed = 1 - differing / tasks
        return {
            "share": shares,
            "observed": agreed,
            "alpha": (
                1
                - (N - 1)
                * cells.by_class(pairs / np.maximum(cells.n - 1, 1))
                / (totals * (N - totals))
            ),
            "fleiss": _chance_corrected(agreed, shares**2 + (1 - shares) ** 2),
            "ac1": _chance_corrected(agreed, 2 * shares * (1 - shares)),
        }


def by_annotator(votes: Annotations) -> dict[str, NDArray[np.generic]]:
    """Compare each annotator with the other votes on the same tasks."""
    # Kappa uses the class shares of both sides. `alpha_without` is alpha after the annotator's
    # votes are removed; a task with two votes is left out with either of them. takes longer to
    # import than a small report to write
    from scipy.sparse import csr_array

    cells, W, K = cells_of(votes), votes.n_annotators, votes.n_classes
    n, squares, totals = (
        cells.per_task,
        cells.by_task(cells.m**2),
        cells.by_class(np.where(cells.n >= 2, cells.m, 0.0)),
    )
    differing = np.where(n >= 2, (n**2 - squares) / np.maximum(n - 1, 1), 0.0)
    counts = csr_array((cells.m, (cells.task, cells.label)), shape=(len(n), K))
    by_annotator = np.argsort(votes.annotator, kind="stable")
    end = np.cumsum(np.bincount(votes.annotator, minlength=W))
    step, parts = max(MAX_TABLE_SIZE // K, 1), []
    # as many annotators at a time as fit in a table [annotators, K]
    for first in range(0, W, step):
        last = min(first + step, W)
        own_votes = by_annotator[end[first - 1] if first else 0 : end[last - 1]]
        cell = np.searchsorted(votes.cell_ptr, own_votes, side="right") - 1
        who, task, label = (
            votes.annotator[own_votes].astype(np.int64) - first,
            cells.task[cell],
            cells.label[cell],
        )
        same, all_votes, some = cells.m[cell], cells.n[cell], last - first
        several, others, shape = all_votes >= 2, np.maximum(all_votes - 1, 1), (some, K)
        shared, weight = (
            np.bincount(who[several], minlength=some),
            np.where(several, 1 / others, 0.0),
        )
        own = table_of(who, label, np.where(several, 1.0, 0.0), *shape)
        # Everybody's votes on the tasks of each annotator: those of the others, and those that go
        # with the annotator's.
        weights = (weight, np.where(all_votes == 2, 1.0, 0.0))
        theirs, lone = (
            (csr_array((w, (who, task)), shape=(some, len(n))) @ counts).toarray() for w in weights
        )
        theirs -= table_of(who, label, weight, *shape)
        left, squares_left = all_votes - 1, squares[task] - 2 * same + 1
        after = np.where(left >= 2, (left**2 - squares_left) / np.maximum(left - 1, 1), 0.0)
        A = differing.sum() + np.bincount(who, after - differing[task], minlength=some)
        kept = totals - (table_of(who, label, np.where(all_votes >= 3, 1.0, 0.0), *shape) + lone)
        N = kept.sum(axis=1)
        # NaN for annotators who share no task
        with np.errstate(invalid="ignore", divide="ignore"):
            agreed = (
                np.bincount(who, np.where(several, (same - 1) / others, 0.0), minlength=some)
                / shared
            )
            kappa = _chance_corrected(agreed, (own * theirs).sum(axis=1) / shared**2)
            without = 1 - (N - 1) * A / (N**2 - (kept**2).sum(axis=1))
        parts.append(
            {"n_shared": shared, "observed": agreed, "kappa": kappa, "alpha_without": without}
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _agreeing(cells: Cells) -> Floats:
    """[T] Return the share of pairs of votes that agree; 0 for tasks with a single vote."""
    return cells.by_task(cells.m * (cells.m - 1) / np.maximum(cells.n * (cells.n - 1), 1))


def _class_shares(cells: Cells) -> Floats:
    """[K] Return each class's share of the votes, as the mean over tasks."""
    return cells.by_class(cells.m / cells.n) / len(cells.per_task)


def _chance_corrected_estimate(cells: Cells, chance: float, slope: Floats) -> Estimate:
    """Return the coefficient; `slope` is the derivative of chance agreement with respect to each
    class share.
    """
    several = cells.per_task >= 2
    if not several.any() or chance >= 1:
        return Estimate(np.nan, np.nan)
    agreed = _agreeing(cells)
    mean = agreed[several].mean()
    by_agreement = np.where(several, agreed - mean, 0.0) / several.sum()
    by_chance = cells.by_task(slope[cells.label] * cells.m / cells.n)
    by_chance = (by_chance - by_chance.mean()) / len(agreed)
    influence = (by_agreement * (1 - chance) - by_chance * (1 - mean)) / (1 - chance) ** 2
    return Estimate(float((mean - chance) / (1 - chance)), _jackknife_error(influence, len(agreed)))


def _jackknife_error(influence: Floats, tasks: int) -> float:
    """Return the standard error from the influence of each task on the coefficient."""
    return float(np.sqrt((influence**2).sum() * tasks / (tasks - 1))) if tasks > 1 else np.nan


def _chance_corrected(agreed: Floats, chance: Floats) -> Floats:
    return (agreed - chance) / (1 - chance)


def add_up(place: Integers, values: Floats, n: int) -> Floats:
    """[n] Sum the values with the same place."""
    sums: Floats = np.bincount(place, values, minlength=n).astype(np.float64, copy=False)
    return sums


def table_of(
    row: Integers, column: Integers, values: Floats, n_rows: int, n_columns: int
) -> Floats:
    """[n_rows, n_columns] Sum the values with the same row and column."""
    return add_up(row * n_columns + column, values, n_rows * n_columns).reshape(n_rows, n_columns)
