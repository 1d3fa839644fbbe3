"""How often each number and each advice that Finegold shows held on real data.

python -m bench.trust.promises           sets of ../shared/real with less than 400,000 votes x classes: ten minutes
python -m bench.trust.promises --all     all of them

A promise of a set is the share of cases in which it held: of annotators whose interval contains their accuracy, of
advice that was right by the truths, and so on. The table has the mean over families (`families.json`), the lowest
family, and how many families show such a number at all. Nothing is tuned here.
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
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import SHARED
from bench.real_data import RealSet, load
from finegold.api.fit import fit
from finegold.api.result import Result
from finegold.insight.agreement import MIN_TASKS, agreement, alpha, counts_of
from finegold.insight.calibration import calibration
from finegold.insight.next_votes import expected_gains, plan
from finegold.insight.overview import trust
from finegold.insight.spam import spam
from finegold.methods.lookup import make_method
from finegold.results.metrics import BINS, bin_of
from finegold.votes.annotations import Annotations
from finegold.votes.frames import to_polars

LEAST_KNOWN = 10  # votes on tasks with a truth from which an annotator's accuracy is known
GOLDS = 50
NEAR_CHANCE = 0.15  # balanced accuracy above chance below which votes are useless
LEAST_TRUTHS = 100
DRAWS = 20  # samples of tasks or truths of each set

Held = tuple[str, float, int]


def main() -> None:
    options = _options()
    rows: list[dict[str, Any]] = []
    for data in load(options.shared, options.only, fast=not options.all):
        if (data.truth >= 0).sum() < LEAST_TRUTHS:
            continue
        for name, held, shown in promises(data):
            rows.append(
                {
                    "set": data.name,
                    "family": data.family,
                    "promise": name,
                    "held": held,
                    "shown": shown,
                }
            )
        print(data.name, flush=True)
    report(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def promises(data: RealSet) -> Iterator[Held]:
    """Yield the name of a promise, how many cases held, and how many were shown."""
    generator = np.random.default_rng(1)
    votes = data.annotations()
    known = data.truth >= 0
    result = fitted(votes)
    right = result.label_codes == data.truth
    confidence = result.confidence
    yield (
        "mean confidence within 5 points",
        float(abs(confidence[known].mean() - right[known].mean()) <= 0.05),
        1,
    )
    wrong, expected = float((~right[known]).sum()), float((1 - confidence[known]).sum())
    yield (
        "wrong labels expected, within a factor of 2",
        float(wrong / 2 <= expected <= wrong * 2),
        1,
    )
    accuracy, n_known, balanced, chance = annotators_by_truth(data)
    yield "interval of an annotator (95 %)", *intervals(result, accuracy, n_known)
    golds = generator.choice(
        np.flatnonzero(known), min(GOLDS, int(known.sum()) // 2), replace=False
    )
    taught = fitted(with_gold(data, golds))
    yield (
        f"interval of an annotator (95 %), {len(golds) and GOLDS} random truths",
        *intervals(taught, accuracy, n_known),
    )
    yield from suspicions(result, accuracy, n_known, balanced, chance)
    yield "interval of alpha (95 %), 100 tasks", *agreements(data, generator)
    yield (
        "interval of a bin of the calibration curve (95 %), 100 random truths",
        *curves(data, result, generator),
    )


def suspicions(
    result: Result, accuracy: Any, n_known: Any, balanced: Any, chance: Any
) -> Iterator[Held]:
    """Yield how often named spammers and annotators with advice deserve it by the truths."""
    judged = n_known >= LEAST_KNOWN
    kind = spam(result).kind
    flagged = np.flatnonzero((kind != "") & judged)
    held = np.where(kind == "inverted", accuracy < chance, balanced < chance + NEAR_CHANCE)
    yield "spammer: votes do not depend on the truth", float(held[flagged].sum()), len(flagged)
    usual = float(np.median(accuracy[judged])) if judged.any() else 0.0
    advice = plan(result).advice
    for action, holds in (("drop", balanced < chance + NEAR_CHANCE), ("retrain", accuracy < usual)):
        some = [one.annotator for one in advice if one.action == action and judged[one.annotator]]
        yield f"advice to {action}", float(holds[some].sum()), len(some)


def agreements(data: RealSet, generator: np.random.Generator) -> tuple[float, int]:
    """Return how many intervals of alpha, each from 100 tasks, contain that of all tasks."""
    several = np.flatnonzero(np.bincount(data.votes[:, 0]) >= 2)
    whole = alpha(counts_of(data.annotations())).value
    if len(several) < 4 * MIN_TASKS or np.isnan(whole):
        return 0.0, 0
    held = []
    for _ in range(DRAWS):
        rows = data.votes[
            np.isin(data.votes[:, 0], generator.choice(several, MIN_TASKS, replace=False))
        ]
        low, high = agreement(
            Annotations.from_arrays(*rows.T, classes=list(range(data.n_classes)))
        ).interval("alpha")
        if np.isfinite(low):
            held.append(low <= whole <= high)
    return float(sum(held)), len(held)


def curves(data: RealSet, result: Result, generator: np.random.Generator) -> tuple[float, int]:
    """Return how many intervals of the bins of a calibration curve contain the share of all right labels there."""
    known = np.flatnonzero(data.truth >= 0)
    if len(known) < 2 * MIN_TASKS:
        return 0.0, 0
    right = (result.label_codes == data.truth)[known]
    of_bin = bin_of(result.posterior[known].max(axis=1).astype(float))
    share = np.bincount(of_bin, right, minlength=BINS) / np.maximum(
        np.bincount(of_bin, minlength=BINS), 1
    )
    held = []
    for _ in range(DRAWS):
        truth = np.full(len(data.truth), -1, np.int32)
        chosen = generator.choice(known, MIN_TASKS, replace=False)
        truth[chosen] = data.truth[chosen]
        curve = to_polars(calibration(result, truth).curve()).to_dicts()
        held += [
            row["accuracy_low"] <= share[round(row["low"] * BINS)] <= row["accuracy_high"]
            for row in curve
        ]
    return float(sum(held)), len(held)


def fitted(votes: Annotations) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(make_method("anchored", {}), votes)


def with_gold(data: RealSet, golds: np.ndarray[Any, Any]) -> Annotations:
    inside = golds[data.truth[golds] < data.n_classes]
    gold = {int(task): int(data.truth[task]) for task in inside}
    return Annotations.from_arrays(*data.votes.T, classes=list(range(data.n_classes)), gold=gold)


def annotators_by_truth(data: RealSet) -> tuple[Any, Any, Any, Any]:
    """[W] Return the accuracy of annotators on known tasks, their votes there, the mean over classes, and chance."""
    task, who, label = data.votes.T
    inside = data.truth[task] >= 0
    task, who, label = task[inside], who[inside], label[inside]
    n_annotators, n_classes = (
        int(data.votes[:, 1].max()) + 1,
        max(data.n_classes, int(data.truth.max()) + 1),
    )
    right = (label == data.truth[task]).astype(float)
    n = np.bincount(who, minlength=n_annotators)
    accuracy = np.bincount(who, right, minlength=n_annotators) / np.maximum(n, 1)
    cell = who * n_classes + data.truth[task]
    counts = np.bincount(cell, minlength=n_annotators * n_classes).reshape(n_annotators, n_classes)
    hits = np.bincount(cell, right, minlength=n_annotators * n_classes).reshape(
        n_annotators, n_classes
    )
    seen = counts > 0
    n_seen = np.maximum(seen.sum(axis=1), 1)
    return accuracy, n, (hits / np.maximum(counts, 1)).sum(axis=1) / n_seen, 1 / n_seen


def intervals(result: Result, accuracy: Any, n_known: Any) -> tuple[float, int]:
    shown = (n_known >= LEAST_KNOWN) & np.isfinite(result.annotator_accuracy_low)
    inside = (result.annotator_accuracy_low <= accuracy + 1e-9) & (
        accuracy - 1e-9 <= result.annotator_accuracy_high
    )
    return float(inside[shown].sum()), int(shown.sum())


def pairs(data: RealSet, result: Result) -> tuple[float, int]:
    """Return how many pairs that are called correlated are wrong together more often than by chance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = trust(result).correlated.evidence
    held = shown = 0
    by = {}
    for one, other in zip(
        found.one[found.suspicious].tolist(), found.other[found.suspicious].tolist(), strict=True
    ):
        a, b = (by.setdefault(j, _errors(data, j)) for j in (one, other))
        both = a.keys() & b.keys()
        if len(both) < 2 * LEAST_KNOWN:
            continue
        wrong = np.array([[a[task], b[task]] for task in both], float)
        shown += 1
        held += bool((wrong[:, 0] * wrong[:, 1]).mean() > wrong[:, 0].mean() * wrong[:, 1].mean())
    return held, shown


