"""The fits that the tables and figures need, each with one thread, in several processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import finegold
from finegold.results.metrics import accuracy
from paper.data import Votes, load
from paper.printed import TABLE_5, make_method

# Slow fits run first, so that no core waits for a long one at the end: approximate seconds per
# million votes.
COST = {"tiremge": 3000.0, "ebcc": 300.0, "fgbcc": 100.0, "glad": 50.0, "cbcc": 50.0, "ibcc": 5.0}
# shorter fits are repeated, and the shortest time counts
QUICK_SECONDS = 0.2
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

# for every random row of Table 5
ABLATION_SEEDS = 10
# Methods with a random start are run with several seeds, and the mean is shown; large data sets use
# fewer seeds.
METHOD_SEEDS = {"catd": 20, "cbcc": 10, "tiremge": 5, "ebcc": 10}
FEWER_SEEDS = {
    "tiremge": {"fact": 1, "adult": 1, "senti": 1},
    "ebcc": {"fact": 1, "adult": 1, "senti": 1, "web": 5},
}
# 40 elsewhere, as in the authors' experiments
EBCC_RESTARTS = {"fact": 5, "senti": 5}


class Fit(NamedTuple):
    """A method on a data set, with the settings that are not the paper's."""

    method: str
    data: str
    settings: tuple[tuple[str, Any], ...] = ()


class Outcome(NamedTuple):
    """What a fit found. Prototypes and weights are those of PTBCC with the paper's settings."""

    accuracy: float
    seconds: float
    iterations: int
    prototypes: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None


def fits_of_method(method: str, data: str) -> list[Fit]:
    """Return the fits whose mean is the accuracy of this method on this data set."""
    if method not in METHOD_SEEDS:
        return [make_fit(method, data)]
    more = {"n_restarts": EBCC_RESTARTS[data]} if method == "ebcc" and data in EBCC_RESTARTS else {}
    n_seeds = FEWER_SEEDS.get(method, {}).get(data, METHOD_SEEDS[method])
    return [make_fit(method, data, seed=seed, **more) for seed in range(n_seeds)]


def fits_of_ablation(what: str, value: str, data: list[str]) -> list[list[Fit]]:
    """Return a cell of Table 5: for each seed, the fits on all data sets."""
    settings: list[dict[str, Any]]
    if what in "fm":
        settings = [{what: float(value)}]
    elif value == "3-Ran":
        settings = [{"n_prototypes": 3, "further": "uniform"}]
    elif value == "2":
        settings = [{}]
    else:
        settings = [{"n_prototypes": int(value), "seed": seed} for seed in range(ABLATION_SEEDS)]
    return [[make_fit("ptbcc", name, **each) for name in data] for each in settings]


def make_fit(method: str, data: str, **settings: Any) -> Fit:
    """Return a fit; settings that are the paper's are left out, so that equal fits are equal."""
    usual = _usual_settings(method)
    return Fit(method, data, tuple((k, v) for k, v in sorted(settings.items()) if usual[k] != v))


@cache
def _usual_settings(method: str) -> dict[str, Any]:
    return make_method(method).settings


def plan(methods: Iterable[str], data: list[str]) -> list[Fit]:
    """Return all fits that the paper needs, each once."""
    fits = [fit for method in methods for name in data for fit in fits_of_method(method, name)]
    for what, row in TABLE_5.items():
        for value in row:
            fits += [fit for seed in fits_of_ablation(what, value, data) for fit in seed]
    return list(dict.fromkeys(fits))


def run_all(
    fits: list[Fit], folder: Path, sizes: dict[str, int], workers: int
) -> Iterator[tuple[Fit, Outcome]]:
    """Yield the outcome of each fit as it ends. Timings compare methods, not how they use cores."""
    ordered = sorted(fits, key=lambda fit: -COST.get(fit.method, 1.0) * sizes[fit.data])
    # read by the processes when they start
    os.environ.update(dict.fromkeys(THREADS, "1"))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = {pool.submit(run, fit, folder): fit for fit in ordered}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run(fit: Fit, folder: Path) -> Outcome:
    """Run one fit, after a single sweep that loads compiled code."""
    votes, method = _votes(fit.data, folder), make_method(fit.method, **dict(fit.settings))
    _warm_up(fit.method, fit.data, folder)
    result = finegold.aggregate(votes.annotations, method, threads=1)
    seconds = [result.seconds]
    while not fit.settings and sum(seconds) < QUICK_SECONDS and len(seconds) < 5:
        seconds.append(finegold.aggregate(votes.annotations, method, threads=1).seconds)
    outcome = Outcome(accuracy(result.posterior, votes.truth), min(seconds), result.iterations)
    if fit == Fit("ptbcc", fit.data):
        learned = result.learned
        outcome = outcome._replace(prototypes=learned.prototypes, weights=learned.weights)
    return outcome


@cache
def _votes(name: str, folder: Path) -> Votes:
    return load(name, folder)


@cache
def _warm_up(method: str, data: str, folder: Path) -> None:
    once = {"max_iterations": 1, "n_restarts": 1}
    settings = {name: value for name, value in once.items() if name in _usual_settings(method)}
    finegold.aggregate(_votes(data, folder).annotations, make_method(method, **settings), threads=1)
