"""The parts of the paper, the fits that each needs, and running them, several at a time."""

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
from finegold.errors import InputError
from finegold.methods.lookup import make_method
from finegold.methods.registry import REGISTRY
from finegold.paper.datasets import Votes, load_dataset
from finegold.paper.published import ABLATION, METHODS, TABLE_2
from finegold.results.metrics import accuracy

Watch = Callable[[int, int, str], None]  # fits done, fits in total, description of the last one
Floats = NDArray[np.float64]

# Slow fits run first, so that no core waits for a long one at the end: approximate seconds per million votes.
COST = {"tiremge": 1000.0, "ebcc": 300.0, "fgbcc": 100.0, "glad": 50.0, "cbcc": 30.0, "ibcc": 5.0}
QUICK_SECONDS = 0.2  # shorter fits are repeated, and the shortest time counts
BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

PARTS = ("table2", "table3", "table4", "table5", "figure2", "figure3", "figure4", "figure5")
FIGURES = tuple(part for part in PARTS if part.startswith("figure"))
EVERY_FIT = ("table4", "figure2", "figure5")  # parts that show all methods on all data sets
CASES = {"figure3": "val5", "figure4": "ms"}
SEEDS = 10  # for every random row of Table 5

# Methods with a random start are run with several seeds, and the mean is shown; large data sets use fewer seeds.
METHOD_SEEDS = {"catd": 20, "cbcc": 10, "tiremge": 5, "ebcc": 10}
FEWER_SEEDS = {"tiremge": {"fact": 1, "adult": 1, "senti": 1}, "ebcc": {"fact": 1, "adult": 1, "senti": 1, "web": 5}}
EBCC_RESTARTS = {"fact": 5, "senti": 5}  # 40 elsewhere, as in the authors' experiments


class Fit(NamedTuple):
    method: str
    settings: tuple[tuple[str, Any], ...]  # those that are not the paper's
    data: str


class FitOutcome(NamedTuple):
    accuracy: float
    seconds: float
    iterations: int
    prototypes: Floats | None
    weights: Floats | None


def check_parts(only: Iterable[str]) -> list[str]:
    """Return the requested parts in order. A text may contain several, separated by commas."""
    wanted = [part.strip().lower() for text in only for part in text.split(",") if part.strip()]
    unknown = [part for part in wanted if part not in PARTS]
    if unknown:
        raise InputError(f"the paper has no part {unknown[0]!r} to reproduce; choose from {', '.join(PARTS)}")
    return [part for part in PARTS if part in wanted] or list(PARTS)


def check_methods(wanted: Iterable[str] | None) -> tuple[list[str], list[str]]:
    """Return the paper's methods to run, and those that this version of Finegold does not have."""
    chosen = {name.lower() for name in wanted or METHODS} | {"mv"}
    if unknown := sorted(chosen - set(METHODS)):
        raise InputError(f"{unknown[0]} is not among the paper's methods: {', '.join(METHODS)}")
    ordered = [name for name in METHODS if name in chosen]
    return [name for name in ordered if name in REGISTRY], [name for name in ordered if name not in REGISTRY]


def plan_fits(parts: list[str], methods: list[str], names: list[str]) -> list[Fit]:
    """Return all fits that these parts need on these data sets."""
    fits: list[Fit] = []
    if set(parts) & set(EVERY_FIT):
        fits += [each for method in methods for name in names for each in fits_of_method(method, name)]
    if "table2" in parts and "val5" in names:
        fits += [each for method in methods if method in TABLE_2 for each in fits_of_method(method, "val5")]
    fits += [make_fit("ptbcc", CASES[part]) for part in parts if CASES.get(part) in names]
    if "table5" in parts:
        values = [(what, value) for what, row in ABLATION.items() for value in row]
        fits += [each for what, value in values for seeds in fits_of_ablation(what, value, names) for each in seeds]
    return fits


def fits_of_method(method: str, name: str) -> list[Fit]:
    """Return the fits whose mean is this method's row on this data set."""
    if method not in METHOD_SEEDS:
        return [make_fit(method, name)]
    more = {"n_restarts": EBCC_RESTARTS[name]} if method == "ebcc" and name in EBCC_RESTARTS else {}
    return [make_fit(method, name, seed=seed, **more) for seed in range(_n_seeds(method, name))]


