"""The data of cleanlab's tutorial on several annotators: Finegold, majority vote, the model, and cleanlab.

python -m bench.models.cleanlab_tutorial [--rival PYTHON]

The tutorial draws 300 points in three Gaussian clusters with a fixed seed. Each of 50 annotators labels about a tenth
of them, the last five poorly, and a logistic regression, trained on majority labels, predicts every point out of
sample. This script draws the same votes from the same stream of random numbers, writes votes and predictions as files,
and runs `finegold aggregate votes.csv --predictions model.csv -o labels.csv`. cleanlab gets the same votes and
predictions, if this Python has it or if --rival is a Python that does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from bench.models.classifiers import CENTRES, COVARIANCES, CROWDLAB, SIZES

SEED = 111
ANNOTATORS, POOR, SHARE, FOLDS = 50, 5, 0.1, 5
# Truths in rows and votes in columns, as cleanlab draws them from this seed with mean diagonals of .8 and .35.
BETTER = [
    [0.6875263180652773, 0.09867064339578144, 0.21380303853894123],
    [0.04990941060843998, 0.9062746366207968, 0.04381595277076326],
    [0.1781184848867477, 0.01568246979932591, 0.8061990453139264],
]
WORSE = [
    [0.35494254582594054, 0.4373316593975455, 0.20772579477651404],
    [0.08458939543523265, 0.3646503091747364, 0.5507602953900309],
    [0.5116040482242087, 0.15798880677646843, 0.33040714499932283],
]
WORDS_OF_MATRICES = (
    798  # 32-bit random numbers that drawing the second matrix takes, after the seed is set again
)

Codes = NDArray[np.int64]


def drawn() -> tuple[NDArray[np.float64], Codes, Codes]:
    """Return points, truths, and votes [L, 3] of task, annotator and class, of the points with votes."""
    stream = np.random.RandomState(SEED)
    shapes = zip(CENTRES, COVARIANCES, SIZES, strict=True)
    points = np.vstack(
        [stream.multivariate_normal(mean, covariance, n) for mean, covariance, n in shapes]
    )
    truth = np.repeat(np.arange(len(SIZES)), SIZES)
    stream = np.random.RandomState(SEED)
    stream.bytes(4 * WORDS_OF_MATRICES)
    said = [
        answers(stream, truth, BETTER if j < ANNOTATORS - POOR else WORSE)
        for j in range(ANNOTATORS)
    ]
    labels = np.stack(
        [np.where(stream.random_sample(len(truth)) < 1 - SHARE, -1, one) for one in said], axis=1
    )
    labels, points, truth = (array[(labels >= 0).any(axis=1)] for array in (labels, points, truth))
    task, annotator = np.nonzero(labels >= 0)
    return points, truth, np.stack([task, annotator, labels[task, annotator]], axis=1)


def answers(stream: np.random.RandomState, truth: Codes, confusion: list[list[float]]) -> Codes:
    """Return the truths, with as many errors of each kind as the matrix says."""
    said = truth.copy()
    for k, shares in enumerate(confusion):
        tasks = np.flatnonzero(truth == k)
        wrong = [int(share * len(tasks)) if other != k else 0 for other, share in enumerate(shares)]
        said[stream.choice(tasks, sum(wrong), replace=False)] = np.repeat(
            np.arange(len(shares)), wrong
        )
    return said


def majority(votes: Codes, n_tasks: int) -> Codes:
    """Return the class with most votes, and of equal ones the class with fewer votes in all, as the tutorial does."""
    counts = np.zeros((n_tasks, len(SIZES)))
    np.add.at(counts, (votes[:, 0], votes[:, 2]), 1)
    return (counts - counts.sum(axis=0) / counts.sum() / 2).argmax(axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rival", help="a Python with cleanlab")
    rival = parser.parse_args().rival or (sys.executable if find_spec("cleanlab") else None)
    points, truth, votes = drawn()
    labels = {"majority vote": majority(votes, len(truth))}
    p = cross_val_predict(
        LogisticRegression(), points, labels["majority vote"], cv=FOLDS, method="predict_proba"
    )
    labels["model"] = p.argmax(axis=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pl.DataFrame(votes, schema=["task", "annotator", "label"], orient="row").write_csv(
            folder / "votes.csv"
        )
        model = pl.DataFrame(p, schema=[str(k) for k in range(len(SIZES))], orient="row")
        model.insert_column(0, pl.Series("task", np.arange(len(truth)))).write_csv(
            folder / "model.csv"
        )
        command = [
            "finegold",
            "aggregate",
            "votes.csv",
            "--predictions",
            "model.csv",
            "-o",
            "labels.csv",
        ]
        subprocess.run(
            [sys.executable, "-m", *command], cwd=folder, check=True, stderr=subprocess.DEVNULL
        )
        labels["Finegold"] = pl.read_csv(folder / "labels.csv").sort("task")["label"].to_numpy()
        if rival:
            np.savez(folder / "data.npz", **{"tutorial/votes": votes, "tutorial/p": p})
            subprocess.run(
                [rival, "-c", CROWDLAB, folder / "data.npz", folder / "made.npz"], check=True
            )
            labels["cleanlab"] = np.load(folder / "made.npz")["tutorial"]
    print(f"{len(truth)} tasks, {len(votes)} votes")
    for who, found in labels.items():
        print(f"{who:16}{(found == truth).mean():.3f}")


if __name__ == "__main__":
    main()
