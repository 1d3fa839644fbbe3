"""Slow, plain twins of the methods, the sums that several of them need, and the votes on which they are compared."""

import numpy as np
from scipy.special import digamma, gammaln

from finegold import Annotations
from finegold.checks import sample_votes


def sample(n_classes, with_gold, n_tasks=80, n_annotators=12):
    """Return rows of votes, the same as annotations, and the known truths, one in nine or none."""
    votes = sample_votes(n_tasks=n_tasks, n_annotators=n_annotators, n_classes=n_classes)
    gold = {i: int(i % n_classes) for i in range(0, n_tasks, 9)} if with_gold else {}
    return (
        votes,
        Annotations.from_arrays(*votes, gold=gold),
        np.array([gold.get(i, -1) for i in range(n_tasks)]),
    )


def votes_on_a_huge_task():
    """Rows of votes: 3,000 on one task, which is more than kernels take at once, and two on each of 3,000 others."""
    rng = np.random.default_rng(0)
    task = np.concatenate([np.zeros(3000, int), 1 + np.arange(6000) // 2])
    return (
        task,
        np.concatenate([np.arange(3000), rng.integers(3000, size=6000)]),
        rng.integers(2, size=9000),
    )


def vote_shares(task, label, n_classes, known):
    """[T, K]: the shares of the classes among the votes of a task; known truths are certain."""
    shares = sum_by(task, np.eye(n_classes)[label], task.max() + 1)
    shares /= shares.sum(axis=1, keepdims=True)
    shares[known >= 0] = np.eye(n_classes)[known[known >= 0]]
    return shares


def sum_by(index, values, n):
    """[n, K]: the sums of the rows of values that have the same index."""
    return np.stack([np.bincount(index, column, minlength=n) for column in values.T], axis=1)


def confusion_sums(annotator, label, values, n_annotators):
    """[W, K, L]: sums of values [votes, K] by annotator and vote."""
    n_classes = values.shape[1]
    sums = sum_by(annotator * n_classes + label, values, n_annotators * n_classes)
    return sums.reshape(n_annotators, n_classes, n_classes).transpose(0, 2, 1)


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def entropy(p):
    return -(p * np.log(np.where(p > 0, p, 1.0))).sum()


def expected_log(counts):
    return digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True))


def log_beta(counts):
    return gammaln(counts).sum(axis=-1) - gammaln(counts.sum(axis=-1))


def divergence(counts, prior):
    """KL[Dirichlet(counts) || Dirichlet(prior)], summed over all but the last axis."""
    prior = np.broadcast_to(prior, counts.shape)
    return (
        ((counts - prior) * expected_log(counts)).sum()
        - log_beta(counts).sum()
        + log_beta(prior).sum()
    )
