"""A Dask cluster: an existing one, or processes of this machine. Every wait has a time limit."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import dask
from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin

from finegold.errors import FinegoldError, InputError
from finegold.kernels.jit import thread_count

Returned = TypeVar("Returned")

# seconds until a scheduler must have answered
CONNECT = 10.0
# until a worker must be there
WORKERS = 30.0
# for a lost worker to return, before others get its blocks
REPLACEMENT = 10.0
# between two checks that work is done, and that workers are connected
POLL, LOOK = 0.02, 1.0

# Workers keep the memory that a sweep frees for the next one. Dask and the C library would give it
# back, and every sweep would cost thousands of page faults. the largest; bytes
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**31)}
QUIET = {
    # it samples every thread a hundred times a second
    "distributed.worker.profile.enabled": False,
    "distributed.nanny.pre-spawn-environ": KEEP_MEMORY,
}

DIED = "one job ended several Dask workers"
DYING = (
    "perhaps because they ran out of memory; give them more, take more workers, or see in their"
    " logs why they ended. Nothing was written"
)


class Undisturbed(WorkerPlugin):  # type: ignore[misc]  # Dask is not typed
    """Make workers ignore Ctrl-C, which reaches all processes of a terminal: the engine saves their
    state first.
    """

    def setup(self, worker: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class Cluster:
    def __init__(self, scheduler: str | Client | None, workers: int | None) -> None:
        self.own: LocalCluster | None = None
        self.borrowed = isinstance(scheduler, Client)
        if isinstance(scheduler, Client):
            self.client = scheduler
        elif scheduler is None:
            self.own = _start(thread_count(workers))
            self.client = Client(self.own, set_as_default=False, direct_to_workers=True)
            self.client.register_plugin(Undisturbed())
        else:
            try:
                self.client = Client(scheduler, timeout=CONNECT, set_as_default=False)
            except (OSError, ValueError) as error:
                raise InputError(
                    f"no Dask scheduler answers at {scheduler} within {CONNECT:.0f} s; check the"
                    " address (tcp://HOST:8786 as `dask scheduler` prints it), and that this"
                    " machine may reach it"
                ) from error
        try:
            self.wait_for(1, WORKERS)
        except BaseException:
            self.close()
            raise

    def threads(self) -> dict[str, int]:
        """Return the number of threads of each worker that is connected now."""
        try:
            threads: dict[str, int] = self.client.nthreads()
        except (OSError, ValueError) as error:
            # TimeoutError is an OSError
            raise InputError(
                f"the Dask scheduler went away ({error}); nothing was written, start again"
            ) from error
        return threads

    def wait_for(self, n: int, seconds: float) -> dict[str, int]:
        """Wait until there are n workers or the time is over. Return the workers, at least one."""
        end = time.monotonic() + seconds
        while len(workers := self.threads()) < n and time.monotonic() < end:
            time.sleep(0.1)
        if not workers:
            raise InputError(
                f"the Dask scheduler has no workers, and none came within {seconds:.0f} s; "
                "start some (dask worker ADDRESS), and see in their logs why others ended"
            )
        return workers

    def map(self, step: Callable[..., Returned], jobs: Sequence[tuple[Any, ...]]) -> list[Returned]:
        """Return step(*job) of every job, in order. Another worker repeats the jobs of a lost one."""
        futures = [self.client.submit(step, *job, pure=False) for job in jobs]
        try:
            looked = time.monotonic()
            while (
                "pending" in (states := {future.status for future in futures})
                and "error" not in states
            ):
                time.sleep(POLL)
                if time.monotonic() > looked + LOOK:
                    self.wait_for(1, WORKERS)
                    looked = time.monotonic()
            returned: list[Returned] = self.client.gather(futures)
        except KilledWorker as error:
            raise FinegoldError(f"{DIED}, {DYING}") from error
        finally:
            self.client.cancel([future for future in futures if not future.done()])
        return returned

    def broadcast(self, value: Any) -> Any:
        """Send a value to every worker. Jobs take the future that is returned as an argument."""
        return self.client.scatter(value, broadcast=True, hash=False)

    def check_shared(self, folder: Path) -> None:
        """Refuse a folder that some worker does not see."""
        blind = [address for address, sees in self.client.run(folder.is_dir).items() if not sees]
        if blind:
            raise InputError(
                f"the Dask worker {blind[0]} does not see {folder.parent}; votes and labels must"
                " lie on a disk that all machines share under the same path"
            )

    def smallest_memory(self) -> int | None:
        """Return the smallest memory limit of a worker in bytes, or None without a limit."""
        workers: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        limits = [
            worker["memory_limit"] for worker in workers.values() if worker.get("memory_limit")
        ]
        return min(limits, default=None)

    def close(self) -> None:
        if not self.borrowed:
            self.client.close()
        if self.own is not None:
            self.own.close()


def _start(workers: int) -> LocalCluster:
    """Start a process per core with one thread each: threads of one process would wait for the
    interpreter.
    """
    try:
        with dask.config.set(QUIET):
            return LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                # any free port: another process may use the usual one
                dashboard_address=":0",
                # the engine handles lost workers
                silence_logs=logging.CRITICAL,
            )
    except (OSError, RuntimeError) as error:
        raise FinegoldError(
            f"no Dask cluster could be started here ({error}); in a script of yours, put the call"
            ' below if __name__ == "__main__":, because new processes import the script'
        ) from error
