"""Votes together with a classifier: Finegold with predictions, CROWDLAB, and each source alone. Accuracy over draws.

python -m bench.models.predictions [--draws 20] [--only tutorial] [--out bench/results] [--constants]

The first worlds rebuild the setting of cleanlab's tutorial on data with several annotators: 300 points in three
Gaussian clusters, 50 annotators of whom 5 are poor, each labelling a tenth of the points, and the out-of-sample
probabilities of a logistic regression. In the others a classifier of given accuracy is drawn, with calibrated
probabilities or with logits that are four times too large. In the last ones its probabilities are random, or it is
wrong on a third with .99.
CROWDLAB runs in the environment of bench/rivals/rivals.py. With --constants, Finegold's constants are
halved and doubled.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import finegold
from bench.machine import RESULTS
from bench.rivals.rivals import rival_python
from finegold.fitting import combining
from finegold.system.files import write_bytes

K = 3
CENTRES = [[3, 2], [7, 7], [0, 8]]
COVARIANCES = [[[5, -1.5], [-1.5, 1]], [[1, 0.5], [0.5, 4]], [[5, 1], [1, 5]]]
SIZES = [150, 75, 75]
CONSTANTS = {
    "ROUNDS": (1, 6),
    "METHOD_SHARE": (0.0, 0.5),
    "OWN_SHARE": (0.25, 0.75),
    "PRIOR_VOTES": (1.0, 4.0),
    "LEAST_PROBABILITY": (1e-4, 1e-2),
    "PSEUDO_VOTES": (0.25, 1.0),
    "PULL": (0.05, 0.2),
}
CROWDLAB = """
import sys, warnings, numpy as np, pandas as pd
warnings.filterwarnings("ignore")
from cleanlab import multiannotator
data, found = np.load(sys.argv[1]), {}
for name in {name.rpartition("/")[0] for name in data.files}:
    votes, p = data[name + "/votes"], data[name + "/p"]
    matrix = np.full((p.shape[-2], votes[:, 1].max() + 1), np.nan)
    matrix[votes[:, 0], votes[:, 1]] = votes[:, 2]
    frame = pd.DataFrame(matrix[:, ~np.isnan(matrix).all(axis=0)])
    crowdlab = multiannotator.get_label_quality_multiannotator
    if p.ndim == 3:  # several models
        crowdlab = multiannotator.get_label_quality_multiannotator_ensemble
    made = crowdlab(frame, p, verbose=False, return_detailed_quality=False, return_annotator_stats=False)
    found[name] = made["label_quality"]["consensus_label"].to_numpy()
np.savez(sys.argv[2], **found)
"""
Floats = NDArray[np.float64]
Random = np.random.Generator


class World(NamedTuple):
    """Votes [L, 3] of task, annotator and class; probabilities of a classifier; truths."""

    votes: NDArray[np.int64]
    p: Floats
    truth: NDArray[np.int64]


def noise(rng: Random, accuracy: float) -> Floats:
    """A confusion matrix with this mean diagonal."""
    diagonal = np.clip(rng.normal(accuracy, 0.1, K), 0.05, 0.98)
    diagonal = np.clip(diagonal + accuracy - diagonal.mean(), 0.02, 0.99)
    matrix = np.diag(diagonal)
    for k in range(K):
        matrix[k, np.arange(K) != k] = rng.dirichlet(np.ones(K - 1)) * (1 - diagonal[k])
    return matrix


def cast(rng: Random, truth: NDArray[np.int64], share: float, accuracy: float) -> NDArray[np.int64]:
    """The votes of 45 annotators of this accuracy and 5 poor ones, each on this share of the tasks."""
    good, poor, votes = noise(rng, accuracy), noise(rng, 0.35), []
    for j in range(50):
        matrix, seen = good if j < 45 else poor, np.flatnonzero(rng.random(len(truth)) < share)
        label = (
            (matrix.cumsum(axis=1)[truth[seen]] < rng.random((len(seen), 1)))
            .sum(axis=1)
            .clip(0, K - 1)
        )
        votes.append(np.stack([seen, np.full(len(seen), j), label], axis=1))
    return np.vstack(votes)


def voted(votes: NDArray[np.int64], *arrays: Any) -> list[Any]:
    """Leave out tasks without votes, as CROWDLAB needs it."""
    has_vote = np.bincount(votes[:, 0], minlength=len(arrays[0])) > 0
    number = np.cumsum(has_vote) - 1
    return [
        np.column_stack([number[votes[:, 0]], votes[:, 1:]]),
        *(array[has_vote] for array in arrays),
    ]


def tutorial(rng: Random, share: float) -> World:
    shapes = zip(CENTRES, COVARIANCES, SIZES, strict=True)
    points = np.vstack(
        [rng.multivariate_normal(mean, covariance, n) for mean, covariance, n in shapes]
    )
    truth = np.repeat(np.arange(K), SIZES)
    votes, points, truth = voted(cast(rng, truth, share, 0.8), points, truth)
    counts = rng.random((len(truth), K)) * 1e-3  # ties at random
    np.add.at(counts, (votes[:, 0], votes[:, 2]), 1)
    return World(
        votes, out_of_sample(rng, np.c_[points, np.ones(len(points))], counts.argmax(axis=1)), truth
    )


def out_of_sample(rng: Random, x: Floats, label: NDArray[np.int64]) -> Floats:
    """Logistic regression with five folds and scikit-learn's default penalty."""
    fold, p = rng.permutation(len(x)) % 5, np.empty((len(x), K))
    for k in range(5):
        p[fold == k] = softmax(
            x[fold == k] @ logistic(x[fold != k], np.eye(K)[label[fold != k]]).T, axis=1
        )
    return p


