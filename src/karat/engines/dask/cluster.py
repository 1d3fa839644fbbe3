"""A cluster to work on: one that is there already, or one of this machine's own processes. Nothing waits for ever."""

from __future__ import annotations

import logging
import time
from typing import Any

from karat.errors import InputError
from karat.kernels.parallel import thread_count

try:
    from distributed import Client, LocalCluster
except ImportError:
    raise InputError('the Dask engine needs Dask, which is not installed; pip install "karat[dask]"') from None

__all__ = ["Cluster"]

CONNECT = 10.0  # seconds until a scheduler must have answered
WORKERS = 30.0  # until a worker must be there
REPLACEMENT = 10.0  # for a lost worker to come back, before the others take its blocks


class Cluster:
    """A client, and the cluster behind it if it was started here."""

    def __init__(self, scheduler: str | Client | None, workers: int | None) -> None:
        self.own: LocalCluster | None = None
        self.borrowed = isinstance(scheduler, Client)
        if isinstance(scheduler, Client):
            self.client = scheduler
        elif scheduler is None:
            self.own = _start(thread_count(workers))
            self.client = Client(self.own, set_as_default=False, direct_to_workers=True)
        else:
            self.client = _connect(scheduler)
        try:
            self.wait_for(1, WORKERS)
        except BaseException:
            self.close()
            raise

    def threads(self) -> dict[str, int]:
        """The workers that are there now, and their threads."""
        try:
            found: dict[str, int] = self.client.nthreads()
        except (OSError, ValueError) as error:  # TimeoutError is an OSError
            raise InputError(f"the Dask scheduler went away ({error}); nothing was written, start again") from error
        return found

    def wait_for(self, n: int, seconds: float) -> dict[str, int]:
        """As soon as there are n workers, or when the time is over. -> those that are there, at least one"""
        end = time.monotonic() + seconds
        while len(found := self.threads()) < n and time.monotonic() < end:
            time.sleep(0.1)
        if not found:
            raise InputError(
                f"the Dask scheduler has no workers, and none came within {seconds:.0f} s; "
                "start some (dask worker ADDRESS), and see in their logs why others ended"
            )
        return found

    def smallest_memory(self) -> int | None:
        """Bytes that the smallest worker may use; None: without a limit."""
        workers: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        limits = [worker["memory_limit"] for worker in workers.values() if worker.get("memory_limit")]
        return min(limits, default=None)

    def close(self) -> None:
        if not self.borrowed:
            self.client.close()
        if self.own is not None:
            self.own.close()


def _start(workers: int) -> LocalCluster:
    """A process a core, one thread each: between kernels, threads of one process would wait for the interpreter."""
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=None,
        silence_logs=logging.CRITICAL,  # a lost worker is our business
    )


def _connect(address: str) -> Client:
    try:
        return Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address} within {CONNECT:.0f} s; check the address "
            "(tcp://HOST:8786 as `dask scheduler` prints it), and that this machine may reach it"
        ) from error
