"""Votes of real crowds, and simulated classifiers whose errors are independent of the crowd's.

python bench/predictions_real.py --data ../shared [--tasks 800] [--out bench/results]

For every accuracy of the classifier, with calibrated probabilities and with logits that are four times too large: the
mean over families of data sets of the accuracy of votes alone, of the classifier alone, and of both together.
"""

from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import karat
from karat.system.files import write_bytes
from predictions import classifier
from real_data import RealSet, load

MOST_SETS = 2  # of a family
MOST_VOTES = 60_000


def sampled(one: RealSet, n_tasks: int) -> tuple[Any, Any]:
    """Return votes and truths of a random sample of the tasks with known truths."""
    voted = np.bincount(one.votes[:, 0], minlength=len(one.truth)) > 0
    tasks = np.flatnonzero(voted & (one.truth >= 0) & (one.truth < one.n_classes))
    tasks = np.sort(np.random.default_rng(0).permutation(tasks)[:n_tasks])
    votes = one.votes[np.isin(one.votes[:, 0], tasks)]
    named = karat.Annotations.from_arrays(*votes.T, classes=list(range(one.n_classes)))
    return named, one.truth[tasks]


def accuracies(name: str, votes: Any, truth: Any, accuracy: float, scale: float) -> list[float]:
    """Return the accuracies of votes alone, of the classifier alone, and of both."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), round(100 * accuracy)])
    p = classifier(rng, truth, accuracy, scale, votes.n_classes)
    both = karat.aggregate(votes, predictions=(votes.task_names, p), threads=1)
    alone = both.combined.votes_posterior.argmax(axis=1)
    return [float((labels == truth).mean()) for labels in (alone, p.argmax(axis=1), both.label_codes)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=800)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    families: dict[str, list[tuple[str, Any, Any]]] = {}
    for one in load(options.data, fast=True):
        members = families.setdefault(one.family, [])
        votes, truth = sampled(one, options.tasks)
        if len(members) < MOST_SETS and votes.n_votes <= MOST_VOTES and len(truth):
            members.append((one.name, votes, truth))
    rows: dict[str, list[float]] = {}
    for scale, words in ((1.0, "calibrated"), (4.0, "overconfident")):
        for accuracy in (0.7, 0.8, 0.9, 0.95):
            made = [
                np.mean([accuracies(*member, accuracy, scale) for member in members], axis=0)
                for members in families.values()
                if members
            ]
            rows[f"{accuracy:.0%} {words}"] = np.mean(made, axis=0).tolist()
            print(f"| {accuracy:.0%} {words} |", " | ".join(f"{x:.3f}" for x in np.mean(made, axis=0)), "|", flush=True)
    found = {"families": sum(map(bool, families.values())), "rows": rows}
    write_bytes(options.out / "predictions_real.json", json.dumps(found, indent=1).encode())


if __name__ == "__main__":
    main()
