"""Metrics that compare sets of labels with true sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from finegold.results.multi import MultiResult

__all__ = ["exact_match", "macro_f1", "micro_f1", "set_figures"]

Sets = Sequence[set[str]]


def exact_match(found: Sets, truth: Sets) -> float:
    """Return the share of tasks whose set is right as a whole."""
    return sum(one == true for one, true in zip(found, truth, strict=True)) / len(truth)


def micro_f1(found: Sets, truth: Sets) -> float:
    """Return F1 = 2 right / (found + true) of all labels of all tasks; 1 if there are none."""
    right = sum(len(one & true) for one, true in zip(found, truth, strict=True))
    total = sum(map(len, found)) + sum(map(len, truth))
    return 2 * right / total if total else 1.0


def macro_f1(found: Sets, truth: Sets) -> float:
    """Return the mean of F1 over the options that occur in the truth; 1 if none does."""
    right = Counter(option for one, true in zip(found, truth, strict=True) for option in one & true)
    predicted = Counter(option for one in found for option in one)
    true = Counter(option for one in truth for option in one)
    return sum(2 * right[option] / (predicted[option] + true[option]) for option in true) / len(true) if true else 1.0


def set_figures(result: MultiResult, task: Sequence[int], truth: Sets, n_unused: int) -> dict[str, Any]:
    """Return the metrics of a result for these tasks, whose true sets are known."""
    labels = result.sets()
    found = [set(labels[code]) for code in task]
    return {
        "method": result.method,
        "exact_match": exact_match(found, truth),
        "micro_f1": micro_f1(found, truth),
        "macro_f1": macro_f1(found, truth),
        "iterations": result.iterations,
        "converged": result.converged,
        "seconds": result.seconds,
        "n_tasks": result.votes.n_tasks,
        "n_truths": len(found),
        "n_truths_unused": n_unused,
    }
