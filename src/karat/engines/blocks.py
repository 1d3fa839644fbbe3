"""Blocks: runs of tasks that are worked on together, and the sum of what they yield.

Blocks depend on the data, not on the number of threads, and are always summed along the same tree, so that any
number of threads or machines gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from karat.votes.annotations import Annotations

__all__ = ["Block", "Tree", "add_up", "cut", "cuts", "split", "sum_tasks"]

FEWEST_VOTES = 2**16  # a smaller block is not worth a thread
VOTES_PER_ANNOTATOR = 32  # nor is one whose sums by annotator outweigh its votes
MOST_BLOCKS = 64
MOST_VOTES = 2**22  # in a block, where so many blocks are not enough: a cluster has hundreds of cores

Statistics = TypeVar("Statistics", bound=tuple[Any, ...])


def kernels_of_cpu(name: str) -> Any:
    return import_module(f"karat.kernels.{name}")


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
    kernels: Callable[[str], Any] = kernels_of_cpu  # the module of this name, for where the arrays are

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

    def class_sums(self) -> NDArray[np.float64]:
        """[K] the sum of the posteriors."""
        return sum_tasks(self.posterior)


def sum_tasks(table: Any) -> NDArray[np.float64]:
    """[K] the sum of a table [n, K] that lies where the block's arrays do."""
    sums: Any = table.sum(axis=0, dtype=np.float64)
    return np.asarray(sums.get() if hasattr(sums, "get") else sums)  # a GPU's array has to be fetched


def split(annotations: Annotations, posterior: NDArray[np.float64], fewest_votes: int = FEWEST_VOTES) -> list[Block]:
    """Blocks of about equally many votes, all views of the same arrays."""
    wanted = cuts(annotations.n_votes, annotations.n_tasks, annotations.n_annotators, fewest_votes)
    return cut(annotations, posterior, wanted)


def cut(annotations: Annotations, posterior: NDArray[Any], wanted: NDArray[np.float64]) -> list[Block]:
    """Blocks that begin at the first task with so many votes before it."""
    inner = np.searchsorted(annotations.cell_ptr[annotations.task_ptr], wanted)
    bounds = sorted({0, *inner.tolist(), annotations.n_tasks})
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


def cuts(n_votes: int, n_tasks: int, n_annotators: int, fewest_votes: int = FEWEST_VOTES) -> NDArray[np.float64]:
    """How many votes are to lie before each block but the first; a block begins at the first task with so many."""
    smallest = max(fewest_votes, VOTES_PER_ANNOTATOR * n_annotators)
    most = max(MOST_BLOCKS, n_votes // MOST_VOTES)
    n_blocks = min(max(n_votes // smallest, 1), most, n_tasks)
    return np.linspace(0, n_votes, n_blocks + 1)[1:-1]


class Tree:
    """Sums over blocks as a binary tree: whoever adds which blocks, and when, the sum has the same bits.

    Node (level, place) is the sum of the 2^level blocks from place * 2^level on. Two siblings are joined as soon as
    both are there, and a node that can have no sibling rises; what is left in the end is joined from the right.
    """

    def __init__(self, n_blocks: int | None = None) -> None:
        self.n_blocks = n_blocks  # None: not known yet, so nothing rises
        self.nodes: dict[tuple[int, int], Any] = {}

    def add(self, node: tuple[int, int], part: Any) -> None:
        level, place = node
        while (sibling := (level, place ^ 1)) in self.nodes or self._is_last(level, place):
            if (other := self.nodes.pop(sibling, None)) is not None:
                part = _joined(other, part) if place % 2 else _joined(part, other)
            level, place = level + 1, place // 2
        self.nodes[level, place] = part

    def _is_last(self, level: int, place: int) -> bool:
        """Whether there are no blocks to the right, but some to the left."""
        return self.n_blocks is not None and place > 0 and place % 2 == 0 and (place + 1) << level >= self.n_blocks

    def total(self) -> Any:
        in_order = sorted(self.nodes, key=lambda node: node[1] << node[0])
        *others, total = [self.nodes[node] for node in in_order]
        for part in reversed(others):
            total = _joined(part, total)
        return total


def add_up(parts: Iterable[Statistics]) -> Statistics:
    """The sum of what the blocks yield, in their order."""
    tree = Tree()
    for index, part in enumerate(parts):
        tree.add((0, index), part)
    total: Statistics = tree.total()
    return total


def _joined(left: Any, right: Any) -> Any:
    """Field by field. The field `change` is a maximum, all others are sums."""
    fields = zip(left._fields, left, right, strict=True)
    return type(left)(*(max(a, b) if name == "change" else a + b for name, a, b in fields))
