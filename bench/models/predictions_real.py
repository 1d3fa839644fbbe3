"""Votes of real crowds beside simulated classifiers: votes alone, the classifier alone, and both together.

python -m bench.models.predictions_real --data ../shared [--tasks 300] [--draws 1] [--sets 1] [--half 0]
    [--out bench/results]

The classifiers have accuracies of 60 to 95 % and err in four ways:

    calibrated     errors are independent of the votes, and probabilities are right
    overconfident  the same with logits that are four times too large
    confused       it always says the next class where it is wrong, and is sure of 90 %
    hard           calibrated, but its errors are on the tasks on which annotators err

Bad models are: always the rarest or the commonest class with .99, the same probabilities for all, at random (also with
.99), classes in another order, right on 60 % with .99, and the majority vote itself with .99 (in-sample). Then come
several models together, models without probabilities (what a calibrated one holds most probable), and answers of real
annotators: in each set, the four with the most votes are taken out of the crowd, one after the other, and given as a
model without probabilities.

All are combined without truths, and with 25 known ones; accuracies are those of the other tasks, in points
against the best source. "holds" is the share of models whose interval holds their accuracy, "found" that of sets with a
note on what is wrong with a model. Figures are means over families of
data sets. With --half, only every second family is used.
"""

from __future__ import annotations

import argparse
import json
import zlib
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import finegold
from bench.machine import RESULTS
from bench.models.classifiers import Floats, Random, classifier
from bench.real_data import RealSet, load
from finegold.fitting import combining
from finegold.io.predictions import read_predictions
from finegold.system.files import write_bytes

KINDS = ("calibrated", "overconfident", "confused", "hard")
ACCURACIES = (0.6, 0.7, 0.8, 0.9, 0.95)
SURE = 0.9  # of a confused classifier
DIFFICULTY_NOISE = (
    0.3  # added to the share of right votes, so that difficulty does not decide alone
)
MOST_VOTES = 60_000
TRUTHS = (0, 25)
BAD = (
    "always the rarest class",
    "always the commonest class",
    "same probabilities",
    "at random",
    "at random with .99",
    "another order",
    "60% right with .99",
    "majority vote (in-sample)",
)
ANSWERS = "answers of annotators"
MOST_ANNOTATORS, FEWEST_ANSWERS = 4, 60  # that serve as models, in each set
PANELS = {  # kinds, accuracies and numbers of models; the same number means the same model
    "80% and 80% calibrated": (("calibrated", 0.8, 0), ("calibrated", 0.8, 1)),
    "80% calibrated, twice": (("calibrated", 0.8, 0), ("calibrated", 0.8, 0)),
    "90% and 90% hard": (("hard", 0.9, 0), ("hard", 0.9, 1)),
    "95% and 70% hard": (("hard", 0.95, 0), ("hard", 0.7, 0)),
    "95% hard and 60% confused": (("hard", 0.95, 0), ("confused", 0.6, 0)),
    "90% calibrated and 60% overconfident": (("calibrated", 0.9, 0), ("overconfident", 0.6, 0)),
    "70%, 80% and 90% overconfident": tuple(("overconfident", a, 0) for a in (0.7, 0.8, 0.9)),
    "four of 60% hard": tuple(("hard", 0.6, number) for number in range(4)),
    "90% confused and one at random": (("confused", 0.9, 0), ("at random with .99", 0.5, 0)),
    "95% hard and another order": (("hard", 0.95, 0), ("another order", 0.5, 0)),
    "80% calibrated and majority vote": (
        ("calibrated", 0.8, 0),
        ("majority vote (in-sample)", 0.5, 0),
    ),
    **{f"{accuracy:.0%} answers": (("answers", accuracy, 0),) for accuracy in ACCURACIES},
}
FOUND = ("another order",)  # words of the notes on bad models

Codes = NDArray[np.int64]
Panel = tuple[tuple[str, float, int], ...]


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
    return finegold.Annotations.from_arrays(
        *votes.T, classes=list(range(one.n_classes))
    ), one.truth[tasks]


