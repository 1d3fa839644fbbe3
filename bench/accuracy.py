"""Accuracy, log loss and calibration of the methods, on the public data sets and on simulated crowds.

python bench/accuracy.py --seeds 8                            everything, as on the page; half an hour on two cores
python bench/accuracy.py --every 10 --no-page                 a tenth of the grid, to try something

Writes bench/results/accuracy.json, docs/choosing.md and docs/choosing.svg (see bench/choosing.py).
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is loaded: processes share the cores
    os.environ[variable] = "1"

import argparse
import csv
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from choosing import write_page
from karat.annotations import Annotations
from karat.methods import method_class
from karat.metrics import accuracy, calibration_error, log_loss
from karat.registry import REGISTRY
from karat.solve import fit
from machine import keep
from worlds import World, draw, worlds

DATA_SETS = ("adult", "aircr", "cf", "dog", "face", "fact", "ms", "val5", "val7", "web")
GRID_METHODS = ("mv", "bwa", "ds", "ibcc", "ptbcc", "hds", "hpt", "auto")
SLOW = ("tiremge", "ebcc")  # minutes on the larger data sets
# Dawid-Skene and IBCC as one uses them for work: until they have converged, not as in the paper's rows.
SETTINGS: dict[str, dict[str, Any]] = {
    "ds": {"max_iterations": 500, "tolerance": 1e-3},
    "ibcc": {"inference": "vb"},
}


def main() -> None:
    options = _options()
    began = time.perf_counter()
    chosen = worlds()[:: options.every]
    with ProcessPoolExecutor(options.processes) as pool:
        names = [name for name in REGISTRY if options.slow or name not in SLOW]
        data_sets = list(pool.map(of_data_set, [(options.data / name, names) for name in DATA_SETS]))
        print(f"ten data sets after {time.perf_counter() - began:.0f} s", flush=True)
        jobs = [(world, seed, options.methods) for world in chosen for seed in range(options.seeds)]
        grid = list(pool.map(of_world, jobs, chunksize=4))
    figures = {"data_sets": data_sets, "grid": grid, "seconds": time.perf_counter() - began}
    path = keep("accuracy", figures)
    if options.page:
        write_page(figures, options.page)
    print(f"kept in {path} after {figures['seconds']:.0f} s")


def of_data_set(job: tuple[Path, list[str]]) -> dict[str, Any]:
    folder, names = job
    votes, truths = _integers(folder / "label.csv"), _integers(folder / "truth.csv")
    annotations = Annotations.from_arrays(*votes.T)
    truth = np.full(annotations.n_tasks, -1, np.int64)
    truth[truths[:, 0]] = truths[:, 1]
    rows = {name: _judge(annotations, truth, name) for name in names}
    rows["auto, not tempered"] = _judge(annotations, truth, "auto", calibrate=False)
    return {"data": folder.name, "votes": annotations.n_votes, "methods": rows}


def of_world(job: tuple[World, int, list[str]]) -> dict[str, Any]:
    world, seed, names = job
    annotations, truth = draw(world, seed)
    rows = {name: _judge(annotations, truth, name, **SETTINGS.get(name, {})) for name in names}
    for name in ("notes", "choice"):  # for the data sets only: they are long
        rows.get("auto", {}).pop(name, None)
    return {**world._asdict(), "seed": seed, "votes": annotations.n_votes, "methods": rows}


def _judge(annotations: Annotations, truth: Any, name: str, **settings: Any) -> dict[str, Any]:
    began = time.perf_counter()
    result = fit(method_class(name)(**settings), annotations, threads=1)
    row = {
        "accuracy": accuracy(result.posterior, truth),
        "log_loss": log_loss(result.posterior, truth),
        "calibration_error": calibration_error(result.posterior, truth),
        "seconds": time.perf_counter() - began,
    }
    if name == "auto":
        row |= {key: result.settings.get(key) for key in ("chosen", "temperature", "choice")}
        row["notes"] = result.notes
    return row


def _integers(path: Path) -> Any:
    with path.open(newline="") as handle:
        return np.array(list(csv.reader(handle))[1:], dtype=np.int64)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/datasets"))
    parser.add_argument("--methods", nargs="*", default=list(GRID_METHODS), help="methods on the grid")
    parser.add_argument("--slow", action="store_true", help=f"also {', '.join(SLOW)} on the data sets")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="take every n-th world of the grid")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--no-page", dest="page", action="store_const", const=None, default=Path("docs/choosing.md"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
