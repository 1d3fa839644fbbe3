"""How long the first and the next commands take, for several numbers of classes.

    python -m bench.speed.start_up [--repeat 3] [--methods anchored ptbcc] [--page docs/evidence/start_up.md]

Every run is a process of its own that reads 1,500 votes from a CSV file and writes labels. "Empty": nothing has been
compiled before; "other classes": only votes with another number of classes were aggregated before; "warm": the same
command was run before. Times are medians. Prints a table and writes bench/results/start_up.json.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.machine import describe, keep

CLASSES = (2, 5, 20)
OTHER = 4  # the number of classes that has been compiled for in the column "other classes"
FINEGOLD = [sys.executable, "-m", "finegold"]


class Cost(NamedTuple):
    processor: float  # seconds, of all threads
    wall: float


class Row(NamedTuple):
    name: str
    classes: int | None
    empty: Cost
    other: Cost | None
    warm: Cost


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        rows = list(measured(Path(folder), options.methods, options.repeat))
    table = "\n".join([*HEAD, *map(line, rows)])
    print(table)
    print(f"written to {keep('start_up', [row._asdict() for row in rows])}")
    if options.page:
        about = {
            "table": table,
            "machine": describe()["processor"],
            "date": describe()["date"][:10],
        }
        first = {
            method: max(row.empty.processor for row in rows if method in row.name)
            for method in options.methods
        }
        longest = {"default": first[options.methods[0]], "compiled": max(first.values())}
        options.page.write_text(PAGE.format(**about, **longest))


def measured(folder: Path, methods: list[str], repeat: int) -> list[Row]:
    files = {k: write_votes(k, folder / f"votes{k}.csv") for k in (OTHER, *CLASSES)}
    help_ = [*FINEGOLD, "--help"], folder / "help"
    rows = [Row("`finegold --help`", None, run(*help_), None, warm(*help_, repeat))]
    for method in methods:
        for k in CLASSES:
            command = aggregate(files[k], method)
            caches = [folder / f"{method}{k}-{n}" for n in range(repeat)]
            costs = (
                median([run(command, cache) for cache in caches]),
                other(files, method, k, folder),
                warm(command, caches[0], repeat),
            )
            rows.append(Row(f"`finegold aggregate`, {method}", k, *costs))
            print(line(rows[-1]), flush=True)
    return rows


def other(files: dict[int, Path], method: str, k: int, folder: Path) -> Cost:
    """The cost where votes with another number of classes have been compiled for."""
    compiled, cache = folder / f"{method}-other", folder / f"{method}-other-{k}"
    if not compiled.exists():
        compiled.mkdir()  # a method that compiles nothing would not make it
        run(aggregate(files[OTHER], method), compiled)
    shutil.copytree(compiled, cache)
    return run(aggregate(files[k], method), cache)


def warm(command: list[str], cache: Path, repeat: int) -> Cost:
    return median([run(command, cache) for _ in range(repeat)])


def aggregate(votes: Path, method: str) -> list[str]:
    labels = str(votes.with_suffix(".labels.csv"))
    return [*FINEGOLD, "aggregate", str(votes), "--method", method, "-o", labels]


def run(command: list[str], cache: Path) -> Cost:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command, check=True, capture_output=True, env={**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def median(costs: list[Cost]) -> Cost:
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def write_votes(n_classes: int, path: Path, n_tasks: int = 300) -> Path:
    """Five votes per task, by 30 annotators; seven of ten votes are right."""
    rng = np.random.default_rng(n_classes)
    truth = rng.integers(0, n_classes, n_tasks)
    rows = [
        f"{task},{annotator},class {truth[task] if rng.random() < 0.7 else rng.integers(0, n_classes)}"
        for task in range(n_tasks)
        for annotator in rng.choice(30, 5, replace=False)
    ]
    path.write_text("\n".join(["task,annotator,label", *rows]) + "\n")
    return path


HEAD = (
    "| | classes | empty | other classes | warm |",
    "|---|---:|---:|---:|---:|",
)
PAGE = """# How long the first run takes

**What this means for you.** The default method computes labels of a small file in {default:.1f} s, also in a new
container. Other methods compile code in their first run, which takes up to {compiled:.0f} s once.

Seconds of processor time of one command that reads 1,500 votes from a CSV file and writes labels, imports included;
medians of three runs on {machine}, beside other work ({date}).

- *empty*: nothing has been compiled before, as in a new container or a CI job;
- *other classes*: votes with {other} classes have been aggregated before, but none with this number of classes;
- *warm*: the same command has been run before.

{table}

Kernels are compiled when they are first needed and kept on disk, in `__pycache__` of the package or in the folder that
`NUMBA_CACHE_DIR` names. A container image or a CI cache that keeps this folder makes every run a warm one. A line on
standard error says once that code is compiled; it is a warning of the log "finegold".

Finegold installs 14 packages, which take 640 MB on disk: llvmlite and Numba 210, Polars 180, SciPy 140,
NumPy 75 MB. The command line reads votes and fits the default method with these; everything else is in extras
(report, studio, ...).

This page is made by `python -m bench.speed.start_up --page docs/evidence/start_up.md`.
""".replace("{other}", str(OTHER))


def line(row: Row) -> str:
    cells = [f"{cost.processor:.2f}" if cost else "" for cost in (row.empty, row.other, row.warm)]
    return f"| {row.name} | {row.classes or ''} | " + " | ".join(cells) + " |"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=["anchored", "ptbcc"])
    parser.add_argument("--page", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
