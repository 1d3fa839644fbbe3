"""Run the fits that the parts of the paper need, several at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.api.job import fit
from finegold.api.result import Result
from finegold.methods.lookup import make_method
from finegold.paper.datasets import Votes, load_dataset
from finegold.results.metrics import accuracy

__all__ = ["Job", "Outcome", "Watch", "job", "run"]

Watch = Callable[[int, int, str], None]  # fits done, fits in total, description of the last one
Floats = NDArray[np.float64]

# Slow fits run first, so that no core waits for a long one at the end: approximate seconds per million votes.
COST = {"tiremge": 1000.0, "ebcc": 300.0, "fgbcc": 100.0, "glad": 50.0, "cbcc": 30.0, "ibcc": 5.0}
QUICK_SECONDS = 0.2  # shorter fits are repeated, and the shortest time counts
BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Job(NamedTuple):
    method: str
    settings: tuple[tuple[str, Any], ...]  # those that are not the paper's
    data: str


class Outcome(NamedTuple):
    accuracy: float
    seconds: float
    iterations: int
    prototypes: Floats | None
    weights: Floats | None


class Place(NamedTuple):
    """The location of the data, for a worker process."""

    folder: str
    verified: bool


def job(method: str, data: str, **settings: Any) -> Job:
    """Return a job; equal arguments give equal jobs."""
    defaults = _defaults(method)
    return Job(method, tuple((k, v) for k, v in sorted(settings.items()) if defaults[k] != v), data)


def run(
    jobs: Iterable[Job], folder: str, *, verified: bool, workers: int, sizes: dict[str, int], watch: Watch | None = None
) -> dict[Job, Outcome]:
    """Run every job once, with one thread each, because the timings compare methods and not how well they use cores."""
    place = Place(folder, verified)
    ordered = sorted(set(jobs), key=lambda j: (-COST.get(j.method, 1.0) * sizes[j.data], j.method, j.data, str(j)))
    done: dict[Job, Outcome] = {}
    if watch is not None:
        watch(0, len(ordered), "the slowest first")
    for finished, outcome in _outcomes(ordered, place, workers):
        done[finished] = outcome
        if watch is not None:
            watch(len(done), len(ordered), f"{finished.method} on {finished.data}: {outcome.accuracy:.4f}")
    return done


def _outcomes(jobs: list[Job], place: Place, workers: int) -> Iterator[tuple[Job, Outcome]]:
    if workers == 1 or len(jobs) <= 1:
        yield from ((each, perform(each, place)) for each in jobs)
        return
    with _one_thread_each(), _pool(min(workers, len(jobs))) as pool:
        futures: dict[Future[Outcome], Job] = {pool.submit(perform, each, place): each for each in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool whose processes end with this one: a long fit would run on for minutes after Ctrl-C."""
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_quietly) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            raise


def _end_quietly() -> None:
    """Without a traceback at Ctrl-C, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Limit processes that start in this block to one thread each; matrix products would use all cores otherwise."""
    before = {name: os.environ.get(name) for name in BLAS_THREADS}
    os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def perform(what: Job, place: Place) -> Outcome:
    """Run one fit. The first of its kind in a process is preceded by a single sweep that loads compiled code."""
    votes = _votes(what.data, place)
    method = make_method(what.method, dict(what.settings), paper=True)
    _warm_up(what.method, votes.info.name, place)
    result = fit(method, votes.annotations, threads=1)
    seconds = [result.seconds]
    while not what.settings and sum(seconds) < QUICK_SECONDS and len(seconds) < 5:
        seconds.append(fit(method, votes.annotations, threads=1).seconds)
    return _outcome(result, min(seconds), votes, keep=what.method == "ptbcc" and not what.settings)


def _outcome(result: Result, seconds: float, votes: Votes, keep: bool) -> Outcome:
    known = result.learned
    return Outcome(
        accuracy(result.posterior, votes.truth),
        seconds,
        result.iterations,
        known.prototypes if keep else None,
        known.weights if keep else None,
    )


@cache
def _votes(name: str, place: Place) -> Votes:
    return load_dataset(name, place.folder, verified=place.verified)


@cache
def _warm_up(method: str, data: str, place: Place) -> None:
    single: dict[str, Any] = {"max_iterations": 1}
    if "n_restarts" in _defaults(method):
        single["n_restarts"] = 1
    fit(make_method(method, single, paper=True), _votes(data, place).annotations, threads=1)


@cache
def _defaults(method: str) -> dict[str, Any]:
    return make_method(method, {}, paper=True).settings
