"""The actor on each worker: it holds blocks and runs steps on them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any, NamedTuple

from cloudpickle import dumps, loads
from numpy.typing import NDArray

from finegold.engines.base import one_blas_thread
from finegold.engines.blocks import Block, Tree
from finegold.engines.dask.packing import Origin

__all__ = ["Answer", "BlockActor", "Branch", "Lost", "Order", "installed_version"]

PATIENCE = 0.5  # seconds between two checks whether to go on waiting for another worker

Kept = tuple[NDArray[Any], dict[str, NDArray[Any]]]  # the posterior and the state of a block


class Lost(Exception):
    """A worker does not answer, or it was restarted and has lost its blocks."""


class Order(NamedTuple):
    """A pass over all blocks."""

    number: int
    attempt: int  # grows with every repetition after a loss
    payload: bytes  # (step, arguments)
    n_blocks: int  # of all workers


class Branch(NamedTuple):
    """An actor and the branches that it passes orders on to."""

    actor: Any
    branches: Sequence[Branch]


class Answer(NamedTuple):
    """The answer of a branch: nodes of the tree of sums, or the reason why there are none."""

    nodes: bytes = b""
    moved: int = 0  # bytes that went between workers
    error: bytes = b""  # of the step
    is_lost: bool = False  # a worker further down does not answer


class BlockActor:
    """A Dask actor that holds blocks.

    A step runs once on every block, however often it is ordered: each block knows its last pass.
    """

    def __init__(self, threads: int, dtype: Any) -> None:
        self.dtype, self.pool = dtype, ThreadPoolExecutor(threads)
        self.blocks: dict[int, Block] = {}
        self.done: dict[int, int] = {}  # the last pass of each block
        self.tree, self.number = Tree(), 0  # the sums of that pass
        self.newest = 0  # attempt

    def version(self) -> str:
        return installed_version()

    def ping(self, attempt: int) -> bool:
        """Answer, while a step runs. Actors that wait for an answer to an earlier attempt give up."""
        self.newest = max(self.newest, attempt)
        return True

    def take(self, attempt: int, index: int, origin: Origin | None, number: int, kept: Kept | None) -> bytes:
        """Hold this block as it was after that pass, and return the error as bytes if there is one.

        origin is None for a block that is held already. Blocks that arrive late, after a loss, are out of date and are
        ignored: they would reset a block that has caught up.
        """
        if attempt < self.newest:
            return b""
        try:
            if origin is not None:
                self.blocks[index] = origin.load(index, self.dtype)
            if kept is not None:
                block = self.blocks[index]
                block.posterior[:], block.state = kept[0], {name: values.copy() for name, values in kept[1].items()}
            self.done[index] = number
        except Exception as error:
            return told(error)
        return b""

    def catch_up(self, number: int, payload: bytes) -> bytes:
        """Repeat an earlier pass on the blocks that have missed it, and return the error as bytes if there is one."""
        try:
            self._run(number, payload)
        except Exception as error:
            return told(error)
        return b""

    def run(self, order: Order, branches: Sequence[Branch]) -> Answer:
        """Run a pass on the blocks of this actor and of its branches."""
        asked = [branch.actor.run(order, branch.branches) for branch in branches]
        try:
            self._add_own(order)
        except Exception as error:
            return Answer(error=told(error))
        try:
            answers = [self._wait(future, order.attempt) for future in asked]
        except Lost:
            return Answer(is_lost=True)
        return self._with(answers, order)

    def kept(self, name: str | None = None) -> dict[int, Any]:
        """Return the posterior and the state of each block, or only the array of this name."""
        if name is None:
            return {index: (block.posterior, block.state) for index, block in self.blocks.items()}
        return {i: b.posterior if name == "posterior" else b.state[name] for i, b in self.blocks.items()}

    def _add_own(self, order: Order) -> None:
        if self.number != order.number:
            self.tree, self.number = Tree(order.n_blocks), order.number
        for index, part in self._run(order.number, order.payload):
            self.tree.add((0, index), part)

    def _run(self, number: int, payload: bytes) -> list[tuple[int, Any]]:
        step, arguments = loads(payload)
        due = [block for index, block in sorted(self.blocks.items()) if self.done[index] == number - 1]
        with one_blas_thread():
            parts = list(self.pool.map(lambda block: step(block, *arguments), due))
        self.done.update((block.index, number) for block in due)
        return [(block.index, part) for block, part in zip(due, parts, strict=True)]

    def _wait(self, future: Any, attempt: int) -> Answer:
        while self.newest <= attempt:
            try:
                answer: Answer = future.result(timeout=PATIENCE)
                return answer
            except TimeoutError:
                continue
            except Exception as error:  # Dask raises many errors for a lost worker
                raise Lost from error
        raise Lost

    def _with(self, answers: Sequence[Answer], order: Order) -> Answer:
        """Join the sums of this actor and of its branches."""
        for answer in answers:
            if answer.error or answer.is_lost:
                return answer
        tree, moved = Tree(order.n_blocks), 0
        tree.nodes = dict(self.tree.nodes)
        for answer in answers:
            moved += len(order.payload) + len(answer.nodes) + answer.moved
            for node, part in loads(answer.nodes).items():
                tree.add(node, part)
        return Answer(dumps(tree.nodes), moved)


def installed_version() -> str:
    return version("finegold")


def told(error: Exception) -> bytes:
    words: bytes = dumps(error)
    return words