def logistic(x: Floats, y: Floats) -> Floats:
    def loss(flat: Floats) -> tuple[float, Floats]:
        w = flat.reshape(K, -1)
        free = np.c_[w[:, :-1], np.zeros(K)]  # no penalty for the intercept
        z = x @ w.T
        log_p = z - logsumexp(z, axis=1, keepdims=True)
        return (free**2).sum() / 2 - (y * log_p).sum(), (free - (y - np.exp(log_p)).T @ x).ravel()

    return np.asarray(
        minimize(loss, np.zeros(K * x.shape[1]), jac=True, method="L-BFGS-B").x.reshape(K, -1)
    )


@cache
def strength(accuracy: float, n_classes: int) -> float:
    """The distance of classes, in standard deviations, at which the best classifier has this accuracy."""
    tests = np.random.default_rng(0).normal(size=(20_000, n_classes))
    strengths = np.linspace(0.1, 5, 200)
    reached = [(s**2 + s * tests[:, 0] > (s * tests[:, 1:]).max(axis=1)).mean() for s in strengths]
    return float(strengths[int(np.searchsorted(reached, accuracy))])


def classifier(
    rng: Random, truth: NDArray[np.int64], accuracy: float, scale: float, n_classes: int = K
) -> Floats:
    """Probabilities of a classifier of this accuracy; calibrated if the logits are multiplied by 1."""
    s = strength(accuracy, n_classes)
    noise = rng.normal(size=(len(truth), n_classes))
    return np.asarray(softmax(scale * (s**2 * np.eye(n_classes)[truth] + s * noise), axis=1))


def drawn(rng: Random, share: float, accuracy: float, scale: float, skill: float = 0.7) -> World:
    truth = rng.choice(K, 300, p=[0.5, 0.25, 0.25])
    votes, truth = voted(cast(rng, truth, share, skill), truth)
    return World(votes, classifier(rng, truth, accuracy, scale), truth)


def at_random(rng: Random, share: float) -> World:
    """Probabilities that have nothing to do with the truth."""
    world = drawn(rng, share, 0.9, 1)
    return world._replace(p=rng.dirichlet(np.ones(K), len(world.truth)))


def wrong_third(rng: Random, share: float, how: str, skill: float) -> World:
    """A model that says .99 and is wrong on a third: anywhere, always with the next class, or with class 0."""
    votes, _, truth = drawn(rng, share, 0.9, 1, skill)
    said, wrong = truth.copy(), rng.random(len(truth)) < (2 / 3 if how == "one class" else 1 / 3)
    if how == "one class":
        said[wrong & (truth != 0)] = 0
    else:
        said[wrong] = (
            truth[wrong] + (rng.integers(1, K, wrong.sum()) if how == "anywhere" else 1)
        ) % K
    p = np.full((len(truth), K), 0.01 / (K - 1))
    p[np.arange(len(truth)), said] = 0.99
    return World(votes, p, truth)


