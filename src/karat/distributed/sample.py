"""Some tasks of a data set that lies on shelves, with all of their votes, on this machine."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.annotations import Annotations
from karat.distributed import shelf
from karat.distributed.ingest import Remote
from karat.distributed.stored import Slice
from karat.encoding import MISSING
from karat.engines.dask.cluster import Cluster
from karat.hidden import draw_tasks

__all__ = ["sampled"]

Integers = NDArray[np.int64]


class Votes(NamedTuple):
    """Of some tasks, by their places among those asked for."""

    task: Integers
    annotator: NDArray[np.int32]
    label: NDArray[np.int32]
    gold: NDArray[np.int32]  # of the tasks


def sampled(cluster: Cluster, votes: Remote, most_votes: int, seed: int) -> tuple[Annotations, Integers]:
    """All tasks, or as many random ones as have about so many votes; and the order in which they were drawn.

    Names are numbers. On one machine the same tasks would be drawn first.
    """
    n = votes.n_tasks if votes.n_votes <= most_votes else max(most_votes * votes.n_tasks // votes.n_votes, 1)
    drawn = draw_tasks(votes.n_tasks, n, seed)
    wanted = np.sort(drawn)
    return _annotations(_fetched(cluster, votes, wanted), votes), np.searchsorted(wanted, drawn)


def some_votes(part: Slice, tasks: Integers) -> Votes:
    """On a worker: the votes of these tasks of a slice."""
    task_ptr, cell_ptr, cell_class, annotator, gold = (
        shelf.array(part.folder, name) for name in ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold")
    )
    at = tasks + part.first
    cells, task = _between(task_ptr[at], task_ptr[at + 1])
    rows, cell = _between(cell_ptr[cells], cell_ptr[cells + 1])
    return Votes(task[cell], annotator[rows], cell_class[cells][cell].astype(np.int32), gold[at])


def _between(first: Integers, end: Integers) -> tuple[Integers, Integers]:
    """All numbers from each first to its end, and whose they are."""
    owner = np.repeat(np.arange(len(first)), end - first)
    before = np.cumsum(end - first) - (end - first)
    return first[owner] + np.arange(len(owner)) - before[owner], owner


def _fetched(cluster: Cluster, votes: Remote, tasks: Integers) -> Votes:
    """The votes of these tasks, which are sorted."""
    slices = [part for block in votes.blocks for part in block.slices]
    starts = np.array(list(accumulate((part.end - part.first for part in slices), initial=0)))
    bounds = np.searchsorted(tasks, starts)
    asked = [at for at in range(len(slices)) if bounds[at] < bounds[at + 1]]
    jobs = [(slices[at], tasks[bounds[at] : bounds[at + 1]] - starts[at]) for at in asked]
    parts = cluster.map(some_votes, jobs)
    shifted = [part._replace(task=part.task + bounds[at]) for at, part in zip(asked, parts, strict=True)]
    return Votes(*(np.concatenate(column) for column in zip(*shifted, strict=True)))


def _annotations(found: Votes, votes: Remote) -> Annotations:
    known = np.flatnonzero(found.gold != MISSING).astype(np.int32)
    return Annotations.from_codes(
        found.task.astype(np.int32),
        found.annotator,
        found.label,
        np.arange(len(found.gold)),
        np.arange(len(votes.annotators)),
        votes.classes,
        gold=(known, found.gold[known]),
        repeated="all",
    )
