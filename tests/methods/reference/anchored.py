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
    rho = 0.0
    for _ in range(sweeps):
        n = np.zeros((W, K, K))
        for i, j, c, times in zip(task, annotator, label, weight, strict=True):
            n[j, :, c] += times * q[i]
        mu = n.sum(axis=0) + 0.3 * n.sum() / K * coin
        mu /= mu.sum(axis=1, keepdims=True)
        pi = n + 2 * mu
        pi /= pi.sum(axis=2, keepdims=True)
        w = 0.5 * np.log(pi) + 0.5 * np.log(mu)
        d_j = n.sum(axis=(1, 2))
        a_j = (np.trace(n, axis1=1, axis2=2) + 2 * a) / (d_j + 2)
        u = np.maximum((a_j - 1 / K) / (1 - 1 / K), 0.001) ** (0.75 * kappa)
        log_prior = 0.5 * kappa * np.log(q.mean(axis=0) + 0.001)
        vote, score = np.zeros((n_tasks, K)), np.where(V > 0, log_prior, -np.inf)
        for i, j, c in zip(task, annotator, label, strict=True):
            vote[i, c] += u[j]
            score[i] += w[j, :, c]
        vote /= vote.sum(axis=1, keepdims=True)
        model = np.exp(score - score.max(axis=1, keepdims=True))
        model /= model.sum(axis=1, keepdims=True)
        q = (vote + model) / 2
        for i, k in gold.items():
            q[i] = model[i] = np.eye(K)[k]
        last_rho, rho = rho, correlation(task, annotator, label, model, np.clip(a_j, 0.02, 0.98), V)
    return calibrated(q, d, a, last_rho, K, gold)


def correlation(task, annotator, label, model, a_j, V):
    """Of the residuals of two votes of a task."""
    product, scale = 0.0, 0.0
    for i in range(len(V)):
        on_task = np.flatnonzero(task == i)
        for k in range(V.shape[1]):
            if V[i, k] == 0:
                continue
            for one in on_task:
                for other in on_task:
                    if one != other:
                        r, s = ((label[v] == k) - a_j[annotator[v]] for v in (one, other))
                        product += model[i, k] * r * s
        for one in on_task:
            for other in on_task:
                if one != other:
                    p, r = a_j[annotator[one]], a_j[annotator[other]]
                    scale += np.sqrt(p * (1 - p) * r * (1 - r))
    return min(max(product / scale, 0.0), 1.0) if scale > 0 else 0.0


def calibrated(q, d, a, rho, K, gold):
    phi = np.empty_like(q)
    for i in range(len(q)):
        design = 1 + (d[i] - 1) * rho
        sharp = np.where(q[i] > 0, q[i], 0.0) ** (design**-0.25)
        sharp[q[i] == 0] = 0.0
        sharp /= sharp.sum()
        votes, pseudo = d[i] / design, 2 * (1 - a) * K / (K - 1)
        phi[i] = (votes * sharp + pseudo / K) / (votes + pseudo)
        if i in gold:
            phi[i] = np.eye(K)[gold[i]]
    return phi
