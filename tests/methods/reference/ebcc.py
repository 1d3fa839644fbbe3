"""EBCC in plain NumPy: slow and obvious, straight from the equations. What the fast one must equal."""

import numpy as np

from tests.methods.reference import divergence, entropy, expected_log


def first_rho(shares, seed, restart, block, n_subtypes):
    """rho_ikg = s_ik D_ikg with D_ik ~ Dirichlet(1, ..., 1)."""
    draws = np.random.default_rng([seed, restart, block]).standard_exponential(
        (*shares.shape, n_subtypes)
    )
    return shares[:, :, None] * draws / draws.sum(axis=2, keepdims=True)


def fit(
    task, annotator, label, rho, alpha, iterations, gold=None, a_pi=0.1, correct=4.0, wrong=1.0
):
    """-> phi, the bound after each iteration, rho."""
    _, n_classes, n_subtypes = rho.shape
    b = wrong + (correct - wrong) * np.eye(n_classes)[:, None, :]  # [K, 1, L]
    bounds = []
    for _ in range(iterations):
        eta = a_pi / n_subtypes + rho.sum(axis=0)
        nu = alpha + rho.sum(axis=(0, 2))
        votes = np.zeros((annotator.max() + 1, n_classes, n_classes, n_subtypes))  # [W, L, K, G]
        np.add.at(votes, (annotator, label), rho[task])
        mu = b + votes.transpose(0, 2, 3, 1)
        log_v = expected_log(mu).transpose(0, 3, 1, 2)
        score = np.broadcast_to(expected_log(eta) + expected_log(nu)[:, None], rho.shape).copy()
        np.add.at(score, task, log_v[annotator, label])
        if gold is not None:
            other = (gold[:, None] >= 0) & (gold[:, None] != np.arange(n_classes))
            score[other] = -np.inf
        largest = score.max(axis=(1, 2), keepdims=True)
        rho = np.exp(score - largest)
        total = rho.sum(axis=(1, 2), keepdims=True)
        rho /= total
        expected = (rho * np.where(rho > 0, score, 0.0)).sum()
        distance = divergence(eta, a_pi / n_subtypes) + divergence(nu, alpha) + divergence(mu, b)
        bounds.append(expected + entropy(rho) - distance)
    return rho.sum(axis=2), bounds, rho


def confusion(task, annotator, label, rho, eta, correct=4.0, wrong=1.0):
    """[W, K, L]: each annotator's confusion matrix, averaged over subtypes."""
    n_classes = rho.shape[1]
    votes = np.zeros((annotator.max() + 1, n_classes, *rho.shape[1:]))
    np.add.at(votes, (annotator, label), rho[task])
    mu = votes.transpose(0, 2, 3, 1) + wrong + (correct - wrong) * np.eye(n_classes)[:, None, :]
    share = eta / eta.sum(axis=1, keepdims=True)
    return np.einsum("kg,jkgl->jkl", share, mu / mu.sum(axis=3, keepdims=True))
