"""One measurement in a process of its own: prints a line of JSON with the seconds of each phase and the peak memory.

python -m bench.speed.scale_job JOB '{"key": "value"}'

Started by scale.py. Jobs of Finegold run in Finegold's environment, those of crowd-kit in the rivals'.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

Figures = dict[str, Any]


class Clock:
    """Seconds spent in some functions, by the name of a phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def wrap(self, owner: Any, function: str, phase: str) -> None:
        plain = getattr(owner, function)

        def timed(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return plain(*arguments, **options)
            finally:
                self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - began

        setattr(owner, function, timed)


def aggregate(arguments: list[str]) -> Figures:
    """`finegold aggregate` as it is, with a stopwatch on its parts."""
    import finegold.fitting.solve
    import finegold.io.read
    import finegold.io.writers
    from finegold.cli import main
    from finegold.engines.local import LocalEngine
    from finegold.votes.annotations import Annotations

    clock = Clock()
    for owner, function, phase in (
        (finegold.io.read, "read", "read and sort"),
        (Annotations, "from_codes", "sort"),
        (finegold.fitting.solve, "fit", "fit"),
        (LocalEngine, "sum", "sweeps"),
        (finegold.io.writers, "write_labels", "write"),
    ):
        clock.wrap(owner, function, phase)
    began = time.perf_counter()
    code = _exit_code(main, arguments)
    whole = time.perf_counter() - began
    reading = clock.seconds.pop("read and sort") - clock.seconds["sort"]
    rest = whole - reading - sum(clock.seconds[phase] for phase in ("sort", "fit", "write"))
    return {
        "exit_code": code,
        "seconds": whole,
        "phases": {"read": reading, **clock.seconds, "rest": rest},
    }


def _exit_code(main: Callable[[], None], arguments: list[str]) -> int:
    sys.argv = ["finegold", "aggregate", *arguments]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def sweeps(
    votes: float, annotators: int, classes: int, prototypes: int, threads: list[int], sweeps: int
) -> Figures:
    """The time of a sweep, from the moments at which sweeps end; the first ones do not count."""
    import finegold
    from finegold.api.job import fit
    from finegold.methods.ptbcc import PTBCC

    annotations = finegold.simulate(
        int(votes / 5), annotators, classes, votes_per_task=5, seed=1
    ).annotations
    method = PTBCC(n_prototypes=prototypes, tolerance=0.0, max_iterations=sweeps + 2)
    wall, cpu = {}, {}
    for n in threads:
        ends: list[tuple[float, float]] = []
        fit(
            method,
            annotations,
            threads=n,
            on_step=lambda _, to=ends: to.append((time.perf_counter(), time.process_time())),
        )
        for found, moments in zip((wall, cpu), zip(*ends[1:], strict=True), strict=True):
            steps = sorted(b - a for a, b in pairwise(moments))
            found[str(n)] = (
                steps[len(steps) // 4] / annotations.n_votes * 1e9
            )  # the quieter moments of the machine
    return {"ns_per_vote_and_sweep": wall, "cpu_ns_per_vote_and_sweep": cpu}


def frame(path: str, threads: int) -> Figures:
    """PTBCC on a pandas data frame in memory, as crowd-kit gets it: what is not yet compiled is compiled before."""
    import pandas as pd

    import finegold

    table = pd.read_csv(path)
    finegold.aggregate(table.head(10_000), "ptbcc", threads=threads)
    began, cpu = time.perf_counter(), time.process_time()
    result = finegold.aggregate(table, "ptbcc", threads=threads)
    return {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time()
        - cpu,  # of all threads: tells a busy machine from a slow program
        "iterations": result.iterations,
    }


def whole(path: str, threads: int) -> Figures:
    """PTBCC from a file to labels."""
    import finegold

    began = time.perf_counter()
    result = finegold.aggregate(path, "ptbcc", threads=threads)
    return {"seconds": time.perf_counter() - began, "iterations": result.iterations}


def crowd_kit(path: str, method: str) -> Figures:
    """From a file to labels; the fit alone is what a data frame in memory takes."""
    import crowdkit.aggregation as library
    import pandas as pd

    began = time.perf_counter()
    table = pd.read_csv(path).rename(columns={"annotator": "worker"})
    read, cpu = time.perf_counter(), time.process_time()
    getattr(library, method)().fit_predict(table)
    end = time.perf_counter()
    return {
        "seconds": end - began,
        "fit_seconds": end - read,
        "fit_cpu_seconds": time.process_time() - cpu,
    }


JOBS: dict[str, Callable[..., Figures]] = {
    "aggregate": aggregate,
    "sweeps": sweeps,
    "frame": frame,
    "whole": whole,
    "crowd-kit": crowd_kit,
}


def main(job: str, options: str) -> None:
    figures = JOBS[job](**json.loads(options))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print("\n" + json.dumps({**figures, "peak_gib": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
