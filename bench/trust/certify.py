"""Checks of a few tasks on real data: how often intervals hold, what may be accepted, and what confidences are worth.

python -m bench.trust.certify              every real set with 500 truths or more, 200 audits each: five minutes
python -m bench.trust.certify --audits 50  quicker

Each set becomes a population of 10,000 tasks, drawn with replacement from its tasks with a known truth. Means are over
families (`families.json`), the lowest figure is that of a single set. Nothing is tuned here: the designs are those of
`finegold.insight.certify`.
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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.machine import SHARED
from bench.real_data import load
from finegold.api.certify import BANDS, LEAST_FOR_PART
from finegold.api.fit import fit
from finegold.insight import certify as c
from finegold.methods.lookup import make_method

SIZES = (50, 100, 200, 300)
CALIBRATING = (25, 50, 100, 200)
POPULATION = 10_000
LEAST_TRUTHS = 500
BINS = 15
# what the default is compared with to choose a method
RIVALS = ("mv", "ds", "glad", "bwa", "ibcc", "ptbcc")

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int64]


def main() -> None:
    options = _options()
    rows = []
    for data in load(options.shared, options.only):
        known = data.truth >= 0
        if known.sum() < LEAST_TRUTHS:
            continue
        result = fit(make_method("anchored", {}), data.annotations())
        right = result.label_codes[known] == data.truth[known]
        rows.append(
            {"set": data.name, "family": data.family}
            | measure(result.confidence[known], right, result.label_codes[known], options.audits)
        )
        print(f"{data.name:24} accuracy {right.mean():.3f}", flush=True)
    report(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def measure(confidence: Floats, right: Bools, label: Codes, audits: int) -> dict[str, float]:
    """Return the figures of one set."""
    generator = np.random.default_rng(1)
    drawn = generator.integers(len(right), size=POPULATION)
    confidence, right, label = confidence[drawn], right[drawn], label[drawn]
    truth = float(right.mean())
    figures: dict[str, float] = {"accuracy": truth, "ece": ece(confidence, right)}
    for n in SIZES:
        found = [audit_accuracy(confidence, right, n, generator) for _ in range(audits)]
        uniform = [
            c.exact_interval(int(right[generator.choice(POPULATION, n, replace=False)].sum()), n)
            for _ in range(audits)
        ]
        figures[f"covered {n}"] = float(np.mean([one.low <= truth <= one.high for one in found]))
        figures[f"width {n}"] = float(np.mean([one.high - one.low for one in found]))
        figures[f"uniform width {n}"] = float(np.mean([high - low for low, high in uniform]))
    wrong = ~right[c.by_confidence(confidence)]
    for n in SIZES[1:]:  # labels that a sample for accuracy lets accept, at 5 %
        accepted = [audit_strata(confidence, right, n, generator) for _ in range(audits)]
        figures[f"accepted by strata {n}"] = float(np.mean(accepted) / POPULATION)
        figures[f"broken by strata {n}"] = float(
            np.mean([a > 0 and wrong[:a].mean() > 0.05 for a in accepted])
        )
    for n in CALIBRATING:
        found_ece = []
        for _ in range(min(audits, 100)):
            checked = sample_accuracy(confidence, n, generator)[0]
            mapped = c.recalibrate(confidence[checked], right[checked].astype(float)).apply(
                confidence
            )
            found_ece.append(ece(mapped, right))
        figures[f"ece {n}"] = float(np.mean(found_ece))
    band = np.searchsorted(BANDS, confidence, side="right")
    for n in SIZES:
        for name, part in (("class", label), ("band", band)):
            held = [
                each
                for _ in range(audits)
                for each in audit_parts(confidence, right, part, n, generator)
            ]
            if held:
                figures[f"covered {name} {n}"] = float(np.mean(held))
    return figures


def sample_accuracy(
    confidence: Floats, n: int, generator: np.random.Generator
) -> tuple[Codes, Codes, Codes]:
    """Return the tasks to check, the stratum of all tasks, and the checks of each stratum."""
    stratum = c.stratify(confidence, c.strata_for(n))
    checks = c.allocate(np.bincount(stratum), n)
    chosen = [
        generator.choice(np.flatnonzero(stratum == h), checks[h], replace=False)
        for h in range(len(checks))
        if checks[h]
    ]
    return np.concatenate(chosen), stratum, checks


def audit_accuracy(
    confidence: Floats, right: Bools, n: int, generator: np.random.Generator
) -> c.Interval:
    chosen, stratum, checks = sample_accuracy(confidence, n, generator)
    sizes = np.bincount(stratum)
    hits = np.bincount(stratum[chosen], right[chosen].astype(float), minlength=len(sizes))
    return c.accuracy_interval(sizes, checks, hits, np.bincount(stratum, confidence) / sizes)


def audit_parts(
    confidence: Floats, right: Bools, part: Codes, n: int, generator: np.random.Generator
) -> list[bool]:
    """Return whether the interval of each class or band of confidence with enough checks holds."""
    chosen, stratum, checks = sample_accuracy(confidence, n, generator)
    weight = (np.bincount(stratum) / np.maximum(checks, 1))[stratum[chosen]]
    held = []
    for name in np.unique(part[chosen]):
        inside = part[chosen] == name
        if inside.sum() >= LEAST_FOR_PART:
            interval = c.weighted_interval(weight[inside], right[chosen][inside])
            held.append(bool(interval.low <= right[part == name].mean() <= interval.high))
    return held


def audit_strata(confidence: Floats, right: Bools, n: int, generator: np.random.Generator) -> int:
    chosen, stratum, _ = sample_accuracy(confidence, n, generator)
    sizes = np.bincount(stratum)
    mean = np.bincount(stratum, confidence) / sizes
    return c.accepted_strata(sizes, stratum[chosen], ~right[chosen], mean, 0.05)


def ece(confidence: Floats, right: Bools) -> float:
    """Return the expected calibration error over bins of equal width."""
    group = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gap = np.bincount(group, right - confidence, minlength=BINS)
    return float(np.abs(gap).sum() / len(right))


def report(rows: list[dict[str, Any]]) -> None:
    """Print means over families, and the lowest or highest set."""
    families = {row["family"] for row in rows}

    def mean(key: str) -> float:
        return float(
            np.mean([np.mean([row[key] for row in rows if row["family"] == f]) for f in families])
        )

    print(f"\n{len(rows)} sets in {len(families)} families; ECE of confidences {mean('ece'):.3f}\n")
    print(
        "| checks | width, uniform and exact | width | relative | coverage, mean | coverage, lowest set |"
    )
    print("|---|---|---|---|---|---|")
    for n in SIZES:
        lowest = min(rows, key=lambda row: row[f"covered {n}"])
        relative = float(
            np.mean(
                [
                    np.mean(
                        [
                            r[f"width {n}"] / r[f"uniform width {n}"]
                            for r in rows
                            if r["family"] == f
                        ]
                    )
                    for f in families
                ]
            )
        )
        print(
            f"| {n} | {mean(f'uniform width {n}'):.3f} | {mean(f'width {n}'):.3f} | {relative:.3f} "
            f"| {mean(f'covered {n}'):.3f} | {lowest[f'covered {n}']:.3f} ({lowest['set']}) |"
        )
    print(
        "\n| checks | coverage of classes, mean | lowest family | of bands of confidence, mean | lowest family |"
    )
    print("|---|---|---|---|---|")
    for n in SIZES:
        shown = []
        for part in ("class", "band"):
            key = f"covered {part} {n}"
            by_family = {
                f: [row[key] for row in rows if row["family"] == f and key in row] for f in families
            }
            means = {f: float(np.mean(values)) for f, values in by_family.items() if values}
            lowest_family = min(means, key=lambda f: means[f])
            shown.append(
                f"{np.mean(list(means.values())):.3f} | {means[lowest_family]:.3f} ({lowest_family})"
            )
        print(f"| {n} | {' | '.join(shown)} |")
    print("\n| checks | accepted at 5 % | promise broken, mean | promise broken, worst set |")
    print("|---|---|---|---|")
    for n in SIZES[1:]:
        worst = max(rows, key=lambda row: row[f"broken by strata {n}"])
        print(
            f"| {n} | {mean(f'accepted by strata {n}'):.3f} | {mean(f'broken by strata {n}'):.3f} "
            f"| {worst[f'broken by strata {n}']:.3f} ({worst['set']}) |"
        )
    print("\n| checks | ECE before | ECE after |\n|---|---|---|")
    for n in CALIBRATING:
        print(f"| {n} | {mean('ece'):.3f} | {mean(f'ece {n}'):.3f} |")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