def _errors(data: RealSet, annotator: int) -> dict[int, bool]:
    rows = data.votes[data.votes[:, 1] == annotator]
    return {int(t): bool(k != data.truth[t]) for t, _, k in rows if data.truth[t] >= 0}


def flips(data: RealSet, result: Result) -> tuple[float, int]:
    counts = data.counts
    at = np.arange(len(counts))
    flipped = (counts[at, result.label_codes] < counts.max(axis=1)) & (data.truth >= 0)
    right = result.label_codes == data.truth
    majority = counts.argmax(axis=1) == data.truth
    decided = flipped & (right | majority)
    return float(right[decided].sum()), int(decided.sum())


def gains(data: RealSet, generator: np.random.Generator) -> tuple[float, int]:
    """Hold a vote of each task with three or more back: do tasks with more expected gain gain more from it?"""
    order = generator.permutation(len(data.votes))
    _, last = np.unique(data.votes[order, 0], return_index=True)
    held = order[last]
    held = held[np.bincount(data.votes[:, 0])[data.votes[held, 0]] >= 3]
    kept = np.delete(data.votes, held, axis=0)
    if not len(held) or len(np.unique(kept[:, 0])) < len(np.unique(data.votes[:, 0])):
        return 0.0, 0
    names = list(range(data.n_classes))
    before = fitted(Annotations.from_arrays(*kept.T, classes=names))
    after = fitted(data.annotations())
    tasks = data.votes[held, 0]
    tasks = tasks[(data.truth[tasks] >= 0) & (data.truth[tasks] < data.n_classes)]
    if len(before.posterior) != len(after.posterior) or len(tasks) < LEAST_TRUTHS:
        return 0.0, 0
    gain = expected_gains(before)[0][tasks]
    real = (after.posterior - before.posterior)[tasks, data.truth[tasks]]
    high = gain > np.median(gain)
    return (float(real[high].mean() > real[~high].mean()), 1) if high.any() else (0.0, 0)


def report(rows: list[dict[str, Any]]) -> None:
    print("\n| promise | held, mean of families | lowest family | families | cases |")
    print("|---|---|---|---|---|")
    for name in dict.fromkeys(row["promise"] for row in rows):
        cases: dict[str, list[tuple[float, int]]] = {}
        for row in rows:
            if row["promise"] == name and row["shown"]:
                cases.setdefault(row["family"], []).append((row["held"], row["shown"]))
        if not cases:
            print(f"| {name} | not shown | | 0 | 0 |")
            continue
        share = {
            family: float(np.mean([held / shown for held, shown in some]))
            for family, some in cases.items()
        }
        lowest = min(share, key=lambda family: share[family])
        total = sum(shown for some in cases.values() for _, shown in some)
        mean = np.mean(list(share.values()))
        print(
            f"| {name} | {mean:.3f} | {share[lowest]:.3f} ({lowest}) | {len(share)} | {total:,} |"
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
