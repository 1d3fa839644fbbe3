"""Sums by annotator and class on the GPU: votes are sorted once per fit. See by_annotator.cu."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from finegold.kernels import Votes
from finegold.kernels.cuda import THREADS, compiled, cupy, grid, types_of

# votes of a slot that a warp adds up
CHUNK = 1024


class Index(NamedTuple):
    """The votes sorted by slot, that is by annotator and class, and their division into chunks."""

    # [votes] the row of each vote: its task, or its own number
    rows: Any
    # [slots + 1]
    first_vote: Any
    # [slots + 1]
    first_chunk: Any
    # [chunks]
    slot_of: Any


# by the address of an array, which is kept, so that no other can have it
_indexes: dict[int, tuple[Any, Index]] = {}


def forget() -> None:
    _indexes.clear()


def sum_by_annotator(votes: Votes, of_tasks: Any, n_annotators: int) -> Any:
    """Return [W, L, K], the sum of the tasks' rows [n, K] over the votes of j for l."""
    # an array of CuPy
    annotator: Any = votes.annotator
    address, K = annotator.data.ptr, of_tasks.shape[1]
    if address not in _indexes:
        _indexes[address] = votes.annotator, _index(*_slots(votes, K), n_annotators * K)
    return _sum(_indexes[address][1], of_tasks).reshape(n_annotators, K, K)


def sum_by_slot(slot: Any, of_votes: Any, n_slots: int) -> Any:
    """Return [slots, K], the sum of the votes' rows [n, K] by slot."""
    if slot.data.ptr not in _indexes:
        _indexes[slot.data.ptr] = (
            slot,
            _index(slot, cupy().arange(len(slot), dtype=np.uint32), n_slots),
        )
    return _sum(_indexes[slot.data.ptr][1], of_votes)


def _sum(index: Index, values: Any) -> Any:
    cp, n_chunks, n_slots, K = (
        cupy(),
        len(index.slot_of),
        len(index.first_vote) - 1,
        values.shape[1],
    )
    partial, n = cp.empty((n_chunks, K)), cp.empty((n_slots, K))
    of_votes = (index.slot_of, index.first_chunk, index.first_vote, index.rows)
    constants = {"K": K, "CHUNK": CHUNK, **types_of(index.rows, values)}
    _run("sum_chunks", 32 * n_chunks, n_chunks, *of_votes, values, partial, **constants)
    _run("sum_slots", n.size, n.size, index.first_chunk, partial, n, **constants)
    return n


def _slots(votes: Votes, K: int) -> tuple[Any, Any]:
    slot, task = (cupy().empty(len(votes.annotator), dtype=np.uint32) for _ in range(2))
    n_tasks = len(votes.task_ptr) - 1
    _run(
        "slots_of",
        n_tasks,
        n_tasks,
        *votes,
        slot,
        task,
        K=K,
        CHUNK=CHUNK,
        **types_of(votes.cell_class, slot),
    )
    return slot, task


def _index(slot: Any, row: Any, n_slots: int) -> Index:
    cp, constants = cupy(), {"K": 1, "CHUNK": CHUNK, **types_of(slot, row)}
    counts, rows = cp.zeros(n_slots, dtype=np.uint32), cp.empty_like(row)
    _run("count_votes", len(slot), len(slot), slot, counts, **constants)
    first_vote, first_chunk = (
        _pointers(counts),
        _pointers((counts + np.uint32(CHUNK - 1)) // np.uint32(CHUNK)),
    )
    _run("sort_votes", len(slot), len(slot), slot, row, first_vote[:-1].copy(), rows, **constants)
    slot_of = cp.empty(int(first_chunk[-1]), dtype=np.uint32)
    _run("name_chunks", n_slots, n_slots, first_chunk, slot_of, **constants)
    return Index(rows, first_vote, first_chunk, slot_of)


def _run(name: str, threads: int, count: int, *arguments: Any, **constants: Any) -> None:
    """Run a kernel; its first argument is the number of items, which its threads share."""
    kernel = compiled(("by_annotator.cu",), name, **constants)
    kernel((grid(threads),), (THREADS,), (np.uint32(count), *arguments))


def _pointers(counts: Any) -> Any:
    pointers = cupy().zeros(len(counts) + 1, dtype=np.uint32)
    cupy().cumsum(counts, dtype=np.uint32, out=pointers[1:])
    return pointers
