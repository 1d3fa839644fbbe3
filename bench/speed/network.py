"""The cost model of a cluster against workers behind real lines: each in a network namespace, with a limited rate.

python -m bench.speed.network [--workers 2 4 8] [--megabits 20] [--annotators 5000]

Needs Linux, root, `ip` and `tc`. The hosts are namespaces of this machine, made here and removed at the end; each has a
line of its own to a bridge. As all share the cores of one machine, the work of a sweep is measured with lines that are
not limited; what the limit adds is compared with the model of bench/speed/cluster.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import finegold
from bench.machine import keep
from bench.speed.cluster import BYTES, Timed, levels_of
from finegold.api.job import fit
from finegold.engines.dask import DaskEngine
from finegold.methods.ptbcc import PTBCC

BRIDGE, SUBNET, PORT = "fgbridge", "10.77.0", 8786
SWEEPS = 8


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@contextmanager
def hosts(n: int, megabits: float | None) -> Iterator[list[str]]:
    """Make a bridge and n namespaces with a line each, limited in both directions; yield their names."""
    names = [f"fghost{number}" for number in range(n)]
    with ExitStack() as undo:
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        undo.callback(run, "ip", "link", "del", BRIDGE)
        run("ip", "addr", "add", f"{SUBNET}.1/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        for number, name in enumerate(names):
            outer, inner = f"fgo{number}", f"fgi{number}"
            run("ip", "netns", "add", name)
            undo.callback(run, "ip", "netns", "del", name)
            run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
            undo.callback(run, "ip", "link", "del", outer)
            run("ip", "link", "set", inner, "netns", name)
            run("ip", "link", "set", outer, "master", BRIDGE, "up")
            inside = ("ip", "netns", "exec", name)
            run(*inside, "ip", "addr", "add", f"{SUBNET}.{10 + number}/24", "dev", inner)
            run(*inside, "ip", "link", "set", inner, "up")
            run(*inside, "ip", "link", "set", "lo", "up")
            if megabits is not None:
                limit = (
                    "root",
                    "tbf",
                    "rate",
                    f"{megabits}mbit",
                    "burst",
                    "20kb",
                    "latency",
                    "400ms",
                )
                run("tc", "qdisc", "add", "dev", outer, *limit)
                run(*inside, "tc", "qdisc", "add", "dev", inner, *limit)
        yield names


@contextmanager
def cluster(names: list[str]) -> Iterator[str]:
    """Start a scheduler on this side of the bridge and a worker on each host; yield the scheduler's address."""
    address, started = f"tcp://{SUBNET}.1:{PORT}", []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    schedule = ["scheduler", "--host", f"{SUBNET}.1", "--port", str(PORT), "--no-dashboard"]
    work = [
        "worker",
        address,
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
        "--memory-limit",
        "0",
    ]
    try:
        started.append(subprocess.Popen([sys.executable, "-m", "dask", *schedule], **quiet))
        time.sleep(3)
        for name in names:
            command = ["ip", "netns", "exec", name, sys.executable, "-m", "dask", *work]
            started.append(subprocess.Popen(command, **quiet))
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)


def sweep_seconds(n_workers: int, megabits: float | None, votes: finegold.Annotations) -> float:
    from distributed import Client

    timed = Timed()
    with (
        hosts(n_workers, megabits) as names,
        cluster(names) as address,
        Client(address, timeout="60s") as client,
    ):
        client.wait_for_workers(n_workers, timeout=120)
        with DaskEngine(client) as engine:
            fit(PTBCC(tolerance=0.0, max_iterations=SWEEPS), votes, engine=engine, on_step=timed)
    return timed.sweep


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument(
        "--megabits", type=float, default=20.0, help="of each line, in each direction"
    )
    parser.add_argument("--annotators", type=int, default=5_000)
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    votes = finegold.simulate(800_000, options.annotators, 5, votes_per_task=5, seed=1).annotations
    seconds_per_line = (7 + 1) * BYTES * votes.n_annotators / (options.megabits * 1e6 / 8)
    figures = []
    print(
        "| workers | a sweep, lines not limited | limited | added | added, model |\n|---:|---:|---:|---:|---:|"
    )
    for n in options.workers:
        free, limited = (sweep_seconds(n, rate, votes) for rate in (None, options.megabits))
        model = (2 * levels_of(n) + 1) * seconds_per_line
        figures.append({"workers": n, "free": free, "limited": limited, "model": model})
        print(
            f"| {n} | {free:.2f} s | {limited:.2f} s | {limited - free:.2f} s | {model:.2f} s |",
            flush=True,
        )
    print(f"kept in {keep('network', figures)}")


if __name__ == "__main__":
    main()
