"""The Dask engine against the local one, and what a cluster would cost.

python -m bench.speed.cluster                       one pass over all of it, 20 million votes
python -m bench.speed.cluster --parts equal         one part; the others' figures stay those of the last run
python -m bench.speed.cluster --votes 1e6 --show    smaller, printed only
python -m bench.speed.cluster --method anchored --parts equal --show    another method; the cost model is of PTBCC

1. equal: 2 workers give the bits of 2 threads, also when a worker is killed in mid-fit; wall time of both.
2. traffic: bytes moved per sweep against votes (they must not grow) and against annotators (they must grow with them).
3. model: seconds and bytes of a sweep on 10 and 100 machines for ten billion votes, from the figures above; and the
   same model's seconds for the sizes measured here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from cloudpickle import dumps, loads

import finegold
from bench.machine import RESULTS, keep
from finegold.api.fit import fit
from finegold.engines.blocks import cuts
from finegold.engines.dask import DaskEngine
from finegold.engines.dask.engine import memory_of
from finegold.engines.local import LocalEngine
from finegold.methods.lookup import method_class
from finegold.methods.ptbcc import PTBCC, First, Statistics

Figures = dict[str, Any]

BYTES = 8
NETWORK = 1.25e9  # bytes a second: 10 Gbit/s
MODEL = {"votes": 10_000_000_000, "tasks": 2_000_000_000, "annotators": 1_000_000, "classes": 5}


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


def equal(votes: finegold.Annotations, name: str) -> Figures:
    method, timed = method_class(name)(), (Timed(), Timed(), Timed())
    fit(method, _few(), engine=LocalEngine(2))  # what is not yet compiled is compiled before
    local = fit(method, votes, engine=LocalEngine(2), on_step=timed[0])
    began = time.perf_counter()
    with DaskEngine(threads=2) as engine:
        start = time.perf_counter() - began
        fit(method, _few(), engine=engine)
        dask = fit(method, votes, engine=engine, on_step=timed[1])
        moved = engine.moved[-1]
        killed = fit(method, votes, engine=engine, on_step=_killing(engine, timed[2]))
    return {
        "method": name,
        "votes": votes.n_votes,
        "sweeps": local.iterations,
        "local_seconds": local.seconds,
        "dask_seconds": dask.seconds,
        "dask_start_seconds": start,
        "ratio": dask.seconds / local.seconds,
        "local_sweep_seconds": timed[0].sweep,
        "dask_sweep_seconds": timed[1].sweep,
        "bytes_per_sweep": moved,
        "same_bits": _same(local, dask),
        "killed_seconds": killed.seconds,
        "killed_same_bits": _same(local, killed),
    }


def traffic(sizes: list[int], annotators: list[int]) -> Figures:
    """Four sweeps of each size; blocks are as many as one machine would cut."""
    found: Figures = {"votes": {}, "annotators": {}, "call": 0.0}
    with DaskEngine(threads=2) as engine:
        for n in sizes:
            found["votes"][str(n)] = _moved(engine, n, 1000)
        for w in annotators:
            found["annotators"][str(w)] = _moved(engine, 1_000_000, w)
        found["call"] = _call_seconds(engine)
    return found


def model(compute: float, call: float, update: Figures, machines: int, cores: int = 16) -> Figures:
    """A sweep of PTBCC with two prototypes: seconds per vote and core, of a call, and of the update as measured.

    Parameters go out and sums come back along a tree of which each worker serves two others: every level costs the
    time of twice the bytes on one line, and a call. Then one machine updates the parameters and packs them.
    """
    out, back = 7 * BYTES * MODEL["annotators"], 1 * BYTES * MODEL["annotators"]
    levels = levels_of(machines)
    memory = memory_of(MODEL["votes"], MODEL["tasks"], MODEL["classes"]) / machines
    network = levels * (2 * (out + back) / NETWORK + call) + (out + back) / NETWORK
    blocks = 1 + len(cuts(MODEL["votes"], MODEL["tasks"], MODEL["annotators"]))
    work = compute * MODEL["votes"] / blocks * np.ceil(blocks / (machines * cores))
    alone = update["update_seconds"] + update["packing_seconds"]
    return {
        "machines": machines,
        "cores_each": cores,
        "blocks": blocks,
        "gib_per_machine": memory / 2**30,
        "work_seconds": work,
        "network_seconds": network,
        "update_seconds": alone,
        "sweep_seconds": work + network + alone,
        "bytes_per_line": 2 * (out + back),
        "bytes_in_all": machines * (out + back),
    }


def levels_of(machines: int) -> int:
    """Return the number of levels below the first worker of the tree."""
    return max(int(np.ceil(np.log2(machines + 1))) - 1, 1)


def update(annotators: int) -> Figures:
    """What happens on one machine between two sweeps."""
    rng, classes, method = np.random.default_rng(1), MODEL["classes"], PTBCC()
    pi, v = rng.random((annotators, 2)) * 100, rng.random((classes, 2, classes)) * 1e6
    first = First(0.0, rng.random(classes) * 1e6, pi, v, pi, v)
    sums = Statistics(0.0, first.tau, pi[:, 1:].copy(), v.sum(axis=1), v[:, 1:].copy(), 0.0, 0.0)
    parameters = method.begin(first)
    began = time.perf_counter()
    method.bound(parameters, sums)
    parameters = method.expect(sums, parameters)
    updated = time.perf_counter()
    loads(dumps(parameters))
    return {"update_seconds": updated - began, "packing_seconds": time.perf_counter() - updated}


def _moved(engine: DaskEngine, n_votes: int, annotators: int) -> Figures:
    votes = finegold.simulate(n_votes // 5, annotators, 5, votes_per_task=5, seed=1).annotations
    timed = Timed()
    fit(PTBCC(tolerance=0.0, max_iterations=6), votes, engine=engine, on_step=timed)
    expected = (
        2 * (7 + 1) * BYTES * votes.n_annotators
    )  # two lines: to the first worker, and from it to the second
    return {
        "bytes": engine.moved[-1],
        "model_bytes": expected,
        "sweep_seconds": timed.sweep,
        "blocks": engine.n_blocks,
    }


def _call_seconds(engine: DaskEngine) -> float:
    """A pass over next to nothing."""
    fit(PTBCC(tolerance=0.0, max_iterations=60), _few(), engine=engine, on_step=(timed := Timed()))
    return timed.sweep


def _killing(engine: DaskEngine, timed: Timed) -> Any:
    def watch(step: Any) -> None:
        timed(step)
        if step.iteration == 2:
            os.kill(min(engine.cluster.client.run(os.getpid).values()), signal.SIGKILL)

    return watch


def _few() -> finegold.Annotations:
    return finegold.simulate(2_000, 20, 5, votes_per_task=5, seed=1).annotations


def _same(one: finegold.Result, other: finegold.Result) -> bool:
    return np.array_equal(one.posterior, other.posterior) and np.array_equal(
        one.accuracy, other.accuracy
    )


def _simulated(work: Path, n_votes: int) -> Path:
    """Votes of `finegold simulate`, made once."""
    folder = work / f"big-{n_votes:g}"
    if not (folder / "votes.parquet").exists():
        options = [
            f"--tasks={n_votes // 5}",
            f"--annotators={n_votes // 1000}",
            "--classes=5",
            "--votes-per-task=5",
        ]
        command = [
            sys.executable,
            "-m",
            "finegold",
            "simulate",
            "--out",
            str(folder),
            "--format",
            "parquet",
            *options,
        ]
        subprocess.run(command, check=True, capture_output=True)
    return folder / "votes.parquet"


def measure(work: Path, n_votes: int, parts: list[str], method: str) -> Figures:
    figures: Figures = {}
    votes = _simulated(work, n_votes)
    if "equal" in parts:
        figures["equal"] = equal(finegold.read(votes), method)
    if "traffic" in parts:
        figures["traffic"] = traffic(
            [1_000_000, 2_000_000, 4_000_000, 8_000_000], [100, 1_000, 10_000, 30_000]
        )
    return figures


def _last_run() -> Figures:
    path = RESULTS / "cluster.json"
    found: Figures = json.loads(path.read_text())["figures"] if path.exists() else {}
    return found


def _models(figures: Figures) -> Figures:
    found, call, alone = figures["equal"], figures["traffic"]["call"], update(MODEL["annotators"])
    core = 2 * (found["dask_sweep_seconds"] - call) / found["votes"]
    sizes = figures["traffic"]["votes"].items()
    return {
        "seconds_per_vote_and_core": core,
        "call_seconds": call,
        **alone,
        "on": [model(core, call, alone, machines) for machines in (10, 100)],
        "check": [
            {
                "votes": int(n),
                "model_seconds": int(n) * core / 2 + call,
                "seconds": at["sweep_seconds"],
            }
            for n, at in sizes
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--votes", type=float, default=2e7)
    parser.add_argument("--parts", nargs="*", default=["equal", "traffic"])
    parser.add_argument("--method", default="ptbcc", help="the method of the part equal")
    parser.add_argument(
        "--work", type=Path, help="a folder for data, which are kept there and used again"
    )
    parser.add_argument("--show", action="store_true", help="print the figures, do not keep them")
    options = parser.parse_args()
    work = options.work or Path(tempfile.mkdtemp(prefix="finegold-cluster-"))
    try:
        figures = measure(work, int(options.votes), options.parts, options.method)
    finally:
        if options.work is None:
            shutil.rmtree(work)
    if not options.show:
        figures = {**_last_run(), **figures}
    if {"equal", "traffic"} <= figures.keys():
        figures["model"] = _models(figures)
    print(json.dumps(figures, indent=2))
    if not options.show:
        print(f"kept in {keep('cluster', figures)}")


if __name__ == "__main__":
    main()
