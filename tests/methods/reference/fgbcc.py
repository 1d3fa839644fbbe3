"""FGBCC as METHODS.md writes it, one array operation per line of maths: plain, the oracle of the fast one."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

from tests.methods.reference import entropy, softmax, vote_shares


def objective(lam, n, rate, mu, sig):
    """F, which lam maximises, and its gradient; rate = (N_jk / zeta_jk) exp(eta / 2)."""
    grown = rate * np.exp(lam)
    return (n * lam - grown - (lam - mu) ** 2 / (2 * sig)).sum(), n - grown - (lam - mu) / sig


def search(n, rate, mu, sig, iterations=35):
    def loss(flat):
        value, gradient = objective(flat.reshape(mu.shape), n, rate, mu, sig)
        return -value, -gradient.ravel()

    best = minimize(
        loss, mu.ravel(), method="L-BFGS-B", jac=True, tol=1e-5, options={"maxiter": iterations}
    )
    return best.x.reshape(mu.shape)


def newton(n, rate, mu, sig):
    """The same by Newton steps on every entry; from above the root they fall towards it and never pass it."""
    lam = np.minimum(mu + sig * n, 50.0)
    for _ in range(200):
        grown = rate * np.exp(lam)
        lam = lam + (n - grown - (lam - mu) / sig) / (grown + 1 / sig)
    return lam


def variance(rate, sig):
    """Newton in log eta; rate = (N_jk / zeta_jk) exp(lam)."""
    eta = sig.copy()
    for _ in range(100):
        grown = rate * np.exp(eta / 2)
        g = -grown / 2 - 1 / (2 * sig) + 1 / (2 * eta)
        if (np.abs(g) <= 1e-5).all():
            break
        h = -grown / 4 - 1 / (2 * eta**2)
        step = np.exp(-g * eta / (g * eta + h * eta**2))
        eta = np.where(np.abs(g) > 1e-5, eta * step, eta)
    return eta


def zeta(lam, eta):
    return np.exp(lam + eta / 2).sum(axis=2, keepdims=True)


def fit(task, annotator, label, mu, sig, iterations, exact=False, gold=None, tolerance=0.0):
    """-> phi, the ELBO after each iteration, lam. Scores are [W, K, L]."""
    n_tasks, n_classes = task.max() + 1, mu.shape[1]
    known = np.full(n_tasks, -1) if gold is None else gold
    phi = vote_shares(task, label, n_classes, known)
    alpha = phi.sum(axis=0)
    trace = [1.0]
    for _ in range(iterations):
        n = np.zeros_like(mu)
        np.add.at(n.transpose(0, 2, 1), (annotator, label), phi[task])
        votes = n.sum(axis=2, keepdims=True)
        gam = alpha + phi.sum(axis=0)
        log_tau = digamma(gam) - digamma(gam.sum())
        lam = (newton if exact else search)(n, votes / zeta(mu, sig) * np.exp(sig / 2), mu, sig)
        eta = variance(votes / zeta(lam, sig) * np.exp(lam), sig)
        log_v = lam - np.log(zeta(lam, eta))
        score = np.tile(log_tau, (n_tasks, 1))
        np.add.at(score, task, log_v.transpose(0, 2, 1)[annotator, label])
        phi = np.where((known >= 0)[:, None], phi, softmax(score))
        trace.append(elbo(gam, log_tau, n, log_v, lam, mu, eta, phi))
        mu, sig = lam, eta
        if abs((trace[-1] - trace[-2]) / trace[-2]) <= tolerance:
            break
    return phi, np.array(trace[1:]), lam


def elbo(gam, log_tau, n, log_v, lam, mu, eta, phi):
    of_tau = gammaln(gam).sum() - gammaln(gam.sum()) + (gam.sum() - len(gam)) * digamma(gam.sum())
    of_tau -= ((gam - 1) * digamma(gam)).sum()
    scores = (n * log_v).sum() - ((lam - mu) ** 2 / (2 * eta)).sum() - lam.size / 2
    return ((gam - 1) * log_tau).sum() + scores + of_tau + entropy(phi)
