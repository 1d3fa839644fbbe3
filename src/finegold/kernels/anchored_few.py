"""The sweep of the anchored vote for few votes, in NumPy: there is nothing to compile in a first run.

The sums are those of anchored.py. Roundings differ by about 1e-16, because the compiler fuses additions with
multiplications and NumPy does not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.few_votes import cells_of, numbered

__all__ = ["MAX_PAIRS", "is_small", "start", "sweep"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_PAIRS = 2**18  # of a vote and a class that has votes on the same task; NumPy takes 0.1 s for four sweeps


class Votes(NamedTuple):
    """Indices of cells (the votes of a task for one class), of votes, and of pairs of a vote and a cell of its task."""

    first: Integers  # [T] cell of each task
    task: Integers  # [cells]
    label: Integers  # [cells]
    size: Integers  # [cells] number of votes
    cell: Integers  # [votes]
    who: Integers  # [votes]
    pair_vote: Integers  # [pairs]
    pair_cell: Integers  # [pairs]

    def by_task(self, values: Floats) -> Floats:
        """Sum values of votes."""
        return _sums(self.task[self.cell], values, len(self.first))

    def by_cell(self, values: Floats) -> Floats:
        return _sums(self.cell, values, len(self.task))


def is_small(task_ptr: NDArray[np.uint64], cell_ptr: NDArray[np.uint64]) -> bool:
    """Return whether the pairs of votes and cells are few. There are at least as many pairs as votes."""
    if int(cell_ptr[task_ptr[-1]] - cell_ptr[task_ptr[0]]) > MAX_PAIRS:
        return False
    votes, cells = np.diff(cell_ptr[task_ptr]), np.diff(task_ptr)
    return int(np.dot(votes, cells)) <= MAX_PAIRS


def start(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: NDArray[np.int32],
    phi: Floats,
    n: Floats,
    pairs: Floats,
) -> None:
    v = _votes(task_ptr, cell_ptr, cell_class, annotator)
    _count(v, known, phi[v.task, v.label], n)
    votes = np.bincount(v.task, v.size)
    agreeing = np.bincount(v.task, v.size * (v.size - 1))
    several = votes >= 2
    pairs += [(agreeing[several] / (votes * (votes - 1))[several]).sum(), several.sum()]


def sweep(
    task_ptr: NDArray[np.uint64],
    cell_ptr: NDArray[np.uint64],
    cell_class: NDArray[np.uint8],
    annotator: NDArray[np.uint32],
    known: NDArray[np.int32],
    log_prior: Floats,
    log_v: Floats,
    people: Floats,
    settings: Floats,
    phi: Floats,
    tau: Floats,
    n: Floats,
    excess: Floats,
) -> float:
    v = _votes(task_ptr, cell_ptr, cell_class, annotator)
    p = _softmax(v, log_prior, log_v)
    weight = people[v.who, 0]
    q = settings[0] * v.by_cell(weight) / v.by_task(weight)[v.task] + (1.0 - settings[0]) * p
    _add_excess(v, known, people, p, excess)
    _count(v, known, q, n)
    return _write(v, known, settings, q, phi, tau)


def _votes(task_ptr: Any, cell_ptr: Any, cell_class: Any, annotator: Any) -> Votes:
    first_cell, end_cell = int(task_ptr[0]), int(task_ptr[-1])
    first, cells = (task_ptr[:-1] - task_ptr[0]).astype(np.int64), np.diff(task_ptr).astype(np.int64)
    size, label = cells_of(task_ptr, cell_ptr, cell_class)
    task, cell = numbered(cells), numbered(size)
    others = cells[task[cell]]  # of each vote: the cells of its task
    pair_vote = numbered(others)
    offset = np.arange(len(pair_vote)) - np.repeat(np.cumsum(others) - others, others)
    return Votes(
        first=first,
        task=task,
        label=label.astype(np.int64),
        size=size,
        cell=cell,
        who=annotator[int(cell_ptr[first_cell]) : int(cell_ptr[end_cell])].astype(np.int64),
        pair_vote=pair_vote,
        pair_cell=first[task[cell[pair_vote]]] + offset,
    )


def _sums(at: Integers, values: Floats, n: int) -> Floats:
    return np.bincount(at, values, n).astype(np.float64, copy=False)


def _softmax(v: Votes, log_prior: Floats, log_v: Floats) -> Floats:
    """[cells] Apply the softmax over the classes of the task's cells."""
    of_pair = log_v[v.who[v.pair_vote], v.label[v.cell[v.pair_vote]], v.label[v.pair_cell]]
    score = _sums(v.pair_cell, of_pair, len(v.task)) + log_prior[v.label]
    weight = np.exp(score - np.maximum.reduceat(score, v.first)[v.task])
    shares: Floats = weight / _sums(v.task, weight, len(v.first))[v.task]
    return shares


def _add_excess(v: Votes, known: Any, people: Floats, p: Floats, excess: Floats) -> None:
    """The residual of a vote, given the truth k, is 1 if it is for k, else 0, minus its annotator's accuracy."""
    chance, deviation = people[v.who, 1], people[v.who, 2]
    of_truth = np.where(known[v.task] < 0, p, known[v.task] == v.label)
    squares = v.size - 2.0 * v.by_cell(chance) + v.by_task(chance**2)[v.task]
    excess[0] += (of_truth * ((v.size - v.by_task(chance)[v.task]) ** 2 - squares)).sum()
    excess[1] += (v.by_task(deviation) ** 2 - v.by_task(deviation**2)).sum()


def _count(v: Votes, known: Any, q: Floats, n: Floats) -> None:
    """Add q_k to n_jlk for every vote of j for l; a known truth has q_k = 1."""
    row = v.who * n.shape[1] + v.label[v.cell]
    truth = known[v.task[v.cell]]
    unknown = truth[v.pair_vote] < 0
    vote, cell = v.pair_vote[unknown], v.pair_cell[unknown]
    at = np.concatenate([row[vote] * n.shape[2] + v.label[cell], (row * n.shape[2] + truth)[truth >= 0]])
    values = np.concatenate([q[cell], np.ones(len(at) - len(cell))])
    n += _sums(at, values, n.size).reshape(n.shape)


def _write(v: Votes, known: Any, settings: Floats, q: Floats, phi: Floats, tau: Floats) -> float:
    """Add q to tau and write the calibrated q to phi. Return the largest difference between q and the previous phi."""
    K, unknown = phi.shape[1], known < 0
    dense = np.zeros(phi.shape)
    dense[v.task, v.label] = q
    dense = dense[unknown]
    tau += dense.sum(axis=0) + np.bincount(known[~unknown], minlength=K)
    votes = np.bincount(v.task, v.size)[unknown, None]
    design = 1.0 + (votes - 1.0) * settings[1]
    pseudo = settings[2] * design
    sharp = np.where(dense > 0.0, dense ** (design ** -settings[3]), 0.0)
    sharp /= sharp.sum(axis=1, keepdims=True)
    change = np.abs(dense - phi[unknown]).max(initial=0.0)
    phi[unknown] = (votes * sharp + pseudo / K) / (votes + pseudo)
    return float(change)
