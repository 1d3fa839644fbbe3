"""Kernels on several threads: they run without the interpreter lock, each on a range of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np

from karat.errors import InputError

__all__ = ["in_threads", "ranges", "thread_count"]

Job = TypeVar("Job")
Found = TypeVar("Found")

FEWEST = 2**18  # of rows that are worth a thread


def thread_count(threads: int | None = None) -> int:
    """The number asked for, else that of KARAT_THREADS, else one per core that this process may use."""
    asked = threads if threads is not None else os.environ.get("KARAT_THREADS")
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        number = int(asked)
    except ValueError:
        number = 0
    if number < 1:
        raise InputError(f"the number of threads must be a whole number from 1, not {asked!r}")
    return number


def ranges(n: int, fewest: int = FEWEST) -> list[tuple[int, int]]:
    """0 ... n in as many equal parts as there are threads, but none of few rows."""
    parts = max(min(thread_count(), n // fewest), 1)
    return list(pairwise(np.linspace(0, n, parts + 1).astype(int).tolist()))


def in_threads(step: Callable[[Job], Found], jobs: Iterable[Job]) -> list[Found]:
    """step(job) of every job, in their order."""
    jobs = list(jobs)
    if len(jobs) == 1 or thread_count() == 1:
        return [step(job) for job in jobs]
    with ThreadPoolExecutor(thread_count()) as pool:
        return list(pool.map(step, jobs))
