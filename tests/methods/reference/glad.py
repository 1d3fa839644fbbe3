"""GLAD as METHODS.md writes it, one array operation per line of maths: slow, obvious, the oracle of the fast one."""

import numpy as np
from scipy.optimize import minimize


def log_sigmoid(x):
    return -np.logaddexp(0, -x)


def posterior(task, annotator, label, alpha, beta, n_classes, gold=None):
    x = alpha[annotator] * np.exp(beta[task])
    right, wrong = log_sigmoid(x), log_sigmoid(-x) - np.log(max(n_classes - 1, 1))
    by_class = np.where(np.eye(n_classes, dtype=bool)[label], right[:, None], wrong[:, None])
    score = np.zeros((len(beta), n_classes))
    np.add.at(score, task, by_class)
    phi = np.exp(score - score.max(axis=1, keepdims=True))
    phi /= phi.sum(axis=1, keepdims=True)
    if gold is not None:
        phi[gold >= 0] = np.eye(n_classes)[gold[gold >= 0]]
    return phi


def objective(task, annotator, label, phi, alpha, beta, priors=False):
    """Q and its gradients by alpha and beta."""
    n_classes = phi.shape[1]
    p = phi[task, label]
    x = alpha[annotator] * np.exp(beta[task])
    wrong = log_sigmoid(-x) - np.log(max(n_classes - 1, 1))
    q = (p * log_sigmoid(x) + (1 - p) * wrong).sum() - len(beta) * np.log(n_classes)
    q -= 0.5 * np.log(2 * np.pi) * (len(alpha) + len(beta))
    residual = p - np.exp(log_sigmoid(x))
    by_alpha = np.bincount(annotator, residual * np.exp(beta[task]), len(alpha))
    by_beta = np.bincount(task, residual * x, len(beta))
    if priors:
        q -= 0.5 * ((alpha - 1) ** 2).sum() + 0.5 * ((beta - 1) ** 2).sum()
        by_alpha, by_beta = by_alpha - (alpha - 1), by_beta - (beta - 1)
    return q, by_alpha, by_beta


def fit(task, annotator, label, n_classes, priors=False, tolerance=1e-4, iterations=500, gold=None):
    """-> phi of the last E step; alpha and beta of the M step after it; Q at the start and after each M step."""
    n_annotators = annotator.max() + 1
    alpha, beta = np.ones(n_annotators), np.ones(task.max() + 1)
    phi = posterior(task, annotator, label, alpha, beta, n_classes, gold)
    trace = [objective(task, annotator, label, phi, alpha, beta, priors)[0]]
    for _ in range(iterations):
        phi = posterior(task, annotator, label, alpha, beta, n_classes, gold)

        def loss(both, phi=phi):
            a, b = both[:n_annotators], both[n_annotators:]
            q, by_alpha, by_beta = objective(task, annotator, label, phi, a, b, priors)
            return -q, -np.append(by_alpha, by_beta)

        options = {"gtol": 0.01, "maxiter": 25}
        best = minimize(loss, np.append(alpha, beta), method="CG", jac=True, options=options)
        alpha, beta = best.x[:n_annotators], best.x[n_annotators:]
        trace.append(-best.fun)
        if abs((trace[-1] - trace[-2]) / trace[-2]) < tolerance:
            break
    return phi, alpha, beta, np.array(trace)
