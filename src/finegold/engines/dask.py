"""Run a fit on the machines of a Dask cluster, or in processes of this machine.

Every pass over the votes is a task per group of blocks, whose inputs are the votes of the group,
the state that the pass before left, and the parameters. Votes and states stay in the memory of the
workers; sums are added along the same tree as on one machine, so the bits are the same. If a worker
is lost, Dask computes what it held again from these inputs.
"""

from __future__ import annotations

import copy
import logging
import math
import signal
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from operator import itemgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from finegold.engines.base import (
    VOTES_PER_BLOCK,
    Block,
    Engine,
    Statistics,
    add_up,
    one_blas_thread,
    split,
)
from finegold.errors import FinegoldError, InputError, use
from finegold.kernels.compiling import thread_count
from finegold.votes.annotations import Annotations

try:
    import dask
    from cloudpickle import dumps, loads
    from dask.sizeof import sizeof
    from distributed import Client, Future, KilledWorker, LocalCluster, WorkerPlugin, wait
except ImportError as error:
    raise InputError(f"the Dask engine needs {error.name}: pip install 'finegold[dask]'") from None

# seconds until a scheduler must have answered, until a worker must be there, and between two looks
# whether there are workers
CONNECT, WORKERS, LOOK = 10.0, 30.0, 1.0
# sums that one task adds; a power of two, so that such tasks are branches of the tree
SUMS_PER_TASK = 8
# Workers keep the memory that a sweep frees for the next one. Dask and the C library would give it
# back, and every sweep would cost thousands of page faults.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**31)}
SETTINGS = {
    # it samples every thread a hundred times a second
    "distributed.worker.profile.enabled": False,
    "distributed.nanny.pre-spawn-environ": KEEP_MEMORY,
    # the votes of a large group are a part of the graph, so that Dask can send them again
    "distributed.admin.large-graph-warning-threshold": "1 TB",
}

# the posterior and the state of each block of a group
States = list[tuple[NDArray[Any], dict[str, NDArray[Any]]]]


class DaskEngine(Engine):
    """Blocks in the memory of Dask workers.

    Args:
        scheduler: The address of a cluster, or a Dask client; None starts a cluster on this
            machine, which ends with the engine.
        threads: The number of processes of that cluster, by default one per core.
        fewest_votes: The least number of votes of a block.
    """

    def __init__(
        self,
        scheduler: Any = None,
        *,
        threads: int | None = None,
        fewest_votes: int = VOTES_PER_BLOCK,
    ) -> None:
        self.fewest_votes = fewest_votes
        self.n_blocks = 0
        self.votes: list[Future] = []
        self.states: list[Future] = []
        self.own: LocalCluster | None = None
        self.is_borrowed = isinstance(scheduler, Client)
        if scheduler is None:
            self.own = _start(thread_count(threads))
            self.client = Client(self.own, set_as_default=False, direct_to_workers=True)
            self.client.register_plugin(_Undisturbed())
        else:
            self.client = scheduler if self.is_borrowed else _connect(scheduler)
        try:
            self._workers()
        except BaseException:
            self.close()
            raise

    def accept(self, method: Any) -> None:
        if not method.divisible:
            what = "its work or its parameters cannot be split by tasks"
            raise InputError(
                f"{method.name} cannot run on a Dask cluster: {what}",
                remedies=[use(engine="local")],
            )

    def scatter(self, annotations: Annotations, *, divisible: bool = True) -> None:
        # workers make the posteriors
        empty = np.empty((annotations.n_tasks, 0))
        blocks = [block.alone() for block in split(annotations, empty, self.fewest_votes)]
        groups = _lists(blocks, _group_size(len(blocks), sum(self._workers().values())))
        self._load(_with_posteriors, [(some, annotations.n_classes) for some in groups])
        self.n_blocks = len(blocks)

    def load(self, read: Callable[..., Block], parts: Sequence[tuple[Any, ...]]) -> None:
        """Let workers make a block of each part: read(index, *part). The votes are not sent."""
        self._load(_read, [(read, index, part) for index, part in enumerate(parts)])

    def _load(self, make: Callable[..., list[Block]], groups: Sequence[tuple[Any, ...]]) -> None:
        own = version("finegold")
        for address, other in self.client.run(_version_there, on_error="return").items():
            if other != own:
                raise InputError(
                    f"the Dask worker {address} has Finegold {other}, but this is {own}; install"
                    " the same version on all machines"
                )
        self.n_blocks, self.states = len(groups), []
        # bound to no worker: a group that is bound to one that died is never loaded again
        self.votes = [self.client.submit(make, *group, pure=False) for group in groups]

    def each(self, write: Callable[..., None], parts: Sequence[tuple[Any, ...]]) -> None:
        """Call write(posterior, index, *part) for each block that was made of a part."""
        submit = self.client.submit
        arrays = [submit(_collect, state, "posterior") for state in self.states]
        jobs = enumerate(zip(arrays, parts, strict=True))
        self._wait([submit(write, array, n, *part, pure=False) for n, (array, part) in jobs])

    def sum(self, step: Callable[..., Statistics], *arguments: Any) -> Statistics:
        submit = self.client.submit
        # a task of its own, so that Dask can compute lost states again
        what = submit(bytes, dumps((step, arguments)), pure=False)
        states = self.states or [None] * len(self.votes)
        after = [
            submit(_run, what, votes, state, pure=False)
            for votes, state in zip(self.votes, states, strict=True)
        ]
        totals = [submit(itemgetter(1), done, pure=False) for done in after]
        while len(totals) > 1:
            totals = [submit(add_up, some, pure=False) for some in _lists(totals, SUMS_PER_TASK)]
        total: Statistics = self._wait(totals)[0]
        self.states = after
        return total

    def gather(self, name: str = "posterior") -> NDArray[Any]:
        arrays = [self.client.submit(_collect, state, name, pure=False) for state in self.states]
        return np.concatenate(self._wait(arrays))

    def close(self) -> None:
        self.votes, self.states = [], []
        if not self.is_borrowed:
            self.client.close()
        if self.own is not None:
            self.own.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _workers(self) -> dict[str, int]:
        """Return the number of threads of each worker; wait if there is none."""
        end = time.monotonic() + WORKERS
        try:
            while not (workers := self.client.nthreads()) and time.monotonic() < end:
                time.sleep(0.1)
        except (OSError, ValueError) as error:
            # TimeoutError is an OSError
            raise InputError(
                f"the Dask scheduler went away ({error}); nothing was written, start again"
            ) from error
        if not workers:
            raise InputError(
                f"the Dask scheduler has no workers, and none came within {WORKERS:.0f} s; "
                "start some (dask worker ADDRESS), and see in their logs why others ended"
            )
        return dict(workers)

    def _wait(self, futures: Sequence[Future]) -> list[Any]:
        """Return what the futures hold, or raise the error of a step."""
        try:
            while any(future.status == "pending" for future in futures):
                try:
                    with self.client.as_current():
                        wait(futures, timeout=LOOK)
                except TimeoutError:
                    self._workers()
            return list(self.client.gather(list(futures)))
        except (KilledWorker, MemoryError) as error:
            raise FinegoldError(
                "one job ended several Dask workers, perhaps because they ran out of memory; give"
                " them more, take more workers, or see in their logs why they ended. Nothing was"
                " written"
            ) from error