def worlds() -> dict[str, Callable[[Random], World]]:
    made: dict[str, Callable[[Random], World]] = {}
    for votes in (2, 5, 15):
        made[f"tutorial, {votes} votes"] = lambda rng, n=votes: tutorial(rng, n / 50)
        for accuracy in (0.8, 0.9, 0.95):
            for scale, words in ((1, "calibrated"), (4, "overconfident")):
                name = f"{accuracy:.0%} {words}, {votes} votes"
                made[name] = lambda rng, n=votes, a=accuracy, s=scale: drawn(rng, n / 50, a, s)
    for votes in (3, 5, 15):
        made[f"model at random, {votes} votes"] = lambda rng, n=votes: at_random(rng, n / 50)
    for how in ("anywhere", "next class", "one class"):
        for votes, skill in ((3, 0.8), (5, 0.6), (5, 0.8), (15, 0.6)):
            name = f"wrong third ({how}), {votes} votes of {skill:.0%}"
            made[name] = lambda rng, n=votes, h=how, s=skill: wrong_third(rng, n / 50, h, s)
    return made


def crowdlab(made: dict[str, World]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        data, found = Path(folder) / "worlds.npz", Path(folder) / "found.npz"
        arrays = {f"{name}/votes": world.votes for name, world in made.items()}
        np.savez(data, **arrays, **{f"{name}/p": world.p for name, world in made.items()})
        subprocess.run([rival_python(), "-c", CROWDLAB, data, found], check=True)
        return dict(np.load(found))


def finegold_labels(world: World, predictions: bool) -> Any:
    votes = finegold.Annotations.from_arrays(*world.votes.T, classes=list(range(K)))
    given = (list(range(len(world.truth))), world.p) if predictions else None
    return finegold.aggregate(votes, predictions=given, threads=1).label_codes


def one_more(world: World) -> Any:
    tasks = np.arange(len(world.truth))
    return finegold_labels(
        world._replace(
            votes=np.vstack([world.votes, np.c_[tasks, tasks * 0 + 50, world.p.argmax(1)]])
        ),
        False,
    )


def variants() -> dict[str, dict[str, Any]]:
    return {
        f"{name} = {value}": {name: value} for name, values in CONSTANTS.items() for value in values
    }


def figures(made: dict[str, World], rival: dict[str, Any], constants: bool) -> dict[str, float]:
    """Mean accuracy of each way of labelling over the draws of a world."""
    labels: dict[str, Callable[[str, World], Any]] = {
        "votes": lambda name, world: finegold_labels(world, False),
        "model": lambda name, world: world.p.argmax(axis=1),
        "one more": lambda name, world: one_more(world),
        "CROWDLAB": lambda name, world: rival[name],
        "Finegold": lambda name, world: finegold_labels(world, True),
    }
    found = {way: _mean(made, label) for way, label in labels.items()}
    for way, changed in variants().items() if constants else ():
        with patch.multiple(combining, **changed):
            found[way] = _mean(made, labels["Finegold"])
    return found


def _mean(made: dict[str, World], label: Callable[[str, World], Any]) -> float:
    return float(
        np.mean([(label(name, world) == world.truth).mean() for name, world in made.items()])
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--constants", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    made = {name: drawn_worlds(name, options.draws) for name in worlds() if options.only in name}
    rival = crowdlab({name: world for group in made.values() for name, world in group.items()})
    rows: dict[str, dict[str, float]] = {}
    for name, group in made.items():
        rows[name] = figures(group, rival, options.constants)
        if len(rows) == 1:
            print("| setting |", " | ".join(rows[name]), "|")
        print(
            f"| {name} |",
            " | ".join(f"{share:.3f}" for share in rows[name].values()),
            "|",
            flush=True,
        )
    found = {"draws": options.draws, "rows": rows}
    write_bytes(options.out / "predictions.json", json.dumps(found, indent=1).encode())


def drawn_worlds(name: str, draws: int) -> dict[str, World]:
    seeds = {f"{name}/{i}": [i, zlib.crc32(name.encode())] for i in range(draws)}
    return {key: worlds()[name](np.random.default_rng(seed)) for key, seed in seeds.items()}


if __name__ == "__main__":
    sys.exit(main())
