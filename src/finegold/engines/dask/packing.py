"""The votes of a block, packed into few bytes for transfer, and unpacked again."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from finegold.engines.blocks import Block
from finegold.votes.encoding import MISSING

__all__ = ["Origin", "Packed", "memory_of", "pack"]


class Origin(Protocol):
    """Where a worker loads the votes of a block from, as often as needed."""

    def load(self, index: int, dtype: Any) -> Block:
        """Return the block with posteriors of this dtype, all zero."""
        ...


class Packed(NamedTuple):
    """Numbers of cells and votes instead of pointers, each in as few bytes as the largest one needs."""

    cells_per_task: NDArray[Any]
    votes_per_cell: NDArray[Any]
    cell_class: NDArray[Any]
    annotator: NDArray[Any]
    gold: NDArray[np.int32] | None  # None: no truth is known
    n_annotators: int
    n_classes: int

    def load(self, index: int, dtype: Any) -> Block:
        n_tasks = len(self.cells_per_task)
        return Block(
            index=index,
            task_ptr=_pointers(self.cells_per_task),
            cell_ptr=_pointers(self.votes_per_cell),
            cell_class=self.cell_class,
            annotator=self.annotator.astype(np.uint32),
            gold=np.full(n_tasks, MISSING, np.int32) if self.gold is None else self.gold.copy(),
            n_annotators=self.n_annotators,
            posterior=np.zeros((n_tasks, self.n_classes), dtype),
        )


def pack(block: Block) -> Packed:
    first_cell, end_cell = int(block.task_ptr[0]), int(block.task_ptr[-1])
    cell_ptr = block.cell_ptr[first_cell : end_cell + 1]
    return Packed(
        cells_per_task=_narrow(np.diff(block.task_ptr)),
        votes_per_cell=_narrow(np.diff(cell_ptr)),
        cell_class=block.cell_class[first_cell:end_cell].copy(),
        annotator=block.annotator[int(cell_ptr[0]) : int(cell_ptr[-1])].astype(np.min_scalar_type(block.n_annotators)),
        gold=block.gold.copy() if (block.gold != MISSING).any() else None,
        n_annotators=block.n_annotators,
        n_classes=block.n_classes,
    )


def memory_of(n_votes: float, n_tasks: float, n_classes: int, dtype: Any = np.float64) -> float:
    """Return an upper bound of the bytes that blocks take: votes, cells, tasks and posteriors."""
    n_cells = min(n_votes, n_tasks * n_classes)
    bytes_per_task = 12 + n_classes * np.dtype(dtype).itemsize
    return float(4 * n_votes + 10 * n_cells + n_tasks * bytes_per_task)


def _narrow(counts: NDArray[Any]) -> NDArray[Any]:
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def _pointers(counts: NDArray[Any]) -> NDArray[np.uint64]:
    pointers = np.zeros(len(counts) + 1, np.uint64)
    np.cumsum(counts, out=pointers[1:])
    return pointers
