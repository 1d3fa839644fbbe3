"""CATD in plain NumPy, straight from the equations: slow, obvious, the oracle of the fast one."""

import numpy as np
from scipy.stats import chi2

PRINTED = """.001 .02 .22 .48 .83 1.24 1.69 2.18 2.7 3.25 3.82 4.4 5.01 5.63 6.27 6.91 7.56 8.23 8.91 9.59 10.28
10.98 11.69 12.4 13.12 13.84 14.57 15.31 16.05 16.79"""


def quantile(n, exact):
    if exact:
        return chi2.ppf(0.025, n)
    if n <= 30:
        return float(PRINTED.split()[n - 1])
    return 0.5 * (-1.95996 + (2 * n - 1) ** 0.5) ** 2


def lot(seed, iteration, task, n):
    """The same lots as the fast one draws, in Python's integers (SplitMix64)."""

    def mix(x):
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        return x ^ (x >> 31)

    golden = 0x9E3779B97F4A7C15
    key = mix((seed + golden) % 2**64)
    return mix((mix((key + iteration * golden) % 2**64) + task * golden) % 2**64) % n


def elect(score, ties, seed, iteration, number):
    """z [T, K]: the winner of each task; ties are split or drawn by lot."""
    z = (score == score.max(axis=1, keepdims=True)) * 1.0
    if ties == "split":
        return z / z.sum(axis=1, keepdims=True)
    for i in np.nonzero(z.sum(axis=1) > 1)[0]:
        winners = np.nonzero(z[i])[0]
        z[i] = np.eye(z.shape[1])[winners[lot(seed, iteration, int(number[i]), len(winners))]]
    return z


def fit(
    task, annotator, label, n_classes, iterations=100, gold=None, ties="random", exact=False, seed=0
):
    """Votes must be sorted by task, class and annotator. -> phi, q, z."""
    n_tasks = task.max() + 1
    known = np.full(n_tasks, -1) if gold is None else gold
    sure = np.eye(n_classes)[known]
    cells = np.zeros((n_tasks, n_classes), bool)
    cells[task, label] = True
    number = np.concatenate(
        [[0], np.cumsum(cells.sum(axis=1))]
    )  # the first cell of each task is its number
    c = np.array([quantile(n, exact) for n in np.bincount(annotator)])

    def vote(q, iteration):
        score = np.bincount(task * n_classes + label, q[annotator], n_tasks * n_classes).reshape(
            n_tasks, -1
        )
        z = np.where((known >= 0)[:, None], sure, elect(score, ties, seed, iteration, number))
        return score, z

    _, z = vote(np.ones(len(c)), 0)
    for iteration in range(1, iterations + 2):
        e = np.bincount(annotator, 1 - z[task, label])
        q = c / (e + 1e-9)
        q /= q.sum()
        if iteration <= iterations:
            score, z = vote(q, iteration)
    phi = np.where((known >= 0)[:, None], sure, score / score.sum(axis=1, keepdims=True))
    return phi, q, z
