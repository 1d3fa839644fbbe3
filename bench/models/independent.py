"""A simulated classifier beside simulated annotators whose errors are independent: what both gain over the better one.

python -m bench.models.independent [--draws 1]

1,000 tasks with 2 to 10 equally frequent classes; 25 annotators are right in 50 to 90 %, and each wrong class is equally
likely. Two, three or five of them vote on each task. Classifiers are right in 60 to 95 %: calibrated, with logits that
are four times too large (overconfident), or they always say the next class where they are wrong, with .9 (confused).
The majority vote itself, with .99, is the in-sample model.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

import finegold
from bench.models.classifiers import Random
from bench.models.predictions_real import ACCURACIES, Crowd, bad_model, probabilities

TASKS, ANNOTATORS = 1000, 25
CLASSES, VOTES = (2, 3, 4, 6, 10), (2, 3, 5)
KINDS = ("calibrated", "overconfident", "confused")


def crowd(rng: Random, n_classes: int, n_votes: int) -> Crowd:
    truth, skill = rng.integers(0, n_classes, TASKS), rng.uniform(0.5, 0.9, ANNOTATORS)
    annotator = np.argsort(rng.random((TASKS, ANNOTATORS)), axis=1)[:, :n_votes].ravel()
    task = np.repeat(np.arange(TASKS), n_votes)
    wrong = (truth[task] + rng.integers(1, n_classes, len(task))) % n_classes
    label = np.where(rng.random(len(task)) < skill[annotator], truth[task], wrong)
    votes = finegold.Annotations.from_arrays(task, annotator, label, classes=list(range(n_classes)))
    return Crowd("simulated", votes, truth, finegold.aggregate(votes, threads=1))


def gain(one: Crowd, p: np.ndarray) -> tuple[float, float]:
    """Points against the better of votes and model, and against the votes."""
    both = finegold.aggregate(one.votes, predictions=(one.votes.task_names, p), threads=1)
    right = [
        100 * float((labels == one.truth).mean())
        for labels in (both.label_codes, one.result.label_codes, p.argmax(axis=1))
    ]
    return right[0] - max(right[1:]), right[0] - right[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args()
    print("| votes | " + " | ".join(KINDS) + " | mean | worst | worst setting | in-sample |")
    print("|---|---|---|---|---|---|---|---|")
    for n_votes in VOTES:
        cells: dict[tuple[str, float, int], list[float]] = {}
        repeated = []
        for n_classes, draw in product(CLASSES, range(options.draws)):
            rng = np.random.default_rng([n_classes, n_votes, draw])
            one = crowd(rng, n_classes, n_votes)
            for kind, accuracy in product(KINDS, ACCURACIES):
                p = probabilities(rng, kind, one, accuracy)
                cells.setdefault((kind, accuracy, n_classes), []).append(gain(one, p)[0])
            repeated.append(gain(one, bad_model(rng, "majority vote (in-sample)", one))[1])
        means = {cell: float(np.mean(points)) for cell, points in cells.items()}
        of_kind = [np.mean([v for cell, v in means.items() if cell[0] == kind]) for kind in KINDS]
        worst = min(means, key=lambda cell: means[cell])
        shown = f"{worst[0]}, {worst[1]:.0%}, {worst[2]} classes"
        figures = [*of_kind, np.mean(list(means.values())), means[worst]]
        cells_shown = " | ".join(f"{figure:+.1f}" for figure in figures)
        print(f"| {n_votes} | {cells_shown} | {shown} | {np.mean(repeated):+.1f} |", flush=True)


if __name__ == "__main__":
    main()
