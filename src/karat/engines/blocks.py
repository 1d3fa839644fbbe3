"""Blocks: runs of tasks that are worked on together, and the sum of what they yield.

Blocks depend on the data, not on the number of threads, and are always summed in the same order, so that any
number of threads gives the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from karat.annotations import Annotations

__all__ = ["Block", "add_up", "split"]

FEWEST_VOTES = 2**16  # a smaller block is not worth a thread
VOTES_PER_ANNOTATOR = 32  # nor is one whose sums by annotator outweigh its votes
MOST_BLOCKS = 64

Statistics = TypeVar("Statistics", bound=tuple[Any, ...])


@dataclass
class Block:
    """Votes of a run of tasks (read only) and what the method keeps for them between sweeps.

    Pointers are absolute: cell c of the block is cell c of `cell_class`. Integers are unsigned for the kernels.
    """

    index: int
    task_ptr: NDArray[np.uint64]  # [n+1]
    cell_ptr: NDArray[np.uint64]
    cell_class: NDArray[np.uint8] | NDArray[np.uint16]
    annotator: NDArray[np.uint32]
    gold: NDArray[np.int32]  # [n]
    n_annotators: int
    posterior: NDArray[np.float64]  # [n, K]
    state: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def n_tasks(self) -> int:
        return len(self.task_ptr) - 1

    @property
    def n_classes(self) -> int:
        return int(self.posterior.shape[1])

    @property
    def votes(self) -> tuple[Any, Any, Any, Any]:
        """What nearly every kernel takes first."""
        return self.task_ptr, self.cell_ptr, self.cell_class, self.annotator


def split(annotations: Annotations, posterior: NDArray[np.float64], fewest_votes: int = FEWEST_VOTES) -> list[Block]:
    """Blocks of about equally many votes, all views of the same arrays."""
    bounds = _bounds(annotations, fewest_votes)
    return [
        Block(
            index=index,
            task_ptr=annotations.task_ptr[first : end + 1].view(np.uint64),
            cell_ptr=annotations.cell_ptr.view(np.uint64),
            cell_class=annotations.cell_class,
            annotator=annotations.annotator.view(np.uint32),
            gold=annotations.gold[first:end],
            n_annotators=annotations.n_annotators,
            posterior=posterior[first:end],
        )
        for index, (first, end) in enumerate(pairwise(bounds))
    ]


def _bounds(annotations: Annotations, fewest_votes: int) -> list[int]:
    smallest = max(fewest_votes, VOTES_PER_ANNOTATOR * annotations.n_annotators)
    n_blocks = min(max(annotations.n_votes // smallest, 1), MOST_BLOCKS, annotations.n_tasks)
    first_vote = annotations.cell_ptr[annotations.task_ptr]
    targets = np.linspace(0, annotations.n_votes, n_blocks + 1)[1:-1]
    inner = np.searchsorted(first_vote, targets)
    return sorted({0, *inner.tolist(), annotations.n_tasks})


def add_up(parts: Iterable[Statistics]) -> Statistics:
    """Field by field, in order. The field `change` is a maximum, all others are sums."""
    parts = iter(parts)
    total = next(parts)
    for part in parts:
        fields = zip(total._fields, total, part, strict=True)  # type: ignore[attr-defined]  # a named tuple
        total = type(total)(*(max(a, b) if name == "change" else a + b for name, a, b in fields))
    return total
