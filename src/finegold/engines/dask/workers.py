"""What runs on the workers of a Dask cluster: an actor on each of them holds blocks and runs steps
on them.

`BlockActor` is the actor; `WorkerPool`, on the client, knows which worker has which block, calls
the actors, and notices which of them are lost. `Packed` is how the votes of a block travel.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
from cloudpickle import dumps, loads
from numpy.typing import NDArray

from finegold.engines.base import one_blas_thread
from finegold.engines.blocks import Block, Tree
from finegold.engines.dask.cluster import LOOK, POLL, Cluster
from finegold.errors import FinegoldError, InputError
from finegold.kernels import Votes
from finegold.votes.encoding import MISSING

# Seconds:
# between two checks whether to go on waiting for another worker
PATIENCE = 0.5
# that a worker may take to answer
PING = 5.0
# within which a lost worker is noticed
NOTICE = 3.0
# that a worker may take to load Finegold
ATTACH = 60.0

# blocks on their way to each worker
IN_FLIGHT = 2
# how much more than its share a worker may get, so that it has whole branches of the tree of sums
UNEVEN = 0.1

# the posterior and the state of a block
Kept = tuple[NDArray[Any], dict[str, NDArray[Any]]]


class Origin(Protocol):
    """Where a worker loads the votes of a block from, as often as needed."""

    def load(self, index: int, dtype: Any) -> Block:
        """Return the block with posteriors of this dtype, all zero."""
        ...


class Packed(NamedTuple):
    """Numbers of cells and votes instead of pointers, each in as few bytes as the largest one
    needs.
    """

    cells_per_task: NDArray[Any]
    votes_per_cell: NDArray[Any]
    cell_class: NDArray[Any]
    annotator: NDArray[Any]
    # None: no truth is known
    gold: NDArray[Any] | None
    n_annotators: int
    n_classes: int
    # of all blocks
    total_votes: int

    def load(self, index: int, dtype: Any) -> Block:
        n_tasks, counts = len(self.cells_per_task), (self.cells_per_task, self.votes_per_cell)
        task_ptr, cell_ptr = (
            np.append(np.uint64(0), np.cumsum(sizes, dtype=np.uint64)) for sizes in counts
        )
        votes = Votes(task_ptr, cell_ptr, self.cell_class, self.annotator.astype(np.uint32))
        gold = (
            np.full(n_tasks, MISSING, np.int32) if self.gold is None else self.gold.astype(np.int32)
        )
        posterior = np.zeros((n_tasks, self.n_classes), dtype)
        return Block(index, votes, gold, self.n_annotators, self.total_votes, posterior)

    @classmethod
    def of(cls, block: Block) -> Packed:
        task_ptr, cell_ptr, cell_class, annotator = block.own_votes()
        cells, votes = (
            n.astype(np.min_scalar_type(int(n.max(initial=0))))
            for n in map(np.diff, (task_ptr, cell_ptr))
        )
        annotator = annotator.astype(np.min_scalar_type(block.n_annotators))
        gold = block.gold.copy() if (block.gold != MISSING).any() else None
        sizes = block.n_annotators, block.n_classes, block.total_votes
        return cls(cells, votes, cell_class.copy(), annotator, gold, *sizes)


class Lost(Exception):
    """A worker does not answer, or it was restarted and has lost its blocks."""


class Order(NamedTuple):
    number: int
    # grows with every repetition after a loss
    attempt: int
    # (step, arguments)
    payload: bytes
    # of all workers
    n_blocks: int


class Branch(NamedTuple):
    actor: Any
    branches: Sequence[Branch]


class Answer(NamedTuple):
    """The answer of a branch: nodes of the tree of sums, or the reason why there are none."""

    nodes: bytes = b""
    # bytes that went between workers
    moved: int = 0
    # of the step
    error: bytes = b""
    # a worker further down does not answer
    is_lost: bool = False


class BlockActor:
    """A Dask actor that holds blocks."""

    # A step runs once on every block, however often it is ordered: each block knows its last pass.

    def __init__(self, threads: int, dtype: Any) -> None:
        self.dtype, self.pool = dtype, ThreadPoolExecutor(threads)
        self.blocks: dict[int, Block] = {}
        # the last pass of each block
        self.done: dict[int, int] = {}
        # the sums of that pass
        self.tree, self.number = Tree(), 0
        # attempt
        self.newest = 0

    def version(self) -> str:
        return version("finegold")

    def ping(self, attempt: int) -> bool:
        """Answer, while a step runs. Actors that wait for an answer to an earlier attempt give up."""
        self.newest = max(self.newest, attempt)
        return True

    def take(
        self, attempt: int, index: int, origin: Origin | None, number: int, kept: Kept | None
    ) -> bytes:
        """Hold this block as it was after that pass, and return the error as bytes if there is one."""
        # origin is None for a block that is held already. Blocks that arrive late, after a loss,
        # are out of date and are ignored: they would reset a block that has caught up.
        if attempt < self.newest:
            return b""
        try:
            if origin is not None:
                self.blocks[index] = origin.load(index, self.dtype)
            if kept is not None:
                block = self.blocks[index]
                block.posterior[:], block.state = (
                    kept[0],
                    {name: values.copy() for name, values in kept[1].items()},
                )
            self.done[index] = number
        except Exception as error:
            return dumps(error)  # type: ignore[no-any-return]
        return b""

    def catch_up(self, number: int, payload: bytes) -> bytes:
        try:
            for _ in self._run(number, payload):
                pass
        except Exception as error:
            return dumps(error)  # type: ignore[no-any-return]
        return b""

    def run(self, order: Order, branches: Sequence[Branch]) -> Answer:
        """Run a pass on the blocks of this actor and of its branches, and join their sums."""
        asked = [branch.actor.run(order, branch.branches) for branch in branches]
        if self.number != order.number:
            self.tree, self.number = Tree(order.n_blocks), order.number
        try:
            for index, part in self._run(order.number, order.payload):
                self.tree.add((0, index), part)
        except Exception as error:
            return Answer(error=dumps(error))
        tree, moved = Tree(order.n_blocks), 0
        tree.nodes = dict(self.tree.nodes)
        for future in asked:
            answer = Answer(is_lost=True)
            while self.newest <= order.attempt:
                try:
                    answer = future.result(timeout=PATIENCE)
                except TimeoutError:
                    continue
                except Exception:
                    # Dask raises many errors for a lost worker
                    pass
                break
            if answer.error or answer.is_lost:
                return answer
            moved += len(order.payload) + len(answer.nodes) + answer.moved
            for node, part in loads(answer.nodes).items():
                tree.add(node, part)
        return Answer(dumps(tree.nodes), moved)

    def collect(self, name: str | None = None) -> dict[int, Any]:
        if name is None:
            return {index: (block.posterior, block.state) for index, block in self.blocks.items()}
        return {
            i: b.posterior if name == "posterior" else b.state[name] for i, b in self.blocks.items()
        }

    def _run(self, number: int, payload: bytes) -> Iterator[tuple[int, Any]]:
        """Yield the sums of each block as soon as they are there, so that few are in memory at a
        time.
        """
        step, arguments = loads(payload)
        due = [
            block for index, block in sorted(self.blocks.items()) if self.done[index] == number - 1
        ]
        with one_blas_thread():
            for block, part in zip(
                due, self.pool.map(lambda block: step(block, *arguments), due), strict=True
            ):
                self.done[block.index] = number
                yield block.index, part


class WorkerPool:
    def __init__(self, cluster: Cluster, dtype: Any) -> None:
        self.cluster, self.dtype = cluster, dtype
        # by the worker's address
        self.actors: dict[str, Any] = {}
        self.threads: dict[str, int] = {}
        # the address of the worker of each block
        self.worker_of: dict[int, str] = {}
        # blocks whose votes the worker has loaded
        self.loaded: set[int] = set()
        # blocks, and the answers of their workers
        self.on_the_way: list[tuple[int, Any]] = []
        self.attempt = 0

    def attach(self, workers: dict[str, int]) -> None:
        """Start an actor on each worker that has none. Workers that leave meanwhile are skipped."""
        submit, new = (
            self.cluster.client.submit,
            {a: n for a, n in workers.items() if a not in self.actors},
        )
        made = (
            submit(BlockActor, n, self.dtype, actor=True, workers=[a], pure=False)
            for a, n in new.items()
        )
        futures = dict(zip(new, made, strict=True))
        # actors use the current client from their first call on
        with self.cluster.client.as_current():
            for address, future in futures.items():
                end = time.monotonic() + ATTACH
                while (
                    not future.done()
                    and address in self.cluster.threads()
                    and time.monotonic() < end
                ):
                    time.sleep(POLL)
                if not future.done():
                    continue
                try:
                    actor = future.result()
                    there, here = self._result(actor.version()), version("finegold")
                except ImportError as error:
                    raise InputError(
                        f"the Dask worker {address} cannot load Finegold ({error}); install it"
                        " there, too"
                    ) from error
                except FinegoldError:
                    raise
                except Exception:
                    # Dask raises many errors for a lost worker
                    continue
                if there != here:
                    raise InputError(
                        f"the Dask worker {address} has Finegold {there}, but this is {here}; "
                        "install the same version on all machines"
                    )
                self.actors[address], self.threads[address] = actor, workers[address]

    def assign(self, blocks: Sequence[int]) -> None:
        """Assign blocks to workers: neighbours together, and each worker at most the share of its
        threads.
        """
        if not self.actors:
            raise Lost("no worker is left")
        n_blocks, n_threads = len(self.worker_of) + len(blocks), sum(self.threads.values())
        # Blocks are assigned in units: whole branches of the tree of sums, as large as an even
        # share allows.
        most = (1 + UNEVEN) * math.ceil(n_blocks / n_threads)
        units = [1 << level for level in range(n_blocks.bit_length())]
        unit = max(
            unit
            for unit in units
            if math.ceil(math.ceil(n_blocks / unit) / n_threads) * unit <= most
        )
        n_units, taken = math.ceil(n_blocks / unit), Counter(self.worker_of.values())
        capacity = {
            a: unit * math.ceil(n_units * self.threads[a] / n_threads) - taken[a]
            for a in self.actors
        }
        for _, group in groupby(blocks, key=lambda block: block // unit):
            together = list(group)
            largest = max(sorted(capacity), key=capacity.__getitem__)
            address = next((a for a in sorted(capacity) if capacity[a] >= len(together)), largest)
            self.worker_of.update(dict.fromkeys(together, address))
            capacity[address] -= len(together)

    def send(self, block: int, origin: Origin | None, number: int, kept: Kept | None) -> None:
        """Send a block to its worker. Wait only if too many blocks are on the way."""
        future = self._call(
            self.worker_of[block], "take", self.attempt, block, origin, number, kept
        )
        self.on_the_way.append((block, future))
        self.wait_for_arrivals(IN_FLIGHT * len(self.actors))

    def wait_for_arrivals(self, most: int = 0) -> None:
        """Wait until at most so many blocks are on the way."""
        while len(self.on_the_way) > most:
            block, future = self.on_the_way.pop(0)
            _raise_error(self._result(future))
            self.loaded.add(block)

    def catch_up(self, blocks: Iterable[int], number: int, payload: bytes) -> None:
        addresses = sorted({self.worker_of[block] for block in blocks})
        for future in [self._call(address, "catch_up", number, payload) for address in addresses]:
            _raise_error(self._result(future))

    def run(self, number: int, payload: bytes) -> tuple[Any, int]:
        """Run a pass over all blocks along a tree of workers. Return the sum and the number of
        bytes moved.
        """
        order = Order(number, self.attempt, payload, len(self.worker_of))
        (root,) = self._branches(
            [address for address in sorted(self.actors) if address in self.worker_of.values()], 1
        )
        answer: Answer = self._result(root.actor.run(order, root.branches))
        if answer.is_lost:
            raise Lost("a worker does not hear from another one")
        _raise_error(answer.error)
        nodes = loads(answer.nodes)
        # a whole tree is one node
        if len(nodes) > 1:
            raise Lost("not all blocks have been counted")
        return next(iter(nodes.values())), len(payload) + len(answer.nodes) + answer.moved

    def collect(self, name: str | None) -> dict[int, Any]:
        futures = [self._call(address, "collect", name) for address in sorted(self.actors)]
        return {
            block: values for future in futures for block, values in self._result(future).items()
        }

    def remove_lost(self) -> set[int]:
        """Remove lost workers, and make actors that wait for them give up. Return the lost blocks."""
        self.attempt += 1
        self.on_the_way = []
        end = time.monotonic() + NOTICE
        while not (lost := self._lost()) and time.monotonic() < end:
            time.sleep(0.1)
        for address in lost:
            del self.actors[address], self.threads[address]
        gone = {block for block, address in self.worker_of.items() if address in lost}
        self.worker_of = {
            block: address for block, address in self.worker_of.items() if block not in gone
        }
        self.loaded -= gone
        return gone

    def release(self) -> None:
        """Forget all actors: Dask frees what has no references."""
        self.actors, self.threads, self.worker_of, self.loaded, self.on_the_way = (
            {},
            {},
            {},
            set(),
            [],
        )

    def _branches(self, addresses: Sequence[str], n: int) -> list[Branch]:
        """Split these workers into n branches of neighbours, so that many sums can be joined on the
        way.
        """
        parts = [part.tolist() for part in np.array_split(np.array(addresses, dtype=object), n)]
        return [Branch(self.actors[part[0]], self._branches(part[1:], 2)) for part in parts if part]

    def _lost(self) -> list[str]:
        there = self.cluster.threads()
        return [
            address for address in self.actors if address not in there or not self._answers(address)
        ]

    def _answers(self, address: str) -> bool:
        try:
            self.actors[address].ping(self.attempt, separate_thread=False).result(timeout=PING)
        except Exception:
            # Dask raises many errors for a lost worker
            return False
        return True

    def _call(self, address: str, what: str, *arguments: Any) -> Any:
        try:
            return getattr(self.actors[address], what)(*arguments)
        except RuntimeError as error:
            # Dask knows already that the worker is lost
            raise Lost(address) from error

    def _result(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=LOOK)
            except TimeoutError:
                if not self.actors.keys() <= self.cluster.threads().keys():
                    raise Lost("a worker has left the cluster") from None
            except Exception as error:
                # Dask raises many errors for a lost worker
                raise Lost(str(error)) from error


def _raise_error(packed: bytes) -> None:
    """Raise here the error that a step raised on a worker, if there is one."""
    if not packed:
        return
    error = loads(packed)
    if isinstance(error, MemoryError):
        raise FinegoldError(
            "a Dask worker ran out of memory; give them more, or take more workers"
        ) from error
    raise error
