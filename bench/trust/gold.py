"""What known truths teach: accuracy and calibration of the other labels, with gold counted once and more often.

python -m bench.trust.gold  sets of ../shared/real with 200 truths and less than 400,000 votes x classes: three minutes

Accuracy of the other labels in points above that without gold, and their calibration error (15 bins) before and after
the temperature that the gold sets; means over families.
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
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import SHARED
from bench.real_data import RealSet, load
from bench.trust.certify import ece
from finegold.api.fit import fit
from finegold.fitting import solve
from finegold.kernels import anchored
from finegold.methods.lookup import make_method
from finegold.results.metrics import temper
from finegold.votes.annotations import Annotations

SIZES = (25, 50, 100)
WEIGHTS = (1, 5, 20, 50)
LEAST_TRUTHS = 200


def main() -> None:
    options = _options()
    warnings.simplefilter("ignore")
    rows = []
    for data in load(options.shared, options.only, fast=True):
        usable = np.flatnonzero((data.truth >= 0) & (data.truth < data.n_classes))
        if len(usable) >= LEAST_TRUTHS:
            rows.append({"family": data.family} | measure(data, usable, options.draws))
            print(data.name, flush=True)
    families = sorted({row["family"] for row in rows})

    def mean(key: str) -> float:
        return float(
            np.mean([np.mean([row[key] for row in rows if row["family"] == f]) for f in families])
        )

    print(f"\n{len(rows)} sets in {len(families)} families; gain in points\n")
    print(
        "| gold | "
        + " | ".join(f"counted {w} times" for w in WEIGHTS)
        + " | worst family | ECE before the temperature | after |"
    )
    print("|---" * (len(WEIGHTS) + 4) + "|")
    for n in SIZES:
        gains = " | ".join(f"{100 * mean(f'gain {n} {w}'):+.2f}" for w in WEIGHTS)
        worst = min(
            np.mean([r[f"gain {n} 20"] for r in rows if r["family"] == f]) for f in families
        )
        print(
            f"| {n} | {gains} | {100 * worst:+.2f} | {mean(f'ece {n}'):.3f} | {mean(f'after {n}'):.3f} |"
        )


def measure(data: RealSet, usable: Any, draws: int) -> dict[str, float]:
    generator = np.random.default_rng(1)
    plain = _fit(data, None, 1)
    figures: dict[str, list[float]] = {}
    for _ in range(draws):
        order = generator.permutation(usable)
        for n in SIZES:
            golds, others = order[:n], np.setdiff1d(np.flatnonzero(data.truth >= 0), order[:n])
            right = plain.label_codes[others] == data.truth[others]
            for weight in WEIGHTS:
                taught = _fit(data, golds, weight)
                now = taught.label_codes[others] == data.truth[others]
                figures.setdefault(f"gain {n} {weight}", []).append(
                    float(now.mean() - right.mean())
                )
                if weight == anchored.GOLD_WEIGHT:
                    before = temper(taught.posterior, 1 / taught.temperature).max(axis=1)
                    figures.setdefault(f"ece {n}", []).append(ece(before[others], now))
                    figures.setdefault(f"after {n}", []).append(ece(taught.confidence[others], now))
    return {name: float(np.mean(values)) for name, values in figures.items()}


def _fit(data: RealSet, golds: Any, weight: float) -> Any:
    gold = {} if golds is None else {int(task): int(data.truth[task]) for task in golds}
    votes = Annotations.from_arrays(*data.votes.T, classes=list(range(data.n_classes)), gold=gold)
    method: Any = make_method("anchored", {})
    if (
        golds is not None and weight != anchored.GOLD_WEIGHT
    ):  # the difference to what the kernel counts
        inside = np.isin(data.votes[:, 0], golds)
        task, who, label = data.votes[inside].T
        shape = (votes.n_annotators, data.n_classes, data.n_classes)
        method.earlier = np.zeros(shape)
        np.add.at(method.earlier, (who, label, data.truth[task]), weight - anchored.GOLD_WEIGHT)
        return solve.fit(method, votes)
    return fit(method, votes)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--draws", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
