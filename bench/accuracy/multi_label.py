"""Sets of labels: Finegold's model of options beside a vote per option, on simulated votes.

python -m bench.accuracy.multi_label [--draws 10]

By default 200 tasks, 40 options and 5 of 25 annotators per task. A task has about 2.5 labels; annotators find two
thirds of them and choose one wrong option in forty, and both differ by annotator and by option (tests/support/sets.py).
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import finegold
from bench.machine import keep, peak_memory
from finegold.io.truth import match_sets
from finegold.results.sets import set_figures
from tests.support.sets import simulated_sets

METRICS = ("exact_match", "micro_f1", "macro_f1")
SETTINGS = {
    "200 tasks, 40 options, 5 votes": {},
    "the same with 3 votes": {"votes_per_task": 3},
    "50 tasks, 8 options, 5 of 8 annotators": {"n_tasks": 50, "n_options": 8, "n_annotators": 8},
    "8,000 tasks, 40 options, 5 votes": {"n_tasks": 8000, "n_annotators": 1000},
}


def main() -> None:
    options = _options()
    figures = {name: measure(more, _draws(more, options.draws)) for name, more in SETTINGS.items()}
    print(
        "| votes | draws | method | exact match | micro F1 | macro F1 | seconds |\n|---|---|---|---|---|---|---|"
    )
    for name, found in figures.items():
        for method, row in found["methods"].items():
            cells = " | ".join(f"{row[metric]:.3f}" for metric in METRICS)
            print(f"| {name} | {found['draws']} | {method} | {cells} | {row['seconds']:.2f} |")
    print(f"most memory: {peak_memory():.0f} MiB")
    if options.keep:
        keep("multi_label", figures)


def _draws(more: dict[str, int], draws: int) -> int:
    """Return the number of draws: many tasks need few."""
    return min(draws, 2) if more.get("n_tasks", 0) > 1000 else draws


def measure(more: dict[str, int], draws: int) -> dict[str, object]:
    """Return the means over draws. Seconds are those of reading and fitting."""
    rows: dict[str, list[list[float]]] = {"mv": [], "multi": []}
    for seed in range(draws):
        made = simulated_sets(seed, **more)
        truths = match_sets(finegold.read(made.table(), multi=True), made.truth)
        for name, method in (("mv", "mv"), ("multi", "anchored")):
            began = time.perf_counter()
            score = set_figures(
                finegold.aggregate(made.table(), method, multi=True), truths.task, truths.sets
            )
            rows[name].append([*(score[metric] for metric in METRICS), time.perf_counter() - began])
    means = {
        name: dict(zip((*METRICS, "seconds"), np.mean(found, axis=0).tolist(), strict=True))
        for name, found in rows.items()
    }
    return {"draws": draws, "methods": means}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=10, help="draws of each setting")
    parser.add_argument("--keep", action="store_true", help="keep the figures in bench/results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