def describe_seeds(method: str, name: str) -> str:
    """Return what is special about these fits, for readers of the tables."""
    if method not in METHOD_SEEDS:
        return ""
    n = _n_seeds(method, name)
    fewer = f", {EBCC_RESTARTS[name]} restarts instead of 40" if method == "ebcc" and name in EBCC_RESTARTS else ""
    return (f"mean of {n} seeds" if n > 1 else "one seed") + fewer


def _n_seeds(method: str, name: str) -> int:
    return FEWER_SEEDS.get(method, {}).get(name, METHOD_SEEDS[method])


def fits_of_ablation(what: str, value: str, names: list[str]) -> list[list[Fit]]:
    """Return, for each seed, the fits on all data sets; there is one seed if nothing is random."""
    if what in "fm":
        return [[make_fit("ptbcc", name, **{what: float(value)}) for name in names]]
    if value == "3-Ran":
        return [[make_fit("ptbcc", name, n_prototypes=3, further="uniform") for name in names]]
    seeds: Iterable[dict[str, Any]] = [{"seed": seed} for seed in range(SEEDS)] if int(value) > 2 else [{}]
    return [[make_fit("ptbcc", name, n_prototypes=int(value), **seed) for name in names] for seed in seeds]


def make_fit(method: str, data: str, **settings: Any) -> Fit:
    """Return a fit; equal arguments give equal fits."""
    defaults = _defaults(method)
    return Fit(method, tuple((k, v) for k, v in sorted(settings.items()) if defaults[k] != v), data)


@cache
def _defaults(method: str) -> dict[str, Any]:
    return make_method(method, {}, paper=True).settings


class DataLocation(NamedTuple):
    """The location of the data, for a worker process."""

    folder: str
    verified: bool


def run_fits(
    fits: Iterable[Fit], folder: str, *, verified: bool, workers: int, sizes: dict[str, int], watch: Watch | None = None
) -> dict[Fit, FitOutcome]:
    """Make every fit once, with one thread each: the timings compare methods and not how well they use cores."""
    location = DataLocation(folder, verified)
    ordered = sorted(set(fits), key=lambda j: (-COST.get(j.method, 1.0) * sizes[j.data], j.method, j.data, str(j)))
    done: dict[Fit, FitOutcome] = {}
    if watch is not None:
        watch(0, len(ordered), "the slowest first")
    for finished, outcome in _outcomes(ordered, location, workers):
        done[finished] = outcome
        if watch is not None:
            watch(len(done), len(ordered), f"{finished.method} on {finished.data}: {outcome.accuracy:.4f}")
    return done


def _outcomes(fits: list[Fit], location: DataLocation, workers: int) -> Iterator[tuple[Fit, FitOutcome]]:
    if workers == 1 or len(fits) <= 1:
        yield from ((each, run_fit(each, location)) for each in fits)
        return
    with _one_thread_each(), _pool(min(workers, len(fits))) as pool:
        futures: dict[Future[FitOutcome], Fit] = {pool.submit(run_fit, each, location): each for each in fits}
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


def run_fit(what: Fit, location: DataLocation) -> FitOutcome:
    """Run one fit. The first of its kind in a process is preceded by a single sweep that loads compiled code."""
    votes = _votes(what.data, location)
    method = make_method(what.method, dict(what.settings), paper=True)
    _warm_up(what.method, votes.info.name, location)
    result = fit(method, votes.annotations, threads=1)
    seconds = [result.seconds]
    while not what.settings and sum(seconds) < QUICK_SECONDS and len(seconds) < 5:
        seconds.append(fit(method, votes.annotations, threads=1).seconds)
    shown = result.learned if what.method == "ptbcc" and not what.settings else None
    return FitOutcome(
        accuracy(result.posterior, votes.truth),
        min(seconds),
        result.iterations,
        None if shown is None else shown.prototypes,
        None if shown is None else shown.weights,
    )


@cache
def _votes(name: str, location: DataLocation) -> Votes:
    return load_dataset(name, location.folder, verified=location.verified)


@cache
def _warm_up(method: str, data: str, location: DataLocation) -> None:
    single: dict[str, Any] = {"max_iterations": 1}
    if "n_restarts" in _defaults(method):
        single["n_restarts"] = 1
    fit(make_method(method, single, paper=True), _votes(data, location).annotations, threads=1)
