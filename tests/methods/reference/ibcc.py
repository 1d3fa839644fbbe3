"""IBCC in plain NumPy, straight from the equations: slow, obvious, the oracle of the fast one."""

import numpy as np
from scipy.special import digamma, gammaln

from tests.methods.reference.ds import softmax, sum_by


def confusion_sums(annotator, label, values, n_annotators):
    """[W, K, L]: sums of values [votes, K] by annotator and vote."""
    n_classes = values.shape[1]
    sums = sum_by(annotator * n_classes + label, values, n_annotators * n_classes)
    return sums.reshape(n_annotators, n_classes, n_classes).transpose(0, 2, 1)


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
        phi, _ = softmax(np.log(prior) + log_lik)
        delta = phi[task] * others / (others + 1 - phi[task])
        m = (phi + prior) / (1 + prior.sum(axis=1, keepdims=True))
        c = np.arange(n_tasks), log_lik.argmin(axis=1)
        eps = (prior[c] / m[c])[:, None] * m - prior
        eps[log_lik == log_lik[c][:, None]] = 0.0
    return phi, 1 + eps.sum(axis=0), b + confusion_sums(annotator, label, delta, n_annotators)


def expected_log(counts):
    return digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True))


def divergence(counts, prior):
    """KL[Dirichlet(counts) || Dirichlet(prior)], summed over all but the last axis."""

    def log_beta(x):
        return (gammaln(x).sum(axis=-1) - gammaln(x.sum(axis=-1))).sum()

    prior = np.broadcast_to(prior, counts.shape)
    return ((counts - prior) * expected_log(counts)).sum() - log_beta(counts) + log_beta(prior)


def vb(task, annotator, label, n_classes, iterations, gold=None, right=4.0):
    """Variational Bayes. -> phi, the bound after each iteration, nu and mu [W, K, L] of the last one."""
    n_tasks, n_annotators, one = task.max() + 1, annotator.max() + 1, np.eye(n_classes)
    known = np.full(n_tasks, -1) if gold is None else gold
    rows = np.nonzero(known >= 0)[0]
    b = 1 + (right - 1) * one
    phi = sum_by(task, one[label], n_tasks)
    phi /= phi.sum(axis=1, keepdims=True)
    phi[rows] = one[known[rows]]
    bounds = []
    for _ in range(iterations):
        nu, mu = 1 + phi.sum(axis=0), b + confusion_sums(annotator, label, phi[task], n_annotators)
        score = expected_log(nu) + sum_by(task, expected_log(mu)[annotator, :, label], n_tasks)
        phi, _ = softmax(score)
        phi[rows] = one[known[rows]]
        entropy = -(phi * np.log(np.where(phi > 0, phi, 1.0))).sum()
        bounds.append((phi * score).sum() + entropy - divergence(nu, np.ones(n_classes)) - divergence(mu, b))
    return (
        phi,
        np.array(bounds),
        1 + phi.sum(axis=0),
        b + confusion_sums(annotator, label, phi[task], n_annotators),
    )