class _Undisturbed(WorkerPlugin):  # type: ignore[misc]  # Dask is not typed
    """Make workers ignore Ctrl-C, which reaches all processes of a terminal: the engine ends them."""

    def setup(self, worker: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@sizeof.register(Block)  # type: ignore[untyped-decorator]
def _bytes_of(block: Block) -> int:
    """Dask leaves a task where its largest inputs are."""
    return sum(array.nbytes for array in (*block.votes, block.gold, block.posterior))


def _version_there() -> str:
    return version("finegold")


def _with_posteriors(blocks: list[Block], n_classes: int) -> list[Block]:
    for block in blocks:
        block.posterior = np.zeros((block.n_tasks, n_classes))
    return blocks


def _read(read: Callable[..., Block], index: int, part: tuple[Any, ...]) -> list[Block]:
    return [read(index, *part)]


def _run(what: bytes, blocks: list[Block], states: tuple[States, Any] | None) -> tuple[States, Any]:
    """Run a step on copies of the blocks; return their states and the sum."""
    step, arguments = loads(what)
    before = states[0] if states else [(block.posterior, {}) for block in blocks]
    copies, parts = [copy.copy(block) for block in blocks], []
    with one_blas_thread():
        for block, (posterior, state) in zip(copies, before, strict=True):
            block.posterior = posterior.copy()
            block.state = {name: values.copy() for name, values in state.items()}
            parts.append(step(block, *arguments))
    return [(block.posterior, block.state) for block in copies], add_up(parts)


def _collect(states: tuple[States, Any], name: str) -> NDArray[Any]:
    return np.concatenate([p if name == "posterior" else own[name] for p, own in states[0]])


def _lists(values: Sequence[Any], size: int) -> list[list[Any]]:
    return [list(values[first : first + size]) for first in range(0, len(values), size)]


def _group_size(n_blocks: int, n_threads: int) -> int:
    """Return the number of blocks of a group: a power of two, since groups are branches of the tree
    of sums, and such that each thread gets two to four groups.
    """
    return 1 << max(math.ceil(n_blocks / n_threads).bit_length() - 2, 0)


def _connect(address: str) -> Client:
    try:
        return Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address} within {CONNECT:.0f} s; check the address"
            " (tcp://HOST:8786 as `dask scheduler` prints it), and that this machine may reach it"
        ) from error


def _start(n_workers: int) -> LocalCluster:
    """Start a process per core with one thread each: threads of one process would wait for the
    interpreter.
    """
    try:
        with dask.config.set(SETTINGS):
            return LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                # any free port: another process may use the usual one
                dashboard_address=":0",
                # Dask handles lost workers
                silence_logs=logging.CRITICAL,
            )
    except (OSError, RuntimeError) as error:
        raise FinegoldError(
            f"no Dask cluster could be started here ({error}); in a script of yours, put the call"
            ' below if __name__ == "__main__":, because new processes import the script'
        ) from error
