"""Every method on the data sets of the paper: its time and its accuracy.

python -m bench.rivals.methods --data ../shared/datasets [--only val5 ms] [--methods ds glad]
python -m bench.rivals.methods --page docs/evidence/costs.md

Seconds are those of the processor, which other work on the machine disturbs little.
"""

from __future__ import annotations

import os

# Before NumPy is loaded: one thread each.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import describe, keep
from finegold.api.fit import fit
from finegold.methods.lookup import REGISTRY, method_class
from finegold.votes.annotations import Annotations

# seconds; of shorter fits the fastest of three counts
LONG = 2.0
HEAD = """# What the methods cost

**What this means for you.** Except for `ebcc`, `tiremge`, `fgbcc` and, on many votes, `glad`, every method
takes a fraction of a second on these data sets, so accuracy decides ([choosing](choosing.md)). For millions
of votes, use the default, `ptbcc`, `ds` or `mv`.

Seconds of processor time of a whole fit with the default settings, one thread, compiled before, on
"""


def measure(name: str, folder: Path) -> dict[str, Any]:
    load = {"delimiter": ",", "skiprows": 1, "dtype": np.int64}
    votes, truth = (np.loadtxt(folder / f"{what}.csv", **load) for what in ("label", "truth"))
    annotations = Annotations.from_arrays(*votes.T)
    fit(method_class(name)(max_iterations=1), annotations, threads=1)  # compile
    times: list[float] = []
    while len(times) < 3 and (not times or times[0] < LONG):
        began = time.process_time()
        result = fit(method_class(name)(), annotations, threads=1)
        times.append(time.process_time() - began)
    best = result.posterior == result.posterior.max(axis=1, keepdims=True)
    right = (best / best.sum(axis=1, keepdims=True))[truth[:, 0], truth[:, 1]]
    return {"seconds": min(times), "iterations": result.iterations, "accuracy": float(right.mean())}


def page(figures: dict[str, dict[str, Any]]) -> str:
    """docs/evidence/costs.md, its first table: seconds of every method on every data set."""
    methods, machine = list(next(iter(figures.values()))), describe()
    lines = [
        f"{HEAD}{machine['processor']} ({machine['date'][:10]}).",
        "",
        f"| data set | {' | '.join(methods)} |",
        "|---|" + "---:|" * len(methods),
    ]
    for data, found in figures.items():
        seconds = [f"{found[method]['seconds']:.3f}" for method in methods]
        lines.append(f"| {data} | {' | '.join(seconds)} |")
    made = "This page is made by `python -m bench.rivals.methods --page docs/evidence/costs.md`."
    return "\n".join([*lines, "", made]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/datasets"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--methods", nargs="*", default=list(REGISTRY))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for folder in sorted(options.data.iterdir()):
        if (folder / "label.csv").exists() and (not options.only or folder.name in options.only):
            figures[folder.name] = {}
            for name in options.methods:
                found = figures[folder.name][name] = measure(name, folder)
                shown = f"{found['seconds']:9.3f} s {found['iterations']:5} it."
                print(f"{folder.name:8} {name:8} {shown} accuracy {found['accuracy']:.4f}")
    print(f"kept in {keep('methods', figures)}")
    if options.page:
        options.page.write_text(page(figures))


if __name__ == "__main__":
    main()
