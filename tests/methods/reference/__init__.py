"""Slow, plain twins of the methods, and the votes on which methods are compared with them."""

import numpy as np

from finegold import Annotations
from finegold.checks import sample_votes


def sample(n_classes, with_gold):
    """Return rows of votes on 80 tasks, the same as annotations, and the known truths, one in nine or none."""
    votes = sample_votes(n_tasks=80, n_annotators=12, n_classes=n_classes)
    gold = {i: int(i % n_classes) for i in range(0, 80, 9)} if with_gold else {}
    return votes, Annotations.from_arrays(*votes, gold=gold), np.array([gold.get(i, -1) for i in range(80)])
