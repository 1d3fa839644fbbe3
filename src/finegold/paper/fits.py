"""The parts of the paper and the numbers that it prints, the fits that each part needs, and what
they add up to.
"""

from __future__ import annotations

import csv
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from finegold.api.job import fit
from finegold.errors import InputError
from finegold.methods.lookup import make_method
from finegold.paper.datasets import Votes, load_dataset
from finegold.results.metrics import accuracy

# fits done, fits in total, description of the last one
Watch = Callable[[int, int, str], None]
Floats = NDArray[np.float64]


class Row(NamedTuple):
    """A row of Table 4: mean accuracy, and rank sum, stars and p of the test against MV."""

    mean: float
    S: int | None = None
    stars: str = ""
    p: float | None = None


class Fill(NamedTuple):
    """An accuracy on Senti, which is hard to obtain, that Finegold did not measure."""

    accuracy: float
    # published: by a public run; implied: by the paper's mean and the other ten of the original
    # program
    kind: str


with (Path(__file__).parent / "methods.csv").open(encoding="utf-8", newline="") as _file:
    # in the order of Table 4 of the paper
    PRINTED = {row["method"]: row for row in csv.DictReader(_file)}
METHODS = {method: row["name"] for method, row in PRINTED.items()}
# on Val5
TABLE_2 = {method: float(row["table2"]) for method, row in PRINTED.items() if row["table2"]}
TABLE_4 = {
    method: Row(
        float(row["mean"]), *((int(row["S"]), row["stars"], float(row["p"])) if row["S"] else ())
    )
    for method, row in PRINTED.items()
}
# TiReMGE: the ten accuracies of its own program would imply 1.14, so no value is filled in.
SENTI = {
    method: Fill(float(row["senti"]), row["senti_kind"])
    for method, row in PRINTED.items()
    if row["senti"]
}

# Table 5: varied setting -> value -> mean accuracy over the eleven data sets.
ABLATION = {
    "f": {
        "2": 0.7358,
        "3": 0.7443,
        "4": 0.7447,
        "5": 0.7472,
        "6": 0.7469,
        "7": 0.7464,
        "8": 0.7467,
    },
    "m": {
        "1.1": 0.7445,
        "1.15": 0.7439,
        "1.2": 0.7447,
        "1.25": 0.7447,
        "1.3": 0.7467,
        "1.35": 0.7472,
        "1.4": 0.7461,
    },
    "|S|": {
        "2": 0.7472,
        "3-Ran": 0.7288,
        "3": 0.7300,
        "4": 0.7271,
        "5": 0.7259,
        "6": 0.7229,
        "7": 0.7205,
    },
}

# ten-set mean of the authors' public program, last step
TIREMGE_PROGRAM = 0.6601

# Slow fits run first, so that no core waits for a long one at the end: approximate seconds per
# million votes.
COST = {"tiremge": 1000.0, "ebcc": 300.0, "fgbcc": 100.0, "glad": 50.0, "cbcc": 30.0, "ibcc": 5.0}
# shorter fits are repeated, and the shortest time counts
QUICK_SECONDS = 0.2
BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

PARTS = ("table2", "table3", "table4", "table5", "figure2", "figure3", "figure4", "figure5")
FIGURES = tuple(part for part in PARTS if part.startswith("figure"))
# parts that show all methods on all data sets
EVERY_FIT = ("table4", "figure2", "figure5")
CASES = {"figure3": "val5", "figure4": "ms"}
# for every random row of Table 5
SEEDS = 10

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
    method: str
    # those that are not the paper's
    settings: tuple[tuple[str, Any], ...]
    data: str


class FitOutcome(NamedTuple):
    accuracy: float
    seconds: float
    iterations: int
    prototypes: Floats | None = None
    weights: Floats | None = None


