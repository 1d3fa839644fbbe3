"""The parts of the paper, and the fits that each needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from finegold.errors import InputError
from finegold.methods.registry import REGISTRY
from finegold.paper.published import ABLATION, METHODS, TABLE_2
from finegold.paper.runs import Job, job

__all__ = [
    "CASES",
    "FIGURES",
    "PARTS",
    "ablation_jobs",
    "check_methods",
    "check_parts",
    "jobs_of",
    "method_jobs",
    "note",
]

PARTS = ("table2", "table3", "table4", "table5", "figure2", "figure3", "figure4", "figure5")
FIGURES = tuple(part for part in PARTS if part.startswith("figure"))
EVERY_FIT = ("table4", "figure2", "figure5")  # parts that show all methods on all data sets
CASES = {"figure3": "val5", "figure4": "ms"}
SEEDS = 10  # for every random row of Table 5

# Methods with a random start are run with several seeds, and the mean is shown; large data sets use fewer seeds.
METHOD_SEEDS = {"catd": 20, "cbcc": 10, "tiremge": 5, "ebcc": 10}
FEWER_SEEDS = {"tiremge": {"fact": 1, "adult": 1, "senti": 1}, "ebcc": {"fact": 1, "adult": 1, "senti": 1, "web": 5}}
EBCC_RESTARTS = {"fact": 5, "senti": 5}  # 40 elsewhere, as in the authors' experiments


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


def jobs_of(parts: list[str], methods: list[str], names: list[str]) -> list[Job]:
    """Return all fits that these parts need on these data sets."""
    jobs: list[Job] = []
    if set(parts) & set(EVERY_FIT):
        jobs += [each for method in methods for name in names for each in method_jobs(method, name)]
    if "table2" in parts and "val5" in names:
        jobs += [each for method in methods if method in TABLE_2 for each in method_jobs(method, "val5")]
    jobs += [job("ptbcc", CASES[part]) for part in parts if CASES.get(part) in names]
    if "table5" in parts:
        values = [(what, value) for what, row in ABLATION.items() for value in row]
        jobs += [each for what, value in values for seeds in ablation_jobs(what, value, names) for each in seeds]
    return jobs


def method_jobs(method: str, name: str) -> list[Job]:
    """Return the fits whose mean is this method's row on this data set."""
    more = {"n_restarts": EBCC_RESTARTS[name]} if method == "ebcc" and name in EBCC_RESTARTS else {}
    if method not in METHOD_SEEDS:
        return [job(method, name)]
    return [job(method, name, seed=seed, **more) for seed in range(_n_seeds(method, name))]


def note(method: str, name: str) -> str:
    """Return what is special about these fits, for readers of the tables."""
    if method not in METHOD_SEEDS:
        return ""
    n = _n_seeds(method, name)
    fewer = f", {EBCC_RESTARTS[name]} restarts instead of 40" if method == "ebcc" and name in EBCC_RESTARTS else ""
    return (f"mean of {n} seeds" if n > 1 else "one seed") + fewer


def _n_seeds(method: str, name: str) -> int:
    return FEWER_SEEDS.get(method, {}).get(name, METHOD_SEEDS[method])


def ablation_jobs(what: str, value: str, names: list[str]) -> list[list[Job]]:
    """Return, for each seed, the fits on all data sets; there is one seed if nothing is random."""
    if what in "fm":
        return [[job("ptbcc", name, **{what: float(value)}) for name in names]]
    if value == "3-Ran":
        return [[job("ptbcc", name, n_prototypes=3, further="uniform") for name in names]]
    seeds: Iterable[dict[str, Any]] = [{"seed": seed} for seed in range(SEEDS)] if int(value) > 2 else [{}]
    return [[job("ptbcc", name, n_prototypes=int(value), **seed) for name in names] for seed in seeds]
