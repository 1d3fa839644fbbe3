"""The Dask engine on the client: it assigns blocks to workers, records the passes, and recovers
from lost workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from tempfile import SpooledTemporaryFile
from typing import Any, Self, TypeVar

import numpy as np
from cloudpickle import dumps
from numpy.typing import NDArray

from finegold.engines.base import Engine
from finegold.engines.blocks import FEWEST_VOTES, Statistics, split
from finegold.engines.dask.cluster import DYING, REPLACEMENT, Cluster
from finegold.engines.dask.workers import Lost, Origin, Packed, WorkerPool
from finegold.errors import FinegoldError, InputError, use
from finegold.votes.annotations import Annotations

# in one pass, beside one for each worker: more losses will not end
MOST_LOSSES = 5
# of a worker's memory that blocks may take; the rest is for sums, parameters and the interpreter
MEMORY_SHARE = 0.7
# bytes; beyond, the passes are kept on disk
IN_MEMORY = 2**28

Answered = TypeVar("Answered")


class DaskEngine(Engine):
    """Blocks in the memory of Dask workers."""

    # scheduler: the address of a cluster, or a Dask client; None starts a cluster of `threads`
    # processes on this machine, by default one per core, and `close` (or the end of a `with` block)
    # ends it.

    def __init__(
        self,
        scheduler: Any = None,
        *,
        threads: int | None = None,
        single: bool = False,
        fewest_votes: int = FEWEST_VOTES,
    ) -> None:
        self.cluster = Cluster(scheduler, threads)
        self.dtype: Any = np.float32 if single else np.float64
        self.fewest_votes = fewest_votes
        self.history = History()
        self.pool = WorkerPool(self.cluster, self.dtype)
        self.origin: Callable[[int], Origin]
        # of each block, and the end
        self.first_task = np.zeros(1, np.int64)
        # blocks without a worker, or that have missed passes
        self.behind: set[int] = set()
        # bytes, in each pass
        self.moved: list[int] = []
        # at first; so many should be there again after a loss
        self.n_workers = 0

    def accept(self, method: Any) -> None:
        if not method.divisible or not method.distributable:
            raise InputError(
                f"{method.name} cannot run on a Dask cluster: its work or its parameters cannot be"
                " split by tasks",
                remedies=[use(engine="local")],
            )

    def scatter(self, annotations: Annotations, *, divisible: bool = True) -> None:
        nothing = np.broadcast_to(
            np.zeros(1, self.dtype), (annotations.n_tasks, annotations.n_classes)
        )
        blocks = split(
            annotations, nothing, self.fewest_votes if divisible else annotations.n_votes
        )
        self._check_memory(annotations.n_votes, annotations.n_tasks, annotations.n_classes)
        self.adopt(lambda index: Packed.of(blocks[index]), [block.n_tasks for block in blocks])

    def adopt(self, origin: Callable[[int], Origin], tasks: Sequence[int]) -> None:
        """Assign blocks with these numbers of tasks to workers, which load the votes from `origin`."""
        self.pool.release()
        self.history.close()
        self.history, self.moved, self.n_workers = History(), [], len(self.cluster.threads())
        self.origin = origin
        self.first_task = np.append(0, np.cumsum(tasks))
        self.behind = set(range(len(tasks)))
        self.pool.attach(self.cluster.threads())
        self._with_all(lambda: None)

    def sum(self, step: Callable[..., Statistics], *arguments: Any) -> Statistics:
        payload = dumps((step, arguments))
        total: Statistics
        total, moved = self._with_all(lambda: self.pool.run(self.history.number + 1, payload))
        self.history.append(payload)
        self.moved.append(moved)
        return total

    def state(self) -> dict[str, NDArray[Any]]:
        kept = self._with_all(lambda: self.pool.collect(None))
        state = {
            f"{i}.{name}": values for i, (_, own) in kept.items() for name, values in own.items()
        }
        return {"posterior": np.concatenate([kept[i][0] for i in sorted(kept)]), **state}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        number = self.history.number
        self.history.close()
        self.history = History(number, state)
        self.behind = set(range(self.n_blocks))
        self._with_all(lambda: None)

    def gather(self, name: str = "posterior") -> NDArray[Any]:
        kept = self._with_all(lambda: self.pool.collect(name))
        return np.concatenate([kept[index] for index in sorted(kept)])

    def notes(self) -> list[str]:
        if not self.moved:
            return []
        usual = sorted(self.moved)[len(self.moved) // 2]
        blocks = f"{self.n_blocks:,} block{'' if self.n_blocks == 1 else 's'}"
        workers = f"{len(self.pool.actors):,} worker{'' if len(self.pool.actors) == 1 else 's'}"
        return [f"Dask: {blocks} on {workers}, {usual:,} bytes moved per sweep"]

    def close(self) -> None:
        self.pool.release()
        self.history.close()
        self.cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def n_blocks(self) -> int:
        return len(self.first_task) - 1

    def _with_all(self, work: Callable[[], Answered]) -> Answered:
        """Do the work when every block has a worker and is up to date. Repeat it when workers are
        lost.
        """
        most, last = MOST_LOSSES + len(self.pool.actors), Lost()
        for _ in range(most):
            try:
                self._settle()
                return work()
            except Lost as lost:
                last = lost
                self.behind |= self.pool.remove_lost()
                self.pool.attach(self.cluster.wait_for(self.n_workers, REPLACEMENT))
        raise FinegoldError(
            f"Dask workers were lost {most} times within one pass over the votes ({last}), {DYING}"
        )

    def _settle(self) -> None:
        """Assign the blocks without a worker, load their votes, and repeat the passes that they
        have missed.
        """
        if not self.behind:
            return
        self.pool.assign(sorted(self.behind - self.pool.worker_of.keys()))
        for index in sorted(self.behind):
            origin = None if index in self.pool.loaded else self.origin(index)
            state, mark, kept = self.history.state, f"{index}.", None
            if state is not None:
                first, end = self.first_task[index : index + 2].tolist()
                own = {
                    name.removeprefix(mark): values
                    for name, values in state.items()
                    if name.startswith(mark)
                }
                kept = state["posterior"][first:end], own
            self.pool.send(index, origin, self.history.first, kept)
        self.pool.wait_for_arrivals()
        for number, payload in self.history.passes():
            self.pool.catch_up(self.behind, number, payload)
        self.behind = set()

    def _check_memory(self, n_votes: int, n_tasks: int, n_classes: int) -> None:
        """Refuse votes that do not fit into memory, before the operating system ends the workers."""
        limit = self.cluster.smallest_memory()
        share = memory_of(n_votes, n_tasks, n_classes, self.dtype) / max(
            len(self.cluster.threads()), 1
        )
        if limit is not None and share > MEMORY_SHARE * limit:
            raise InputError(
                f"each Dask worker would have to keep {share / 2**30:.1f} GiB of votes and"
                f" posteriors, but the smallest has {limit / 2**30:.1f} GiB; take more workers, or"
                " give them more memory"
            )


def memory_of(n_votes: float, n_tasks: float, n_classes: int, dtype: Any = np.float64) -> float:
    """Return an upper bound of the bytes that blocks take: votes, cells, tasks and posteriors."""
    n_cells = min(n_votes, n_tasks * n_classes)
    bytes_per_task = 12 + n_classes * np.dtype(dtype).itemsize
    return float(4 * n_votes + 10 * n_cells + n_tasks * bytes_per_task)


class History:
    """A state of all blocks and the passes since: together they determine every block."""

    def __init__(self, number: int = 0, state: dict[str, NDArray[Any]] | None = None) -> None:
        # None: the blocks as they are loaded
        self.first, self.state = number, state
        self.sizes: list[int] = []
        self.file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115

    @property
    def number(self) -> int:
        return self.first + len(self.sizes)

    def append(self, payload: bytes) -> None:
        self.file.seek(sum(self.sizes))
        self.file.write(payload)
        self.sizes.append(len(payload))

    def passes(self) -> Iterator[tuple[int, bytes]]:
        starts = accumulate(self.sizes, initial=0)
        for number, (start, size) in enumerate(
            zip(starts, self.sizes, strict=False), start=self.first + 1
        ):
            self.file.seek(start)
            yield number, self.file.read(size)

    def close(self) -> None:
        self.file.close()