def check_parts(only: Iterable[str]) -> list[str]:
    """Return the requested parts in order. A text may contain several, separated by commas."""
    wanted = [part.strip().lower() for text in only for part in text.split(",") if part.strip()]
    unknown = [part for part in wanted if part not in PARTS]
    if unknown:
        raise InputError(
            f"the paper has no part {unknown[0]!r} to reproduce; choose from {', '.join(PARTS)}"
        )
    return [part for part in PARTS if part in wanted] or list(PARTS)


def check_methods(wanted: Iterable[str] | None) -> list[str]:
    """Return the paper's methods to run."""
    chosen = {name.lower() for name in wanted or METHODS} | {"mv"}
    if unknown := sorted(chosen - set(METHODS)):
        raise InputError(f"{unknown[0]} is not among the paper's methods: {', '.join(METHODS)}")
    return [name for name in METHODS if name in chosen]


def plan_fits(parts: list[str], methods: list[str], names: list[str]) -> list[Fit]:
    """Return all fits that these parts need on these data sets."""
    fits: list[Fit] = []
    if set(parts) & set(EVERY_FIT):
        fits += [
            each for method in methods for name in names for each in fits_of_method(method, name)
        ]
    if "table2" in parts and "val5" in names:
        fits += [
            each
            for method in methods
            if method in TABLE_2
            for each in fits_of_method(method, "val5")
        ]
    fits += [make_fit("ptbcc", CASES[part]) for part in parts if CASES.get(part) in names]
    if "table5" in parts:
        values = [(what, value) for what, row in ABLATION.items() for value in row]
        fits += [
            each
            for what, value in values
            for seeds in fits_of_ablation(what, value, names)
            for each in seeds
        ]
    return fits


def fits_of_method(method: str, name: str) -> list[Fit]:
    """Return the fits whose mean is this method's row on this data set."""
    if method not in METHOD_SEEDS:
        return [make_fit(method, name)]
    more = {"n_restarts": EBCC_RESTARTS[name]} if method == "ebcc" and name in EBCC_RESTARTS else {}
    n_seeds = FEWER_SEEDS.get(method, {}).get(name, METHOD_SEEDS[method])
    return [make_fit(method, name, seed=seed, **more) for seed in range(n_seeds)]


def fits_of_ablation(what: str, value: str, names: list[str]) -> list[list[Fit]]:
    """Return, for each seed, the fits on all data sets; there is one seed if nothing is random."""
    if what in "fm":
        return [[make_fit("ptbcc", name, **{what: float(value)}) for name in names]]
    if value == "3-Ran":
        return [[make_fit("ptbcc", name, n_prototypes=3, further="uniform") for name in names]]
    seeds: Iterable[dict[str, Any]] = (
        [{"seed": seed} for seed in range(SEEDS)] if int(value) > 2 else [{}]
    )
    return [
        [make_fit("ptbcc", name, n_prototypes=int(value), **seed) for name in names]
        for seed in seeds
    ]


def make_fit(method: str, data: str, **settings: Any) -> Fit:
    """Return a fit; equal arguments give equal fits."""
    defaults = _defaults(method)
    return Fit(method, tuple((k, v) for k, v in sorted(settings.items()) if defaults[k] != v), data)


@cache
def _defaults(method: str) -> dict[str, Any]:
    return make_method(method, {}, paper=True).settings


