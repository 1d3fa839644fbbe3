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


def ep(task, annotator, label, n_classes, iterations, gold=None):
    """Expectation propagation, all messages at once. -> phi, g, a [W, K, L]."""
    n_tasks, n_annotators, one = task.max() + 1, annotator.max() + 1, np.eye(n_classes)
    known = np.full(n_tasks, -1) if gold is None else gold
    rows = np.nonzero(known >= 0)[0]
    b = 1 + (7 / 3 * (n_classes - 1) - 1) * one
    delta, eps = np.zeros((len(task), n_classes)), np.zeros((n_tasks, n_classes))
    for _ in range(iterations):
        a = b + confusion_sums(annotator, label, delta, n_annotators)
        g = 1 + eps.sum(axis=0)
        others = a.sum(axis=2)[annotator] - delta
        log_lik = sum_by(task, np.log((a[annotator, :, label] - delta) / others), n_tasks)
        log_lik[rows] = np.where(one[known[rows]] > 0, 0.0, -np.inf)
        prior = g - eps
        phi = softmax(np.log(prior) + log_lik)
        delta = phi[task] * others / (others + 1 - phi[task])
        m = (phi + prior) / (1 + prior.sum(axis=1, keepdims=True))
        c = np.arange(n_tasks), log_lik.argmin(axis=1)
        eps = (prior[c] / m[c])[:, None] * m - prior
        eps[log_lik == log_lik[c][:, None]] = 0.0
    return phi, 1 + eps.sum(axis=0), b + confusion_sums(annotator, label, delta, n_annotators)


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
