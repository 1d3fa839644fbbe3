"""Dawid-Skene in plain NumPy, straight from the equations (in logs): slow, obvious, the oracle of the fast one."""

import numpy as np

from tests.methods.reference import confusion_sums, sum_by

LEAST = 3.4e-308  # probabilities below it count as 0: floats lose their digits there


def softmax(score):
    """Rows that are impossible in every class become uniform."""
    impossible = np.isneginf(score).all(axis=1)
    score = np.where(impossible[:, None], 0.0, score)
    largest = score.max(axis=1, keepdims=True)
    weight = np.exp(score - largest)
    weight[weight < LEAST] = 0.0
    total = weight.sum(axis=1, keepdims=True)
    return weight / total, (largest + np.log(total))[:, 0]


def fit(task, annotator, label, n_classes, iterations, gold=None, quality=0.7):
    """-> phi, the log-likelihood before each M step, p and v [W, K, L]."""
    n_tasks, n_annotators = task.max() + 1, annotator.max() + 1
    known = np.full(n_tasks, -1) if gold is None else gold
    rows = np.nonzero(known >= 0)[0]
    first = np.full((n_classes, n_classes), (1 - quality) / (n_classes - 1))
    np.fill_diagonal(first, quality)
    p, v = np.full(n_classes, 1 / n_classes), np.tile(first, (n_annotators, 1, 1))
    likelihoods = []
    for _ in range(iterations):
        with np.errstate(divide="ignore"):
            log_p, log_v = np.log(p), np.log(v)
        score = log_p + sum_by(task, log_v[annotator, :, label], n_tasks)
        phi, log_norm = softmax(score)
        phi[rows] = np.eye(n_classes)[known[rows]]
        log_norm[rows] = score[rows, known[rows]]
        likelihoods.append(log_norm.sum())
        p = phi.mean(axis=0)
        n = confusion_sums(annotator, label, phi[task], n_annotators)
        total = n.sum(axis=2, keepdims=True)
        v = np.where(total > 0, n / np.where(total > 0, total, 1.0), first)
    return phi, np.array(likelihoods), p, v
