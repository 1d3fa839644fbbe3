"""Methods on simulated crowds: mean accuracy by kind of crowd (see bench/accuracy/worlds.py), and over all crowds.

python -m bench.accuracy.simulated --method mv --method ptbcc --method "hds class_prior=flat" [--every 6] [--draws 1]

Simulated crowds show what a method understands; the real data sets of bench/accuracy/real.py decide.
"""

from __future__ import annotations

import os

for variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
):  # before NumPy is loaded
    os.environ[variable] = "1"

import argparse
import json
import sys
import time
from typing import Any

import numpy as np

from bench.accuracy.real import REAL, parse
from bench.accuracy.real_score import measure
from bench.accuracy.worlds import draw, worlds
from bench.machine import describe
from finegold.api.job import fit
from finegold.errors import InputError
from finegold.methods.registry import DEFAULT_METHOD
from finegold.system.files import write_bytes

METHODS = list(dict.fromkeys(["mv", "ptbcc", "hds", DEFAULT_METHOD]))


def main() -> None:
    options = _options()
    chosen = options.method or METHODS
    methods = {name: parse(name) for name in chosen}
    began = time.process_time()
    found: dict[str, list[dict[str, float]]] = {}
    for world in worlds()[:: options.every]:
        for seed in range(options.draws):
            votes, truth = draw(world, seed)
            row = {
                name: measure(fit(method, votes, threads=1).posterior, truth)["accuracy"]
                for name, method in methods.items()
            }
            found.setdefault(world.kind, []).append(row)
    figures = {
        **{kind: means(rows, chosen) for kind, rows in found.items()},
        "all": means(_all(found), chosen),
    }
    show(figures, chosen)
    print(f"{len(_all(found))} draws, {time.process_time() - began:.0f} s of processor time")
    if options.keep:
        content = {
            "machine": describe(),
            "every": options.every,
            "draws": options.draws,
            "accuracy": figures,
        }
        write_bytes(REAL / "simulated.json", json.dumps(content, indent=1).encode())


def means(rows: list[dict[str, float]], names: list[str]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in rows])) for name in names}


def show(figures: dict[str, dict[str, float]], names: list[str]) -> None:
    print(f"{'':20}" + "".join(f"{name:>22}" for name in names))
    for kind, row in figures.items():
        print(f"{kind:20}" + "".join(f"{row[name]:22.4f}" for name in names))


def _all(found: dict[str, list[Any]]) -> list[Any]:
    return [row for rows in found.values() for row in rows]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--method", action="append", help="a method with settings; may be given several times"
    )
    parser.add_argument("--every", type=int, default=1, help="take every n-th crowd")
    parser.add_argument("--draws", type=int, default=1, help="draws of each crowd")
    parser.add_argument(
        "--keep", action="store_true", help="keep the figures for docs/evidence/choosing.md"
    )
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"error: {error}")
