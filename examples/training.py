"""Train a classifier on labels that came from noisy votes: majority vote, soft labels, weights and audited labels.

    python examples/training.py

The images are real: the 1,797 digits of 8 x 8 pixels that scikit-learn ships (E. Alpaydin, C. Kaynak, UCI, CC BY 4.0).
The annotators are simulated: 30 of them, of whom a third mistakes some digits for similar ones, a third guesses half of
the time, and a third is careful; three of them label each image. Accuracies are means over five draws, on images that
nobody labelled.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split

import finegold

SIMILAR = {1: 7, 7: 1, 3: 8, 8: 3, 4: 9, 9: 4, 5: 6, 6: 5, 0: 6, 2: 3}
CHECKED = 60  # labels that a person checks, those most likely to be wrong first


def simulated_votes(truth, rng):
    """Three of thirty annotators label each image."""
    task = np.repeat(np.arange(len(truth)), 3)
    annotator = np.concatenate([rng.choice(30, 3, replace=False) for _ in truth])
    kind, right = annotator % 3, truth[task]
    similar = np.array([SIMILAR[digit] for digit in right])
    guess = rng.integers(10, size=len(task))
    errs = rng.random(len(task)) < np.array([0.6, 0.5, 0.05])[kind]
    return finegold.Annotations.from_arrays(
        task, annotator, np.where(errs, np.where(kind == 0, similar, guess), right)
    )


def classifier():
    return LogisticRegression(max_iter=1000)


def trained(X, table, *, soft=False, weighted=False):
    """Fit the classifier to an exported table. With soft labels, each image counts once for each likely class."""
    weight = table["weight"].to_numpy() if weighted else np.ones(len(table))
    if not soft:
        return classifier().fit(X, table["label"].to_numpy(), weight)
    p = table.select(pl.col("^p\\(.*\\)$")).to_numpy()
    image, digit = np.nonzero(p > 0.01)
    return classifier().fit(X[image], digit, p[image, digit] * weight[image])


def exported(result):
    """Write what a training run needs, and read it as that run would."""
    with tempfile.TemporaryDirectory() as folder:
        result.export(Path(folder) / "labels.parquet", "sklearn")
        return pl.read_parquet(Path(folder) / "labels.parquet")


def audited(X, votes, current, truth):
    """Check the labels that votes and out-of-sample predictions hold to be wrong; only these truths are looked up."""
    p = cross_val_predict(
        classifier(), X, current["label"].to_numpy(), cv=5, method="predict_proba"
    )
    found = finegold.audit(
        votes,
        dict(zip(current["task"], current["label"], strict=True)),
        predictions=(current["task"], p),
    )
    looked_up = found["task"].head(CHECKED).to_list()
    label = current["label"].to_numpy().copy()
    label[looked_up] = truth[looked_up]
    return current.with_columns(label=pl.Series(label))


def main():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    figures = {}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X_train, X_test, truth, test = train_test_split(X, y, test_size=0.5, random_state=seed)
        votes = simulated_votes(truth, rng)
        majority, ours = (
            exported(finegold.aggregate(votes, method)) for method in ("mv", "anchored")
        )
        variants = {
            "true labels": (classifier().fit(X_train, truth), truth),
            "majority vote": (trained(X_train, majority), majority["label"].to_numpy()),
            "aggregated labels": (trained(X_train, ours), ours["label"].to_numpy()),
            "soft labels": (trained(X_train, ours, soft=True), None),
            "soft labels, weights": (trained(X_train, ours, soft=True, weighted=True), None),
        }
        checked = audited(X_train, votes, ours, truth)
        variants[f"{CHECKED} labels audited"] = (
            trained(X_train, checked),
            checked["label"].to_numpy(),
        )
        for name, (model, label) in variants.items():
            right = np.nan if label is None else (label == truth).mean()
            figures.setdefault(name, []).append((right, model.score(X_test, test)))
    print(f"{'labels':24} {'right':>6} {'test accuracy':>14}")
    for name, rows in figures.items():
        right, accuracy = np.mean(rows, axis=0)
        print(f"{name:24} {'' if np.isnan(right) else f'{right:.3f}':>6} {accuracy:14.3f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", finegold.FinegoldWarning)
    main()
