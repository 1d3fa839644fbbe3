"""The Dask engine against the local one: two workers and two threads, and a worker killed in mid-fit.

python -m bench.speed.cluster [--votes 2e7] [--method ptbcc]
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from itertools import pairwise
from typing import Any

import numpy as np

import finegold
from bench.machine import keep
from finegold.api.fit import fit
from finegold.engines.dask import DaskEngine
from finegold.engines.local import LocalEngine
from finegold.methods.lookup import method_class


class Timed:
    """The moments at which sweeps end."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def __call__(self, _: Any) -> None:
        self.ends.append(time.perf_counter())

    @property
    def sweep(self) -> float:
        """The usual one; the first does not count."""
        return float(np.median([b - a for a, b in pairwise(self.ends[1:])]))


def compare(votes: finegold.Annotations, few: finegold.Annotations, name: str) -> dict[str, Any]:
    method, timed = method_class(name)(), (Timed(), Timed(), Timed())
    # what is not yet compiled is compiled before
    fit(method, few, engine=LocalEngine(2))
    local = fit(method, votes, engine=LocalEngine(2), on_step=timed[0])
    with DaskEngine(threads=2) as engine:
        fit(method, few, engine=engine)
        dask = fit(method, votes, engine=engine, on_step=timed[1])
        killed = fit(method, votes, engine=engine, on_step=_killing(engine, timed[2]))
    return {
        "method": name,
        "votes": votes.n_votes,
        "sweeps": local.iterations,
        "local_seconds": local.seconds,
        "dask_seconds": dask.seconds,
        "ratio": dask.seconds / local.seconds,
        "local_sweep_seconds": timed[0].sweep,
        "dask_sweep_seconds": timed[1].sweep,
        "same_bits": np.array_equal(local.posterior, dask.posterior),
        "killed_seconds": killed.seconds,
        "killed_same_bits": np.array_equal(local.posterior, killed.posterior),
    }


def _killing(engine: DaskEngine, timed: Timed) -> Any:
    def watch(step: Any) -> None:
        timed(step)
        if step.iteration == 10:
            os.kill(min(engine.client.run(os.getpid).values()), signal.SIGKILL)

    return watch


def _simulated(n_votes: int) -> finegold.Annotations:
    annotators = max(n_votes // 1000, 20)
    return finegold.simulate(n_votes // 5, annotators, 5, votes_per_task=5, seed=1).annotations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--votes", type=float, default=2e7)
    parser.add_argument("--method", default="ptbcc")
    options = parser.parse_args()
    figures = compare(_simulated(int(options.votes)), _simulated(10_000), options.method)
    for name, value in figures.items():
        print(f"{name:20} {value}")
    print(f"kept in {keep('cluster', figures)}")


if __name__ == "__main__":
    main()
