"""The actors of all workers: which worker has which block, how actors are called, and which of them are lost."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import cloudpickle
import numpy as np

from finegold.engines.dask.block_actor import Answer, BlockActor, Branch, Kept, Lost, Order, installed_version
from finegold.engines.dask.cluster import Cluster
from finegold.engines.dask.packing import Origin
from finegold.errors import FinegoldError, InputError

__all__ = ["WorkerPool"]

LOOK = 1.0  # seconds between two checks that all workers are connected
PING = 5.0  # seconds that a worker may take to answer
NOTICE = 3.0  # seconds within which a lost worker is noticed
ATTACH = 60.0  # seconds that a worker may take to load Finegold
POLL = 0.02  # seconds between two checks
IN_FLIGHT = 2  # blocks on their way to each worker
UNEVEN = 0.1  # how much more than its share a worker may get, so that it has whole branches of the tree of sums


class WorkerPool:
    """One actor per worker."""

    def __init__(self, cluster: Cluster, dtype: Any) -> None:
        self.cluster, self.dtype = cluster, dtype
        self.actors: dict[str, Any] = {}  # by the worker's address
        self.threads: dict[str, int] = {}
        self.worker_of: dict[int, str] = {}  # the address of the worker of each block
        self.loaded: set[int] = set()  # blocks whose votes the worker has loaded
        self.on_the_way: list[tuple[int, Any]] = []  # blocks, and the answers of their workers
        self.attempt = 0

    def attach(self, workers: dict[str, int]) -> None:
        """Start an actor on each worker that has none. Workers that leave meanwhile are skipped."""
        futures = {
            address: self.cluster.client.submit(
                BlockActor, threads, self.dtype, actor=True, workers=[address], pure=False
            )
            for address, threads in workers.items()
            if address not in self.actors
        }
        with self.cluster.client.as_current():  # actors use the current client from their first call on
            for address, future in futures.items():
                try:
                    actor = self._attached(address, future)
                    _same_version(address, self._result(actor.version()))
                    self.actors[address], self.threads[address] = actor, workers[address]
                except Lost:
                    continue

    def _attached(self, address: str, future: Any) -> Any:
        end = time.monotonic() + ATTACH
        while not future.done():
            if address not in self.cluster.threads() or time.monotonic() > end:
                raise Lost(address)
            time.sleep(POLL)
        try:
            return future.result()
        except ImportError as error:
            raise InputError(
                f"the Dask worker {address} cannot load Finegold ({error}); install it there, too"
            ) from error
        except Exception as error:  # Dask raises many errors for a lost worker
            raise Lost(str(error)) from error

    def assign(self, blocks: Sequence[int]) -> None:
        """Assign blocks to workers: neighbours together, and each worker at most the share of its threads."""
        if not self.actors:
            raise Lost("no worker is left")
        unit = _unit(len(self.worker_of) + len(blocks), sum(self.threads.values()))
        groups = [list(group) for _, group in groupby(blocks, key=lambda block: block // unit)]
        capacity = self._capacity(unit, len(self.worker_of) + len(blocks))
        for group in groups:
            largest = max(sorted(capacity), key=capacity.__getitem__)
            address = next((a for a in sorted(capacity) if capacity[a] >= len(group)), largest)
            self.worker_of.update(dict.fromkeys(group, address))
            capacity[address] -= len(group)

    def _capacity(self, unit: int, n_blocks: int) -> dict[str, int]:
        """Return how many more blocks each worker can take."""
        units, threads = math.ceil(n_blocks / unit), sum(self.threads.values())
        taken = Counter(self.worker_of.values())
        return {a: unit * math.ceil(units * self.threads[a] / threads) - taken[a] for a in self.actors}

    def place(self, block: int, origin: Origin | None, number: int, kept: Kept | None) -> None:
        """Send a block to its worker. Wait only if too many blocks are on the way."""
        future = self._call(self.worker_of[block], "take", self.attempt, block, origin, number, kept)
        self.on_the_way.append((block, future))
        if len(self.on_the_way) > IN_FLIGHT * len(self.actors):
            self._wait_for_place()

    def wait_for_places(self) -> None:
        while self.on_the_way:
            self._wait_for_place()

    def _wait_for_place(self) -> None:
        block, future = self.on_the_way.pop(0)
        self._arrived(future)
        self.loaded.add(block)

    def catch_up(self, blocks: Iterable[int], number: int, payload: bytes) -> None:
        """Repeat a pass on these blocks."""
        addresses = sorted({self.worker_of[block] for block in blocks})
        for future in [self._call(address, "catch_up", number, payload) for address in addresses]:
            self._arrived(future)

    def run(self, number: int, payload: bytes) -> tuple[Any, int]:
        """Run a pass over all blocks along a tree of workers. Return the sum and the number of bytes moved."""
        order = Order(number, self.attempt, payload, len(self.worker_of))
        (root,) = self._branches([address for address in sorted(self.actors) if address in self.worker_of.values()], 1)
        answer: Answer = self._result(root.actor.run(order, root.branches))
        if answer.is_lost:
            raise Lost("a worker does not hear from another one")
        _refuse(answer.error)
        nodes = cloudpickle.loads(answer.nodes)
        if len(nodes) > 1:  # a whole tree is one node
            raise Lost("not all blocks have been counted")
        return next(iter(nodes.values())), len(payload) + len(answer.nodes) + answer.moved

    def collect(self, name: str | None) -> dict[int, Any]:
        """Return what the blocks hold, by the number of the block."""
        futures = [self._call(address, "kept", name) for address in sorted(self.actors)]
        return {block: values for future in futures for block, values in self._result(future).items()}

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
        self.worker_of = {block: address for block, address in self.worker_of.items() if block not in gone}
        self.loaded -= gone
        return gone

    def release(self) -> None:
        """Forget all actors: Dask frees what has no references."""
        self.actors, self.threads, self.worker_of, self.loaded, self.on_the_way = {}, {}, {}, set(), []

    def _branches(self, addresses: Sequence[str], n: int) -> list[Branch]:
        """Split these workers into n branches of neighbours, so that many sums can be joined on the way."""
        parts = [part.tolist() for part in np.array_split(np.array(addresses, dtype=object), n)]
        return [Branch(self.actors[part[0]], self._branches(part[1:], 2)) for part in parts if part]

    def _lost(self) -> list[str]:
        there = self.cluster.threads()
        return [address for address in self.actors if address not in there or not self._answers(address)]

    def _answers(self, address: str) -> bool:
        try:
            self.actors[address].ping(self.attempt, separate_thread=False).result(timeout=PING)
        except Exception:  # Dask raises many errors for a lost worker
            return False
        return True

    def _call(self, address: str, what: str, *arguments: Any) -> Any:
        try:
            return getattr(self.actors[address], what)(*arguments)
        except RuntimeError as error:  # Dask knows already that the worker is lost
            raise Lost(address) from error

    def _result(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=LOOK)
            except TimeoutError:
                if not self.actors.keys() <= self.cluster.threads().keys():
                    raise Lost("a worker has left the cluster") from None
            except Exception as error:  # Dask raises many errors for a lost worker
                raise Lost(str(error)) from error

    def _arrived(self, future: Any) -> None:
        _refuse(self._result(future))


def _unit(n_blocks: int, n_threads: int) -> int:
    """Return how many blocks are assigned together: a whole branch of the tree of sums, as large as an even share
    allows.
    """
    most = (1 + UNEVEN) * math.ceil(n_blocks / n_threads)
    units = [1 << level for level in range(n_blocks.bit_length())]
    return max(unit for unit in units if math.ceil(math.ceil(n_blocks / unit) / n_threads) * unit <= most)


def _same_version(address: str, version: str) -> None:
    if version != installed_version():
        raise InputError(
            f"the Dask worker {address} has Finegold {version}, but this is {installed_version()}; "
            "install the same version on all machines"
        )


def _refuse(error: bytes) -> None:
    """Raise here the error that a step raised on a worker."""
    if not error:
        return
    found = cloudpickle.loads(error)
    if isinstance(found, MemoryError):
        raise FinegoldError("a Dask worker ran out of memory; give them more, or take more workers") from found
    raise found