def probabilities(rng: Random, kind: str, crowd: Crowd, accuracy: float) -> Floats:
    """Return what a classifier of this kind predicts."""
    truth, n_classes = crowd.truth, crowd.votes.n_classes
    if kind == "confused":
        is_wrong = rng.random(len(truth)) >= accuracy
        p = np.full((len(truth), n_classes), (1 - SURE) / (n_classes - 1))
        p[np.arange(len(truth)), (truth + is_wrong) % n_classes] = SURE
        return p
    p = classifier(rng, truth, accuracy, 4.0 if kind == "overconfident" else 1.0, n_classes)
    if kind == "answers":
        return np.eye(n_classes)[p.argmax(axis=1)]
    return on_hard_tasks(rng, p, crowd) if kind == "hard" else p


def on_hard_tasks(rng: Random, p: Floats, crowd: Crowd) -> Floats:
    """Give the predictions that are least right to the tasks with the smallest shares of right votes."""
    task, _, label = crowd.votes.votes()
    right = np.bincount(task, label == crowd.truth[task]) / crowd.votes.votes_per_task
    from_truth = (np.arange(p.shape[1]) + crowd.truth[:, None]) % p.shape[1]
    turned = np.take_along_axis(p, from_truth, axis=1)  # the truth is the first class
    moved = np.empty_like(p)
    moved[np.argsort(right + rng.normal(0, DIFFICULTY_NOISE, len(right)))] = turned[
        np.argsort(turned[:, 0])
    ]
    found = np.empty_like(p)
    np.put_along_axis(found, from_truth, moved, axis=1)
    return found


def bad_model(rng: Random, kind: str, crowd: Crowd) -> Floats:
    """Return what a bad model predicts."""
    truth, n_classes = crowd.truth, crowd.votes.n_classes
    n, shares = len(truth), crowd.result.posterior.mean(axis=0)
    if kind == "same probabilities":
        return np.tile(shares / shares.sum(), (n, 1))
    if kind == "at random":
        return np.asarray(rng.dirichlet(np.ones(n_classes), n))
    if kind == "another order":
        return np.roll(probabilities(rng, "calibrated", crowd, 0.9), 1, axis=1)
    task, _, label = crowd.votes.votes()
    counts = rng.random((n, n_classes)) * 1e-3  # ties at random
    np.add.at(counts, (task, label), 1)
    is_wrong = rng.random(n) >= 0.6
    said = {
        "always the rarest class": np.full(n, shares.argmin()),
        "always the commonest class": np.full(n, shares.argmax()),
        "at random with .99": rng.integers(0, n_classes, n),
        "60% right with .99": (truth + is_wrong * rng.integers(1, n_classes, n)) % n_classes,
        "majority vote (in-sample)": counts.argmax(axis=1),
    }[kind]
    p = np.full((n, n_classes), 0.01 / (n_classes - 1))
    p[np.arange(n), said] = 0.99
    return p


class Case(NamedTuple):
    """Models beside a crowd, and what came of them."""

    p: list[Floats]
    crowd: Crowd
    right: dict[
        str, float
    ]  # accuracy of "votes", each model, and of all together, with each number of truths
    holds: float  # share of models whose interval holds their accuracy
    found: bool


def models_of(crowd: Crowd, panel: Panel, draw: int) -> list[Floats]:
    """Return the predictions of a panel of models."""
    found = []
    for kind, accuracy, number in panel:
        seed = [zlib.crc32(f"{crowd.name} {kind}".encode()), round(100 * accuracy), draw]
        rng = np.random.default_rng([*seed, number] if number else seed)
        found.append(
            bad_model(rng, kind, crowd)
            if kind in BAD
            else probabilities(rng, kind, crowd, accuracy)
        )
    return found


def annotators_as_models(crowd: Crowd) -> list[tuple[Crowd, list[Floats]]]:
    """Return the answers of each of the annotators with the most votes, and the crowd without that annotator."""
    task, annotator, label = crowd.votes.votes()
    found = []
    for one in np.argsort(-crowd.result.votes_per_annotator, kind="stable")[:MOST_ANNOTATORS]:
        others = np.unique(task[annotator != one])
        tasks = np.intersect1d(task[annotator == one], others)
        if len(tasks) < FEWEST_ANSWERS:
            continue
        mine = (annotator == one) & np.isin(task, tasks)
        rest = (annotator != one) & np.isin(task, tasks)
        classes = list(range(crowd.votes.n_classes))
        votes = finegold.Annotations.from_arrays(
            np.searchsorted(tasks, task[rest]),
            annotator[rest],
            label[rest],
            classes=classes,
            repeated="all",
        )
        said = np.zeros(len(tasks), np.int64)
        said[np.searchsorted(tasks, task[mine])] = label[mine]
        without = Crowd(crowd.name, votes, crowd.truth[tasks], finegold.aggregate(votes, threads=1))
        found.append((without, [np.eye(len(classes))[said]]))
    return found


