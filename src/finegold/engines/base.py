"""The interface of engines, and blocks: ranges of tasks that are processed together.

Blocks depend on the data, not on the number of threads, and their sums are always added along the
same tree. Therefore any number of threads or machines gives bitwise identical results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from finegold.kernels import Votes
from finegold.kernels.cells import cells_of, vote_rows, voters_of
from finegold.kernels.compiling import fixed_length
from finegold.votes.annotations import Annotations, kernel_votes

# per block; smaller blocks are worth neither a thread nor kernels for one number of classes
VOTES_PER_BLOCK = 2**16
# per block at least, so that sums by annotator cost little in comparison
VOTES_PER_ANNOTATOR = 32
MAX_BLOCKS = 64
# larger data has more than MAX_BLOCKS blocks, since a cluster has hundreds of cores
MAX_VOTES_PER_BLOCK = 2**22

# of a vote and a class; compiling takes longer than four sweeps of NumPy
FEW_PAIRS = 2**20

Statistics = TypeVar("Statistics", bound=tuple[Any, ...])


@dataclass
class Block:
    """The votes of a range of tasks (read-only), and the state that the method keeps for them
    between sweeps.
    """

    index: int
    votes: Votes
    # [n]
    gold: NDArray[np.int32]
    n_annotators: int
    # of all blocks
    total_votes: int
    # [n, K]
    posterior: NDArray[np.float64]
    state: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def n_tasks(self) -> int:
        return len(self.votes.task_ptr) - 1

    @property
    def n_classes(self) -> int:
        return int(self.posterior.shape[1])

    @property
    def classes(self) -> Any:
        return self.length(self.n_classes)

    @property
    def few(self) -> bool:
        """Return whether all blocks together have so few votes that NumPy is fast enough for them."""
        return self.total_votes * self.n_classes <= FEW_PAIRS

    def length(self, n: int) -> Any:
        """Return an object of length n: for small data an array, so that one version of a kernel
        serves any length.
        """
        n_votes = voters_of(self.votes).size
        return np.arange(n) if n_votes < VOTES_PER_BLOCK else fixed_length(n)

    @cached_property
    def rows(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """Where the votes of each task begin, and the row j K + l of every vote of annotator j for
        class l.
        """
        return vote_rows(self.n_classes, self.votes)

    @cached_property
    def places(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The task of every cell, and the cell of every vote, both numbered from 0."""
        sizes, _ = cells_of(self.votes)
        tasks, cells = (np.arange(n, dtype=np.uint32) for n in (self.n_tasks, len(sizes)))
        return np.repeat(tasks, np.diff(self.votes.task_ptr).astype(int)), np.repeat(cells, sizes)

    def alone(self) -> Block:
        """Return this block with arrays of its own, which hold no votes of other blocks."""
        task_ptr, cell_ptr, cell_class, annotator = self.votes
        cells = slice(int(task_ptr[0]), int(task_ptr[-1]))
        ends = cell_ptr[cells.start : cells.stop + 1]
        voters = annotator[int(ends[0]) : int(ends[-1])].copy()
        own = Votes(task_ptr - task_ptr[0], ends - ends[0], cell_class[cells].copy(), voters)
        return replace(self, votes=own, gold=self.gold.copy())

    def class_sums(self) -> NDArray[np.float64]:
        sums: NDArray[np.float64] = self.posterior.sum(axis=0, dtype=np.float64)
        return sums


class Engine(Protocol):
    """Divides the votes into blocks, and sums what a method computes on each of them."""

    def accept(self, method: Any) -> None:
        """Raise an InputError if the engine cannot run the method."""
        return

    def scatter(self, annotations: Annotations, *, divisible: bool = True) -> None:
        """Divide the votes into blocks, or into one block if the method is not divisible."""

    def sum(self, step: Callable[..., Statistics], *arguments: Any) -> Statistics:
        """Sum step(block, *arguments) over all blocks."""
        ...

    def gather(self, name: str = "posterior") -> NDArray[Any]:
        """Return the array that the blocks keep under this name, in the order of tasks."""
        ...

    def close(self) -> None:
        """Release threads, workers and memory."""


def split(
    annotations: Annotations, posterior: NDArray[Any], fewest_votes: int = VOTES_PER_BLOCK
) -> list[Block]:
    """Return blocks with about the same number of votes, all views of the same arrays."""
    n_votes, n_tasks = annotations.n_votes, annotations.n_tasks
    smallest = max(fewest_votes, VOTES_PER_ANNOTATOR * annotations.n_annotators)
    most = max(MAX_BLOCKS, n_votes // MAX_VOTES_PER_BLOCK)
    n_blocks = min(max(n_votes // smallest, 1), most, n_tasks)
    # a block begins at the first task with at least so many votes before it
    votes_before = np.ceil(np.linspace(0, n_votes, n_blocks + 1)[1:-1]).astype(int)
    cells_before = np.searchsorted(annotations.cell_ptr, votes_before)
    first_tasks = np.searchsorted(annotations.task_ptr, cells_before)
    bounds = pairwise(sorted({0, *first_tasks.tolist(), n_tasks}))
    gold, n_annotators = annotations.gold, annotations.n_annotators
    return [
        Block(
            n,
            kernel_votes(annotations, *at),
            gold[slice(*at)],
            n_annotators,
            n_votes,
            posterior[slice(*at)],
        )
        for n, at in enumerate(bounds)
    ]


def add_up(parts: Iterable[Statistics]) -> Statistics:
    """Add the sums of consecutive blocks along a binary tree.

    The tree does not depend on where a part was computed, so no bit does.
    """
    # the sums of 2^level blocks each, with falling levels
    sums: list[tuple[int, Any]] = []
    for part in parts:
        level, total = 0, part
        while sums and sums[-1][0] == level:
            total = _join(sums.pop()[1], total)
            level += 1
        sums.append((level, total))
    _, total = sums.pop()
    while sums:
        total = _join(sums.pop()[1], total)
    return total


def _join(left: Any, right: Any) -> Any:
    """Combine statistics field by field: the maximum of `change`, the sum of all other fields."""
    fields = zip(left._fields, left, right, strict=True)
    return type(left)(*(max(a, b) if name == "change" else a + b for name, a, b in fields))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread: blocks run in threads of their own."""
    # not kept: libraries that are loaded later, as SciPy's, have a BLAS of their own
    limited: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limited
