"""IBCC in plain NumPy, straight from the equations: slow, obvious, the oracle of the fast one."""

import numpy as np

from tests.methods.reference import (
    confusion_sums,
    divergence,
    entropy,
    expected_log,
    softmax,
    sum_by,
    vote_shares,
)


def vb(task, annotator, label, n_classes, iterations, gold=None, right=4.0):
    """Variational Bayes. -> phi, the bound after each iteration, nu and mu [W, K, L] of the last one."""
    n_tasks, n_annotators = task.max() + 1, annotator.max() + 1
    known = np.full(n_tasks, -1) if gold is None else gold
    b = 1 + (right - 1) * np.eye(n_classes)
    phi, bounds = vote_shares(task, label, n_classes, known), []
    for _ in range(iterations):
        nu, mu = 1 + phi.sum(axis=0), b + confusion_sums(annotator, label, phi[task], n_annotators)
        score = expected_log(nu) + sum_by(task, expected_log(mu)[annotator, :, label], n_tasks)
        phi = np.where((known >= 0)[:, None], phi, softmax(score))
        bounds.append(
            (phi * score).sum()
            + entropy(phi)
            - divergence(nu, np.ones(n_classes))
            - divergence(mu, b)
        )
    mu = b + confusion_sums(annotator, label, phi[task], n_annotators)
    return phi, np.array(bounds), 1 + phi.sum(axis=0), mu
