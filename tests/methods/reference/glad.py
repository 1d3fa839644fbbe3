"""GLAD as METHODS.md writes it, one array operation per line of maths: slow, obvious, the oracle of the fast one."""

import numpy as np
from scipy.optimize import minimize

from tests.methods.reference import softmax, sum_by


def log_sigmoid(x):
    return -np.logaddexp(0, -x)


def scores(task, annotator, label, alpha, beta, n_classes):
    """[T, K] The log-probability of all votes of a task, given its truth."""
    x = alpha[annotator] * np.exp(beta[task])
    right, wrong = log_sigmoid(x), log_sigmoid(-x) - np.log(max(n_classes - 1, 1))
    by_class = np.where(np.eye(n_classes, dtype=bool)[label], right[:, None], wrong[:, None])
    return sum_by(task, by_class, len(beta))


def posterior(task, annotator, label, alpha, beta, n_classes, gold=None):
    phi = softmax(scores(task, annotator, label, alpha, beta, n_classes))
    if gold is not None:
        phi[gold >= 0] = np.eye(n_classes)[gold[gold >= 0]]
    return phi


def log_posterior(task, annotator, label, alpha, beta, n_classes, gold):
    """The log-density of the votes, the known truths and the parameters, with the unknown truths summed out."""
    score = scores(task, annotator, label, alpha, beta, n_classes) - np.log(n_classes)
    of_task = np.where(
        gold >= 0, score[np.arange(len(beta)), gold], np.logaddexp.reduce(score, axis=1)
    )
    both = np.append(alpha, beta)
    return of_task.sum() - 0.5 * (((both - 1) ** 2) + np.log(2 * np.pi)).sum()


def objective(task, annotator, label, phi, alpha, beta):
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
    return q, by_alpha, by_beta


def fit(task, annotator, label, n_classes, tolerance=1e-4, iterations=500, gold=None):
    """-> phi of the last E step; alpha and beta of the M step after it; Q at the start and after each M step."""
    n_annotators = annotator.max() + 1
    alpha, beta = np.ones(n_annotators), np.ones(task.max() + 1)
    phi = posterior(task, annotator, label, alpha, beta, n_classes, gold)
    trace = [objective(task, annotator, label, phi, alpha, beta)[0]]
    for _ in range(iterations):
        phi = posterior(task, annotator, label, alpha, beta, n_classes, gold)

        def loss(both, phi=phi):
            a, b = both[:n_annotators], both[n_annotators:]
            q, by_alpha, by_beta = objective(task, annotator, label, phi, a, b)
            return -q, -np.append(by_alpha, by_beta)

        options = {"gtol": 0.01, "maxiter": 25}
        best = minimize(loss, np.append(alpha, beta), method="CG", jac=True, options=options)
        alpha, beta = best.x[:n_annotators], best.x[n_annotators:]
        trace.append(-best.fun)
        if abs((trace[-1] - trace[-2]) / trace[-2]) < tolerance:
            break
    return phi, alpha, beta, np.array(trace)
