"""Reproduce the tables and figures of the paper with one call."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from finegold.errors import InputError
from finegold.paper.datasets import Votes, cache_folder, data_sets, find, load_dataset
from finegold.paper.output import checked_place, contents, place
from finegold.paper.plan import FIGURES, check_methods, check_parts, jobs_of
from finegold.paper.results import Results, collect
from finegold.paper.runs import Watch, run

__all__ = ["Results", "Watch", "reproduce"]


def reproduce(
    data: str | Path | None = None,
    out: str | Path = "finegold-paper",
    *,
    only: Iterable[str] = (),
    methods: Iterable[str] | None = None,
    workers: int | None = None,
    verified: bool = True,
    watch: Watch | None = None,
) -> tuple[Results, list[Path]]:
    """Return the results and the paths of the files that were written, the page first.

    `data` is a folder of data sets; by default the cache. `only` names parts of the paper, e.g. ["table4", "figure2"].
    `verified=False` accepts data files with other checksums than the registry's, and marks them in every output.
    """
    began, parts = time.perf_counter(), check_parts(only)
    if set(parts) & set(FIGURES):
        from finegold.paper.figures import require_matplotlib

        require_matplotlib()  # before the long computation
    target, folder, workers = Path(out).expanduser(), Path(data or cache_folder()), workers or _cores()
    with checked_place(target):
        there, lacking = check_methods(methods)
        votes, absent = _load(folder, verified)
        results = Results(votes, absent, parts, there, lacking)
        sizes = {name: loaded.annotations.n_votes for name, loaded in votes.items()}
        jobs = jobs_of(parts, there, list(votes))
        collect(results, run(jobs, str(folder), verified=verified, workers=workers, sizes=sizes, watch=watch))
        results.machine.update(_machine(workers, time.perf_counter() - began))
        return results, place(contents(results, _command(only, methods, verified)), target)


def _load(folder: Path, verified: bool) -> tuple[dict[str, Votes], list[str]]:
    """Load the paper's data sets that are in the folder, and return the names of the others."""
    names = [name for name, entry in data_sets().items() if entry.is_papers]
    there = [name for name in names if find(name, folder)]
    if not there:
        raise InputError(f"none of the paper's data sets is in {folder}; run `finegold datasets fetch`, or use --data")
    try:
        loaded = {name: load_dataset(name, folder, verified=verified) for name in there}
    except InputError as error:
        raise InputError(
            f"{error}; to use it as it is, marked everywhere as not verified: --allow-unverified"
        ) from error
    return loaded, [name for name in names if name not in loaded]


def _command(only: Iterable[str], methods: Iterable[str] | None, verified: bool) -> str:
    words = ["finegold reproduce --data DIR --out DIR", *(f"--only {part}" for part in only)]
    words += [f"--method {method}" for method in methods or ()]
    return " ".join(words if verified else [*words, "--allow-unverified"])


def _machine(workers: int, seconds: float) -> dict[str, Any]:
    return {
        "finegold": version("finegold"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "numba": version("numba"),
        "system": platform.system(),
        "processor": _processor(),
        "cores": _cores(),
        "fits at a time": workers,
        "seconds in all": round(seconds, 1),
    }


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