def run_fits(
    fits: Iterable[Fit],
    folder: str,
    *,
    verified: bool,
    workers: int,
    sizes: dict[str, int],
    watch: Watch | None = None,
) -> dict[Fit, FitOutcome]:
    """Make every fit once, with one thread each: the timings compare methods and not how well they
    use cores.
    """
    ordered = sorted(
        set(fits),
        key=lambda j: (-COST.get(j.method, 1.0) * sizes[j.data], j.method, j.data, str(j)),
    )
    done: dict[Fit, FitOutcome] = {}
    watch = watch or (lambda done, total, words: None)
    watch(0, len(ordered), "the slowest first")
    with ExitStack() as stack:
        outcomes = ((each, run_fit(each, folder, verified)) for each in ordered)
        if workers > 1 and len(ordered) > 1:
            pool = stack.enter_context(_pool(min(workers, len(ordered))))
            futures = {pool.submit(run_fit, each, folder, verified): each for each in ordered}
            outcomes = ((futures[future], future.result()) for future in as_completed(futures))
        for finished, outcome in outcomes:
            done[finished] = outcome
            watch(
                len(done),
                len(ordered),
                f"{finished.method} on {finished.data}: {outcome.accuracy:.4f}",
            )
    return done


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes with one thread each, which end with this one: a long fit would
    outlive Ctrl-C.
    """
    before, children = dict(os.environ), set(multiprocessing.active_children())
    # matrix products would use all cores otherwise
    os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_quietly) as pool:
            try:
                yield pool
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for child in set(multiprocessing.active_children()) - children:
                    child.terminate()
                raise
    finally:
        for name in BLAS_THREADS:
            os.environ.pop(name)
            os.environ.update({name: before[name]} if name in before else {})


def _end_quietly() -> None:
    """Without a traceback at Ctrl-C, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_fit(what: Fit, folder: str, verified: bool) -> FitOutcome:
    """Run one fit. The first of its kind in a process is preceded by a single sweep that loads
    compiled code.
    """
    votes = _votes(what.data, folder, verified)
    method = make_method(what.method, dict(what.settings), paper=True)
    _warm_up(what.method, votes.info.name, folder, verified)
    result = fit(method, votes.annotations, threads=1)
    seconds = [result.seconds]
    while not what.settings and sum(seconds) < QUICK_SECONDS and len(seconds) < 5:
        seconds.append(fit(method, votes.annotations, threads=1).seconds)
    outcome = FitOutcome(accuracy(result.posterior, votes.truth), min(seconds), result.iterations)
    if what.method == "ptbcc" and not what.settings:
        outcome = outcome._replace(
            prototypes=result.learned.prototypes, weights=result.learned.weights
        )
    return outcome


@cache
def _votes(name: str, folder: str, verified: bool) -> Votes:
    return load_dataset(name, folder, verified=verified)


@cache
def _warm_up(method: str, data: str, folder: str, verified: bool) -> None:
    single: dict[str, Any] = {"max_iterations": 1}
    if "n_restarts" in _defaults(method):
        single["n_restarts"] = 1
    fit(
        make_method(method, single, paper=True),
        _votes(data, folder, verified).annotations,
        threads=1,
    )


# accuracies are fractions of small numbers; smaller differences are rounding errors that would
# break ties
DIGITS = 9


class Comparison(NamedTuple):
    # sum of the ranks of the differences where the method is worse
    S: float
    # one-sided: probability of such a small rank sum if the method is not better
    p: float
    # number of data sets with a difference
    n: int

    @property
    def stars(self) -> str:
        return "**" if self.p < 0.01 else "*" if self.p < 0.1 else ""


def compare(method: Sequence[float], baseline: Sequence[float]) -> Comparison:
    """Run the one-sided Wilcoxon signed-rank test; data sets without a difference are ignored."""
    difference = np.round(np.subtract(method, baseline), DIGITS)
    difference = difference[difference != 0]
    if not difference.size:
        return Comparison(0.0, 1.0, 0)
    ranks = rankdata(np.abs(difference))
    p = wilcoxon(difference, alternative="greater").pvalue
    return Comparison(float(ranks[difference < 0].sum()), float(p), len(difference))


class Score(NamedTuple):
    """A method on a data set; means over several seeds."""

    accuracy: float
    # standard deviation over the seeds
    spread: float
    runs: int
    # for one fit
    seconds: float
    iterations: float
    note: str


class Mean(NamedTuple):
    """Mean accuracy of a method over the present data sets, and with Senti filled in if only Senti
    is absent.
    """

    present: float
    eleven: float | None
    # measured, published, implied, or empty
    senti: str
    # against MV, over the data sets of `eleven` if it is known
    test: Comparison | None
    # number of data sets in the test
    tested: int


