"""Votes of annotators with known skills, for the tests of trust."""

from __future__ import annotations

import numpy as np

from finegold import Annotations


def panel(n_tasks=200, skills=(0.9, 0.85, 0.8, 0.75), K=3, seed=0, votes=None):
    """Everybody votes on everything, unless `votes(rng, truth)` gives further columns."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n_tasks)
    columns = [
        np.where(rng.random(n_tasks) < s, truth, rng.integers(K, size=n_tasks)) for s in skills
    ]
    answers = np.column_stack([*columns, *(votes(rng, truth) if votes else [])])
    task, annotator = np.indices(answers.shape)
    return Annotations.from_arrays(
        task.ravel(), annotator.ravel(), answers.ravel(), classes=list(range(K))
    ), truth
