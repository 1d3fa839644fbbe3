"""Two workers for the tests of a module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, LocalCluster

from tests.support.signals import KILL

# A cluster gives up a killed worker that is not back after 15 s; on a busy machine its restart takes longer.
LOST = "distributed.deploy.lost-worker-timeout"


@contextmanager
def two_workers() -> Iterator[Client]:
    with (
        dask.config.set({LOST: "10 minutes"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield client


def kill_at(client: Client, *iterations: int) -> Callable[[Any], None]:
    """A worker dies by SIGKILL after each of these sweeps."""

    def watch(step: Any) -> None:
        if step.iteration in iterations:
            client.wait_for_workers(2)
            processes = sorted(client.run(os.getpid).values())
            os.kill(processes[step.iteration % 2], KILL)

    return watch
