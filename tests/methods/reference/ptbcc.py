"""PTBCC as the paper writes it, one array operation per line of maths: slow, obvious, the oracle of the fast one."""

import numpy as np

from tests.methods.reference import entropy, expected_log, log_beta, softmax, vote_shares


def fit(task, annotator, label, v, iterations, gold=None):
    """-> phi, the bound after each iteration, and the parameters that belong to phi."""
    n_tasks, n_annotators = task.max() + 1, annotator.max() + 1
    _n_prototypes, n_classes, _ = v.shape
    known = np.full(n_tasks, -1) if gold is None else gold
    one_task, one_annotator = np.eye(n_tasks)[task], np.eye(n_annotators)[annotator]
    vote = np.eye(n_classes)[label]  # [L, K]

    phi = vote_shares(task, label, n_classes, known)
    theta = np.einsum("lk,skm,lm->ls", phi[task], v, vote)
    u = np.maximum(phi.sum(axis=0), 1e-9)
    beta = np.maximum(0.4 * one_annotator.T @ theta, 1e-9)
    a = np.maximum(0.5 * np.einsum("ls,lk,lm->skm", theta, phi[task], vote), 1e-9)
    theta = theta / theta.sum(axis=1, keepdims=True)

    bounds = []
    for _ in range(iterations):
        nu, eta, mu = parameters(u, beta, a, phi, theta, task, one_annotator, vote)
        log_tau, log_pi, log_v = expected_log(nu), expected_log(eta), expected_log(mu)
        by_vote = np.einsum("skm,lm->lsk", log_v, vote)
        theta = softmax(log_pi[annotator] + np.einsum("lk,lsk->ls", phi[task], by_vote))
        new = softmax(log_tau + one_task.T @ np.einsum("ls,lsk->lk", theta, by_vote))
        phi = np.where((known >= 0)[:, None], phi, new)
        bounds.append(bound(u, beta, a, nu, eta, mu, phi, theta, task, one_annotator, vote))
    return phi, np.array(bounds), parameters(u, beta, a, phi, theta, task, one_annotator, vote)


def parameters(u, beta, a, phi, theta, task, one_annotator, vote):
    confusion = np.einsum("ls,lk,lm->skm", theta, phi[task], vote)
    return u + phi.sum(axis=0), beta + one_annotator.T @ theta, a + confusion


def bound(u, beta, a, nu, eta, mu, phi, theta, task, one_annotator, vote):
    """Equation (4) with its constants."""
    tau_sum, pi_sum = phi.sum(axis=0), one_annotator.T @ theta
    v_sum = np.einsum("ls,lk,lm->skm", theta, phi[task], vote)
    total = ((u - nu + tau_sum) * expected_log(nu)).sum() + log_beta(nu) - log_beta(u)
    total += ((beta - eta + pi_sum) * expected_log(eta)).sum() + (
        log_beta(eta) - log_beta(beta)
    ).sum()
    total += ((a - mu + v_sum) * expected_log(mu)).sum() + (log_beta(mu) - log_beta(a)).sum()
    return total + entropy(phi) + entropy(theta)
