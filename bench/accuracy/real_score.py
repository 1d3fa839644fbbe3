"""How good posteriors are on the real data sets: per set, and as means over families."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.real_data import KINDS, PAPER

__all__ = ["MARGINS", "MEASURES", "measure", "summarise", "under_vote"]

MEASURES = ("accuracy", "log_loss", "ece")
MARGINS = (1, 3, 5)  # points under the majority vote that are counted
FEWEST_TRUTHS = 100  # sets with fewer are left out of that count
LEAST_PROBABILITY = 1e-10
BINS = 10

Row = Mapping[str, Any]


def measure(posterior: NDArray[np.float64], truth: NDArray[np.int64]) -> dict[str, float]:
    """Accuracy (ties share the credit), log loss and ECE on the tasks whose truth is known.

    A truth beyond the posterior's classes is a class nobody voted for: it counts as wrong, with probability 0.
    """
    known = truth >= 0
    rows, truths = posterior[known], truth[known]
    n_classes = rows.shape[1]
    at = np.arange(len(rows)), np.minimum(truths, n_classes - 1)
    top = rows == rows.max(axis=1, keepdims=True)
    credit = np.where(truths < n_classes, (top / top.sum(axis=1, keepdims=True))[at], 0.0)
    probability = np.where(truths < n_classes, rows[at], 0.0)
    return {
        "accuracy": float(credit.mean()),
        "log_loss": float(-np.log(np.maximum(probability, LEAST_PROBABILITY)).mean()),
        "ece": _calibration_error(rows.max(axis=1), credit),
    }


def _calibration_error(confidence: NDArray[np.float64], credit: NDArray[np.float64]) -> float:
    """|accuracy - mean confidence| of equally wide bins, weighted by their tasks."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=credit - confidence, minlength=BINS)
    return float(np.abs(gaps).sum() / len(credit))


def summarise(rows: Mapping[str, Row], sets: Mapping[str, Row]) -> dict[str, Any]:
    """Means over families of each kind and of all open sets, and over the paper's sets.

    A set on which the method failed counts with the majority vote's figures. A mean is None where the method was not
    run on all sets that it is made of.
    """
    filled = {
        name: sets[name]["mv"] if "failed" in row else row
        for name, row in rows.items()
        if name in sets
    }
    opens = [name for name in sets if sets[name]["kind"] != PAPER]
    groups = {"open": opens, PAPER: [name for name in sets if name not in opens]}
    groups |= {kind: [name for name in opens if sets[name]["kind"] == kind] for kind in KINDS}
    means = {group: _means(filled, names, sets) for group, names in groups.items()}
    return {
        **means,
        "under": {margin: under_vote(filled, sets, margin) for margin in MARGINS},
        "judged": sum(sets[name]["truths"] >= FEWEST_TRUTHS for name in filled if name in opens),
        "seconds": sum(row.get("seconds", 0.0) for name, row in rows.items() if name in sets),
        "failed": [name for name, row in rows.items() if "failed" in row and name in sets],
        "covered": len(filled),
    }


def _means(
    rows: Mapping[str, Row], names: Iterable[str], sets: Mapping[str, Row]
) -> dict[str, float] | None:
    families: dict[str, list[Row]] = {}
    for name in names:
        if name not in rows:
            return None
        families.setdefault(sets[name]["family"], []).append(rows[name])
    if not families:
        return None
    return {
        what: float(
            np.mean([np.mean([row[what] for row in family]) for family in families.values()])
        )
        for what in MEASURES
    }


def under_vote(rows: Mapping[str, Row], sets: Mapping[str, Row], margin: float) -> list[str]:
    """The open sets with enough truths whose accuracy is more than so many points below the majority vote's."""
    judged = [n for n in rows if sets[n]["kind"] != PAPER and sets[n]["truths"] >= FEWEST_TRUTHS]
    return [n for n in judged if rows[n]["accuracy"] < sets[n]["mv"]["accuracy"] - margin / 100]
