"""Blocks: ranges of tasks that are processed together, and the sum of their statistics.

Blocks depend on the data, not on the number of threads, and are always summed along the same tree.
Therefore any number of threads or machines gives bitwise identical results.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Votes
from finegold.kernels.jit import fixed_length
from finegold.kernels.sort_votes import MAX_VOTES
from finegold.votes.annotations import Annotations, kernel_votes

# per block; smaller blocks are not worth a thread
FEWEST_VOTES = 2**16
# per block at least, so that sums by annotator cost little in comparison
VOTES_PER_ANNOTATOR = 32
MAX_BLOCKS = 64
# per block; below, versions for one number of classes are not worth their compilation
MIN_UNROLLED_VOTES = 60_000
# larger data has more than MAX_BLOCKS blocks, since a cluster has hundreds of cores
MAX_VOTES_PER_BLOCK = 2**22

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
        return self.total_votes <= MAX_VOTES

    def length(self, n: int) -> Any:
        """Return an object of length n: for few votes an array, so that one version of a kernel
        serves any length.
        """
        # Only the block of small data has few votes: larger data have blocks of about FEWEST_VOTES
        # votes or more.
        task_ptr, cell_ptr, _, _ = self.votes
        return (
            np.arange(n)
            if cell_ptr[task_ptr[-1]] - cell_ptr[task_ptr[0]] < MIN_UNROLLED_VOTES
            else fixed_length(n)
        )

    def own_votes(self) -> Votes:
        """Return the votes of these tasks only. Pointers still count from the first cell and vote
        of all.
        """
        task_ptr, cell_ptr, cell_class, annotator = self.votes
        cells = slice(int(task_ptr[0]), int(task_ptr[-1]))
        ends = cell_ptr[cells.start : cells.stop + 1]
        return Votes(task_ptr, ends, cell_class[cells], annotator[int(ends[0]) : int(ends[-1])])

    def class_sums(self) -> NDArray[np.float64]:
        sums: NDArray[np.float64] = self.posterior.sum(axis=0, dtype=np.float64)
        return sums


def split(
    annotations: Annotations, posterior: NDArray[np.float64], fewest_votes: int = FEWEST_VOTES
) -> list[Block]:
    """Return blocks with about the same number of votes, all views of the same arrays."""
    wanted = cuts(annotations.n_votes, annotations.n_tasks, annotations.n_annotators, fewest_votes)
    return cut(annotations, posterior, wanted)


def cut(
    annotations: Annotations, posterior: NDArray[Any], wanted: NDArray[np.float64]
) -> list[Block]:
    """Return blocks that begin at the first task with at least the wanted number of votes before
    it.
    """
    inner = np.searchsorted(
        annotations.task_ptr, np.searchsorted(annotations.cell_ptr, np.ceil(wanted).astype(int))
    )
    bounds = sorted({0, *inner.tolist(), annotations.n_tasks})
    blocks = []
    for index, (first, end) in enumerate(pairwise(bounds)):
        votes, gold = kernel_votes(annotations, first, end), annotations.gold[first:end]
        blocks.append(
            Block(
                index,
                votes,
                gold,
                annotations.n_annotators,
                annotations.n_votes,
                posterior[first:end],
            )
        )
    return blocks


def cuts(
    n_votes: int, n_tasks: int, n_annotators: int, fewest_votes: int = FEWEST_VOTES
) -> NDArray[np.float64]:
    """Return the wanted number of votes before each block except the first."""
    smallest = max(fewest_votes, VOTES_PER_ANNOTATOR * n_annotators)
    most = max(MAX_BLOCKS, n_votes // MAX_VOTES_PER_BLOCK)
    n_blocks = min(max(n_votes // smallest, 1), most, n_tasks)
    return np.linspace(0, n_votes, n_blocks + 1)[1:-1]


class Tree:
    """Sum over blocks along a binary tree, so that the order in which blocks finish does not change
    any bit.
    """

    # Node (level, position) is the sum of the 2^level blocks from position * 2^level on. Two
    # siblings are added as soon as both are known, and a node that cannot have a sibling moves one
    # level up. The remaining nodes are added from the right.

    def __init__(self, n_blocks: int | None = None) -> None:
        # None: not known yet, so no node moves up without a sibling
        self.n_blocks = n_blocks
        self.nodes: dict[tuple[int, int], Any] = {}

    def add(self, node: tuple[int, int], part: Any) -> None:
        level, position = node
        while (sibling := (level, position ^ 1)) in self.nodes or (
            # without a sibling: no blocks are to the right, but some to the left
            self.n_blocks is not None
            and position > 0
            and position % 2 == 0
            and (position + 1) << level >= self.n_blocks
        ):
            if (other := self.nodes.pop(sibling, None)) is not None:
                part = _join(other, part) if position % 2 else _join(part, other)
            level, position = level + 1, position // 2
        self.nodes[level, position] = part

    def total(self) -> Any:
        in_order = sorted(self.nodes, key=lambda node: node[1] << node[0])
        *others, total = [self.nodes[node] for node in in_order]
        for part in reversed(others):
            total = _join(part, total)
        return total


def add_up(parts: Iterable[Statistics]) -> Statistics:
    tree = Tree()
    for index, part in enumerate(parts):
        tree.add((0, index), part)
    total: Statistics = tree.total()
    return total


def _join(left: Any, right: Any) -> Any:
    """Combine statistics field by field: the maximum of `change`, the sum of all other fields."""
    fields = zip(left._fields, left, right, strict=True)
    return type(left)(*(max(a, b) if name == "change" else a + b for name, a, b in fields))