def case_of(crowd: Crowd, p: list[Floats], draw: int) -> Case:
    """Combine the votes with models, without truths and with some."""
    given = read_predictions([(crowd.votes.task_names, one) for one in p], crowd.votes)
    order, right = np.random.default_rng(draw).permutation(len(crowd.truth)), {}
    labels = {
        "votes": crowd.result.label_codes,
        **{f"model {m}": one.argmax(axis=1) for m, one in enumerate(p)},
    }
    for n in (n for n in TRUTHS if 2 * n <= len(order)):
        gold = np.full_like(crowd.votes.gold, -1)
        gold[order[:n]] = crowd.truth[order[:n]]
        known = replace(crowd.result, annotations=replace(crowd.votes, gold=gold))
        # With truths, the fit without them is the same each time.
        with patch.object(combining, "fit", lambda *_: crowd.result) if n else nullcontext():
            both = combining.combine(known, given)
        labels["both"] = both.label_codes
        right |= {
            f"{who} {n}": float((of == crowd.truth)[order[n:]].mean()) for who, of in labels.items()
        }
        if n == 0:
            assert both.combined is not None
            pairs = [
                (record, right[f"model {m} 0"]) for m, record in enumerate(both.combined.records)
            ]
            holds = float(
                np.mean([one.accuracy_low <= share <= one.accuracy_high for one, share in pairs])
            )
            found = any(words in note for note in both.notes for words in FOUND)
    return Case(p, crowd, right, holds, found)


def row_of(cases: list[list[Case]]) -> dict[str, float]:
    """Return the means over families, and differences to the best source in points."""

    def mean(name: str) -> float:
        some = [[one.right[name] for one in each if name in one.right] for each in cases]
        return float(np.mean([np.mean(each) for each in some if each]))

    def best(n: int) -> float:
        return max(mean(f"model {m} {n}") for m in range(len(cases[0][0].p)))

    row = {"votes": mean("votes 0"), "model": best(0)}
    for n in TRUTHS:
        row[f"{n} truths"] = 100 * (mean(f"both {n}") - max(mean(f"votes {n}"), best(n)))
    row |= {
        name: float(np.mean([np.mean([getattr(c, name) for c in some]) for some in cases]))
        for name in ("holds", "found")
    }
    return row


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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--sets", type=int, default=1)
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    families = crowds(options)
    panels: dict[str, Panel] = {
        f"{a:.0%} {kind}": ((kind, a, 0),) for kind in KINDS for a in ACCURACIES
    }
    panels |= {kind: ((kind, 0.5, 0),) for kind in BAD} | PANELS
    cases = {
        name: [
            [
                case_of(one, models_of(one, panel, d), d)
                for one in some
                for d in range(options.draws)
            ]
            for some in families
        ]
        for name, panel in panels.items()
    }
    as_models = [[pair for one in some for pair in annotators_as_models(one)] for some in families]
    cases[ANSWERS] = [
        [case_of(*pair, d) for pair in some for d in range(options.draws)]
        for some in as_models
        if some
    ]
    rows = {name: row_of(each) for name, each in cases.items()}
    good = [row for name, row in rows.items() if name not in (*BAD, *PANELS, ANSWERS)]
    for name, of in (("mean of 20 cells", np.mean), ("worst of 20 cells", np.min)):
        rows[name] = {column: float(of([row[column] for row in good])) for column in good[0]}
    print("| model |", " | ".join(good[0]), "|")
    for name, row in rows.items():
        print(
            f"| {name} |",
            " | ".join(_cell(column, row[column]) if column in row else "" for column in good[0]),
            "|",
        )
    found: dict[str, Any] = {"families": len(families), "rows": rows}
    write_bytes(options.out / "predictions_real.json", json.dumps(found, indent=1).encode())


def _cell(column: str, value: float) -> str:
    return f"{value:+.1f}" if "truths" in column else f"{value:.3f}"


if __name__ == "__main__":
    main()
