"""BWA in plain NumPy, class by class as the paper has it: slow, obvious, the oracle of the fast one."""

import numpy as np


def fit_class(task, annotator, x, n_classes, truth, a_v, lam, tolerance):
    """One class: x_n = 1 where the vote is for it; truth is NaN where unknown. -> z, w, iterations."""
    n_tasks, n_votes = task.max() + 1, len(task)
    d, votes = np.bincount(task), np.bincount(annotator)
    share = np.bincount(task, x) / d
    b_v = a_v * (d * share * (1 - share)).sum() / n_votes * 4 * (1 - 1 / n_classes)
    z = np.where(np.isnan(truth), share, truth)
    iterations, done = 0, False
    while not done and iterations < 500:
        iterations += 1
        mu = z.mean()
        w = weights(task, annotator, x, z, votes, a_v, b_v)
        new = (lam * mu + np.bincount(task, w[annotator] * x, n_tasks)) / (
            lam + np.bincount(task, w[annotator])
        )
        new = np.where(np.isnan(truth), new, truth)
        done = (
            np.abs(new - z) <= tolerance * (1e-5 + np.abs(new))
        ).all()  # 1e-8 + 1e-3 |z| by default
        z = new
    return z, weights(task, annotator, x, z, votes, a_v, b_v), iterations


def weights(task, annotator, x, z, votes, a_v, b_v):
    return (a_v + votes) / np.maximum(b_v + np.bincount(annotator, (z[task] - x) ** 2), 1e-9)


def fit(task, annotator, label, n_classes, gold=None, a_v=15.0, lam=1.0, tolerance=1e-3):
    """-> phi, w [W, K], iterations of the slowest class."""
    known = np.full(task.max() + 1, -1) if gold is None else gold
    columns = []
    for k in range(n_classes):
        truth = np.where(known >= 0, known == k, np.nan)
        columns.append(
            fit_class(task, annotator, (label == k) * 1.0, n_classes, truth, a_v, lam, tolerance)
        )
    z = np.stack([column[0] for column in columns], axis=1)
    w = np.stack([column[1] for column in columns], axis=1)
    return z / z.sum(axis=1, keepdims=True), w, max(column[2] for column in columns)
