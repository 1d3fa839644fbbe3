"""Run kernels on several threads. They release the interpreter lock, and each works on its own range."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np

from finegold.errors import InputError

__all__ = ["in_threads", "ranges", "thread_count"]

Job = TypeVar("Job")
Found = TypeVar("Found")

MIN_ROWS_PER_THREAD = 2**18


def thread_count(threads: int | None = None) -> int:
    """Return the given number of threads, else FINEGOLD_THREADS, else the number of cores that this process may use."""
    asked = threads if threads is not None else os.environ.get("FINEGOLD_THREADS")
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        number = int(asked)
    except ValueError:
        number = 0
    if number < 1:
        raise InputError(f"the number of threads must be a whole number of at least 1, not {asked!r}")
    return number


def ranges(n: int, fewest: int = MIN_ROWS_PER_THREAD) -> list[tuple[int, int]]:
    """Split 0 ... n into as many equal ranges as there are threads, but not into ranges of few rows."""
    parts = max(min(thread_count(), n // fewest), 1)
    return list(pairwise(np.linspace(0, n, parts + 1).astype(int).tolist()))


def in_threads(step: Callable[[Job], Found], jobs: Iterable[Job]) -> list[Found]:
    """Return step(job) for every job, in their order."""
    jobs = list(jobs)
    if len(jobs) == 1 or thread_count() == 1:
        return [step(job) for job in jobs]
    with ThreadPoolExecutor(thread_count()) as pool:
        return list(pool.map(step, jobs))
