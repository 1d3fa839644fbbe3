"""HDS in plain NumPy and SciPy, straight from the equations: slow, obvious, the oracle of the fast one."""

import numpy as np
from scipy.special import digamma

from tests.methods.reference import confusion_sums, expected_log, log_beta, sum_by, vote_shares
from tests.methods.reference.ds import softmax


def evidence(n, alpha):
    """[K]: log-likelihood of the counts n [W, K, L] of each class under Dirichlet-multinomial(alpha_k)."""
    return (log_beta(n + alpha) - log_beta(alpha)).sum(axis=0)


def minka(n, alpha, least=1e-3):
    """One step of the fixed point; a class whose evidence would fall, or that has no counts, stays."""
    up = (digamma(n + alpha) - digamma(alpha)).sum(axis=0)
    total, A = n.sum(axis=2), alpha.sum(axis=1)
    down = (digamma(total + A) - digamma(A)).sum(axis=0)
    counted = total.sum(axis=0) > 0
    ratio = up / np.where(counted, down, 1.0)[:, None]
    step = np.where(counted[:, None], np.maximum(alpha * ratio, least), alpha)
    return np.where((evidence(n, step) >= evidence(n, alpha))[:, None], step, alpha)


def fit(task, annotator, label, n_classes, iterations, gold=None, phi=None):
    """-> phi, the bound after each iteration, alpha and the posterior-mean matrices; starts at phi (else shares)."""
    n_tasks, n_annotators = task.max() + 1, annotator.max() + 1
    known = np.full(n_tasks, -1) if gold is None else gold
    rows = np.nonzero(known >= 0)[0]
    shares = vote_shares(task, label, n_classes, known)
    u = np.maximum(shares.sum(axis=0), 1e-9)
    phi = shares if phi is None else phi
    n = confusion_sums(annotator, label, phi[task], n_annotators)
    pooled = n.sum(axis=0)
    alpha = 2 * (pooled / np.maximum(pooled.sum(axis=1, keepdims=True), 1e-9) + 0.1)
    bounds = []
    for _ in range(iterations):
        alpha = minka(n, minka(n, alpha))
        a, nu = n + alpha, u + phi.sum(axis=0)
        log_v, log_tau = expected_log(a), expected_log(nu)
        score = log_tau + sum_by(task, log_v[annotator, :, label], n_tasks)
        phi, log_norm = softmax(score)
        phi[rows] = np.eye(n_classes)[known[rows]]
        log_norm[rows] = score[rows, known[rows]]
        of_v = ((alpha - a) * log_v).sum() + (log_beta(a) - log_beta(alpha)).sum()
        of_tau = ((u - nu) * log_tau).sum() + log_beta(nu) - log_beta(u)
        bounds.append(log_norm.sum() + of_v + of_tau)
        n = confusion_sums(annotator, label, phi[task], n_annotators)
    alpha = minka(n, minka(n, alpha))
    a = n + alpha
    return phi, np.array(bounds), alpha, a / a.sum(axis=2, keepdims=True)
