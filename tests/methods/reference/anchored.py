"""The anchored vote, slow and straight from the equations of METHODS section 15 and finegold/methods/anchored.py."""

import numpy as np


def typical_accuracy(votes, K):
    """Bisection on p = a^2 + (1 - a)^2 / (K - 1)."""
    several = votes.sum(axis=1) >= 2
    d = votes[several].sum(axis=1)
    agreement = (votes[several] * (votes[several] - 1)).sum(axis=1) / (d * (d - 1))
    p = (agreement.sum() + 1) / (several.sum() + 2)
    low, high = 1 / K, 1.0
    for _ in range(200):
        a = (low + high) / 2
        low, high = (a, high) if a**2 + (1 - a) ** 2 / (K - 1) < p else (low, a)
    return min(max(low, 1 / K + 0.02), 0.98)


def entropy(shares):
    return -sum(s * np.log(s) for s in shares if s > 0)


def uniformity(annotator, label, weight, K):
    marginal = entropy(np.bincount(label, weight, K) / weight.sum())
    conditional = 0.0
    for j in set(annotator):
        mine = annotator == j
        of_j = np.bincount(label[mine], weight[mine], K)
        conditional += of_j.sum() / weight.sum() * entropy(of_j / of_j.sum())
    return conditional / marginal if marginal > 0 else 1.0


def anchored(task, annotator, label, K, sweeps=4, gold=None):
    n_tasks, W = task.max() + 1, annotator.max() + 1
    gold = gold or {}
    V = np.zeros((n_tasks, K))
    for i, vote_for in zip(task, label, strict=True):
        V[i, vote_for] += 1
    weight = np.array(
        [20.0 if i in gold else 1.0 for i in task]
    )  # of votes: those on known truths count 20 times
    d, a, kappa = V.sum(axis=1), typical_accuracy(V, K), uniformity(annotator, label, weight, K)
    coin = np.full((K, K), (1 - a) / (K - 1))
    np.fill_diagonal(coin, a)
    q = V / d[:, None]
    for i, k in gold.items():
        q[i] = np.eye(K)[k]
    for _ in range(sweeps):
        n = np.zeros((W, K, K))
        for i, j, c, times in zip(task, annotator, label, weight, strict=True):
            n[j, :, c] += times * q[i]
        mu = n.sum(axis=0) + n.sum() / K * coin
        mu /= mu.sum(axis=1, keepdims=True)
        pi = n + 2 * mu
        pi /= pi.sum(axis=2, keepdims=True)
        w = 0.7 * np.log(pi) + 0.3 * np.log(mu)
        d_j = n.sum(axis=(1, 2))
        a_j = (np.trace(n, axis1=1, axis2=2) + 2 * a) / (d_j + 2)
        u = np.maximum((a_j - 1 / K) / (1 - 1 / K), 0.001) ** kappa
        log_prior = kappa * np.log(q.mean(axis=0) + 0.001)
        vote, score = np.zeros((n_tasks, K)), np.where(V > 0, log_prior, -np.inf)
        for i, j, c in zip(task, annotator, label, strict=True):
            vote[i, c] += u[j]
            score[i] += w[j, :, c]
        vote /= vote.sum(axis=1, keepdims=True)
        model = np.exp(score - score.max(axis=1, keepdims=True))
        model /= model.sum(axis=1, keepdims=True)
        q = (vote + model) / 2
        for i, k in gold.items():
            q[i] = np.eye(K)[k]
    return calibrated(q, d, a, K, gold)


def calibrated(q, d, a, K, gold):
    phi = np.empty_like(q)
    for i in range(len(q)):
        votes, doubt = np.sqrt(d[i]), 1.5 * (1 - a) * K / (K - 1)
        phi[i] = (votes * q[i] + doubt / K) / (votes + doubt)
        if i in gold:
            phi[i] = np.eye(K)[gold[i]]
    return phi