class Ablated(NamedTuple):
    """PTBCC with one setting changed: means over the data sets that are present."""

    mean: float
    # standard deviation over seeds
    spread: float
    seeds: int
    # with PTBCC's published accuracy on Senti, for any setting
    eleven: float | None


@dataclass(frozen=True)
class Results:
    # the data sets that are present, in the paper's order
    data: dict[str, Votes]
    # data sets of the paper that are not present
    absent: list[str]
    parts: list[str]
    methods: list[str]
    scores: dict[str, dict[str, Score]] = field(default_factory=dict)
    means: dict[str, Mean] = field(default_factory=dict)
    ablation: dict[str, dict[str, Ablated]] = field(default_factory=dict)
    # prototypes, and annotators' weights
    cases: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def unverified(self) -> list[str]:
        return [name for name, votes in self.data.items() if not votes.verified]

    @property
    def fills_senti(self) -> bool:
        """Whether Senti is the only absent data set and published values replace it."""
        return self.absent == ["senti"]

    @property
    def remarks(self) -> list[str]:
        """Remarks that a reader must know before the numbers."""
        remarks = []
        if self.absent:
            remarks.append(f"absent data sets: {', '.join(self.absent)}")
        if self.unverified:
            remarks.append(
                f"NOT VERIFIED, files that differ from the paper's: {', '.join(self.unverified)}; "
                "no number that includes them can be compared with the paper"
            )
        return remarks


def collect(results: Results, done: Mapping[Fit, FitOutcome]) -> Results:
    """Return the results with the outcomes of these fits added."""
    names = list(results.data)
    for method in results.methods:
        results.scores[method] = {}
        for name in names:
            fits = fits_of_method(method, name)
            if runs := [done[fit] for fit in fits if fit in done]:
                accuracies, note = [run.accuracy for run in runs], ""
                if method in METHOD_SEEDS:
                    note = f"mean of {len(fits)} seeds" if len(fits) > 1 else "one seed"
                if method == "ebcc" and name in EBCC_RESTARTS:
                    note += f", {EBCC_RESTARTS[name]} restarts instead of 40"
                results.scores[method][name] = Score(
                    float(np.mean(accuracies)),
                    float(np.std(accuracies, ddof=1)) if len(runs) > 1 else 0.0,
                    len(runs),
                    float(np.median([run.seconds for run in runs])),
                    float(np.mean([run.iterations for run in runs])),
                    note,
                )
    complete = [method for method, row in results.scores.items() if len(row) == len(names) and row]
    for method in complete if "mv" in complete and set(EVERY_FIT) & set(results.parts) else ():
        present, theirs = (
            [score.accuracy for score in results.scores[name].values()] for name in (method, "mv")
        )
        ours, senti = present, "measured" if "senti" in results.data else ""
        if results.fills_senti and method in SENTI:
            ours, theirs = [*ours, SENTI[method].accuracy], [*theirs, SENTI["mv"].accuracy]
            senti = SENTI[method].kind
        test = compare(ours, theirs) if method != "mv" else None
        eleven = float(np.mean(ours)) if senti and len(ours) == 11 else None
        results.means[method] = Mean(float(np.mean(present)), eleven, senti, test, len(ours))
    for what, values in ABLATION.items() if "table5" in results.parts else ():
        results.ablation[what] = {}
        for value in values:
            seeds = fits_of_ablation(what, value, names)
            means = [float(np.mean([done[fit].accuracy for fit in fits])) for fits in seeds]
            mean, spread = (
                float(np.mean(means)),
                float(np.std(means, ddof=1)) if len(means) > 1 else 0.0,
            )
            eleven = None if results.absent else mean
            if results.fills_senti:
                eleven = (10 * mean + SENTI["ptbcc"].accuracy) / 11
            results.ablation[what][value] = Ablated(mean, spread, len(means), eleven)
    for name in names:
        outcome = done.get(Fit("ptbcc", (), name))
        if outcome is not None and outcome.prototypes is not None and outcome.weights is not None:
            results.cases[name] = outcome.prototypes, outcome.weights
    return results
