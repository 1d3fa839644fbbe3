"""Votes of real crowds beside simulated classifiers: votes alone, the classifier alone, and both together.

python bench/predictions_real.py --data ../shared [--tasks 400] [--draws 1] [--sets 1] [--half 0] [--out bench/results]

The classifiers have accuracies of 60 to 95 % and err in four ways:

    calibrated     errors are independent of the votes, and probabilities are right
    overconfident  the same with logits that are four times too large
    confused       it always says the next class where it is wrong, and is sure of 90 %
    hard           calibrated, but its errors are on the tasks on which annotators err

Figures are means over families of data sets. With --half, only every second family is used: constants are chosen on one
half and shown on the other.
"""

from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import finegold
from finegold.fitting.combining import combine
from finegold.io.predictions import read_predictions
from finegold.system.files import write_bytes
from predictions import Floats, Random, classifier
from real_data import RealSet, load

KINDS = ("calibrated", "overconfident", "confused", "hard")
ACCURACIES = (0.6, 0.7, 0.8, 0.9, 0.95)
SURE = 0.9  # of a confused classifier
DIFFICULTY_NOISE = 0.3  # added to the share of right votes, so that difficulty does not decide alone
MOST_VOTES = 60_000

Codes = NDArray[np.int64]


class Crowd(NamedTuple):
    """The votes of a data set on some tasks with known truths, and the result of the votes alone."""

    name: str
    votes: finegold.Annotations
    truth: Codes
    result: finegold.Result


def sampled(one: RealSet, n_tasks: int) -> tuple[finegold.Annotations, Codes]:
    """Return votes and truths of a random sample of the tasks with known truths."""
    voted = np.bincount(one.votes[:, 0], minlength=len(one.truth)) > 0
    tasks = np.flatnonzero(voted & (one.truth >= 0) & (one.truth < one.n_classes))
    tasks = np.sort(np.random.default_rng(0).permutation(tasks)[:n_tasks])
    votes = one.votes[np.isin(one.votes[:, 0], tasks)]
    return finegold.Annotations.from_arrays(*votes.T, classes=list(range(one.n_classes))), one.truth[tasks]


def probabilities(rng: Random, kind: str, crowd: Crowd, accuracy: float) -> Floats:
    """Return what a classifier of this kind predicts."""
    truth, n_classes = crowd.truth, crowd.votes.n_classes
    if kind == "confused":
        is_wrong = rng.random(len(truth)) >= accuracy
        p = np.full((len(truth), n_classes), (1 - SURE) / (n_classes - 1))
        p[np.arange(len(truth)), (truth + is_wrong) % n_classes] = SURE
        return p
    p = classifier(rng, truth, accuracy, 4.0 if kind == "overconfident" else 1.0, n_classes)
    return on_hard_tasks(rng, p, crowd) if kind == "hard" else p


def on_hard_tasks(rng: Random, p: Floats, crowd: Crowd) -> Floats:
    """Give the predictions that are least right to the tasks with the smallest shares of right votes."""
    task, _, label = crowd.votes.votes()
    right = np.bincount(task, label == crowd.truth[task]) / crowd.votes.votes_per_task
    from_truth = (np.arange(p.shape[1]) + crowd.truth[:, None]) % p.shape[1]
    turned = np.take_along_axis(p, from_truth, axis=1)  # the truth is the first class
    moved = np.empty_like(p)
    moved[np.argsort(right + rng.normal(0, DIFFICULTY_NOISE, len(right)))] = turned[np.argsort(turned[:, 0])]
    found = np.empty_like(p)
    np.put_along_axis(found, from_truth, moved, axis=1)
    return found


def accuracies(crowd: Crowd, kind: str, accuracy: float, draws: int) -> Floats:
    """Return the accuracies of votes alone, of the classifier alone, and of both."""
    rows = []
    for draw in range(draws):
        rng = np.random.default_rng([zlib.crc32(f"{crowd.name} {kind}".encode()), round(100 * accuracy), draw])
        p = probabilities(rng, kind, crowd, accuracy)
        both = combine(crowd.result, read_predictions((crowd.votes.task_names, p), crowd.votes))
        found = (crowd.result.label_codes, p.argmax(axis=1), both.label_codes)
        rows.append([float((labels == crowd.truth).mean()) for labels in found])
    return np.asarray(np.mean(rows, axis=0))


def crowds(options: argparse.Namespace) -> list[list[Crowd]]:
    """Return the data sets of each family, at most --sets of each."""
    families: dict[str, list[Crowd]] = {}
    for one in load(options.data, fast=True):
        members = families.setdefault(one.family, [])
        votes, truth = sampled(one, options.tasks)
        if len(members) < options.sets and 0 < votes.n_votes <= MOST_VOTES and votes.n_classes > 1:
            members.append(Crowd(one.name, votes, truth, finegold.aggregate(votes, threads=1)))
    found = [families[name] for name in sorted(families) if families[name]]
    return found if options.half is None else found[options.half :: 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=400)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--sets", type=int, default=1)
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    families, rows = crowds(options), {}
    for kind in KINDS:
        for accuracy in ACCURACIES:
            made = [
                np.mean([accuracies(one, kind, accuracy, options.draws) for one in some], axis=0) for some in families
            ]
            mean = np.mean(made, axis=0)
            rows[f"{accuracy:.0%} {kind}"] = mean.tolist()
            cells = [*(f"{x:.3f}" for x in mean), f"{100 * (mean[2] - mean[:2].max()):+.1f}"]
            print(f"| {accuracy:.0%} {kind} |", " | ".join(cells), "|", flush=True)
    found: dict[str, Any] = {"families": len(families), "rows": rows}
    write_bytes(options.out / "predictions_real.json", json.dumps(found, indent=1).encode())


if __name__ == "__main__":
    main()
